"""A flexible calibration curve with limits, and how far predictions are from it: ICI, E50, E90."""

from typing import Any, NamedTuple

import numpy as np

from calibrant.conventions.curves import Lowess
from calibrant.risks.logistic import SURE, line_of
from calibrant.risks.sample import Floats, Risks, added, limits_of_share
from calibrant.statistics.score_tests import chances, logit

MOST = 8192  # different predictions; of more, neighbours are taken together


class FlexibleCurve(NamedTuple):
    """The observed frequency over the prediction, as a lowess curve draws it.

    Limits are pointwise, and know of bends near 0 and 1 that the curve smooths away. ICI,
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
    low, high = _limits(risks, curve, values, mass, events)
    e50, e90 = (_quantile(off, mass, share, weighted=risks.weighted) for share in (0.5, 0.9))
    return FlexibleCurve(
        x=curve.at,
        y=fits.clip(0, 1),
        low=np.minimum(low, fits.clip(0, 1)),
        high=np.maximum(high, fits.clip(0, 1)),
        ici=float(mass @ off / mass.sum()),
        e50=e50,
        e90=e90,
        expected_ici=_expected(curve, values, mass),
    )


def _limits(
    risks: Risks, curve: Lowess, values: Floats, mass: Floats, events: Floats
) -> tuple[Floats, Floats]:
    """Return limits of the frequency at each anchor, those of a share of as many rows as decide it.

    The share is that of a line in the log-odds, and the smoothed rest (Glad, 1998), so that
    smoothing hides no bend that the line has. Rows whose outcomes vary more than the share implies,
    since they lie elsewhere, count as fewer.
    """
    line, start = line_of(risks.rows((risks.p > 0) & (risks.p < 1))), np.zeros_like(values)
    if line is not None:
        x = logit(values.clip(SURE, 1 - SURE))
        start, _ = chances(line.best[0] + line.best[1] * x)
    share = np.interp(curve.at, values, start) + curve.weights @ (events - mass * start)
    share = share.clip(0, 1)
    rows = 1.0 / np.maximum((curve.weights**2) @ mass, 1e-12)
    likely = (share * rows + 2) / (rows + 4)  # never 0 or 1
    varies = curve.interpolated(likely[:, None])[:, 0]
    spread = (curve.weights**2) @ (mass * varies * (1 - varies)) * rows / (likely * (1 - likely))
    z = risks.stretched(risks.weights * (risks.y - risks.p))
    low, high = limits_of_share(share, rows / np.maximum(spread, 1.0), z)
    return low, high


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
