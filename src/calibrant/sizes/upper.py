r"""How far the predictions of an event are off at most, also where it is rare.

There is no upper bound without smoothness: here, *within a bin the log-odds are off by a constant*.
Bins hold about the same sum of p (1 - p), at least 3, and there are at most 1.5 n^(1/3) of them.
The number of events in a bin is Poisson-binomial, so the limits of its constant are exact, as those
of Clopper and Pearson are: no variance is estimated from outcomes that did not occur.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import generator
from calibrant.sizes.directions import FLOOR, Sample, dot

Floats = NDArray[np.float64]

LEAST = 3.0  # sum of p (1 - p) in a bin
MOST = 30  # bins
GROUPS = 16  # of predictions of a bin that count as alike
NORMAL = 25.0  # variance from which a normal distribution with its skewness corrected will do
RARE = 5.0  # events, or their complements, of a bin: fewer let the further end of a limit count
DRAWS = 4000
WIDEST = 12.0  # constants of the log-odds that are looked at
NEGLIGIBLE = 1e-5  # probability beyond which they are not
STEPS = 49  # of a constant


class Bin(NamedTuple):
    """Rows of one bin, in effective numbers."""

    p: Floats  # (groups,) predictions
    counts: Floats  # (groups,) how many rows each stands for
    events: float
    share: float  # of the weight of all rows

    @property
    def rows(self) -> float:
        """The effective number of rows."""
        return float(self.counts.sum())

    @property
    def rare(self) -> bool:
        """Whether nearly all outcomes are the same."""
        return min(self.events, self.rows - self.events) < RARE

    def moved(self, constants: Floats) -> Floats:
        """Return predictions whose log-odds are moved: (constants, groups)."""
        odds = np.log(self.p) - np.log1p(-self.p)
        return np.asarray(1.0 / (1.0 + np.exp(-(odds + constants[:, None]))))


def at_most(
    sample: Sample, seed: int, level: float, loss: float = 1.0, within: float = 1.0
) -> float:
    """Return the upper limit of the root mean square deviation of an event.

    Each bin has a confidence distribution of its constant; squared deviations are drawn from
    those, added up, and their quantile is taken. What estimation adds to squares, twice, is
    taken off if there are several bins.

    loss, within : rows that are worth one independent row, where rows come in clusters, as a whole
        and among rows of one bin
    """
    bins = make_bins(sample, loss)
    rng = generator(seed)
    total = np.zeros(DRAWS)
    for each in bins:
        total += each.share * _draw(each, rng, alone=len(bins) == 1)
    high = float(np.quantile(total, (1 + level) / 2))
    if len(bins) == 1:
        return float(np.sqrt(high))
    squares, noise = np.array([_square(each) for each in bins]).T
    if not any(each.rare for each in bins):
        centre = float(total.mean())
        narrow = 4 * ((squares - noise) * noise).sum() + 2 * (noise**2).sum()
        wide = 4 * (squares * noise).sum() + 2 * (noise**2).sum()
        high = centre + (high - centre) * float(np.sqrt(max(narrow, 0.0) / wide))
    high -= 2 * (1 - 1 / len(bins)) * float(noise.sum()) * min(1.0, within / loss)
    least = float(np.sqrt(2 * (noise**2).sum()))  # what chance moves squares by: no limit is below
    return float(np.sqrt(max(high, least)))


def make_bins(sample: Sample, loss: float) -> list[Bin]:
    """Cut rows, sorted by prediction, into bins; equal predictions stay together."""
    p = np.clip(sample.probs[:, 1], FLOOR, 1 - FLOOR)
    order = np.argsort(p, kind="stable")
    sample, p = sample.take(order), p[order]
    variance = np.cumsum(sample.weights * p * (1 - p)) / loss
    most = min(MOST, 1.5 * (sample.weights.sum() / loss) ** (1 / 3), variance[-1] / LEAST)
    count = max(1, int(most))
    ends = variance[-1] * np.arange(1, count) / count
    cuts = np.searchsorted(p, p[np.searchsorted(variance, ends)], "left")
    parts = np.split(np.arange(p.size), np.unique(cuts[cuts > 0]))
    whole = float(sample.weights.sum())
    return [_bin(p[part], sample.take(part), whole, loss) for part in parts]


def whole_bin(sample: Sample, loss: float) -> Bin:
    """Return all rows as one bin."""
    p = np.clip(sample.probs[:, 1], FLOOR, 1 - FLOOR)
    order = np.argsort(p, kind="stable")
    return _bin(p[order], sample.take(order), float(sample.weights.sum()), loss)


def _bin(p: Floats, sample: Sample, whole: float, loss: float) -> Bin:
    """Return a bin; rows of unequal weight count as their effective number."""
    events, weights = sample.labels == 1, sample.weights
    mass = float(weights.sum())
    rows = mass * mass / float((weights**2).sum()) / loss
    starts = _groups(p, weights)
    counts = np.add.reduceat(weights, starts)
    values = np.clip(np.add.reduceat(weights * p, starts) / counts, FLOOR, 1 - FLOOR)
    occurred = dot(weights, events.astype(np.float64)) / mass * rows
    return Bin(values, counts * rows / mass, occurred, mass / whole)


def _groups(p: Floats, weights: Floats) -> NDArray[np.intp]:
    """Return where groups of sorted predictions begin: each value, or about equal variances."""
    starts = np.flatnonzero(np.diff(p, prepend=-1.0))
    if starts.size <= GROUPS:
        return starts
    variance = np.cumsum(weights * p * (1 - p))
    ends = np.searchsorted(variance, variance[-1] * np.arange(1, GROUPS) / GROUPS)
    return np.unique(np.append(0, ends))


def _draw(each: Bin, rng: np.random.Generator, *, alone: bool) -> Floats:
    """Return mean squared deviations of a bin, from the confidence distribution of its constant."""
    constants, lower, upper = confidence(each)
    squares = (each.moved(constants) - each.p) ** 2 @ each.counts / each.rows
    z = rng.standard_normal(DRAWS)
    low, high = (np.interp(z, scores, squares) for scores in (lower, upper))
    if alone or each.rare:
        return np.maximum(low, high)
    return np.where(rng.random(DRAWS) < 0.5, low, high)


def confidence(each: Bin) -> tuple[Floats, Floats, Floats]:
    """Return constants of the log-odds, and normal scores of each as a lower and an upper limit.

    The constant is a lower limit of confidence 1 - Phi(z), z its score, if at least so many events
    have probability Phi(z), and an upper limit of confidence Phi(z) if at most so many have 1 -
    Phi(z). Scores are nearly linear in the constant, so that few steps do.
    """
    from scipy.special import ndtri  # noqa: PLC0415 (slow to import)

    constants = np.linspace(-WIDEST, WIDEST, STEPS)
    below, above = tails(each, constants)
    for _ in range(2):
        left = np.argmax(above > NEGLIGIBLE), np.argmax(below < 1 - NEGLIGIBLE)
        right = (below > NEGLIGIBLE)[::-1].argmax(), (above < 1 - NEGLIGIBLE)[::-1].argmax()
        first, last = max(int(max(left)) - 1, 0), STEPS - max(int(max(right)), 1)
        constants = np.linspace(constants[first], constants[last], STEPS)
        below, above = tails(each, constants)
    lower = np.maximum.accumulate(ndtri(np.clip(above, 1e-300, 1 - 1e-16)))
    upper = np.maximum.accumulate(-ndtri(np.clip(below, 1e-300, 1 - 1e-16)))
    return constants, lower, upper


def tails(each: Bin, constants: Floats) -> tuple[Floats, Floats]:
    """Return P(X <= events) and P(X >= events), for each constant of the log-odds."""
    q = each.moved(constants)
    variance = q * (1 - q) @ each.counts
    normal = variance >= NORMAL
    below, above = np.empty((2, constants.size))
    below[normal], above[normal] = _normal_tails(each, q[normal])
    for k in np.flatnonzero(~normal):
        below[k], above[k] = _exact_tails(each, q[k])
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


def _exact_tails(each: Bin, q: Floats) -> tuple[float, float]:
    """Return the tails by the characteristic function, counting the rarer outcome."""
    rare = q @ each.counts <= each.rows / 2
    chance, events = (q, each.events) if rare else (1 - q, each.rows - each.events)
    mean = float(chance @ each.counts)
    reach = min(each.rows + 1, mean + 12 * np.sqrt(mean) + 40)
    size = 1 << int(np.ceil(np.log2(reach + 1)))
    t = 2 * np.pi * np.arange(size // 2 + 1) / size
    logs = np.log1p(chance * (np.exp(-1j * t)[:, None] - 1)) @ each.counts
    mass = np.fft.irfft(np.exp(logs), size).clip(0.0)
    few, many = int(np.floor(events + 1e-9)), int(np.ceil(events - 1e-9))
    upto, from_on = float(mass[: few + 1].sum()), float(mass[many:].sum())
    return (min(upto, 1.0), min(from_on, 1.0)) if rare else (min(from_on, 1.0), min(upto, 1.0))


def _square(each: Bin) -> tuple[float, float]:
    """Return the squared mean deviation of a bin, and what chance adds to it, times its share."""
    mean = float(each.p @ each.counts / each.rows)
    rate = each.events / each.rows
    variance = float(each.p * (1 - each.p) @ each.counts / each.rows)
    noise = max(variance, rate * (1 - rate)) / each.rows
    return each.share * (mean - rate) ** 2, each.share * noise
