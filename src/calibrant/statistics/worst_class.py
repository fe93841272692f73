"""The class that occurs least in line with what was predicted."""

from dataclasses import dataclass
from typing import final

import numpy as np

from calibrant.calibration import View
from calibrant.partitions import EqualWidth
from calibrant.predictions import Predictions
from calibrant.statistics.statistic import (
    Evaluate,
    Floats,
    Statistic,
    Summed,
    Sums,
    counts_of,
    spans,
)

SMALL = 1e-3  # below it, h is taken from its series
LEAST = 1e-150  # a variance below which nothing is expected to occur
EPS = float(np.finfo(float).eps)


@final
@dataclass(frozen=True, slots=True)
class WorstClass(Statistic):
    r"""How often a class occurs against how often it was predicted, of the worst class.

    .. math:: \max_k \frac{V_k}{c_k^2} h\Big(\frac{c_k D_k}{V_k}\Big), \qquad
        h(u) = (1 + u) \log(1 + u) - u

    D is the sum of w (y - p), V = Σ w² p (1 - p) its variance if calibrated, and c the ratio of its
    third moment, Σ w³ p (1 - p) (1 - 2 p), to V.

    Notes
    -----
    It is D² / (2 V), half of the squared score of a shift of the class's log-odds, corrected for
    skewness by the Poisson number with the same three moments: of a class with one predicted case,
    three cases are no wonder, and three too few of ten are more of one than three too many. So
    rare and frequent classes compare. One class of many that is off stands out here, while sums
    over classes drown it. A class whose V is 0 counts as 0 if D is, else the statistic is
    infinite. The unit of weights does not matter.

    Examples
    --------
    >>> data = Predictions([[0.5, 0.4, 0.1]] * 40, [0] * 20 + [1] * 10 + [2] * 10)
    >>> round(WorstClass()(data), 4)
    3.6208
    """

    def prepare(self, view: View) -> Evaluate:
        data = view.data
        cells = view.cells(EqualWidth(1))
        variance, third = view.remember("worst class", lambda: _moments(data))

        def finish(sums: Sums) -> Floats:
            off = sums[0].T - cells.predictions[0]
            return np.asarray(_deviances(off, variance, third).max(axis=1))

        return Summed(counts_of(view), finish)

    def __str__(self) -> str:
        return "worst class"


def _moments(data: Predictions) -> tuple[Floats, Floats]:
    """Return the second and the third moment of each class's total, if calibrated: (m,) each."""
    variance, third = np.zeros(data.m), np.zeros(data.m)
    for first, last in spans(data.n, data.m):
        p = data.probs[first:last].astype(np.float64)
        weights = data.weights[first:last, None]
        spread = weights**2 * (p * (1.0 - p))
        variance += spread.sum(axis=0)
        third += (weights * spread * (1.0 - 2.0 * p)).sum(axis=0)
    return variance, third


def _deviances(off: Floats, variance: Floats, third: Floats) -> Floats:
    """Return V / c² h(c D / V) for deviations (size, m), as D² / V times h(u) / u²."""
    v = np.maximum(variance, LEAST)
    u = off / v * (third / v)
    near = np.abs(u) < SMALL
    x = np.where(near, 1.0, u)
    rising = np.where(x > -1.0, (1.0 + x) * np.log1p(np.maximum(x, -1.0 + EPS)), 0.0)
    series = 1 / 2 - u * (1 / 6 - u * (1 / 12 - u / 20))
    with np.errstate(over="ignore"):
        found = off * off / v * np.where(near, series, (rising - x) / (x * x))
    return np.where((variance == 0.0) & (off != 0.0), np.inf, found)
