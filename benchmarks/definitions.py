"""Where published software differs from its own definition: one small case each.

Writes docs/peers.md. Every case has a value that can be worked out by hand or by another way of
computing the same definition.

Usage: .venv-bench/bin/python -m benchmarks.definitions
"""

import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

import calibrant as cal
from calibrant import partitions, statistics

PAGE = Path(__file__).parents[1] / "docs" / "peers.md"

HEAD = """# Other software

Most libraries for calibration are right most of the time. Where one gives another number than its
definition says, we looked for the reason and for the smallest case that shows it. `make peers` runs
all of them again and writes this page; new versions may differ.

| software | case | its value | by the definition | calibrant | why |
|---|---|--:|--:|--:|---|
"""
TAIL = """
How each library treats limits of bins, ties, zeros, ones and empty bins is in
[conventions](conventions.md), speed in [benchmarks](benchmarks.md), and what each measure detects
and misses in [which measure?](measures.md).
"""


class Case(NamedTuple):
    """One line of the table."""

    package: str
    what: str
    theirs: float
    expected: float
    ours: float
    why: str

    def line(self) -> str:
        numbers = " | ".join(f"{x:.4g}" for x in (self.theirs, self.expected, self.ours))
        name = f"{self.package} {version(self.package)}"
        return f"| {name} | {self.what} | {numbers} | {self.why} |"


def smooth_at_the_edge() -> Case:
    import relplot

    p = np.repeat([1.0, 0.5], 500)
    y = np.concatenate([np.repeat([1, 0], [450, 50]), np.repeat([1, 0], 250)])
    ours = statistics.SmoothMiscalibration()(cal.Predictions(p, y))
    return Case(
        "relplot",
        "SmoothECE; half of the rows at p = 1, of which 90 % occur, half calibrated at 0.5",
        relplot.smECE(f=p, y=y),
        0.05,
        ours,
        "the last point of its grid is not mirrored, so half of its mass is lost",
    )


def kuiper_starts_at_zero() -> Case:
    from mapie.metrics.calibration import kuiper_statistic, length_scale

    p, y = np.array([0.2, 0.4, 0.6, 0.8]), np.ones(4, int)
    return Case(
        "mapie",
        "Kuiper's range; p = 0.2, 0.4, 0.6, 0.8, and all occur: the path climbs by 2.0 / 4",
        kuiper_statistic(y, p) * length_scale(p),
        0.5,
        statistics.CutoffMiscalibration()(cal.Predictions(p, y)),
        "the path does not begin at 0, so its first step is not seen",
    )


def spiegelhalter_has_two_sides() -> Case:
    from mapie.metrics.calibration import spiegelhalter_p_value

    p = np.repeat([0.3, 0.7], 500)
    y = np.concatenate([np.repeat([1, 0], [50, 450]), np.repeat([1, 0], [450, 50])])
    data = cal.Predictions(p, y)
    return Case(
        "mapie",
        "p-value of Spiegelhalter's test; 1000 rows at 0.3 and 0.7, of which 10 % and 90 % occur",
        spiegelhalter_p_value(y, p),
        statistics.Spiegelhalter().pvalue(data),
        cal.calibration_test(data, statistics.Spiegelhalter(), rng=0).pvalue,
        "one-sided: a model that is not confident enough is never seen; calibrant's p-value is the"
        " smallest that 999 resamples allow",
    )


def debiased_is_not_cut() -> Case:
    import calibration

    rng = np.random.default_rng(0)
    theirs, ours, trials = 0.0, 0.0, 200
    squared = statistics.SquaredMiscalibration(partitions.EqualMass(15))
    for _ in range(trials):
        probs = rng.dirichlet(np.ones(10), 1000)
        labels = (probs.cumsum(axis=1) < rng.random(1000)[:, None]).sum(axis=1)
        found = calibration.get_calibration_error(probs, labels, p=2, debias=True, mode="marginal")
        theirs += found**2 / trials
        data = cal.Predictions(probs, labels)
        seen = [squared(cal.lenses.Marginal(j)(data)) / 2 for j in range(10)]
        ours += float(np.mean(seen)) / trials
    return Case(
        "uncertainty-calibration",
        "debiased squared error of calibrated models, 10 classes, 1000 rows, mean of 200 data sets",
        theirs,
        0.0,
        ours,
        "the error of every class is cut at 0 before the mean, which brings the bias back",
    )


def counts_of_many_rows() -> Case:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    n = 40_000_000
    p = torch.full((n,), 0.75)
    y = torch.ones(n, dtype=torch.int32)
    y[n // 2 :] = 0
    data = cal.Predictions(p.numpy(), y.numpy())
    return Case(
        "torchmetrics",
        "expected calibration error; 40 million rows at 0.75, of which half occur",
        float(binary_calibration_error(p, y, n_bins=10)),
        0.25,
        statistics.ExpectedMiscalibration(partitions.EqualWidth(10))(data),
        "sums of a bin are kept in float32, which counts to 16,777,216",
    )


CASES: tuple[Callable[[], Case], ...] = (
    smooth_at_the_edge,
    kuiper_starts_at_zero,
    spiegelhalter_has_two_sides,
    debiased_is_not_cut,
    counts_of_many_rows,
)


def main() -> None:
    """Print the table, and write the page."""
    lines = []
    for make in CASES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lines.append(make().line())
        print(lines[-1], flush=True)
    PAGE.write_text(HEAD + "\n".join(lines) + "\n" + TAIL, "utf-8")


if __name__ == "__main__":
    main()
