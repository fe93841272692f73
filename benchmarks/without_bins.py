"""Measures without bins: beside sorting, beside relplot, and beside plain blocked NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks import timing
from calibrant import statistics
from calibrant.calibration import isotonic

MANY, FEW, M = 1_000_000, 10_000, 10
BANDWIDTH = 0.1
BLOCK = 500  # rows of a block of plain NumPy

SORT = "sorting: np.argsort of the checked rows"
ALONE = "np.argsort of an array"
ISOTONIC = "isotonic regression"
KUIPER = "Kuiper's range, CutoffMiscalibration"
SMOOTH = "SmoothECE, SmoothMiscalibration"
RELPLOT = "relplot smECE"
PAIRS = "unbiased kernel statistic, all pairs"
PLAIN = "the same in plain blocked NumPy"
TEST = "exact test of it, all pairs, B = 999"
LOW_RANK = "exact test, rank 128, B = 999"
LINE = "exact test, 10⁶ rows of two classes, B = 999"


def binary() -> tuple[np.ndarray, np.ndarray]:
    """Return predictions of two classes, calibrated: (n,) each."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 0.7, MANY)
    return p, (rng.random(MANY) < p).astype(np.int64)


def several() -> cal.Predictions:
    """Return predictions of ten classes with outcomes that have nothing to do with them."""
    rng = np.random.default_rng(0)
    return cal.Predictions(rng.dirichlet(np.full(M, 0.3), FEW), rng.integers(0, M, FEW))


def kernel_in_blocks(data: cal.Predictions) -> float:
    """Return the unbiased statistic with the exponential kernel of total variation."""
    probs = np.asarray(data.probs)
    off = np.eye(M)[data.labels] - probs
    total = 0.0
    for first in range(0, data.n, BLOCK):
        some = slice(first, first + BLOCK)
        far = np.zeros((probs[some].shape[0], data.n))
        for j in range(M):
            far += 0.5 * np.abs(probs[some, j, None] - probs[:, j])
        total += float((np.exp(-far / BANDWIDTH) * (off[some] @ off.T)).sum())
    own = float((off * off).sum())
    return (total - own) / (data.n * (data.n - 1))


def on_the_line() -> dict[str, Callable[[], Any]]:
    """Return what is timed on predictions of two classes, from arrays."""
    import relplot

    p, y = binary()
    made = cal.Predictions
    return {
        SORT: lambda: np.argsort(made(p, y).probs[:, 1]),
        ALONE: lambda: np.argsort(p),
        ISOTONIC: lambda: isotonic(made(p, y), 1),
        KUIPER: lambda: statistics.CutoffMiscalibration()(made(p, y)),
        SMOOTH: lambda: statistics.SmoothMiscalibration()(made(p, y)),
        RELPLOT: lambda: relplot.smECE(f=p, y=y),
    }


def of_pairs() -> dict[str, Callable[[], Any]]:
    """Return what is timed of kernels."""
    data, rows = several(), cal.Predictions(*binary())
    kernel = statistics.KernelMiscalibration(BANDWIDTH)
    quick = statistics.KernelMiscalibration(BANDWIDTH, form="low-rank", rank=128)
    return {
        PAIRS: lambda: kernel(data),
        PLAIN: lambda: kernel_in_blocks(data),
        TEST: lambda: cal.calibration_test(data, kernel, rng=0),
        LOW_RANK: lambda: cal.calibration_test(data, quick, rng=0),
        LINE: lambda: cal.calibration_test(rows, kernel, rng=0),
    }


def report() -> str:
    """Return the section as Markdown."""
    line, pairs = on_the_line(), of_pairs()
    ours, theirs = pairs[PAIRS](), pairs[PLAIN]()
    assert abs(ours - theirs) <= 1e-9 * abs(theirs), (ours, theirs)
    best = timing.best(timing.interleaved(line, 15))
    rows = [[name, timing.milliseconds(s), f"{s / best[SORT]:.2f}"] for name, s in best.items()]
    kernels = timing.best(timing.interleaved(pairs, 3))
    some = [[name, timing.milliseconds(s)] for name, s in kernels.items()]
    return "\n\n".join(
        [
            "## Without bins",
            f"{MANY:,} predictions of two classes, float64, from arrays with the checks of the"
            " input, also where they are only put in order (*sorting*). Each task runs once in each"
            " of 15 rounds, and its fastest run counts. relplot smooths on a grid.",
            timing.table(["", "time", "× sorting"], rows),
            "\n".join(
                [
                    timing.verdict(
                        "isotonic regression within 1.5 times of sorting",
                        best[ISOTONIC] <= 1.5 * best[SORT],
                    ),
                    timing.verdict(
                        "Kuiper's range within 1.3 times of sorting",
                        best[KUIPER] <= 1.3 * best[SORT],
                    ),
                    timing.verdict("SmoothECE faster than relplot", best[SMOOTH] < best[RELPLOT]),
                ]
            ),
            f"The exponential kernel of total variation, bandwidth {BANDWIDTH:g}, on {FEW:,} ×"
            f" {M}; the fastest of 3 runs. Both estimates agree to 1e-9.",
            timing.table(["", "time"], some),
            "\n".join(
                [
                    timing.verdict("the statistic within a second", kernels[PAIRS] <= 1.0),
                    timing.verdict(
                        "its exact tests within ten seconds",
                        max(kernels[name] for name in (TEST, LOW_RANK, LINE)) <= 10.0,
                    ),
                ]
            ),
        ]
    )
