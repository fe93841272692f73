"""Neyman's smooth test: Cox's two directions, and waves that are shorter and shorter."""

from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, View
from calibrant.partitions import FromFunction
from calibrant.statistics.cox import logit, sign_of_miss
from calibrant.statistics.statistic import Evaluate, Floats, Statistic, Ties

BINS = 255  # of equal variance; odd, so that evenly spread predictions do not lie on an edge,
STEPS = 4  # which are cut where log-odds differ by a quarter
DEGREES = 6, 16  # numbers of directions that are tried
DEPENDENT = 1e-7  # of its length, what is left of a direction that others span


@final
@dataclass(frozen=True, slots=True)
class Neyman(Statistic):
    r"""Neyman's smooth test: how far residuals reach along 6 directions, or along 16.

    .. math:: T_k = \sum_{j \le k} \Big(\sum_i f_j(p_i) w_i (y_i - p_i)\Big)^2, \qquad
        \max_{k \in \{6, 16\}} \frac{(T_k / k)^{1/3} - 1 + 2 / (9 k)}{\sqrt{2 / (9 k)}}

    The f are 1 and logit p, the directions of Cox's test, and cos(π j u(p)) for j = 1, 2, …, made
    orthonormal: if calibrated, T_k has mean k, and nearly a chi-squared distribution with k
    degrees of freedom, of which the fraction makes a standard normal number (Wilson and Hilferty).
    What is below 0 counts as 0.
    u(p) is the share of the variance Σ w² p (1 - p) that predictions below p have.

    Notes
    -----
    Six directions see what Cox's test does and how a curve bends, sixteen see waves and dips. All
    of them weigh deviations by what is known about them, so that rare events count. Predictions
    are put into 255 bins of equal variance, cut where log-odds differ by a quarter, unless they
    have no more different values. With fewer directions than k all that there are count. A
    prediction of 0 or 1 that came true says nothing; with one that did not, the statistic is
    infinite. The unit of weights does not matter.

    References
    ----------
    Neyman (1937), "'Smooth' test for goodness of fit".

    Examples
    --------
    >>> from calibrant import Predictions
    >>> p = np.linspace(0.01, 0.99, 400)
    >>> wave = p + 0.15 * np.sin(25 * p)
    >>> data = Predictions(p, np.arange(400) * 0.618034 % 1 < wave)
    >>> round(Neyman()(data), 3)
    5.9
    """

    def prepare(self, view: View) -> Evaluate:
        ties = Ties.of(self, view)
        binned = _binned(ties)
        cells = view.cells(FromFunction(partial(_bin_of, ties.event, binned.edges)))
        factors = np.concatenate((directions(binned), sign_of_miss(binned.edges)[None]))
        degrees = _degrees(factors[:-1])

        def evaluate(block: Block) -> Floats:
            sums = np.zeros((len(factors), block.size))
            events = block.events(cells, 0, cells.n_cells)
            engine.line.add_residuals(events, cells.predictions[:, ties.event], factors, sums)
            with np.errstate(over="ignore"):
                reached = np.cumsum(sums[:-1] ** 2, axis=0)
            found = [_standard(reached[k - 1], df) for k, df in degrees]
            return np.where(sums[-1] > 0.0, inf, np.max(found, axis=0, initial=0.0))

        return evaluate

    def __str__(self) -> str:
        return "Neyman's smooth test"


class Binned(NamedTuple):
    """Bins of the different predictions: (bins,) each."""

    edges: Floats  # the smallest prediction: 0 or 1 where all are
    logits: Floats  # their mean, as the variance weighs them
    variance: Floats  # of the number of events, if calibrated


def _binned(ties: Ties) -> Binned:
    """Put the different predictions into bins; 0 and 1 are apart."""
    values, variance = ties.values, ties.variance
    total = float(variance.sum()) or 1.0
    middle = (engine.line.running_totals(variance.copy()) - variance / 2) / total
    inner = sign_of_miss(values) == 0.0
    x = logit(np.where(inner, values, 0.5))
    names = np.floor(middle * BINS) + np.floor(x * STEPS + 0.5)  # both rise with the values
    if values.size <= BINS:
        names = np.arange(float(values.size))
    names = np.where(inner, names, np.copysign(inf, values - 0.5))
    starts = np.flatnonzero(np.append(True, names[1:] != names[:-1]))
    sums = np.add.reduceat(variance, starts)
    logits = np.add.reduceat(variance * x, starts) / np.where(sums > 0.0, sums, 1.0)
    return Binned(values[starts], logits, sums)


def _bin_of(event: int, edges: Floats, probs: NDArray[Any]) -> NDArray[np.int64]:
    """Return the bin of each prediction (n,)."""
    return np.searchsorted(edges, probs[:, event].astype(np.float64), side="right")


def directions(binned: Binned) -> Floats:
    """Return factors whose sums with y - p have mean 0 and variance 1, uncorrelated: (k, bins).

    Those of directions that others span are 0.
    """
    variance = binned.variance
    total = float(variance.sum()) or 1.0
    middle = (np.cumsum(variance) - variance / 2) / total
    waves = [np.cos(np.pi * j * middle) for j in range(1, DEGREES[-1] - 1)]
    root = np.sqrt(variance)
    out: list[Floats] = []  # orthonormal; a factor is one of them over the root of the variance
    for raw in (np.ones_like(middle), binned.logits, *waves):
        left = raw * root
        length = float(np.sqrt((left**2).sum()))
        for _ in range(2):  # the second time for what rounding has left
            for known in out:
                left = left - (left * known).sum() * known
        rest = float(np.sqrt((left**2).sum()))
        out.append(left / rest if rest > DEPENDENT * length else np.zeros_like(left))
    return np.stack(out) / np.where(root > 0.0, root, 1.0)


def _degrees(factors: Floats) -> list[tuple[int, int]]:
    """Return how many of the directions are tried together, and how many of these count."""
    count = np.cumsum(factors.any(axis=1))
    return [(k, int(count[k - 1])) for k in DEGREES]


def _standard(reached: Floats, df: int) -> Floats:
    """Return chi-squared numbers (size,) as standard normal ones."""
    if df == 0:
        return np.zeros_like(reached)
    scale = 2.0 / (9.0 * df)
    return np.asarray((np.cbrt(reached / df) - 1.0 + scale) / np.sqrt(scale))
