"""Mean prediction minus rate, with limits that hold where errors are rare and where they are not.

Two intervals, of which the wider end counts on either side. One has the larger of the variances
that residuals show and that predictions imply: it holds whatever is wrong with single predictions.
The other moves all log-odds by a constant, with the exact distribution of the number of events: it
holds where events, or their complements, are few.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.sizes.directions import Sample, dot
from calibrant.sizes.upper import whole_bin

Floats = NDArray[np.float64]


class Bias(NamedTuple):
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


def bias_of(sample: Sample, clusters: NDArray[np.intp] | None, level: float) -> Bias:
    """Return the bias and its limits."""
    from scipy.special import stdtrit  # noqa: PLC0415 (slow to import)

    p, occurred = sample.probs[:, 1], sample.labels == 1
    mass = float(sample.weights.sum())
    gaps = sample.weights * (p - occurred)
    value = float(gaps.sum() / mass)
    shown, implied = float((gaps**2).sum()), _implied(sample)
    freedom, loss = np.inf, cluster_loss(sample, clusters)
    if clusters is not None:
        freedom = max(1, int(clusters.max()))
    z = float(stdtrit(freedom, (1 + level) / 2))
    half = z * float(np.sqrt(max(shown, implied * loss))) / mass
    low, high = _of_counts(sample, level, loss)
    return Bias(value, min(value - half, low), max(value + half, high))


def cluster_loss(sample: Sample, clusters: NDArray[np.intp] | None) -> float:
    """Return how many rows are worth an independent one, by the scatter of clusters' residuals.

    It is compared with the scatter that predictions imply of rows, and with that of the rows, which
    is small, too, where events are few. Residuals are taken about their mean as far as events, or
    their complements, are seen in many clusters: where there is none, clusters have one label each.
    """
    if clusters is None:
        return 1.0
    p, occurred = sample.probs[:, 1], sample.labels == 1
    gaps = sample.weights * (p - occurred)
    rare = np.bincount(clusters, sample.weights * np.where(occurred, p < 0.5, p > 0.5))
    number = float(rare.sum() ** 2 / max((rare**2).sum(), 1e-300))
    gaps -= sample.weights * gaps.sum() / sample.weights.sum() * number / (number + 1)
    sums = np.bincount(clusters, gaps)
    together = float((sums**2).sum()) * sums.size / max(1, sums.size - 1)
    return max(1.0, together / max(min(_implied(sample), float((gaps**2).sum())), 1e-300))


def within_bins(sample: Sample, clusters: NDArray[np.intp] | None) -> NDArray[np.intp] | None:
    """Return the parts (n,) of clusters whose rows have about equal predictions: tenths of all."""
    if clusters is None:
        return None
    p = sample.probs[:, 1]
    tenths = 10 * np.searchsorted(np.sort(p), p) // p.size
    return np.unique(tenths * (clusters.max() + 1) + clusters, return_inverse=True)[1]


def _implied(sample: Sample) -> float:
    """Return the variance of the sum of residuals that predictions imply."""
    p = sample.probs[:, 1]
    return dot(sample.weights**2, p * (1 - p))


def _of_counts(sample: Sample, level: float, loss: float) -> tuple[float, float]:
    """Return the limits that the number of events sets."""
    from scipy.special import ndtri  # noqa: PLC0415 (slow to import)

    whole = whole_bin(sample.complement() if sample.likely else sample, loss)
    rates = whole.ends(float(ndtri((1 + level) / 2))) @ whole.counts / whole.rows
    high, low = (whole.mean - rates).tolist()
    return (-high, -low) if sample.likely else (low, high)
