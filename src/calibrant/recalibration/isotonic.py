"""Isotonic regression: any increasing function, of one class or of each."""

from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np

from calibrant.calibration import isotonic
from calibrant.checks.parameters import brief, whole
from calibrant.predictions import Predictions
from calibrant.recalibration.map import (
    Array,
    Fields,
    Floats,
    Map,
    check_prior,
    numbers,
    present_rows,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """An increasing function from [0, 1] to [0, 1]: straight lines between points.

    Parameters
    ----------
    column : int
        The class whose probability it takes and gives.
    x, y : array of shape (points,)
        The points; x rises strictly, y does not fall. Before the first and after the last one the
        function is constant.

    Examples
    --------
    >>> Curve(1, [0.25, 0.75], [0.0, 1.0])(np.array([0.0, 0.5, 1.0])).tolist()
    [0.0, 0.5, 1.0]
    """

    column: int
    x: Floats
    y: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", whole("column", self.column, least=0))
        x = numbers("x", self.x, (None,))
        y = numbers("y", self.y, x.shape)
        if not x.size or (np.diff(x) <= 0).any():
            raise ValueError(f"`x` must rise; found {brief(x.tolist())}.")
        if (np.diff(y) < 0).any() or y[0] < 0 or y[-1] > 1:
            raise ValueError(
                f"`y` must be between 0 and 1 and not fall; found {brief(y.tolist())}."
            )
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def __call__(self, p: Array) -> Floats:
        """Return the function at p (k,).

        Each operation is monotone, and so is its rounding; hence the whole function is.
        """
        at = np.searchsorted(self.x, p, side="right") - 1
        left = np.clip(at, 0, None)
        right = np.clip(at + 1, None, self.x.size - 1)
        width = np.where(right > left, self.x[right] - self.x[left], 1.0)
        share = np.where(right > left, (p - self.x[left]) / width, 0.0)
        risen = self.y[left] + np.clip(share, 0.0, 1.0) * (self.y[right] - self.y[left])
        return np.asarray(np.minimum(risen, self.y[right]))


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IsotonicMap(Map):
    """Increasing functions of single probabilities.

    Parameters
    ----------
    classes : tuple of str
        Names of the m classes.
    curves : tuple of Curve
        One of two classes, whose complement the other gets; or one for each class, and then rows
        are divided by their sums. A row in which all functions are 0 stays what it was.

    Examples
    --------
    >>> IsotonicMap(("no", "yes"), (Curve(1, [0.0, 1.0], [0.25, 0.75]),))([[0.5, 0.5]]).tolist()
    [[0.5, 0.5]]
    """

    kind = "isotonic"

    classes: tuple[str, ...]
    curves: tuple[Curve, ...]

    def __post_init__(self) -> None:
        Map.__post_init__(self)
        found = [curve.column for curve in self.curves]
        if self.m == 2 and found in ([0], [1]):
            return
        if found != list(range(self.m)):
            raise ValueError(
                f"`curves` must be one for each of the {self.m} classes in their order; found those"
                f" of {found}."
            )

    def rows(self, probs: Array) -> Floats:
        out = np.empty(probs.shape)
        for curve in self.curves:
            out[:, curve.column] = curve(probs[:, curve.column])
        if len(self.curves) == 1:
            column = self.curves[0].column
            out[:, 1 - column] = 1.0 - out[:, column]
            return out
        total = out.sum(axis=1, keepdims=True)
        np.copyto(out, probs, where=total == 0)
        out /= out.sum(axis=1, keepdims=True)
        return out

    def fields(self) -> dict[str, Any]:
        curves = [{"column": c.column, "x": c.x.tolist(), "y": c.y.tolist()} for c in self.curves]
        return {"curves": curves}

    @classmethod
    def from_fields(cls, classes: tuple[str, ...], fields: Fields) -> Self:
        curves = fields.many("curves")
        return cls(classes, tuple(Curve(each["column"], each["x"], each["y"]) for each in curves))

    def __str__(self) -> str:
        steps = sum(curve.x.size for curve in self.curves)
        return f"isotonic, {steps} points"


@final
@dataclass(frozen=True, slots=True)
class Isotonic:
    r"""Isotonic regression of the outcomes (Zadrozny and Elkan 2002).

    The increasing function f of the probability p of a class with the least

    .. math:: \sum_i w_i (1[y_i = \text{class}] - f(p_i))^2,

    which has the least log loss too. For two classes f is fitted to the class that the problem is
    about, and the other gets the complement. For more classes each gets its own f, one against
    the rest, and rows are divided by their sums.

    Parameters
    ----------
    prior : float, optional
        How much a prediction counts beside what was fitted (`Method`): f becomes
        (f + prior p) / (1 + prior). Then it is 0 only where the prediction is.

    Notes
    -----
    Equal predictions are pooled first, then neighbours that fall: the pool-adjacent-violators
    algorithm, linear in the number of rows once they are sorted. Between predictions that were
    seen, f is a straight line; beyond them it is constant. It can be 0 or 1, so a new row may have
    an infinite log loss. A class that never occurs gets 0. A row of which all f are 0 stays as is.

    References
    ----------
    B. Zadrozny, C. Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", KDD 2002.

    Examples
    --------
    >>> data = Predictions([0.125, 0.375, 0.5, 0.75], [0, 1, 0, 1])
    >>> Isotonic().fit(data)([0.125, 0.25, 0.375, 0.5, 0.75])[:, 1].tolist()
    [0.0, 0.25, 0.5, 0.5, 1.0]
    """

    prior: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_prior(self)

    def fit(self, data: Predictions) -> IsotonicMap:
        """Fit an increasing function to one of two classes, or to each of more."""
        rows = present_rows(data)
        curves = []
        for column in range(rows.m) if rows.event is None else [rows.event]:
            found = isotonic(rows, column)
            ends = found.corners()
            x, prior = found.values[ends], self.prior or 0.0
            curves.append(Curve(column, x, (found.fitted[ends] + prior * x) / (1 + prior)))
        return IsotonicMap(rows.classes, tuple(curves))

    def __str__(self) -> str:
        return "isotonic"
