"""Maximum likelihood of a logistic regression of counted outcomes on one number."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Outcomes = tuple[Floats, Floats]  # (cells,) each: the weight of the events, and of the rest

ROUNDS = 200  # of Newton's method, which needs ten
CLOSE = 1e-12  # relative change of an estimate


class Line(NamedTuple):
    """Where the likelihood of log-odds intercept + slope · x is largest."""

    intercept: float
    slope: float
    covariance: Floats  # (2, 2) of both, the inverse of the information


def fit_line(x: Floats, outcomes: Outcomes) -> Line:
    """Fit intercept and slope to outcomes at x (cells,) that overlap, so that there is a maximum.

    Newton's method on x with mean 0 and variance 1, from slope 0; a step that is too long is
    halved.
    """
    centre, scale = x.mean(), x.std()
    design = np.stack((np.ones_like(x), (x - centre) / scale))
    events, rest = outcomes
    theta = np.array([np.log(events.sum() / rest.sum()), 0.0])
    for _ in range(ROUNDS):
        gradient, information = _derivatives(theta, design, outcomes)
        step = np.linalg.solve(information, gradient)
        if np.all(np.abs(step) <= CLOSE * (1.0 + np.abs(theta))):
            break
        here = theta @ design
        while gain(here, (theta + step) @ design, outcomes) < -CLOSE * float(events.sum()):
            step *= 0.5
        theta = theta + step
    back = np.array([[1.0, -centre / scale], [0.0, 1.0 / scale]])
    intercept, slope = back @ theta
    covariance = back @ np.linalg.inv(information) @ back.T
    return Line(float(intercept), float(slope), covariance)


def fit_intercept(x: Floats, outcomes: Outcomes) -> float:
    """Fit the intercept if the slope is 1: between what the least and the largest x would need."""
    events, rest = outcomes
    needed = float(np.log(events.sum() / rest.sum()))
    low, high = needed - float(x.max()), needed - float(x.min())
    intercept = 0.5 * (low + high)
    for _ in range(ROUNDS):
        p, q = _chances(intercept + x)
        missing = float((events * q - rest * p).sum())
        low, high = (intercept, high) if missing > 0.0 else (low, intercept)
        weight = float(((events + rest) * p * q).sum())
        before, intercept = intercept, intercept + missing / max(weight, 1e-300)
        if not low <= intercept <= high:
            intercept = 0.5 * (low + high)
        if abs(intercept - before) <= CLOSE * (1.0 + abs(before)):
            break
    return intercept


def gain(before: Floats, after: Floats, outcomes: Outcomes) -> float:
    """Return by how much the log-likelihood grows from some log-odds (cells,) to others."""
    events, rest = outcomes
    up = np.logaddexp(0.0, -before) - np.logaddexp(0.0, -after)
    down = np.logaddexp(0.0, before) - np.logaddexp(0.0, after)
    return float((events * up + rest * down).sum())


def _derivatives(theta: Floats, design: Floats, outcomes: Outcomes) -> tuple[Floats, Floats]:
    """Return the gradient of the log-likelihood, and minus its matrix of second derivatives."""
    events, rest = outcomes
    p, q = _chances(theta @ design)
    weights = (events + rest) * p * q
    return ((events * q - rest * p) * design).sum(axis=1), (weights * design) @ design.T


def _chances(logits: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of the event and of the rest, both with all their digits."""
    return np.exp(-np.logaddexp(0.0, -logits)), np.exp(-np.logaddexp(0.0, logits))
