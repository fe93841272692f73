"""Maximum likelihood of a logistic regression on counts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDS = 200  # of Newton's method, which needs ten
CLOSE = 1e-12  # relative change of the estimates


class Maximum(NamedTuple):
    """Where the likelihood is largest."""

    estimates: Floats  # (k,)
    information: Floats  # (k, k)
    gain: float  # in log-likelihood over estimates of 0


def maximise(design: Floats, offset: Floats, outcomes: tuple[Floats, Floats]) -> Maximum:
    """Fit log-odds = offset + estimates · design, by Newton's method with shorter steps if need be.

    design : (k, cells)
    offset : (cells,)
    outcomes : (cells,) each, the weight of the events and of the rest
    """
    theta = np.zeros(design.shape[0])
    gain = 0.0
    for _ in range(ROUNDS):
        gradient, information = _derivatives(offset + theta @ design, design, outcomes)
        step = np.linalg.solve(information, gradient)
        if np.all(np.abs(step) <= CLOSE * (1.0 + np.abs(theta))):
            break
        better = _gain(offset, (theta + step) @ design, outcomes)
        while better < gain - 1e-12 * (1.0 + abs(gain)):
            step *= 0.5
            better = _gain(offset, (theta + step) @ design, outcomes)
        theta, gain = theta + step, better
    return Maximum(theta, information, gain)


def _derivatives(
    logits: Floats, design: Floats, outcomes: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the gradient of the log-likelihood, and minus its matrix of second derivatives."""
    events, rest = outcomes
    p, q = np.exp(-np.logaddexp(0.0, -logits)), np.exp(-np.logaddexp(0.0, logits))
    residuals = events * q - rest * p
    weights = (events + rest) * p * q
    return (residuals * design).sum(axis=1), (weights * design) @ design.T


def _gain(offset: Floats, change: Floats, outcomes: tuple[Floats, Floats]) -> float:
    """Return by how much the log-likelihood grows if log-odds `offset` change."""
    events, rest = outcomes
    logits = offset + change
    up = np.logaddexp(0.0, -offset) - np.logaddexp(0.0, -logits)
    down = np.logaddexp(0.0, offset) - np.logaddexp(0.0, logits)
    return float((events * up + rest * down).sum())
