"""The grid of Tables 3–5: lens × partition × distance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import bin_predictions
from calibrant.checks.seeds import Rng, derive, make_key
from calibrant.distances import Distance, euclidean, total_variation
from calibrant.inference import table
from calibrant.inference.arguments import (
    check_data,
    check_lens,
    check_progress,
    check_resamples,
    several,
)
from calibrant.inference.pvalues import holm, pvalue, spread
from calibrant.inference.replicates import Plan, Progress, check_hypothesis, part, replicates
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.partitions import EqualWidth, Partition, VarianceTree
from calibrant.predictions import Predictions
from calibrant.resampling import Bootstrap, Exact, Resampler
from calibrant.statistics import ExpectedMiscalibration

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class EvaluationRow:
    """One combination of lens, partition and distance.

    Parameters
    ----------
    lens, partition, distance : the combination
    n_cells : number of cells that hold rows
    value : the expected miscalibration
    null : (n_resamples,) the same for data sets drawn from the predictions
    replicates : (n_bootstrap,) the same for rows drawn again
    adjusted_pvalue : adjusted for the number of rows of the table (Holm)
    """

    lens: Lens
    partition: Partition
    distance: Distance
    n_cells: int
    value: float
    null: Floats
    replicates: Floats
    adjusted_pvalue: float

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that the predictions are calibrated through this lens."""
        return float(pvalue(self.value, self.null))

    @property
    def standard_error(self) -> float:
        """Bootstrap standard error of the value; nan if a replicate is infinite."""
        return spread(self.replicates, ddof=1)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "lens": str(self.lens),
            "partition": str(self.partition),
            "distance": distance_name(self.distance),
            "n_cells": self.n_cells,
            "estimate": self.value,
            "standard_error": self.standard_error,
            "null_mean": float(self.null.mean()),
            "null_sd": spread(self.null),
            "pvalue": self.pvalue,
            "adjusted_pvalue": self.adjusted_pvalue,
        }

    def cells(self) -> list[str]:
        """Return the texts of a line of the table."""
        return [
            str(self.lens),
            str(self.partition),
            distance_name(self.distance),
            str(self.n_cells),
            f"{self.value:.4f} ± {self.standard_error:.4f}",
            f"{self.null.mean():.4f} ± {spread(self.null):.4f}",
            f"{self.pvalue:.3g}",
            f"{self.adjusted_pvalue:.3g}",
        ]


LARGE = 1_000_000  # probabilities beyond which standard errors are made with less work

HEADER = ("lens", "partition", "distance", "cells", "estimate", "if calibrated", "p", "adjusted p")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Estimates, null distributions and p-values of a grid of combinations.

    Parameters
    ----------
    rows : one for each combination
    n, m : rows and classes of the data
    """

    rows: tuple[EvaluationRow, ...]
    n: int
    m: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {"n": self.n, "m": self.m, "rows": [row.to_dict() for row in self.rows]}

    def table(self) -> str:
        """Return the table as text."""
        return table.text(HEADER, [row.cells() for row in self.rows])

    def _repr_html_(self) -> str:
        return table.html(HEADER, [row.cells() for row in self.rows])

    def __str__(self) -> str:
        rejected = sum(row.adjusted_pvalue <= 0.05 for row in self.rows)
        rows = "row" if self.n == 1 else "rows"
        return (
            f"evaluation of {self.n:,} {rows} and {self.m} classes: {rejected} of {len(self.rows)}"
            " combinations reject calibration at 5 % (Holm)"
        )


def default_lenses(data: Predictions) -> tuple[Lens, ...]:
    """Return the canonical lens and, for more than two classes, the top label."""
    return (Canonical(),) if data.m == 2 else (Canonical(), TopLabel())


def default_partitions(data: Predictions) -> tuple[Partition, ...]:
    """Return ten equal widths, and a tree that splits nodes of 1000, or a tenth of all rows.

    With weights, the tree splits at what so many rows weigh on average. Those of weight 0 do
    not count.
    """
    n = int(np.count_nonzero(data.weights))
    size = max(2, min(1000, n // 10))
    weight = float(f"{size * data.weights.sum() / n:.3g}") if data.weighted else size
    return (EqualWidth(10), VarianceTree(weight))


def bootstraps(data: Predictions) -> int:
    """Return how many data sets to draw for standard errors: fewer of large data."""
    return 200 if data.probs.size <= LARGE else 50


def evaluate(
    data: Predictions,
    *,
    lenses: Sequence[Lens] | None = None,
    partitions: Sequence[Partition] | None = None,
    distances: Sequence[Distance] = (total_variation, euclidean),
    resampler: Resampler = Exact(),
    n_resamples: int = 999,
    n_bootstrap: int = 200,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate calibration in several respects at once: the grid of Tables 3–5.

    For each lens, partition and distance: the expected miscalibration with its bootstrap
    standard error, its mean and standard deviation if the model were calibrated, a p-value,
    and the p-value adjusted for the number of combinations (Holm). Combinations that share a
    lens and a partition share their draws.

    Parameters
    ----------
    data : Predictions
    lenses : default: canonical and, for more than two classes, top label
    partitions : default: EqualWidth(10) and VarianceTree(1000), or of a tenth of the rows if
        that is less
    distances : functions of two distributions
    resampler : draws data sets under the hypothesis
    n_resamples : number of data sets drawn under the hypothesis
    n_bootstrap : number of data sets with rows drawn again, for the standard errors; up to a
        million probabilities a data-dependent partition is fitted to each of them
    rng : seed, generator or None
    progress : function of (done, total), called now and then

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.01, 0.99, 500)
    >>> labels = np.arange(500) * 0.618 % 1 < p
    >>> print(evaluate(Predictions(p, labels), rng=0))
    evaluation of 500 rows and 2 classes: 0 of 4 combinations reject calibration at 5 % (Holm)
    """
    check_data(data)
    check_hypothesis(resampler)
    n_resamples = check_resamples(n_resamples)
    n_bootstrap = check_resamples(n_bootstrap, least=2, name="n_bootstrap")
    check_progress(progress)
    lenses = default_lenses(data) if lenses is None else several("lenses", lenses)
    partitions = (
        default_partitions(data) if partitions is None else several("partitions", partitions)
    )
    distances = several("distances", distances)
    for lens in lenses:
        check_lens(lens)
    key = make_key(rng)
    grid = [(lens, partition) for lens in lenses for partition in partitions]
    rows: list[EvaluationRow] = []
    for number, (lens, partition) in enumerate(grid):
        first, second = (part(progress, 2 * number + half, 2 * len(grid)) for half in (0, 1))
        plan = Plan(resampler, n_resamples, derive(key, 2, number), first)
        refit = data.probs.size <= LARGE
        bootstrap = Plan(Bootstrap(refit), n_bootstrap, derive(key, 3), second)
        rows += _evaluate_cells(data, lens, partition, distances, (plan, bootstrap))
    adjusted = holm([row.pvalue for row in rows])
    return Evaluation(
        tuple(
            replace(row, adjusted_pvalue=float(p)) for row, p in zip(rows, adjusted, strict=True)
        ),
        data.n,
        data.m,
    )


def _evaluate_cells(
    data: Predictions,
    lens: Lens,
    partition: Partition,
    distances: Sequence[Distance],
    plans: tuple[Plan, Plan],
) -> list[EvaluationRow]:
    induced = lens(data)
    statistics = [ExpectedMiscalibration(partition, distance) for distance in distances]
    binned = bin_predictions(induced, partition)
    null, resampled = (replicates(data, statistics, lens, plan, binned) for plan in plans)
    return [
        EvaluationRow(
            lens=lens,
            partition=partition,
            distance=statistic.distance,
            n_cells=int((binned.mass > 0).sum()),
            value=statistic.evaluate(binned, induced.labels),
            null=null[s],
            replicates=resampled[s],
            adjusted_pvalue=1.0,
        )
        for s, statistic in enumerate(statistics)
    ]


def distance_name(distance: Distance) -> str:
    """Return the name of a distance in words."""
    return getattr(distance, "__name__", "distance").replace("_", " ")
