"""The grid of Tables 3–5: lens × partition × distance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import tables
from calibrant.checks.seeds import Rng, derive
from calibrant.distances import Distance, euclidean, name_of, total_variation
from calibrant.inference.adjustment import min_p
from calibrant.inference.grids import Grid
from calibrant.inference.plans import (
    Plan,
    Progress,
    Settings,
    part,
)
from calibrant.inference.problem import Problem, check_hypothesis
from calibrant.inference.pvalues import pvalue, spread
from calibrant.inference.replicates import values_and_replicates
from calibrant.lenses import Lens
from calibrant.partitions import Partition
from calibrant.predictions import Predictions, check_data
from calibrant.resampling import Bootstrap, Exact, Resampler
from calibrant.statistics import ExpectedMiscalibration, Shared

Floats = NDArray[np.float64]

HEADER = ("lens", "partition", "distance", "cells", "estimate", "if calibrated", "p", "adjusted p")
BOOTSTRAPS = 200  # data sets for standard errors


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EvaluationRow:
    """One combination of lens, partition and distance.

    Parameters
    ----------
    lens : Lens
        What aspect is looked at.
    partition : Partition
        The cells.
    distance : callable
        Compares outcome frequencies with mean predictions.
    n_cells : int
        Number of cells that hold rows.
    value : float
        The expected miscalibration.
    null : array of shape (n_resamples,)
        The same for data sets drawn from the predictions.
    replicates : array of shape (n_bootstrap,)
        The same for rows drawn again.
    adjusted_pvalue : float
        Adjusted for the number of rows of the table, step-down min-P on their joint draws.
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
            "distance": name_of(self.distance),
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
            name_of(self.distance),
            str(self.n_cells),
            f"{self.value:.4f} ± {self.standard_error:.4f}",
            f"{self.null.mean():.4f} ± {spread(self.null):.4f}",
            f"{self.pvalue:.3g}",
            f"{self.adjusted_pvalue:.3g}",
        ]

    def __repr__(self) -> str:
        return f"<{', '.join(self.cells())}>"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation:
    """Estimates, null distributions and p-values of a grid of combinations.

    Parameters
    ----------
    rows : tuple of EvaluationRow
        One for each combination.
    n : int
        Rows of the data.
    m : int
        Classes of the data.
    settings : mapping
        What it was made with.
    """

    rows: tuple[EvaluationRow, ...]
    n: int
    m: int
    settings: Settings

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        rows = [row.to_dict() for row in self.rows]
        return {"n": self.n, "m": self.m, "rows": rows, "settings": dict(self.settings)}

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """Return one row a combination as a data frame of polars or pandas."""
        return tables.frame([row.to_dict() for row in self.rows], backend)

    def table(self) -> str:
        """Return the table as text."""
        return tables.text(HEADER, [row.cells() for row in self.rows])

    def _repr_html_(self) -> str:
        return tables.html(HEADER, [row.cells() for row in self.rows])

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        rejected = sum(row.adjusted_pvalue <= 0.05 for row in self.rows)
        rows = "row" if self.n == 1 else "rows"
        return (
            f"evaluation of {self.n:,} {rows} and {self.m} classes: {rejected} of {len(self.rows)}"
            " combinations reject calibration at 5 % (adjusted)"
        )


def evaluate(
    data: Predictions,
    *,
    lenses: Sequence[Lens] | None = None,
    partitions: Sequence[Partition] | None = None,
    distances: Sequence[Distance] = (total_variation, euclidean),
    resampler: Resampler = Exact(),
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate calibration in several respects at once: the grid of Tables 3–5.

    For each lens, partition and distance: the expected miscalibration with its bootstrap
    standard error, its mean and standard deviation if the model were calibrated, a p-value,
    and the p-value adjusted for the number of combinations. All combinations see the same draws,
    so the adjustment is exact (step-down min-P of Westfall and Young), and combinations that are
    the same test count once. Standard errors come from 200 further data sets, or `n_resamples`
    if that is less, on the cells of the data.

    Parameters
    ----------
    data : Predictions
        Predictions and outcomes.
    lenses : sequence of Lens, optional
        Default: canonical and, for more than two classes, top label.
    partitions : sequence of Partition, optional
        Default: EqualWidth(10) and VarianceTree(1000), or of a tenth of the rows if that is
        less.
    distances : sequence of callable
        Functions of two distributions.
    resampler : Resampler, default Exact()
        Draws data sets under the hypothesis.
    n_resamples : int, default 999
        Number of data sets drawn under the hypothesis.
    rng : int, Generator or None
        The same seed gives the same draws.
    progress : callable, optional
        Function of (done, total), called now and then.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.01, 0.99, 500)
    >>> labels = np.arange(500) * 0.618 % 1 < p
    >>> print(evaluate(Predictions(p, labels), rng=0))
    evaluation of 500 rows and 2 classes: 0 of 4 combinations reject calibration at 5 % (adjusted)
    """
    check_data(data)
    grid = Grid.of(data, lenses, partitions, distances)
    plan = Plan.of(resampler, n_resamples, rng, progress)
    return on_grid(data, grid, plan, max(2, min(BOOTSTRAPS, plan.n_resamples)))


def on_grid(data: Predictions, grid: Grid, plan: Plan, n_bootstrap: int) -> Evaluation:
    """Evaluate all combinations, with standard errors from so many data sets."""
    again = Plan(Bootstrap(refit=False), n_bootstrap, int(derive(plan.key, 3)))
    found = []
    for number, lens in enumerate(grid.lenses):
        steps = [part(plan.progress, 2 * number + half, 2 * len(grid.lenses)) for half in (0, 1)]
        plans = [replace(p, progress=step) for p, step in zip((plan, again), steps, strict=True)]
        found += _through(data, lens, grid.statistics, plans)
    values, null = (
        np.array([row["value"] for row in found]),
        np.stack([row["null"] for row in found]),
    )
    adjusted = min_p(values, null)
    rows = [
        EvaluationRow(**row, adjusted_pvalue=float(p))
        for row, p in zip(found, adjusted, strict=True)
    ]
    made_with = plan.settings(**grid.settings(), n_bootstrap=n_bootstrap)
    return Evaluation(tuple(rows), data.n, data.m, made_with)


def _through(
    data: Predictions,
    lens: Lens,
    statistics: Sequence[ExpectedMiscalibration],
    plans: Sequence[Plan],
) -> list[dict[str, Any]]:
    """Return what is known of each statistic through one lens, but for the adjustment."""
    null_plan, again = plans
    shared = Shared(lens(data))
    problems = [Problem(data, lens, plan.resampler, plan.key, shared) for plan in plans]
    check_hypothesis(problems[0])
    values, null = values_and_replicates(problems[0], statistics, null_plan)
    _, replicates = values_and_replicates(problems[1], statistics, again)
    return [
        {
            "lens": lens,
            "partition": statistic.partition,
            "distance": statistic.distance,
            "n_cells": int((shared.cells(statistic.partition).mass > 0).sum()),
            "value": values[s],
            "null": null[s],
            "replicates": replicates[s],
        }
        for s, statistic in enumerate(statistics)
    ]
