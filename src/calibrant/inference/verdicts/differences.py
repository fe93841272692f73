"""Which of two models is further off, without bias and without choosing by chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import erfc, sqrt
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.replicates.problem import Problem
from calibrant.inference.testing.families import default_tree
from calibrant.inference.testing.pvalues import holm
from calibrant.inference.verdicts.verdict import Verdict
from calibrant.lenses import Lens
from calibrant.statistics import SquaredMiscalibration
from calibrant.statistics.squared import influence
from calibrant.words import ALPHA, capital, pvalue

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """The squared miscalibration of a model through a lens, and what each row adds to it."""

    value: float
    influence: Floats  # (n,)
    weights: Floats  # (n,)
    clusters: NDArray[np.int32] | None  # (n,)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Difference:
    """How much further one model is off than another, as seen through a lens.

    Parameters
    ----------
    first, second : str
        Names of the models.
    verdicts : tuple of Verdict
        What is known of each.
    value : float
        Squared miscalibration of the first minus that of the second, both without bias.
    standard_error : float
        Of the difference; of the same rows, if the models are paired.
    adjusted_pvalue : float
        Two-sided, adjusted by Holm's procedure for all pairs and lenses of a comparison.
    """

    first: str
    second: str
    verdicts: tuple[Verdict, Verdict]
    value: float
    standard_error: float
    adjusted_pvalue: float = 1.0

    @property
    def lens(self) -> Lens:
        """The aspect that is compared."""
        return self.verdicts[0].lens

    @property
    def pvalue(self) -> float:
        """Two-sided p-value of a normal deviation of so many standard errors."""
        if self.standard_error == 0:
            return 1.0 if self.value == 0 else 0.0
        return erfc(abs(self.value) / self.standard_error / sqrt(2.0))

    @property
    def worse(self) -> str | None:
        """The model that is shown to be further off; None if neither is.

        It must be shown to be miscalibrated, and further off than the other one.
        """
        more = 0 if self.value > 0 else 1
        if self.adjusted_pvalue <= ALPHA and self.verdicts[more].rejected:
            return (self.first, self.second)[more]
        return None

    @property
    def conclusion(self) -> str:
        """Say what may and what may not be concluded."""
        names = self.first, self.second
        off = [verdict.rejected for verdict in self.verdicts]
        if self.worse is not None:
            other = self.second if self.worse == self.first else self.first
            return f"{self.worse} is further off than {other}"
        if all(off):
            which = " or ".join(names)
            return f"both are off, and the data do not tell whether {which} is more so"
        if any(off):
            bad, other = names if off[0] else names[::-1]
            return (
                f"{bad} is shown to be miscalibrated and {other} is not, but the data do not tell"
                f" that {bad} is further off"
            )
        return self._undecided()

    def _undecided(self) -> str:
        """Say what is concluded if neither is off."""
        first, second = self.verdicts
        if first.decided and second.decided:
            return "neither is shown to be miscalibrated"
        return "cannot tell whether either is miscalibrated"

    @property
    def sentence(self) -> str:
        """The conclusion, with its numbers."""
        first, second = self.verdicts
        told = ""
        if first.size is not None and second.size is not None:
            told = f"{self.first} {first.amount}, {self.second} {second.amount}; "
        p = pvalue(self.adjusted_pvalue)
        return f"{capital(self.verdicts[0].subject)}: {self.conclusion} ({told}{p}, adjusted)."

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "first": self.first,
            "second": self.second,
            "lens": str(self.lens),
            "difference": self.value,
            "standard_error": self.standard_error,
            "pvalue": self.pvalue,
            "adjusted_pvalue": self.adjusted_pvalue,
            "worse": self.worse,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"<difference {self.first} minus {self.second}, {self.lens}: {self.value:+.4g}>"

    def __str__(self) -> str:
        return self.sentence


def size_of(problem: Problem) -> Size:
    """Return the squared miscalibration on the tree that verdicts use."""
    tree = default_tree(problem.seen)
    cells = problem.view.cells(tree)
    clusters = problem.view.clusters
    if clusters is None:
        value = SquaredMiscalibration(tree)(problem.seen)
    else:
        value = problem.draws.sums(cells).unbiased  # type: ignore[attr-defined]
    return Size(value, influence(cells), problem.seen.weights, clusters)


def differences(
    sizes: Mapping[str, Sequence[Size]],
    verdicts: Mapping[str, Sequence[Verdict]],
    *,
    paired: bool,
) -> tuple[Difference, ...]:
    """Compare every two models through every lens, adjusted together."""
    found = [
        Difference(first, second, (va, vb), a.value - b.value, _standard_error(a, b, paired=paired))
        for first, second in combinations(sizes, 2)
        for a, b, va, vb in zip(
            sizes[first], sizes[second], verdicts[first], verdicts[second], strict=True
        )
    ]
    adjusted = holm(np.array([one.pvalue for one in found]))
    pairs = zip(found, adjusted.tolist(), strict=True)
    return tuple(replace(one, adjusted_pvalue=p) for one, p in pairs)


def _standard_error(a: Size, b: Size, *, paired: bool) -> float:
    """Return the standard error of the difference of two sizes."""
    if paired and a.influence.size == b.influence.size:
        return sqrt(_variance(a._replace(influence=a.influence - b.influence)))
    return sqrt(_variance(a) + _variance(b))


def _variance(size: Size) -> float:
    """Return the variance of the weighted mean of the influence, from the scatter of clusters."""
    values, weights, total = size.influence, size.weights, size.weights.sum()
    gaps = weights * (values - weights @ values / total)
    if size.clusters is not None:
        gaps = np.bincount(size.clusters, gaps)
    return float((gaps**2).sum() / total**2)
