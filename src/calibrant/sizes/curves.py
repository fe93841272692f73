"""Curves of a probability: what its log-odds are off by, as a line or with hats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.sizes.samples import FLOOR, NEARLY, Parts

Floats = NDArray[np.float64]
Sets = Sequence[Sequence[int]]  # numbers of parts

PENALTIES_OF_CURVE = 0.25, 1.0, 2.0  # of the intercept, the slope and each hat
VALUES = 256  # predictions that a curve tells apart


class Table(NamedTuple):
    """Predictions of an event, nearly alike ones together, and what occurred in each part."""

    x: Floats  # (k,) their log-odds
    mass: Floats  # (parts, k) weight of rows
    events: Floats  # (parts, k) weight of those with the event

    @classmethod
    def of(cls, p: Floats, occurred: NDArray[np.bool_], parts: Parts) -> "Table":
        """Gather equal predictions or, of very many, those of the same share of all rows."""
        x = _logit(p)
        values, of_value = np.unique(x, return_inverse=True)
        if values.size > VALUES:
            alike = np.bincount(of_value, parts.sample.weights)
            middle = np.cumsum(alike) - alike / 2
            share = np.floor(VALUES * middle / alike.sum() + NEARLY).astype(np.intp)
            of_value = np.unique(share, return_inverse=True)[1][of_value]
        k = int(of_value.max()) + 1
        mass, events, sums = (parts.add_up(of_value, k, each) for each in (1.0, occurred, x))
        return cls(sums.sum(axis=0) / mass.sum(axis=0), mass, events)


class Curve(NamedTuple):
    """A probability as a function of its prediction p: logit p plus a curve of it."""

    middle: float  # of logit p
    scale: float  # its standard deviation
    knots: Floats  # of the hats, sorted
    theta: Floats  # of intercept, slope and hats

    def gap(self, p: Floats) -> Floats:
        """Return how far it is above the prediction."""
        x = _logit(p)
        moved = x + self.theta[0] + self.theta[1] * (x - self.middle) / self.scale
        if self.knots.size:
            moved += np.interp(x, self.knots, self.theta[2:])
        return np.asarray(_logistic(moved) - _logistic(x))

    def inputs(self, x: Floats) -> Floats:
        """Return what parameters multiply: (k, 2 + hats)."""
        hats = [np.interp(x, self.knots, hat) for hat in np.eye(self.knots.size)]
        return np.column_stack((np.ones(x.size), (x - self.middle) / self.scale, *hats))


def fit_curves(table: Table, sets: Sets, hats: int) -> list[Curve]:
    """Return the curve of least penalised log loss of each set of parts; without hats a line."""
    mass = table.mass.sum(axis=0)
    ranks = np.cumsum(mass) / mass.sum()
    middle = float(np.average(table.x, weights=mass))
    scale = max(0.1, float(np.sqrt(np.average((table.x - middle) ** 2, weights=mass))))
    knots = np.unique(np.interp((np.arange(hats) + 0.5) / max(hats, 1), ranks, table.x))
    curve = Curve(middle, scale, knots, np.zeros(2 + knots.size))
    of_intercept, of_slope, of_hat = PENALTIES_OF_CURVE
    penalty = np.array([of_intercept, of_slope, *[of_hat] * knots.size])
    inputs = curve.inputs(table.x)
    found = []
    for mine in sets:
        some = Table(table.x, *(sums[list(mine)].sum(axis=0) for sums in table[1:]))
        found.append(curve._replace(theta=_logistic_fit(inputs, some, penalty)))
    return found


def _logistic_fit(inputs: Floats, table: Table, penalty: Floats) -> Floats:
    """Return the parameters of least penalised log loss, by Newton's method; of one part."""
    x, mass, events = table
    theta = np.zeros(penalty.size)
    for _ in range(25):
        q = _logistic(x + inputs @ theta)
        gradient = (mass * q - events) @ inputs + penalty * theta
        curvature = (inputs.T * (mass * q * (1 - q))) @ inputs
        curvature[np.diag_indices(penalty.size)] += penalty
        step = np.linalg.solve(curvature, gradient)
        step *= min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-300))  # far steps may overshoot
        theta = theta - step
        if np.abs(step).max() < 1e-4:
            break
    return theta


@final
@dataclass(frozen=True, slots=True)
class OfEvent:
    """The direction of two outcomes."""

    curve: Curve

    def __call__(self, probs: Floats, _: Floats) -> Floats:
        """Return the directions of rows: (k, m)."""
        gap = self.curve.gap(probs[:, 1])
        return np.stack((-gap, gap), axis=1)


@final
@dataclass(frozen=True, slots=True)
class OfTop:
    """The direction that gives to the most probable class and takes from all others alike.

    So sizes are never below what the curve of the confidence shows.
    """

    curve: Curve

    def __call__(self, probs: Floats, _: Floats) -> Floats:
        """Return the directions of rows: (k, m)."""
        rows, top = np.arange(len(probs)), probs.argmax(axis=1)
        gap = self.curve.gap(probs[rows, top])
        found = np.repeat(-gap[:, None] / (probs.shape[1] - 1), probs.shape[1], axis=1)
        found[rows, top] = gap
        return found


def _logit(p: Floats) -> Floats:
    inside = np.clip(p, FLOOR, 1 - FLOOR)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _logistic(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -700.0, 700.0))))
