"""Directions h(p) in which predictions may be off, each learned from some rows.

A size is found on other rows (`sizes.cross_fit`), so a direction need not be right: the better it
points from p to r(p), the more it shows. Four kinds complement each other: one temperature, a slope
and an intercept of every class, a curve of the confidence, and means on the cells of a tree.
Penalties, in units of a row, keep what few rows cannot tell near the identity.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.partitions import VarianceTree
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]

FLOOR = 1e-8  # smaller probabilities count as this one in logarithms
SHARPEST = 20.0  # inverse temperature; the flattest is its inverse
PENALTY_OF_TEMPERATURE = 4.0
PENALTIES_OF_CLASSES = 16.0, 4.0  # of slopes and intercepts
PENALTIES_OF_CURVE = 0.25, 1.0, 2.0  # of the intercept, the slope and each hat
HATS = 8  # of the curve
SHRINKING = 20.0  # rows of no deviation that are added to each cell of the tree
SMALLEST, SHARE = 80.0, 0.04  # nodes of a tree that are split: this weight, or share of all
DENSE = 32  # classes up to which second derivatives between classes count
ALONE = 1 << 18  # multiplications that BLAS leaves to one thread
STEPS = 4  # of Newton's method, for slopes and intercepts: nearly there is good enough


class Sample(NamedTuple):
    """Rows of positive weight."""

    probs: NDArray[Any]  # (n, m); of two outcomes the event is the second
    labels: NDArray[Any]  # (n,)
    weights: Floats  # (n,) those of all rows add up to their effective number

    def take(self, rows: NDArray[np.intp]) -> "Sample":
        """Return some of the rows, in float64."""
        probs = self.probs[rows].astype(np.float64, copy=False)
        return Sample(probs, self.labels[rows], self.weights[rows])


Direction = Callable[[Floats], Floats]  # of predictions (k, m): (k, m)


def learn(sample: Sample) -> list[Direction]:
    """Return what rows tell: two directions of two outcomes, four of more; no rows tell none."""
    if sample.labels.size == 0:
        return [np.zeros_like] * (2 if sample.probs.shape[1] == 2 else 4)
    if sample.probs.shape[1] == 2:
        event, occurred = sample.probs[:, 1], sample.labels == 1
        curves = (fit_curve(event, occurred, sample.weights, hats=n) for n in (0, HATS))
        return [_of_event(curve) for curve in curves]
    logs = _logs(sample.probs)
    power = fit_power(logs, sample)
    slopes, shifts = fit_classes(logs, sample, power)
    top = sample.probs.argmax(axis=1)
    confidence = sample.probs[np.arange(top.size), top]
    curve = fit_curve(confidence, sample.labels == top, sample.weights, hats=HATS)
    return [
        lambda probs: _softmax(power * _logs(probs)) - probs,
        lambda probs: _softmax((power + slopes) * _logs(probs) + shifts) - probs,
        _of_top(curve),
        fit_tree(sample),
    ]


def fit_power(logs: Floats, sample: Sample) -> float:
    """Return s of the least summed log loss of softmax(s log p) + 2 (s - 1)²."""
    own = logs[np.arange(len(logs)), sample.labels]
    low, high, power = 1.0 / SHARPEST, SHARPEST, 1.0
    for _ in range(50):
        q = _softmax(power * logs)
        mean = (q * logs).sum(axis=1)
        variance = (q * logs * logs).sum(axis=1) - mean * mean
        slope = dot(sample.weights, mean - own) + PENALTY_OF_TEMPERATURE * (power - 1)
        low, high = (low, power) if slope > 0 else (power, high)
        step = slope / (dot(sample.weights, variance) + PENALTY_OF_TEMPERATURE)
        reached = power - step if low < power - step < high else (low + high) / 2
        if abs(reached - power) < 1e-6 * power:
            break
        power = reached
    return float(power)


def fit_classes(logs: Floats, sample: Sample, power: float) -> tuple[Floats, Floats]:
    """Return a and b (m,) of softmax((s + a) log p + b), of a small penalised log loss.

    Classes that hardly occur together in predictions hardly matter to each other: beyond `DENSE`,
    second derivatives between classes are left out.
    """
    m = logs.shape[1]
    theta = np.zeros((2, m))
    penalty = np.repeat(np.array(PENALTIES_OF_CLASSES)[:, None], m, axis=1)
    for _ in range(STEPS):
        q = _softmax((power + theta[0]) * logs + theta[1])
        curvature = _curvature(q, logs, sample.weights)
        q[np.arange(len(q)), sample.labels] -= 1.0
        q *= sample.weights[:, None]
        gradient = np.stack(((q * logs).sum(axis=0), q.sum(axis=0))) + penalty * theta
        if m <= DENSE:
            curvature[np.diag_indices(2 * m)] += penalty.ravel()
            step = np.linalg.solve(curvature, gradient.ravel()).reshape(2, m)
        else:
            step = _solve_pairs(curvature, penalty, gradient)
        theta -= step
        if np.abs(step).max() < 1e-3:
            break
    return theta[0], theta[1]


def _curvature(q: Floats, logs: Floats, weights: Floats) -> Floats:
    """Return second derivatives by (a, b): (2m, 2m), or within each class alone: (3, m)."""
    m = q.shape[1]
    if m > DENSE:
        spread = weights[:, None] * q * (1 - q)
        times = spread * logs
        return np.stack(((times * logs).sum(axis=0), times.sum(axis=0), spread.sum(axis=0)))
    both = np.concatenate((q * logs, q), axis=1) * np.sqrt(weights)[:, None]
    found = -products(both, both)
    mass = weights[:, None] * q
    each = np.arange(m)
    found[each, each] += (mass * logs * logs).sum(axis=0)
    found[each, m + each] += (mass * logs).sum(axis=0)
    found[m + each, each] += (mass * logs).sum(axis=0)
    found[m + each, m + each] += mass.sum(axis=0)
    return np.asarray(found)


def _solve_pairs(curvature: Floats, penalty: Floats, gradient: Floats) -> Floats:
    """Solve two equations for each class."""
    one, both, two = curvature[0] + penalty[0], curvature[1], curvature[2] + penalty[1]
    determinant = one * two - both * both
    first = (two * gradient[0] - both * gradient[1]) / determinant
    second = (one * gradient[1] - both * gradient[0]) / determinant
    return np.stack((first, second))


class Curve(NamedTuple):
    """A probability as a function of its prediction p: logit p plus a curve of it."""

    middle: float  # of logit p
    scale: float  # its standard deviation
    knots: Floats  # of the hats, sorted
    theta: Floats  # of intercept, slope and hats

    def gap(self, p: Floats) -> Floats:
        """Return how far it is above the prediction."""
        x = _logit(p)
        return np.asarray(
            _logistic(x + np.einsum("ij,j->i", self.inputs(x), self.theta)) - _logistic(x)
        )

    def inputs(self, x: Floats) -> Floats:
        """Return what parameters multiply: (k, 2 + hats)."""
        return np.column_stack((np.ones(x.size), (x - self.middle) / self.scale, self._hats(x)))

    def _hats(self, x: Floats) -> Floats:
        """Return the shares of knots in a linear interpolation; beyond the ends, one knot's."""
        found = np.zeros((x.size, self.knots.size))
        if self.knots.size > 1:
            inside = np.clip(x, self.knots[0], self.knots[-1])
            left = np.clip(np.searchsorted(self.knots, inside, "right") - 1, 0, found.shape[1] - 2)
            share = (inside - self.knots[left]) / np.diff(self.knots)[left]
            rows = np.arange(x.size)
            found[rows, left], found[rows, left + 1] = 1.0 - share, share
        return found


def fit_curve(p: Floats, occurred: NDArray[np.bool_], weights: Floats, *, hats: int) -> Curve:
    """Return the curve of least penalised log loss; without hats a line."""
    x = _logit(p)
    middle = float(np.average(x, weights=weights))
    scale = max(0.1, float(np.sqrt(np.average((x - middle) ** 2, weights=weights))))
    order = np.argsort(x, kind="stable")
    ranks = np.cumsum(weights[order]) / weights.sum()
    knots = np.unique(np.interp((np.arange(hats) + 0.5) / max(hats, 1), ranks, x[order]))
    curve = Curve(middle, scale, knots, np.zeros(2 + knots.size))
    inputs = curve.inputs(x)
    of_intercept, of_slope, of_hat = PENALTIES_OF_CURVE
    penalty = np.array([of_intercept, of_slope, *[of_hat] * knots.size])
    theta = curve.theta
    for _ in range(25):
        q = _logistic(x + np.einsum("ij,j->i", inputs, theta))
        gradient = np.einsum("ij,i->j", inputs, weights * (q - occurred)) + penalty * theta
        curvature = products(inputs * (weights * q * (1 - q))[:, None], inputs)
        curvature[np.diag_indices(penalty.size)] += penalty
        step = np.linalg.solve(curvature, gradient)
        step *= min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-300))  # far steps may overshoot
        theta = theta - step
        if np.abs(step).max() < 1e-6:
            break
    return curve._replace(theta=theta)


def _of_event(curve: Curve) -> Direction:
    """Return the direction of two outcomes."""

    def direction(probs: Floats) -> Floats:
        gap = curve.gap(probs[:, 1])
        return np.stack((-gap, gap), axis=1)

    return direction


def _of_top(curve: Curve) -> Direction:
    """Return the direction that gives to the most probable class and takes from all others alike.

    So sizes are never below what the curve of the confidence shows.
    """

    def direction(probs: Floats) -> Floats:
        rows, top = np.arange(len(probs)), probs.argmax(axis=1)
        gap = curve.gap(probs[rows, top])
        found = np.repeat(-gap[:, None] / (probs.shape[1] - 1), probs.shape[1], axis=1)
        found[rows, top] = gap
        return found

    return direction


def fit_tree(sample: Sample) -> Direction:
    """Return mean deviations on the cells of a tree, which shrink the more the fewer rows."""
    m = sample.probs.shape[1]
    weights = None if (sample.weights == 1).all() else sample.weights
    labels = sample.labels.astype(np.int32)
    rows = Predictions.trusted(sample.probs, labels, ("",) * m, weights)
    size = max(SMALLEST, SHARE * float(sample.weights.sum()))
    fitted, cells = VarianceTree(size).locate(rows)
    mass = np.bincount(cells, sample.weights, fitted.n_cells)
    sums = np.zeros((fitted.n_cells, m))
    np.add.at(sums, (cells, sample.labels), sample.weights)
    for j in range(m):
        sums[:, j] -= np.bincount(cells, sample.weights * sample.probs[:, j], fitted.n_cells)
    means = sums / (mass + SHRINKING)[:, None]
    return lambda probs: means[fitted.assign(np.ascontiguousarray(probs))]


def dot(a: Floats, b: Floats) -> float:
    """Return the sum of products, without threads of BLAS: they wait for each other by spinning."""
    return float(np.einsum("i,i->", a, b))


def products(a: Floats, b: Floats) -> Floats:
    """Return a'b of two tables with many rows, a few at a time: BLAS then takes one thread."""
    step = max(1, ALONE // (a.shape[1] * b.shape[1]))
    spans = range(0, len(a), step)
    parts = [a[start : start + step].T @ b[start : start + step] for start in spans]
    return np.asarray(sum(parts, np.zeros((a.shape[1], b.shape[1]))))


def _logs(probs: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(probs, FLOOR)))


def _softmax(logits: Floats) -> Floats:
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def _logit(p: Floats) -> Floats:
    inside = np.clip(p, FLOOR, 1 - FLOOR)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _logistic(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -700.0, 700.0))))
