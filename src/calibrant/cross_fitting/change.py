"""How scores change in pairs of rows: intervals allow for rare errors, and for a choice."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.inference.replicates.problem import fields
from calibrant.predictions import Predictions
from calibrant.words import signed

Floats = NDArray[np.float64]

LEVEL = 0.95  # of the intervals
ALPHA = 0.05  # level of the test that a recommendation needs
HALVINGS = 60  # of an interval that a root is in


@final
@dataclass(frozen=True, slots=True)
class Change:
    r"""The mean difference of the scores of the same rows, after minus before.

    .. math:: \bar d = \frac{\sum_i w_i d_i}{\sum_i w_i}, \qquad
        \mathrm{se}^2 = \frac{n}{n - 1} \frac{\sum_i w_i^2 (d_i - \bar d)^2}{(\sum_i w_i)^2}

    With clusters, n is their number, and the sums of squares are those of w (d - mean) of each.
    The standard error is at least the one that the predictions foresee (`foreseen`). Where rare
    rows make most of a change, means are skew: the end of the interval on the side of the longer
    tail is moved by the first term of Cornish and Fisher, (1 + 2 t²) / 6 times the skewness.

    Notes
    -----
    A calibrator that is recommended was chosen by its looks: the test rejected, and it seemed to
    be one of the best. So its gain is exaggerated. If an interval misses in a share of all data
    sets, it misses in at most that share divided by P(recommended) of those with a recommendation,
    and P(recommended) is at least the level of the test. `reach` has what follows.

    Examples
    --------
    >>> Change.of(np.array([-1.0, -2.0, -3.0]), np.ones(3))
    <change -2 ± 0.58>
    """

    value: float  # negative if the score became better
    standard_error: float  # nan if a difference is infinite
    n: int  # rows that have weight, or clusters
    level: float = LEVEL  # of the interval
    skewness: float = 0.0  # of the mean: third central moment over the cube of the error
    choices: int = 0  # methods that this one was chosen from; 0 if it was not chosen

    @classmethod
    def of(
        cls,
        differences: Floats,
        weights: Floats,
        clusters: NDArray[np.int32] | None = None,
        least: float = 0.0,
        choices: int = 0,
    ) -> "Change":
        """Return the mean of differences (n,) and its standard error, which is at least `least`."""
        held = weights > 0
        d, w = differences[held], weights[held]
        total = w.sum()
        with np.errstate(invalid="ignore"):  # infinite before and after: nothing is known
            mean = float(w @ d / total)
            away = w * (d - mean)
        if clusters is not None:
            present, numbers = np.unique(clusters[held], return_inverse=True)
            away = np.asarray(np.bincount(numbers, away, present.size), np.float64)
        n, squares = away.size, float((away**2).sum())
        skewness = float((away**3).sum() / squares**1.5) if squares > 0 else 0.0
        spread = float(np.sqrt(n / max(n - 1, 1) * squares) / total)
        error = spread if np.isnan(spread) else max(spread, least)
        return cls(mean, error, n, skewness=skewness, choices=choices)

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of Student's t, longer where a gain may be exaggerated; nan if not known."""
        from scipy.special import stdtrit  # noqa: PLC0415

        plain = float(stdtrit(max(self.n - 1, 1), (1 + self.level) / 2))
        longer = reach(self) if self.choices and self.standard_error > 0 else plain
        low = plain + max(-self.skewness, 0.0) * (1 + 2 * plain**2) / 6
        high = longer + max(self.skewness, 0.0) * (1 + 2 * longer**2) / 6
        return self.value - low * self.standard_error, self.value + high * self.standard_error

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return fields(self, "value", "standard_error", "interval", "level")

    def __repr__(self) -> str:
        return f"<change {self.value:.4g} ± {self.standard_error:.2g}>"

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            return "–" if np.isnan(self.value) else f"{self.value:+}".replace("inf", "∞")
        low, high = self.interval
        return f"{signed(low, 4)} to {signed(high, 4)}"


def reach(change: Change) -> float:
    r"""Return by how many standard errors the gain of a method that was chosen may be exaggerated.

    The c at which a true gain c standard errors below the one seen would be missed as often as

    .. math:: P(t > c) = \frac{1 - \text{level}}{2 k} \max(\alpha, \Phi(z - c - z_{1 - \alpha/2})),

    with k methods. The maximum is P(recommended) at that gain, on the scale on which the test has
    the standard error 1: a fit that gains z²/2 in total has that error z, so z is twice the gain in
    standard errors.
    """
    from scipy.special import ndtr, ndtri, stdtr, stdtrit  # noqa: PLC0415

    df, tail = max(change.n - 1, 1), (1 - change.level) / (2 * change.choices)
    z = -2 * change.value / change.standard_error + ndtri(ALPHA / 2)
    low, high = (float(stdtrit(df, 1 - tail * share)) for share in (1.0, ALPHA))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if stdtr(df, -middle) > tail * max(ALPHA, ndtr(z - middle)):
            low = middle
        else:
            high = middle
    return high


def foreseen(before: Predictions, after: Predictions) -> Floats:
    r"""Return the standard errors (2,) of changes in log loss and Brier score that p and q say.

    If outcomes were drawn from p, a row would have the variance of d_y over y ~ p, where d_k is
    the change if k occurs; likewise for q. The larger counts. So errors that are rare and did not
    occur have their part, where differences that were seen have none.
    """
    sums = np.zeros((2, 2))
    for start, stop in threads.row_blocks(before.probs.shape):
        p = np.asarray(before.probs[start:stop], np.float64)
        q = after.probs[start:stop]
        possible = (p > 0) & (q > 0)
        log = np.zeros(p.shape)
        np.log(p, out=log, where=possible)
        np.subtract(log, np.log(q, where=possible, out=np.zeros(p.shape)), out=log)
        squares = before.weights[start:stop] ** 2
        for row, d in enumerate((log, 2 * (p - q))):
            for column, drawn in enumerate((p, q)):
                mean = np.einsum("ij,ij->i", drawn, d)
                sums[row, column] += squares @ (np.einsum("ij,ij->i", drawn, d * d) - mean * mean)
    found: Floats = np.sqrt(np.maximum(sums, 0.0).max(axis=1)) / before.weights.sum()
    return found
