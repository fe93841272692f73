r"""Limits that hold: of how far predictions are off, and of the bias of an event, rare ones too.

How far off they are at least is what directions show (`sizes.cross_fit`). How far at most:
there is no upper bound without smoothness; here, *within a bin predictions are off by a constant*.
Bins have about the same variance of outcomes, at least 1.5, and there are at most 1.5 n^(1/3).
Unbiased squares of bins are added up, and the limit is the largest sum that they do not speak
against. That holds where bins have their share of both outcomes. Where all rows together have few
of one, no variance can be estimated from what did not occur. Then, *log-odds are off by one
constant, or by opposite ones on both sides of 1/2*: the number of events is Poisson-binomial, so
that the limits of the constant are exact, as those of Clopper and Pearson are, and the larger limit
counts. The same is done where there is one bin.
"""

from math import sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Predictions
from calibrant.sizes.cross_fit import sample_of
from calibrant.sizes.grades import Grades
from calibrant.sizes.samples import FLOOR, NEARLY, LowerBound, Sample, SizeTotals, bound, dot

Floats = NDArray[np.float64]
OfEvent = Sample | Grades  # rows, or groups of them whose sums are known

LEVEL = 0.95
Z = 1.96
OF_TWO = 2.24  # standard errors of the larger of two limits, each of which may fail half as often
FEWEST = 10  # rows, or clusters, from which a size is told
LEAST = 1.5  # variance of the outcomes of a bin
SPARSE = 10.0  # variance of all outcomes, below which their number sets a limit, too
MOST = 30  # bins
WORST = 0.4  # share of the deviations that is taken to be in the worst bin, the others in all alike
GROUPS = 16  # of predictions of a bin that count as alike
NORMAL = 25.0  # variance from which a normal distribution with its skewness corrected will do
WIDEST = 12.0  # constants of the log-odds that are looked at
NEGLIGIBLE = 1e-5  # probability beyond which they are not
STEPS = 13, 13, 49  # constants that are looked at, ever closer to those that matter


class Size(NamedTuple):
    """The root mean square deviation, in units of the total variation of two outcomes."""

    value: float
    """What directions that were learned on other rows see of it."""
    low: float
    """What it is at least."""
    high: float | None
    """What it is at most; None of more than two outcomes, of which there is no upper bound."""

    def at_least(self, bias: float) -> "Size":
        """Return it where a bias is shown: no root mean square is below the modulus of a mean.

        A higher upper limit covers no less.
        """
        high = None if self.high is None else max(self.high, bias)
        return self._replace(value=max(self.value, bias), high=high)


class Fit(Protocol):
    """Directions of rows, at hand or elsewhere, and what rows say of them."""

    m: int

    @property
    def count(self) -> int:
        """The number of rows, or of clusters."""

    @property
    def clusters(self) -> NDArray[np.intp] | None:
        """The cluster of each row; None if rows are independent."""

    @property
    def sample(self) -> OfEvent:
        """The rows; of two outcomes, the rarer one is the event."""

    @property
    def totals(self) -> SizeTotals:
        """What the lower limit follows from."""


def at_least(fit: Fit, z: float, loss: float = 1.0) -> LowerBound:
    """Return how far predictions are off; the limit is that of z standard errors.

    loss : rows that are worth one independent row, where rows come in clusters
    """
    return bound(fit.totals, z, loss)


def size_of(fit: Fit, top: Fit | None = None) -> Size | None:
    """Return how far predictions are off, with 95 % limits; None if there are too few rows.

    Of more than two outcomes it is never below what the most probable class implies: what that is
    off by, the others are off by at least as much together. The larger of both limits counts, so
    each is one of 98.75 %.

    top : of the most probable class of the same rows, if there are more than two outcomes
    """
    if fit.count < FEWEST:
        return None
    m = fit.m
    if top is not None:
        share, own, other = sqrt(m / (m - 1) / 2), at_least(fit, OF_TWO), at_least(top, OF_TWO)
        return Size(max(own.size, share * other.size), max(own.low, share * other.low), None)
    if m > 2:
        return Size(*at_least(fit, Z)[:2], None)
    loss = cluster_loss(fit.sample, fit.clusters)
    within = cluster_loss(fit.sample, within_bins(fit.sample, fit.clusters))
    found = at_least(fit, Z, loss)
    high = max(found.reach, at_most(fit.sample, Z, loss, within))
    return Size(min(found.size, high), found.low, high)


class BiasEstimate(NamedTuple):
    """Mean prediction minus rate of an event."""

    value: float
    low: float
    high: float

    @property
    def direction(self) -> str | None:
        """Which way predictions are off on average, if that is shown."""
        if self.low > 0:
            return "high"
        return "low" if self.high < 0 else None


def bias_of(
    data: Predictions, clusters: NDArray[Any] | None = None, level: float = LEVEL
) -> BiasEstimate:
    """Return mean prediction minus rate of the event of two outcomes, with limits.

    Two intervals, of which the wider end counts on either side. One has the larger of the variances
    that residuals show and that predictions imply: it holds whatever is wrong with single
    predictions. The other moves all log-odds by a constant, with the exact distribution of the
    number of events: it holds where events, or their complements, are few.
    """
    return bias_of_event(*sample_of(data, clusters), level)


def bias_of_event(
    sample: OfEvent, clusters: NDArray[np.intp] | None = None, level: float = LEVEL
) -> BiasEstimate:
    """Return the bias of rows, or of groups of rows whose sums are known."""
    from scipy.special import stdtrit  # noqa: PLC0415 (slow to import)

    mass, gap, shown, implied = sample.residuals
    value = gap / mass
    freedom, loss = np.inf, cluster_loss(sample, clusters)
    if clusters is not None:
        freedom = max(1, int(clusters.max()))
    z = float(stdtrit(freedom, (1 + level) / 2))
    half = z * float(np.sqrt(max(shown, implied * loss))) / mass
    low, high = _bias_of_counts(sample, level, loss)
    return BiasEstimate(value, min(value - half, low), max(value + half, high))


def cluster_loss(sample: OfEvent, clusters: NDArray[np.intp] | None) -> float:
    """Return how many rows are worth an independent one, by the scatter of clusters' residuals.

    It is compared with the scatter that predictions imply of rows, and with that of the rows, which
    is small, too, where events are few. Residuals are taken about their mean as far as events, or
    their complements, are seen in many clusters: where there is none, clusters have one label each.
    """
    if clusters is None or not isinstance(sample, Sample):
        return 1.0
    p, occurred = sample.probs[:, 1], sample.labels == 1
    gaps = sample.weights * (p - occurred)
    rare = np.bincount(clusters, sample.weights * np.where(occurred, p < 0.5, p > 0.5))
    number = float(rare.sum() ** 2 / max((rare**2).sum(), 1e-300))
    gaps -= sample.weights * gaps.sum() / sample.weights.sum() * number / (number + 1)
    sums = np.bincount(clusters, gaps)
    together = float((sums**2).sum()) * sums.size / max(1, sums.size - 1)
    return max(1.0, together / max(min(sample.residuals.implied, float((gaps**2).sum())), 1e-300))


def within_bins(sample: OfEvent, clusters: NDArray[np.intp] | None) -> NDArray[np.intp] | None:
    """Return the parts (n,) of clusters whose rows have about equal predictions: tenths of all."""
    if clusters is None or not isinstance(sample, Sample):
        return None
    p = sample.probs[:, 1]
    tenths = 10 * np.searchsorted(np.sort(p), p) // p.size
    return np.unique(tenths * (clusters.max() + 1) + clusters, return_inverse=True)[1]


def _bias_of_counts(sample: OfEvent, level: float, loss: float) -> tuple[float, float]:
    """Return the limits that the number of events sets."""
    from scipy.special import ndtri  # noqa: PLC0415 (slow to import)

    whole = whole_bin(sample.complement() if sample.likely else sample, loss)
    rates = whole.ends(float(ndtri((1 + level) / 2))) @ whole.counts / whole.rows
    high, low = (whole.mean - rates).tolist()
    return (-high, -low) if sample.likely else (low, high)


class Bin(NamedTuple):
    """Rows of one bin, in effective numbers."""

    p: Floats  # (groups,) predictions
    counts: Floats  # (groups,) how many rows each stands for
    events: float

    @property
    def rows(self) -> float:
        """The effective number of rows."""
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean prediction."""
        return float(self.p @ self.counts / self.rows)

    def moved(self, constants: Floats) -> Floats:
        """Return predictions whose log-odds are moved: (constants, groups)."""
        odds = np.log(self.p) - np.log1p(-self.p)
        return np.asarray(1.0 / (1.0 + np.exp(-(odds + constants[:, None]))))

    def ends(self, z: float) -> Floats:
        """Return the predictions that the number of events sets as limits: (2, groups)."""
        constants, lower, upper = confidence(self)
        ends = np.array([np.interp(-z, lower, constants), np.interp(z, upper, constants)])
        return self.moved(ends)


class SquaredBins(NamedTuple):
    """Bins of rows."""

    shares: Floats  # (k,) of the weight of all rows
    squares: Floats  # (k,) squared mean deviations
    noise: Floats  # (k,) variances of mean deviations
    rows: Floats  # (k,) effective numbers
    variance: float  # of all outcomes together


def at_most(sample: OfEvent, z: float, loss: float = 1.0, within: float = 1.0) -> float:
    """Return the upper limit of the root mean square deviation of an event.

    z : quantile of the normal distribution
    loss, within : rows that are worth one independent row, where rows come in clusters, as a whole
        and among rows of one bin
    """
    bins = _bins(sample, loss)
    found = 0.0
    if bins.shares.size > 1:
        found = _of_squares(bins, z, min(1.0, within / loss))
    if bins.shares.size == 1 or bins.variance < SPARSE:
        found = max(found, _of_counts(sample, z, loss))
    return float(np.sqrt(found))


def _of_counts(sample: OfEvent, z: float, loss: float) -> float:
    """Return the largest mean square that the number of events allows, of all rows as one bin.

    Log-odds are off by a constant, or by opposite ones on both sides of 1/2, as those of a model
    are that is too confident: then what was less probable in each row is counted.
    """
    found = 0.0
    for some in (sample, sample.flipped):
        whole = whole_bin(some, loss)
        squares = (whole.ends(z) - whole.p) ** 2 @ whole.counts / whole.rows
        found = max(found, float(squares.max()))
    return found


def _of_squares(bins: SquaredBins, z: float, added: float) -> float:
    r"""Return the largest sum v of squares that unbiased ones of bins do not speak against.

    .. math:: T = \sum_k s_k (\delta_k^2 - \sigma_k^2), \quad
              (T - v)^2 \le z^2 (rate \cdot v + 2 \textstyle\sum_k s_k^2 \sigma_k^4)

    with the share of rows of a bin, its mean deviation and the variance of that. How fast the
    variance of T grows with v depends on where deviations are: in all bins alike, or in the worst.

    added : share of the variances that chance adds to squares: what clusters scatter as a whole
        moves all bins alike, and is not taken off
    """
    shares, squares, noise, rows, _ = bins
    value = dot(shares, squares - added * noise)
    rate = 4 * (WORST * float((shares * noise).max()) + (1 - WORST) * dot(shares**2, noise))
    least = 2 * dot(shares**2, noise**2 * rows / np.maximum(rows - 1, 1))
    middle = value + z * z * rate / 2
    return max(0.0, middle + float(np.sqrt(max(0.0, middle**2 - value**2 + z * z * least))))


def _bins(sample: OfEvent, loss: float) -> SquaredBins:
    """Cut rows, sorted by prediction, into bins; equal predictions stay together.

    Variances are at least what predictions imply. Where outcomes scatter more, as those of a model
    do that is sure and wrong, the rest counts for all rows alike, so that there are more bins.
    """
    ranked = sample.ranked
    p, weights, implied = ranked.p, ranked.weights, ranked.implied
    rest = max(0.0, (ranked.scatter - float(implied.sum())) / float(weights.sum()))
    variance = np.cumsum(implied + weights * rest) / loss
    most = min(MOST, 1.5 * (weights.sum() / loss) ** (1 / 3), variance[-1] / LEAST)
    count = max(1, int(most + NEARLY))
    ends = variance[-1] * np.arange(1, count) / count * (1 - NEARLY)
    cuts = np.searchsorted(p, p[np.searchsorted(variance, ends)], "left")
    starts = np.unique(np.append(0, cuts))
    sums = np.stack([np.add.reduceat(column, starts) for column in ranked.columns()])
    mass, squares = sums[:2]
    rows = mass * mass / squares / loss
    expected, means, second = sums[2:] / mass
    shown = (second - means**2) * rows / np.maximum(rows - 1, 1)
    noise = np.maximum(shown, expected) / rows
    return SquaredBins(mass / mass.sum(), means**2, noise, rows, float(variance[-1]))


def whole_bin(sample: OfEvent, loss: float) -> Bin:
    """Return all rows as one bin; rows of unequal weight count as their effective number."""
    p, weights, squares, events = sample.alike
    mass = float(weights.sum())
    rows = mass * mass / squares / loss
    starts = _groups(p, weights)
    counts = np.add.reduceat(weights, starts)
    values = np.clip(np.add.reduceat(weights * p, starts) / counts, FLOOR, 1 - FLOOR)
    return Bin(values, counts * rows / mass, events / mass * rows)


def _groups(p: Floats, weights: Floats) -> NDArray[np.intp]:
    """Return where groups of sorted predictions begin: each value, or about equal variances."""
    starts = np.flatnonzero(np.diff(p, prepend=-1.0))
    if starts.size <= GROUPS:
        return starts
    variance = np.cumsum(weights * p * (1 - p))
    shares = np.arange(1, GROUPS) / GROUPS * (1 - NEARLY)
    ends = np.searchsorted(variance, variance[-1] * shares)
    return np.unique(np.append(0, ends))


def confidence(each: Bin) -> tuple[Floats, Floats, Floats]:
    """Return constants of the log-odds, and normal scores of each as a lower and an upper limit.

    The constant is a lower limit of confidence 1 - Phi(z), z its score, if at least so many events
    have probability Phi(z), and an upper limit of confidence Phi(z) if at most so many have 1 -
    Phi(z). Scores are nearly linear in the constant, so that few steps do.
    """
    from scipy.special import ndtri  # noqa: PLC0415 (slow to import)

    ends = -WIDEST, WIDEST
    for steps in STEPS:
        constants = np.linspace(*ends, steps)
        below, above = tails(each, constants)
        left = np.argmax(above > NEGLIGIBLE), np.argmax(below < 1 - NEGLIGIBLE)
        right = (below > NEGLIGIBLE)[::-1].argmax(), (above < 1 - NEGLIGIBLE)[::-1].argmax()
        first, last = max(int(max(left)) - 1, 0), steps - max(int(max(right)), 1)
        ends = constants[first], constants[last]
    lower = np.maximum.accumulate(ndtri(np.clip(above, 1e-300, 1 - 1e-16)))
    upper = np.maximum.accumulate(-ndtri(np.clip(below, 1e-300, 1 - 1e-16)))
    return constants, lower, upper


def tails(each: Bin, constants: Floats) -> tuple[Floats, Floats]:
    """Return P(X <= events) and P(X >= events), for each constant of the log-odds."""
    q = each.moved(constants)
    below, above = np.empty((2, constants.size))
    normal = q * (1 - q) @ each.counts >= NORMAL
    few = q @ each.counts <= each.rows / 2
    below[normal], above[normal] = _normal_tails(each, q[normal])
    some = few & ~normal
    below[some], above[some] = _exact_tails(q[some], each.counts, each.events)
    some = ~few & ~normal
    above[some], below[some] = _exact_tails(1 - q[some], each.counts, each.rows - each.events)
    return below, above


def _normal_tails(each: Bin, q: Floats) -> tuple[Floats, Floats]:
    from scipy.special import ndtr  # noqa: PLC0415 (slow to import)

    mean, variance = q @ each.counts, q * (1 - q) @ each.counts
    skewness = q * (1 - q) * (1 - 2 * q) @ each.counts / variance**1.5

    def upto(events: float) -> Floats:
        z = (events + 0.5 - mean) / np.sqrt(variance)
        curved = skewness * (1 - z * z) * np.exp(-z * z / 2) / (6 * np.sqrt(2 * np.pi))
        return np.asarray(np.clip(ndtr(z) + curved, 0.0, 1.0))

    return upto(np.floor(each.events + 1e-9)), 1.0 - upto(np.ceil(each.events - 1e-9) - 1)


def _exact_tails(q: Floats, counts: Floats, events: float) -> tuple[Floats, Floats]:
    """Return the tails of a rare outcome by its characteristic function, for each row of q."""
    mean = float((q @ counts).max(initial=0.0))
    reach = min(float(counts.sum()) + 1, mean + 12 * np.sqrt(mean) + 40)
    size = 1 << int(np.ceil(np.log2(reach + 1)))
    turns = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size) - 1
    factors = np.empty((len(q), turns.size, counts.size), np.complex128)
    # part by part: NumPy ends the process if there is no memory for its buffers of complex products
    np.multiply(q[:, None, :], turns.real[:, None], out=factors.real)
    np.multiply(q[:, None, :], turns.imag[:, None], out=factors.imag)
    mass = np.fft.irfft(np.exp(np.log1p(factors, out=factors) @ counts), size).clip(0.0)
    few, many = int(np.floor(events + 1e-9)), int(np.ceil(events - 1e-9))
    upto, from_on = mass[:, : few + 1].sum(axis=1), mass[:, many:].sum(axis=1)
    return np.minimum(upto, 1.0), np.minimum(from_on, 1.0)
