"""A flexible calibration curve with limits, and how far predictions are from it: ICI, E50, E90."""

from typing import Any, NamedTuple

import numpy as np

from calibrant.conventions.curves import Lowess
from calibrant.risks.logistic import SURE, line_of
from calibrant.risks.sample import Floats, Risks, added, limits_of_share
from calibrant.statistics.score_tests import chances, logit

GAP = 0.01  # between points of limits, where the curve is straight
MOST = 8192  # different predictions; of more, neighbours are taken together


class FlexibleCurve(NamedTuple):
    """The observed frequency over the prediction, as a lowess curve draws it.

    Limits are pointwise, and reach to bends near 0 and 1 that the curve may smooth away. ICI,
    E50 and E90 are the mean, median and 90 % quantile of the distances between predictions and
    curve over the rows (Austin and Steyerberg, 2019).
    """

    x: Floats  # (points,) predictions
    y: Floats  # (points,) observed frequency, from 0 to 1
    low: Floats  # (points,)
    high: Floats
    ici: float
    e50: float
    e90: float
    expected_ici: float  # what a calibrated model with these predictions would show, about

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in self._asdict().items()
        }


def flexible_curve(risks: Risks) -> FlexibleCurve:
    """Draw the curve of R's ``lowess(p, y, iter = 0)``, which val.prob draws."""
    values, mass, events = _tallied(risks)
    curve = Lowess.of(values, mass)
    fits = curve.weights @ events
    off = np.abs(curve.interpolated(fits[:, None])[:, 0] - values)
    x = _filled(curve.at)
    low, high = _limits(risks, curve, x, mass, events)
    e50, e90 = (_quantile(off, mass, share, weighted=risks.weighted) for share in (0.5, 0.9))
    return FlexibleCurve(
        x=x,
        y=np.interp(x, curve.at, fits).clip(0, 1),
        low=low,
        high=high,
        ici=float(mass @ off / mass.sum()),
        e50=e50,
        e90=e90,
        expected_ici=_expected(curve, values, mass),
    )


def _filled(at: Floats) -> Floats:
    """Return anchors, and even points in wide gaps between them, where limits may bend."""
    even = np.arange(0.0, 1.0, GAP)
    right = np.searchsorted(at, even)
    between = (right > 0) & (right < at.size)
    even, right = even[between], right[between]
    return np.union1d(at, even[at[right] - at[right - 1] > 2 * GAP])


def _limits(
    risks: Risks, curve: Lowess, x: Floats, mass: Floats, events: Floats
) -> tuple[Floats, Floats]:
    """Return limits of the frequency at predictions x, which hold those around two estimates.

    One is the curve itself, which smooths a bend near 0 or 1 away. The other is a line in the
    log-odds, and the smoothed rest (Glad, 1998), which has such a bend, and keeps some of it where
    there is none. Which is closer is not known where they differ.
    """
    starts = [(np.zeros_like(curve.values), np.zeros_like(x))]
    line = line_of(risks.rows((risks.p > 0) & (risks.p < 1)))
    if line is not None:
        a, b = line.best
        places = (logit(at.clip(SURE, 1 - SURE)) for at in (curve.values, x))
        starts.append((chances(a + b * next(places))[0], chances(a + b * next(places))[0]))
    z = risks.stretched(risks.weights * (risks.y - risks.p))
    ends = []
    for start, there in starts:
        share = there + np.interp(x, curve.at, curve.weights @ (events - mass * start))
        ends.append(limits_of_share(share.clip(0, 1), _rows(curve, x, share, mass), z))
    low, high = zip(*ends, strict=True)
    return np.min(low, axis=0), np.max(high, axis=0)


def _rows(curve: Lowess, x: Floats, share: Floats, mass: Floats) -> Floats:
    """Return how many rows decide a share, at predictions x.

    Rows whose outcomes vary more than the share implies, since they lie elsewhere, count as fewer.
    """
    squares = curve.weights**2
    rows = 1.0 / np.maximum(squares @ mass, 1e-12)
    likely = (np.interp(curve.at, x, share.clip(0, 1)) * rows + 2) / (rows + 4)  # never 0 or 1
    varies = curve.interpolated(likely[:, None])[:, 0]
    spread = squares @ (mass * varies * (1 - varies)) * rows / (likely * (1 - likely))
    return np.asarray(1.0 / np.interp(x, curve.at, np.maximum(spread, 1.0) / rows))


def _tallied(risks: Risks) -> tuple[Floats, Floats, Floats]:
    """Return different predictions, their weight, and that of their events; some thousand each."""
    values, places = np.unique(risks.p, return_inverse=True)
    if values.size > MOST:
        ranks = np.searchsorted(np.sort(risks.p), risks.p)
        places = np.unique(ranks * MOST // risks.p.size, return_inverse=True)[1]
    mass = added(places, risks.weights)
    values = added(places, risks.weights * risks.p) / mass
    return values, mass, added(places, risks.weights * risks.y)


def _quantile(off: Floats, mass: Floats, share: float, *, weighted: bool) -> float:
    if weighted:
        return float(np.quantile(off, share, weights=mass, method="inverted_cdf"))
    return float(np.quantile(np.repeat(off, np.rint(mass).astype(np.int64)), share))


def _expected(curve: Lowess, values: Floats, mass: Floats) -> float:
    """Return the mean distance of the curve of a calibrated model: that of normal numbers."""
    from scipy.special import ndtr  # noqa: PLC0415 (slow to import)

    variance = mass * values * (1 - values)
    spread = np.sqrt(_interpolated_variance(curve, variance))
    centre = curve.interpolated((curve.weights @ (mass * values))[:, None])[:, 0] - values
    ratio = centre / np.maximum(spread, 1e-300)
    density = np.exp(-np.minimum(ratio**2, 1400.0) / 2) / np.sqrt(2 * np.pi)
    folded = 2 * spread * density + centre * (2 * ndtr(ratio) - 1)
    return float(mass @ folded / mass.sum())


def _interpolated_variance(curve: Lowess, variance: Floats) -> Floats:
    """Return the variance of the curve at every value, between anchors that vary together."""
    if curve.at.size == 1:
        return np.broadcast_to((curve.weights**2) @ variance, curve.values.size)
    own = (curve.weights**2) @ variance
    beside = (curve.weights[1:] * curve.weights[:-1]) @ variance
    right = np.searchsorted(curve.at, curve.values).clip(1, curve.at.size - 1)
    share = (curve.values - curve.at[right - 1]) / (curve.at[right] - curve.at[right - 1])
    both = 2 * share * (1 - share) * beside[right - 1]
    return np.asarray((1 - share) ** 2 * own[right - 1] + share**2 * own[right] + both)
