r"""Observed to expected, calibration in the large, slope and intercept, with their intervals.

.. math:: \operatorname{logit} P(y = 1) = \alpha + \beta \operatorname{logit} p

Slope and intercept have profile likelihood intervals: the values whose likelihood ratio to the
maximum is at most z². In the large (slope 1) the number of events decides, and limits come from its
Poisson-binomial distribution. Both hold with few events, and where there is no maximum one end is
infinite. Where the rows scatter more than such a model implies, as rows in clusters do, z is larger
by the ratio of the standard errors.
"""

from typing import NamedTuple

import numpy as np

from calibrant.risks.sample import Floats, Interval, Measured, Risks, added, limits_of_count
from calibrant.sizes.limits import Bin
from calibrant.statistics.score_tests import chances, fit_intercept, fit_line, gain, logit

ROUNDS = 60  # of a search for an end, which needs five
CLOSE = 1e-7  # of the root of the likelihood ratio
LEAST = 1e-3  # root from which it is modified; its limit is not 0
SURE = 1e-15  # log-odds of predictions that are nearer to 0 or 1 are those of this one
GROUPS = 64  # of log-odds, for the distribution of the number of events
FARTHEST = 1e4  # an end that is further away is none


class LogisticFit(NamedTuple):
    """Outcomes at log-odds x, and the line that fits best, of rows with 0 < p < 1."""

    risks: Risks
    x: Floats  # (values,)
    counts: tuple[Floats, Floats]  # (values,) events and the rest
    best: tuple[float, float]  # intercept and slope
    covariance: Floats  # (2, 2) that the model implies

    def spread(self) -> Floats:
        """Return the influence of rows on intercept and slope: (n, 2)."""
        x = logit(self.risks.p)
        p, _ = chances(self.best[0] + self.best[1] * x)
        scores = (self.risks.weights * (self.risks.y - p))[:, None] * np.stack(
            (np.ones_like(x), x), axis=1
        )
        return np.asarray(scores @ self.covariance)

    def root(self, which: int, value: float, start: float) -> tuple[float, float]:
        r"""Return the modified root r* of a value, and the other parameter beside it.

        .. math:: r^* = r + \frac1r \log\frac ur, \qquad
            u = (\hat\theta - \theta) \sqrt{|j(\hat\theta, \hat\lambda)| / j_{\lambda\lambda}}

        with the root r of the likelihood ratio (Barndorff-Nielsen, 1986), as absolute values.
        """
        design = (np.ones_like(self.x), self.x)
        fixed, free = value * design[which], design[1 - which]
        other = _fit_one(fixed, free, self.counts, start)
        here = fixed + other * free
        best = self.best[0] + self.best[1] * self.x
        r = float(np.sqrt(max(0.0, 2 * gain(here, best, self.counts))))
        p, q = chances(here)
        nuisance = float(((self.counts[0] + self.counts[1]) * p * q * free * free).sum())
        u = abs(self.best[which] - value) / np.sqrt(
            float(np.linalg.det(self.covariance)) * nuisance
        )
        if r < LEAST or not np.isfinite(u):
            return r, other
        return r + float(np.log(max(u, 1e-300) / r)) / r, other


def line_of(risks: Risks) -> LogisticFit | None:
    """Fit intercept and slope; None where outcomes do not overlap, so that there is no maximum."""
    values, places = np.unique(logit(risks.p), return_inverse=True)
    mass = added(places, risks.weights, values.size)
    events = added(places, risks.weights * risks.y, values.size)
    occurs, fails = values[events > 0], values[mass > events * (1 + 1e-12)]
    if not (occurs.size and fails.size):
        return None
    if not (occurs.min() < fails.max() and fails.min() < occurs.max()):
        return None
    counts = events, np.maximum(mass - events, 0.0)
    intercept, slope, covariance = fit_line(values, counts)
    return LogisticFit(risks, values, counts, (intercept, slope), covariance)


def slope_and_intercept(risks: Risks) -> tuple[Measured, Measured]:
    """Return the slope, and the intercept beside it."""
    line = line_of(risks)
    if line is None:
        return (Measured(np.nan, (-np.inf, np.inf)),) * 2
    influences = line.spread()
    found = []
    for which in (1, 0):
        implied = float(line.covariance[which, which])
        z = risks.stretched(influences[:, which], implied)
        ends = (_end(line, which, z, sign) for sign in (-1, 1))
        found.append(Measured(line.best[which], (next(ends), next(ends))))
    return found[0], found[1]


def _end(line: LogisticFit, which: int, z: float, sign: int) -> float:
    """Return where the root of the likelihood ratio is z, below or above the maximum.

    The root is nearly linear: secants, within the bracket that is known.
    """
    best, error = line.best[which], float(np.sqrt(line.covariance[which, which]))
    other = line.best[1 - which]
    near, far = (0.0, 0.0), (np.inf, np.inf)  # distance from the best, and the root there
    step = z * error
    for _ in range(ROUNDS):
        root, other = line.root(which, best + sign * step, other)
        if abs(root - z) < CLOSE * z:
            break
        if root < z:
            near = step, root
        else:
            far = step, root
        step = _between(near, far, z)
        if step > FARTHEST * error:
            return sign * np.inf
    return best + sign * step


def _between(near: Interval, far: Interval, z: float) -> float:
    """Return the next distance to try."""
    if not np.isfinite(far[0]):
        return near[0] * min(3.0, max(1.05, z / max(near[1], 1e-9)))
    slope = (far[0] - near[0]) / (far[1] - near[1])
    return near[0] + float(np.clip((z - near[1]) * slope, 0.02 * (far[0] - near[0]), np.inf))


def _fit_one(fixed: Floats, free: Floats, counts: tuple[Floats, Floats], start: float) -> float:
    """Fit the factor of `free` beside `fixed` log-odds (values,) by Newton's method."""
    events, rest = counts
    value = start
    for _ in range(ROUNDS):
        here = fixed + value * free
        p, q = chances(here)
        gradient = float(((events * q - rest * p) * free).sum())
        curvature = float(((events + rest) * p * q * free * free).sum())
        step = gradient / max(curvature, 1e-300)
        while abs(step) > 1e-12 and gain(here, here + step * free, counts) < 0.0:
            step *= 0.5
        value += step
        if abs(step) <= 1e-9 * (1 + abs(value)):
            break
    return value


def in_the_large(risks: Risks) -> Measured:
    """Return the intercept if the slope is 1."""
    x = _log_odds(risks)
    value = _moved_by(risks, x)
    p, q = chances(value + x)
    z = risks.stretched(risks.weights * (risks.y - p), float(risks.weights @ (p * q)))
    return Measured(value, _limits(risks, x, value, z))


def observed_expected(risks: Risks) -> Measured:
    """Return the number of events over the sum of the predictions."""
    expected = float(risks.weights @ risks.p)
    if expected == 0.0:
        return Measured(np.inf if risks.rate else np.nan, (0.0, np.inf))
    value, x = float(risks.weights @ risks.y) / expected, _log_odds(risks)
    constant = _moved_by(risks, x)
    p, q = chances(constant + x)
    implied = float(risks.weights @ (p * q))
    z = risks.stretched(risks.weights * (risks.y - value * risks.p), implied)
    ends = [chances(x + end)[0] for end in _limits(risks, x, constant, z)]
    low, high = (float(risks.weights @ end) / expected for end in ends)
    return Measured(value, (min(value, low), max(value, high)))


def _log_odds(risks: Risks) -> Floats:
    """Return log-odds (n,); predictions of 0 and 1 have very large ones."""
    return logit(np.clip(risks.p, SURE, 1 - SURE))


def _moved_by(risks: Risks, x: Floats) -> float:
    """Return the constant by which log-odds x (n,) are off; infinite if outcomes are all alike."""
    if not 0.0 < risks.rate < 1.0:
        return -np.inf if risks.rate == 0 else np.inf
    return fit_intercept(x, (risks.weights * risks.y, risks.weights * (1 - risks.y)))


def _limits(risks: Risks, x: Floats, value: float, z: float) -> Interval:
    """Return limits of the constant by which log-odds x (n,) are off.

    The distribution of the number of events is that of many groups of about equal log-odds;
    limits are moved by what that changes in the value.
    """
    values, places = np.unique(x, return_inverse=True)
    if values.size > GROUPS:
        places = np.searchsorted(np.sort(x), x) * GROUPS // x.size
        places = np.unique(places, return_inverse=True)[1]
    mass, events = (added(places, risks.weights * each) for each in (np.ones_like(x), risks.y))
    middle = added(places, risks.weights * x) / mass
    low, high = limits_of_count(Bin(chances(middle)[0], mass, float(events.sum())), z)
    if np.isinf(value):
        return low, high
    off = value - fit_intercept(middle, (events, mass - events))
    return low + off, high + off
