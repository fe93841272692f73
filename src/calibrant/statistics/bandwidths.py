"""Bandwidths of kernels: numbers, or shares of the median distance between predictions."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.checks.parameters import brief, positive

Floats = NDArray[np.float64]

MEDIAN = "median"
SAMPLE = 10_000  # rows that stand for all where there are too many pairs


class Bandwidth(NamedTuple):
    """A number, or a share of the median distance."""

    amount: float
    of_median: bool

    def __str__(self) -> str:
        if not self.of_median:
            return f"{self.amount:g}"
        return MEDIAN if self.amount == 1 else f"{self.amount:g} × {MEDIAN}"


def parse(value: Any) -> tuple[Bandwidth, ...]:
    """Return the bandwidths that somebody asked for.

    A number, "median", ("median", share), or several of these.
    """
    if isinstance(value, tuple | list) and not _is_share(value):
        if not value:
            raise ValueError("`bandwidth` must name at least one; found none.")
        return tuple(_one(item) for item in value)
    return (_one(value),)


def _is_share(value: Any) -> bool:
    """Whether this is ("median", a number)."""
    return len(value) == 2 and value[0] == MEDIAN and not isinstance(value[1], str | tuple | list)


def _one(value: Any) -> Bandwidth:
    """Return one bandwidth, or refuse it."""
    if isinstance(value, str) and value == MEDIAN:
        return Bandwidth(1.0, of_median=True)
    if isinstance(value, tuple | list) and _is_share(value):
        return Bandwidth(float(positive("bandwidth", value[1])), of_median=True)
    if isinstance(value, str | tuple | list):
        raise ValueError(
            "`bandwidth` must be a number above 0, 'median', ('median', share) or several of"
            f" these; found {brief(value)}."
        )
    return Bandwidth(float(positive("bandwidth", value)), of_median=False)


def check_median(median: float) -> float:
    """Refuse a median that bandwidths cannot be shares of."""
    if median > 0:
        return median
    raise ValueError(
        "`bandwidth` must be a number here, such as 0.1: at least half of all pairs of predictions"
        " are equal, so that their median distance is 0."
    )


def median_distance(points: Any, distance: int, event: int | None, *, exactly: bool) -> float:
    """Return the median distance of all ordered pairs of rows, i = j too.

    For two outcomes it is exact for any number of rows; for more, where not `exactly`, it is
    that of `SAMPLE` rows, spread evenly over all as sorted by a hash of the prediction.
    """
    if event is not None:
        values, group = np.unique(points.probs[:, event], return_inverse=True)
        mass: Floats = np.bincount(group, points.weights).astype(np.float64)
        width = float(engine.line.middle(values, mass))
        return width * np.sqrt(2.0) if distance == engine.kernels.EUCLIDEAN else width
    if not exactly:
        points = _sampled(points)
    return float(engine.median.median_distance(points, distance))


def _sampled(points: Any) -> Any:
    """Return a few rows of weight 1 in place of many: the same ones in whatever order they are."""
    order = np.argsort(engine.landmarks.hashes(points.probs, 0), kind="stable")
    mass = np.cumsum(points.weights[order])
    marks = (np.arange(SAMPLE) + 0.5) * (mass[-1] / SAMPLE)
    rows = order[np.searchsorted(mass, marks)]
    return engine.pairs.Points(points.probs[rows], np.ones(SAMPLE))
