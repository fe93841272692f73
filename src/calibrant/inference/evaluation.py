"""The grid of Tables 3–5: lens × partition × distance."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import tables
from calibrant.checks.seeds import Rng, derive
from calibrant.distances import Distance, euclidean, name_of, total_variation
from calibrant.inference.plans import (
    Plan,
    Progress,
    Settings,
    part,
    settings,
)
from calibrant.inference.problem import Problem, check_hypothesis
from calibrant.inference.pvalues import holm, pvalue, spread
from calibrant.inference.replicates import values_and_replicates
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.lenses.lens import check_lens
from calibrant.partitions import EqualWidth, Partition, VarianceTree
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
        Adjusted for the number of rows of the table (Holm).
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


@final
@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Every combination of lens, partition and distance.

    Parameters
    ----------
    lenses : tuple of Lens
        What aspects are looked at.
    partitions : tuple of Partition
        The cells.
    distances : tuple of callable
        Functions of two distributions.
    """

    lenses: tuple[Lens, ...]
    partitions: tuple[Partition, ...]
    distances: tuple[Distance, ...]

    @classmethod
    def of(cls, data: Predictions, lenses: Any, partitions: Any, distances: Any) -> "Grid":
        """Check what was chosen, and choose where nothing was."""
        chosen = default_lenses(data) if lenses is None else as_tuple("lenses", lenses)
        cut = default_partitions(data) if partitions is None else as_tuple("partitions", partitions)
        for lens in chosen:
            check_lens(lens)
        return cls(chosen, cut, as_tuple("distances", distances))

    @property
    def statistics(self) -> list[ExpectedMiscalibration]:
        """The statistics that are looked at through each lens."""
        pairs = [(p, d) for p in self.partitions for d in self.distances]
        return [ExpectedMiscalibration(partition, distance) for partition, distance in pairs]

    def settings(self) -> dict[str, Any]:
        """Return the choices for the settings of a result."""
        names = [name_of(distance) for distance in self.distances]
        return {"lenses": self.lenses, "partitions": self.partitions, "distances": names}


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
    and the p-value adjusted for the number of combinations (Holm). All combinations see the same
    draws. Standard errors come from 200 further data sets, or `n_resamples` if that is less, on
    the cells of the data.

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
    evaluation of 500 rows and 2 classes: 0 of 4 combinations reject calibration at 5 % (Holm)
    """
    check_data(data)
    grid = Grid.of(data, lenses, partitions, distances)
    plan = Plan.of(resampler, n_resamples, rng, progress)
    return on_grid(data, grid, plan, max(2, min(BOOTSTRAPS, plan.n_resamples)), rng)


def on_grid(data: Predictions, grid: Grid, plan: Plan, n_bootstrap: int, rng: Rng) -> Evaluation:
    """Evaluate all combinations, with standard errors from so many data sets."""
    again = Plan(Bootstrap(refit=False), n_bootstrap, derive(plan.key, 3))
    found = []
    for number, lens in enumerate(grid.lenses):
        steps = [part(plan.progress, 2 * number + half, 2 * len(grid.lenses)) for half in (0, 1)]
        plans = [replace(p, progress=step) for p, step in zip((plan, again), steps, strict=True)]
        found += _through(data, lens, grid.statistics, plans)
    adjusted = holm([pvalue(row["value"], row["null"]) for row in found])
    rows = [
        EvaluationRow(**row, adjusted_pvalue=float(p))
        for row, p in zip(found, adjusted, strict=True)
    ]
    made_with = settings(
        rng,
        **grid.settings(),
        resampler=plan.resampler,
        n_resamples=plan.n_resamples,
        n_bootstrap=n_bootstrap,
    )
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


def as_tuple(name: str, values: Any) -> tuple[Any, ...]:
    """Return a list as a tuple; refuse an empty one, and what is no list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"`{name}` must be a list; found {values!r}.")
    found = tuple(values)
    if not found:
        raise ValueError(f"`{name}` must not be empty.")
    return found
