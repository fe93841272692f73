"""Every class at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import tables, words
from calibrant.checks.seeds import Rng, as_seed
from calibrant.distances import Distance, name_of, total_variation
from calibrant.inference.adjustment import max_t
from calibrant.inference.class_cells import class_values
from calibrant.inference.plans import (
    Plan,
    Progress,
    Settings,
    check_progress,
    check_resamples,
    part,
)
from calibrant.inference.problem import Problem
from calibrant.inference.pvalues import pvalue
from calibrant.inference.replicates import values_and_replicates
from calibrant.inference.scanned_classes import scanned_classes
from calibrant.lenses import Marginal
from calibrant.partitions import EqualWidth, Partition
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.scanning import Scan
from calibrant.spelling import as_distance, as_partition
from calibrant.statistics import ExpectedMiscalibration, Statistic
from calibrant.verbs import check_data, takes_arrays

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Classwise(tables.Tabular):
    """The expected miscalibration of every marginal.

    Parameters
    ----------
    classes : tuple of str
        Names of the m classes.
    values : array of shape (m,)
        Expected miscalibration of each class against the rest.
    null : array of shape (m, n_resamples)
        The same for labels drawn from the predictions, jointly for all classes; no columns if
        only the estimates were asked for.
    settings : mapping
        What it was made with.
    together : callable, optional
        Adjusts p-values further, for what else is tested beside these classes.
    """

    classes: tuple[str, ...]
    values: Floats
    null: Floats
    settings: Settings
    together: Callable[[Floats], Floats] | None = None

    @property
    def mean(self) -> float:
        """Mean over the classes: the classwise error of the literature."""
        return float(self.values.mean())

    @property
    def mean_pvalue(self) -> float:
        """P-value of the mean: the hypothesis that all marginals are calibrated."""
        p = np.array(pvalue(self.mean, self.null.mean(axis=0)))
        return float(p if self.together is None else self.together(p))

    @property
    def pvalues(self) -> Floats:
        """P-value of each class (m,)."""
        return np.asarray(pvalue(self.values, self.null))

    @property
    def adjusted_pvalues(self) -> Floats:
        """P-values adjusted for the number of classes (m,): step-down max-T on joint draws."""
        found = max_t(self.values, self.null)
        return found if self.together is None else self.together(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers; no p-values if only the estimates were asked for."""
        found: dict[str, Any] = {
            "classes": list(self.classes),
            "values": self.values.tolist(),
            "mean": self.mean,
            "n_resamples": self.null.shape[1],
            "settings": dict(self.settings),
        }
        if self.null.size:
            found |= {
                "null_means": self.null.mean(axis=1).tolist(),
                "pvalues": self.pvalues.tolist(),
                "adjusted_pvalues": self.adjusted_pvalues.tolist(),
                "mean_pvalue": self.mean_pvalue,
            }
        return found

    def lines(self) -> tuple[list[str], list[list[str]]]:
        """Return header and lines of the table, the worst class first."""
        if not self.null.size:
            order = np.argsort(-self.values, kind="stable")
            return ["class", "estimate"], [
                [self.classes[j], f"{self.values[j]:.4f}"] for j in order
            ]
        lines = [
            [self.classes[j], f"{self.values[j]:.4f}", f"{null:.4f}", f"{p:.3g}", f"{q:.3g}"]
            for j, null, p, q in zip(
                range(len(self.classes)),
                self.null.mean(axis=1),
                self.pvalues,
                self.adjusted_pvalues,
                strict=True,
            )
        ]
        order = np.lexsort((-self.values, self.adjusted_pvalues))
        header = ["class", "estimate", "if calibrated", "p", "adjusted p"]
        return header, [lines[j] for j in order]

    def records(self) -> list[dict[str, Any]]:
        """Return one record a class."""
        columns = {"class": list(self.classes), "estimate": self.values.tolist()}
        if self.null.size:
            columns |= {
                "null_mean": self.null.mean(axis=1).tolist(),
                "pvalue": self.pvalues.tolist(),
                "adjusted_pvalue": self.adjusted_pvalues.tolist(),
            }
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def __repr__(self) -> str:
        return f"<classes: {self}>"

    def __str__(self) -> str:
        text = f"mean miscalibration of {len(self.classes)} classes: {self.mean:.4g}"
        if not self.null.size:
            return text
        return f"{text}, {words.pvalue(self.mean_pvalue, self.null.shape[1], ' ')}"


@takes_arrays
def classwise(
    data: Predictions | Scan,
    partition: Partition | str = EqualWidth(15),
    distance: Distance | str = total_variation,
    *,
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Classwise:
    """Return the expected miscalibration of all m marginals, Eq. (3), with their tests.

    The same as ``ExpectedMiscalibration(partition, distance)`` through ``Marginal(j)`` for
    every class j, with the same labels drawn, in one sweep over the array.

    Parameters
    ----------
    data : Predictions or Scan
        Predictions and outcomes.
    partition : Partition, default EqualWidth(15)
        Cells of each marginal; for `EqualWidth` there is no loop over classes. A Scan takes no
        other.
    distance : callable, default total_variation
        Function of two distributions.
    n_resamples : int, default 999
        Number of data sets with labels drawn from the predictions, jointly for all classes; 0
        for the estimates alone.
    rng : int, Generator or None
        The same seed gives the same draws.
    progress : callable, optional
        Function of (done, total), called now and then.

    Returns
    -------
    Classwise

    Examples
    --------
    >>> data = Predictions([[0.5, 0.5, 0.0]] * 40, [0] * 30 + [1] * 10)
    >>> found = classwise(data, rng=0)
    >>> found.values.tolist(), found.adjusted_pvalues.round(3).tolist()
    ([0.25, 0.25, 0.0], [0.003, 0.003, 1.0])
    """
    check_data(data, scans=True)
    partition, distance = as_partition(partition), as_distance(distance)
    check_progress(progress)
    resampler = Exact().respecting(data)
    plan = Plan(resampler, check_resamples(n_resamples, least=0), as_seed(rng), progress)
    if isinstance(data, Scan):
        values, null = scanned_classes(data, partition, distance, plan)
    else:
        values, null = class_values(data, partition, distance, plan)
        if resampler.flips_signs:
            null = _flipped(data, ExpectedMiscalibration(partition, distance), plan)
    made_with = plan.settings(partition=partition, distance=name_of(distance))
    return Classwise(data.classes, values, null, made_with)


def _flipped(data: Predictions, statistic: Statistic, plan: Plan) -> Floats:
    """Return the null (m, n_resamples) of rows in clusters, whose signs all classes share."""
    null = np.empty((data.m, plan.n_resamples))
    for j in range(data.m if plan.n_resamples else 0):
        mine = replace(plan, progress=part(plan.progress, j, data.m))
        problem = Problem.of(data, Marginal(j), plan.resampler, plan.key)
        null[j] = values_and_replicates(problem, [statistic], mine)[1][0]
    return null
