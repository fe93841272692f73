"""Point estimate of the top label's expected miscalibration on 15 bins of equal width."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

import calibrant as cal
from benchmarks import timing
from calibrant import lenses, partitions, statistics

BINS = 15
SHAPES = ((1_000_000, 10), (50_000, 1000))
ROUNDS = 15
PASSES = 2.0  # the bar: our estimate in units of one pass
AHEAD = 4.0  # the bar of few classes, from arrays: times as fast as every other library
SUMS = 2.0  # the bar of many classes, from arrays: in units of summing the array
MEMORY = 1.5  # the bar: peak memory in units of the input

PASS = "one pass: probs.max(axis=1)"
SUM = "summing the array: probs.sum()"
OURS = "calibrant, from Predictions"
OURS_RAW = "calibrant, from arrays"
OURS_SERIAL = "calibrant, from Predictions, 1 thread"
TORCHMETRICS = "torchmetrics"
NETCAL = "netcal"
SKLEARN = "scikit-learn calibration_curve"
PEERS = (TORCHMETRICS, NETCAL, SKLEARN)

# torchmetrics adds up in float32.
TOLERANCE = {OURS: 1e-9, OURS_RAW: 1e-9, OURS_SERIAL: 1e-9, TORCHMETRICS: 1e-4, NETCAL: 1e-6}

ESTIMATE = statistics.ExpectedMiscalibration(partitions.EqualWidth(BINS))
TOP = lenses.TopLabel()


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """Predictions (n, m) of an overconfident model in float32, and outcomes (n,)."""

    probs: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    labels: np.ndarray[tuple[int], np.dtype[np.int64]]

    @property
    def nbytes(self) -> int:
        """Size of the input."""
        return self.probs.nbytes + self.labels.nbytes


def make_problem(n: int, m: int) -> Problem:
    rng = np.random.default_rng(0)
    probs = rng.standard_normal((n, m), np.float32)
    probs *= 3.0
    probs -= probs.max(axis=1, keepdims=True)
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=1, keepdims=True)
    keep_off_edges(probs)
    predicted = probs.argmax(axis=1)
    right = rng.random(n) < probs.max(axis=1) ** 1.5
    return Problem(probs, np.where(right, predicted, rng.integers(0, m, n)))


def keep_off_edges(probs: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> None:
    """Replace rows whose confidence is within rounding of an edge by one that is not.

    Libraries differ in which bin owns an edge, and some round the edges to float32. There are
    tests of what calibrant does there; here all of them are to have the same bins.
    """
    scaled = probs.max(axis=1).astype(np.float64) * BINS
    near = np.abs(scaled - np.rint(scaled)) < 1e-5
    probs[near] = probs[np.argmin(near)]


@final
@dataclass(frozen=True, slots=True)
class Oracle:
    """Per occupied bin: share of the rows, mean confidence, accuracy; in float64."""

    share: np.ndarray[tuple[int], np.dtype[np.float64]]
    predicted: np.ndarray[tuple[int], np.dtype[np.float64]]
    observed: np.ndarray[tuple[int], np.dtype[np.float64]]

    @property
    def value(self) -> float:
        """Expected miscalibration."""
        return float((self.share * np.abs(self.observed - self.predicted)).sum())


def solve(problem: Problem) -> Oracle:
    """Do it in plain NumPy, literally."""
    confidence = problem.probs.max(axis=1).astype(np.float64)
    correct = problem.probs.argmax(axis=1) == problem.labels
    edges = np.arange(BINS + 1) / BINS
    bins = np.searchsorted(edges[1:-1], confidence, side="right")
    counts = np.bincount(bins, minlength=BINS)
    occupied = counts > 0
    sums = np.bincount(bins, confidence, BINS), np.bincount(bins, correct, BINS)
    means = [total[occupied] / counts[occupied] for total in sums]
    return Oracle(counts[occupied] / counts.sum(), *means)


def candidates(problem: Problem) -> dict[str, Callable[[], Any]]:
    """Return what is timed: the floor, ourselves and others, each on what it takes as input."""
    import torch
    from netcal.metrics import ECE
    from sklearn.calibration import calibration_curve
    from torchmetrics.functional.classification import multiclass_calibration_error

    probs, labels = problem.probs, problem.labels
    m = probs.shape[1]
    data = cal.Predictions(probs, labels)
    tensors = torch.from_numpy(probs), torch.from_numpy(labels)

    def one_thread() -> float:
        os.environ["CALIBRANT_THREADS"] = "1"
        try:
            return ESTIMATE(TOP(data))
        finally:
            del os.environ["CALIBRANT_THREADS"]

    def curve() -> tuple[Any, Any]:
        correct = probs.argmax(axis=1) == labels
        return calibration_curve(correct, probs.max(axis=1), n_bins=BINS)

    return {
        PASS: lambda: probs.max(axis=1),
        SUM: probs.sum,
        OURS: lambda: ESTIMATE(TOP(data)),
        OURS_RAW: lambda: ESTIMATE(TOP(cal.Predictions(probs, labels))),
        OURS_SERIAL: one_thread,
        TORCHMETRICS: lambda: float(multiclass_calibration_error(*tensors, m, n_bins=BINS)),
        NETCAL: lambda: ECE(BINS).measure(probs, labels),
        SKLEARN: curve,
    }


def check(tasks: dict[str, Callable[[], Any]], oracle: Oracle) -> None:
    """Refuse to time anything that is wrong."""
    for name, tolerance in TOLERANCE.items():
        error = abs(tasks[name]() - oracle.value)
        assert error <= tolerance, f"{name} is off by {error:.3g}"
    observed, predicted = tasks[SKLEARN]()  # its curve comes without counts, so compare that
    np.testing.assert_allclose(observed, oracle.observed, rtol=0, atol=1e-6)
    np.testing.assert_allclose(predicted, oracle.predicted, rtol=0, atol=1e-6)


def report() -> str:
    """Return the section as Markdown."""
    text = (
        f"Top label, EqualWidth({BINS}), total variation, float32. *One pass* is the time that"
        " NumPy needs for `probs.max(axis=1)` on the same array, on one thread. Each task runs"
        f" once in each of {ROUNDS} rounds, one after the other, and its fastest run counts."
        " Before that, every result is compared with plain NumPy in float64: calibrant agrees to"
        " 1e-9, netcal and scikit-learn to 1e-6, torchmetrics, which sums in float32, to 1e-4."
        " *From Predictions* includes the lens; *from arrays* also includes the checks of the"
        " input, which find every row's top class and copy nothing. Memory is the peak beyond the"
        " input, as NumPy reports it, in units of the input (predictions and labels); torch does"
        " not report it."
    )
    return "\n\n".join(["## Point estimate", text, *(section(n, m) for n, m in SHAPES)])


def section(n: int, m: int) -> str:
    """Check, measure and report one shape."""
    problem = make_problem(n, m)
    tasks = candidates(problem)
    check(tasks, solve(problem))
    best = timing.best(timing.interleaved(tasks, ROUNDS))
    memory = {
        name: timing.peak_bytes(task) / problem.nbytes
        for name, task in tasks.items()
        if name != TORCHMETRICS
    }
    rows = [
        [
            name,
            timing.milliseconds(seconds),
            f"{seconds / best[PASS]:.2f}",
            f"{seconds / best[OURS]:.2f}",
            f"{memory[name]:.2f}" if name in memory else "",
        ]
        for name, seconds in best.items()
    ]
    return "\n\n".join(
        [
            f"### {n:,} rows × {m:,} classes",
            timing.table(["", "time", "passes", "× calibrant", "memory"], rows),
            "\n".join(bars(best, memory, m)),
        ]
    )


def from_arrays(best: dict[str, float], m: int) -> str:
    """Say whether the bar of an estimate with the checks of the input is met."""
    peer = min(best[name] for name in PEERS)
    if m <= 32:
        return timing.verdict(
            f"from arrays at least {AHEAD:g} times as fast as every other library",
            AHEAD * best[OURS_RAW] <= peer,
        )
    return timing.verdict(
        f"from arrays ahead of every other library, and in {SUMS:g} times of summing the array",
        best[OURS_RAW] < peer and best[OURS_RAW] <= SUMS * best[SUM],
    )


def bars(best: dict[str, float], memory: dict[str, float], m: int) -> list[str]:
    """Say which bars are met."""
    return [
        timing.verdict(
            f"at most {PASSES:g} passes from Predictions", best[OURS] <= PASSES * best[PASS]
        ),
        timing.verdict(
            "faster than every other library", best[OURS] < min(best[peer] for peer in PEERS)
        ),
        from_arrays(best, m),
        timing.verdict(
            f"at most {MEMORY:g} inputs of memory, from arrays", memory[OURS_RAW] <= MEMORY
        ),
    ]
