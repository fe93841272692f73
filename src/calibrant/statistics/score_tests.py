"""Score tests of an event: Cox's of intercept and slope, and Neyman's, which goes on from there.

Both weigh residuals along directions: functions of the prediction that sums of y - p are taken of.
"""

from dataclasses import dataclass
from functools import partial
from math import exp, inf, nan, sqrt
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, View, observed
from calibrant.partitions import FromFunction
from calibrant.predictions import Predictions
from calibrant.statistics.statistic import Evaluate, Floats, Statistic, Ties

Counts = tuple[Floats, Floats]  # (cells,) each: the weight of the events, and of the rest

ROUNDS = 200  # of Newton's method, which needs ten
CLOSE = 1e-12  # relative change of an estimate
BINS = 255  # of equal variance; odd, so that evenly spread predictions do not lie on an edge,
STEPS = 4  # which are cut where log-odds differ by a quarter
DEGREES = 6, 16  # numbers of directions that are tried
DEPENDENT = 1e-7  # of its length, what is left of a direction that others span


@final
@dataclass(frozen=True, slots=True)
class CoxFit:
    """Outcomes as a logistic regression on the log-odds of the predictions.

    Parameters
    ----------
    intercept : float
        0 if calibrated.
    slope : float
        1 if calibrated; below 1 if predictions are overconfident.
    intercept_se, slope_se : float
        Standard errors, from the information matrix.
    in_the_large : float
        The intercept if the slope is 1: above 0 if events are more frequent than predicted.
    lr : float
        Twice the gain in log-likelihood over intercept 0 and slope 1.
    """

    intercept: float
    slope: float
    intercept_se: float
    slope_se: float
    in_the_large: float
    lr: float

    @property
    def pvalue(self) -> float:
        """P-value of `lr` as a chi-squared number with 2 degrees of freedom, exp(-lr / 2)."""
        return exp(-self.lr / 2.0)

    def __str__(self) -> str:
        return (
            f"intercept {self.intercept:.4g} ± {self.intercept_se:.2g}, slope"
            f" {self.slope:.4g} ± {self.slope_se:.2g}: p = {self.pvalue:.3g}"
        )


@final
@dataclass(frozen=True, slots=True)
class Cox(Statistic):
    r"""Cox's test of intercept 0 and slope 1, as a score test.

    .. math:: \operatorname{logit} P(y = 1) = \alpha + \beta x, \qquad x = \operatorname{logit} p

    .. math:: U' I^{-1} U = \frac{(\sum r)^2}{\sum v} + \frac{(\sum r (x - \bar x))^2}
        {\sum v (x - \bar x)^2}, \qquad r = w (y - p),\; v = w^2 p (1 - p),\;
        \bar x = \sum v x / \sum v

    Notes
    -----
    The statistic is the score test, not the likelihood ratio that `fit` gives: the two agree for
    many rows, but this one needs two sums and no iteration for each replicate, and it exists when
    the likelihood has no maximum. Under calibration its mean is 2 (1 if all predictions are
    equal, when the second term is left out). It sees whether predictions are too high or low and
    overconfident or underconfident, and nothing else.

    A prediction of 0 or 1 that came true says nothing about intercept and slope, and is left out,
    which is the limit of p log p. One that did not come true was impossible under the model: the
    statistic is infinite. The unit of weights does not matter.

    References
    ----------
    Cox (1958), "Two further applications of a model for binary regression".

    Examples
    --------
    >>> data = Predictions([0.1, 0.2, 0.6, 0.7, 0.9], [0, 1, 0, 1, 1])
    >>> round(Cox()(data), 6)
    0.668271
    >>> print(Cox().fit(data))
    intercept 0.5234 ± 1, slope 0.6597 ± 0.7: p = 0.767
    """

    def prepare(self, view: View) -> Evaluate:
        ties = Ties.of(self, view)
        factors, missed = _scores(ties), sign_of_miss(ties.values)
        if missed.any():
            factors = np.stack((*factors, missed))

        def evaluate(block: Block) -> Floats:
            level, spread, *wrong = ties.sums(block, factors)
            with np.errstate(over="ignore"):
                found = level * level + spread * spread
            return np.where(wrong[0] > 0.0, inf, found) if wrong else found

        return evaluate

    def fit(self, data: Predictions) -> CoxFit:
        """Fit intercept and slope by maximum likelihood.

        If a prediction of 0 or 1 did not come true, the estimates are nan, and `lr` is infinite.
        The p-value takes a weight of 2 for two rows, each with an outcome of its own.

        Examples
        --------
        >>> data = Predictions([0.2, 0.4, 0.6, 0.8] * 5, [0, 1, 0, 1] * 5)
        >>> fit = Cox().fit(data)
        >>> round(fit.slope, 6), round(fit.lr, 6)
        (1.10179, 0.034136)
        """
        ties = Ties.of(self, View.of(data))
        ((_, found),) = ties.events(observed(data))
        events = found[:, 0]
        certain = sign_of_miss(ties.values)
        if ((events - ties.predicted) * certain).sum() > 0.0:
            return CoxFit(nan, nan, nan, nan, nan, inf)
        held = (certain == 0.0) & (ties.mass > 0.0)
        x, events, mass = logit(ties.values[held]), events[held], ties.mass[held]
        counts = events, mass - events
        _check_overlap(x, events > 0.0, events < mass)
        intercept, slope, covariance = fit_line(x, counts)
        return CoxFit(
            intercept=intercept,
            slope=slope,
            intercept_se=sqrt(covariance[0, 0]),
            slope_se=sqrt(covariance[1, 1]),
            in_the_large=fit_intercept(x, counts),
            lr=max(0.0, 2.0 * gain(x, intercept + slope * x, counts)),
        )

    def __str__(self) -> str:
        return "Cox's score test"


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
        cells = view.cells(FromFunction(partial(bin_of, ties.event, binned.edges)))
        factors = np.concatenate((directions(binned), sign_of_miss(binned.edges)[None]))
        degrees, predicted = _degrees(factors[:-1]), cells.predictions[:, ties.event]

        def evaluate(block: Block) -> Floats:
            sums = np.zeros((len(factors), block.size))
            events = block.events(cells, 0, cells.n_cells)
            engine.line.add_residuals(events, predicted, factors, sums)
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


def bin_of(event: int, edges: Floats, probs: NDArray[Any]) -> NDArray[np.int64]:
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


def logit(p: Floats) -> Floats:
    """Return log-odds."""
    return np.log(p) - np.log1p(-p)


def sign_of_miss(values: Floats) -> Floats:
    """Return 1 for a prediction of 0, -1 for one of 1, and 0 for others: the sign of a miss."""
    return np.where(values == 0.0, 1.0, np.where(values == 1.0, -1.0, 0.0))


def _scores(ties: Ties) -> Floats:
    """Return factors whose sums with y - p have mean 0 and variance 1, uncorrelated: (2, cells)."""
    held = sign_of_miss(ties.values) == 0.0
    v = ties.variance[held]
    factors = np.zeros((2, held.size))
    if not v.sum() > 0.0:
        return factors
    x = logit(ties.values[held])
    x -= (v * x).sum() / v.sum()
    factors[0, held] = 1.0 / np.sqrt(v.sum())
    if np.ptp(x[v > 0.0]) > 0.0:
        factors[1, held] = x / np.sqrt((v * x * x).sum())
    return factors


def _check_overlap(x: Floats, occurs: NDArray[np.bool_], fails: NDArray[np.bool_]) -> None:
    """Refuse outcomes that a threshold of the prediction separates: there is no maximum."""
    both = occurs.any() and fails.any()
    if both and x[occurs].min() < x[fails].max() and x[fails].min() < x[occurs].max():
        return
    raise ValueError(
        "`Cox().fit` needs outcomes that overlap; here they are all the same, or a threshold of the"
        " prediction separates them, so that the likelihood has no maximum. The score test,"
        " `Cox()(data)`, works."
    )


def fit_line(x: Floats, counts: Counts) -> tuple[float, float, Floats]:
    """Return intercept and slope at x (cells,), and their covariance, if outcomes overlap.

    Newton's method on x with mean 0 and variance 1, from slope 0; a step that is too long is
    halved. The covariance (2, 2) is the inverse of the information.
    """
    centre, scale = x.mean(), x.std()
    design = np.stack((np.ones_like(x), (x - centre) / scale))
    events, rest = counts
    theta = np.array([np.log(events.sum() / rest.sum()), 0.0])
    for _ in range(ROUNDS):
        p, q = chances(theta @ design)
        gradient = ((events * q - rest * p) * design).sum(axis=1)
        information = ((events + rest) * p * q * design) @ design.T
        step = np.linalg.solve(information, gradient)
        if np.all(np.abs(step) <= CLOSE * (1.0 + np.abs(theta))):
            break
        here = theta @ design
        while gain(here, (theta + step) @ design, counts) < -CLOSE * float(events.sum()):
            step *= 0.5
        theta = theta + step
    back = np.array([[1.0, -centre / scale], [0.0, 1.0 / scale]])
    intercept, slope = back @ theta
    return float(intercept), float(slope), back @ np.linalg.inv(information) @ back.T


def fit_intercept(x: Floats, counts: Counts) -> float:
    """Fit the intercept if the slope is 1: between what the least and the largest x would need."""
    events, rest = counts
    needed = float(np.log(events.sum() / rest.sum()))
    low, high = needed - float(x.max()), needed - float(x.min())
    intercept = 0.5 * (low + high)
    for _ in range(ROUNDS):
        p, q = chances(intercept + x)
        missing = float((events * q - rest * p).sum())
        low, high = (intercept, high) if missing > 0.0 else (low, intercept)
        weight = float(((events + rest) * p * q).sum())
        before, intercept = intercept, intercept + missing / max(weight, 1e-300)
        if not low <= intercept <= high:
            intercept = 0.5 * (low + high)
        if abs(intercept - before) <= CLOSE * (1.0 + abs(before)):
            break
    return intercept


def gain(before: Floats, after: Floats, counts: Counts) -> float:
    """Return by how much the log-likelihood grows from some log-odds (cells,) to others."""
    events, rest = counts
    up = np.logaddexp(0.0, -before) - np.logaddexp(0.0, -after)
    down = np.logaddexp(0.0, before) - np.logaddexp(0.0, after)
    return float((events * up + rest * down).sum())


def chances(logits: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of the event and of the rest, both with all their digits."""
    return np.exp(-np.logaddexp(0.0, -logits)), np.exp(-np.logaddexp(0.0, logits))
