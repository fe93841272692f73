"""Intercept and slope of the outcomes on the log-odds, as val.prob fits them."""

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from calibrant.calibration import Block, View
from calibrant.conventions.bins import check_two
from calibrant.statistics.statistic import Evaluate, Floats, Statistic, Ties

ROUNDS = 50  # of Newton's method, which needs ten
CLOSE = 1e-10
FAR = 30.0  # of an intercept or a slope, beyond which there is no maximum: outcomes are separable
LAID_OUT = 1 << 21  # numbers that are laid out at a time


@final
@dataclass(frozen=True, slots=True)
class LogisticCalibration(Statistic):
    """How far an intercept is from 0, or a slope from 1, by maximum likelihood.

    Rows with predictions of 0 and 1 are left out. Where predictions separate the outcomes, there is
    no maximum, and the distance is infinite. `statistics.Cox().fit` has the numbers with their
    signs and standard errors.

    Parameters
    ----------
    which : {"intercept", "slope", "in the large"}
        "in the large" is the intercept if the slope is 1.
    """

    which: Literal["intercept", "slope", "in the large"]

    def prepare(self, view: View) -> Evaluate:
        """Work out the log-odds."""
        check_two(self, view)
        ties = Ties.of(self, view)
        values = ties.values.astype(np.float64)
        inner = (values > 0.0) & (values < 1.0) & (ties.mass > 0.0)
        x, mass = np.log(values[inner] / (1.0 - values[inner])), ties.mass[inner]

        def evaluate(block: Block) -> Floats:
            sums = np.zeros((2, block.size))
            for part, events in ties.events(block):
                some = inner[part]
                held = np.log(values[part][some] / (1.0 - values[part][some]))
                sums += np.stack((np.ones_like(held), held)) @ events[some]
            return self._distances(x, mass, sums)

        return evaluate

    def _distances(self, x: Floats, mass: Floats, sums: Floats) -> Floats:
        """Return the distances for sums of events, and of events times log-odds (2, size)."""
        slope = self.which != "in the large"
        step = max(1, LAID_OUT // max(1, x.size))
        parts = [
            _fitted(x, mass, sums[:, start : start + step], slope=slope)
            for start in range(0, sums.shape[1], step)
        ]
        intercepts, slopes = np.concatenate(parts, axis=1)
        found = np.abs(slopes - 1.0) if self.which == "slope" else np.abs(intercepts)
        return np.where(np.maximum(np.abs(intercepts), np.abs(slopes)) > FAR, np.inf, found)

    def __str__(self) -> str:
        return "|slope - 1|" if self.which == "slope" else f"|{self.which}|"


def _fitted(x: Floats, mass: Floats, sums: Floats, *, slope: bool) -> Floats:
    """Return intercepts and slopes (2, size) by Newton's method, all data sets at once."""
    middle = float(mass @ x / mass.sum()) if x.size else 0.0
    x, size = x - middle, sums.shape[1]  # so that intercept and slope hardly depend on each other
    sums = np.stack((sums[0], sums[1] - middle * sums[0]))
    found = np.stack((np.full(size, middle), np.ones(size)))
    for _ in range(ROUNDS):
        p = 1.0 / (1.0 + np.exp(-(found[0] + np.outer(x, found[1]))))
        v = mass[:, None] * p * (1.0 - p)
        score = sums - np.stack((mass @ p, (mass * x) @ p))
        step = (
            _step(v, x, score)
            if slope
            else np.stack((score[0] / _some(v.sum(axis=0)), 0 * score[0]))
        )
        step /= np.maximum(1.0, np.abs(step).max(axis=0))
        found = np.clip(found + step, -2 * FAR, 2 * FAR)
        if np.abs(step).max(initial=0.0) < CLOSE:
            break
    return np.stack((found[0] - middle * found[1], found[1]))


def _step(v: Floats, x: Floats, score: Floats) -> Floats:
    """Solve the normal equations: (2, size)."""
    one, first, second = v.sum(axis=0), x @ v, (x * x) @ v
    det = _some(one * second - first**2)
    return np.stack((second * score[0] - first * score[1], one * score[1] - first * score[0])) / det


def _some(value: Floats) -> Floats:
    """Keep a divisor away from 0."""
    return np.maximum(value, 1e-300)
