"""Directions h(p) in which predictions may be off, each learned from some rows.

A size is found on other rows (`sizes.cross_fit`), so a direction need not be right: the better it
points from p to r(p), the more it shows. Four kinds complement each other: one temperature, a slope
and an intercept of every class, a curve of the confidence, and means on the cells of a tree.
Penalties, in units of a row, keep what few rows cannot tell near the identity.

Rows come in parts, and directions are wanted for many sets of parts. What rows predict may be known
to all of them: knots of curves and cells of trees are the same for all sets, and only outcomes are
added up by part. What maps of `recalibration` find to the last digit is found nearly: sums over
the rows of a part are worked out at a few powers that all sets share, and each set adds up those
of its parts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.partitions import FittedPartition, VarianceTree
from calibrant.predictions import Predictions
from calibrant.recalibration.likelihood import ALONE, OwnClass, over_classes, softmax
from calibrant.sizes.samples import FLOOR, NEARLY, PartRows, Sample

Floats = NDArray[np.float64]
Sets = Sequence[Sequence[int]]  # numbers of parts

HATS = 8  # of the curve
PENALTIES_OF_CURVE = 0.25, 1.0, 2.0  # of the intercept, the slope and each hat
VALUES = 256  # predictions that a curve tells apart
SHRINKING = 20.0  # rows of no deviation that are added to each cell of the tree
SMALLEST, SHARE = 80.0, 0.04  # nodes of a tree that are split: this weight, or share of all
POWERS = np.geomspace(0.05, 20.0, 9)  # inverse temperatures at which sums are worked out; 1 is one
PENALTY_OF_POWER = 4.0
PENALTIES = np.array([16.0, 4.0])  # of slopes and intercepts
DENSE = 32  # classes up to which second derivatives between classes count
STEPS = 1  # of Newton's method that are a set's own: nearly there is good enough


Direction = Callable[[Floats, Floats], Floats]  # of predictions (k, m), and their logarithms
Rows = tuple[Floats, NDArray[Any], Floats]  # log-probabilities (n, m), labels (n,), weights (n,)


def learn(parts: Sequence[Sample], sets: Sets) -> list[list[Direction]]:
    """Return what each set of parts tells: two directions of two outcomes, four of more."""
    every = PartRows.of(parts)
    probs, labels, _ = every.sample
    if probs.shape[1] == 2:
        table = PartTable.of(probs[:, 1], labels == 1, every)
        lines, curves = (map(OfEvent, fit_curves(table, sets, hats)) for hats in (0, HATS))
        return [list(pair) for pair in zip(lines, curves, strict=True)]
    top = probs.argmax(axis=1)
    table = PartTable.of(probs[np.arange(top.size), top], labels == top, every)
    scaled = scale_classes([(part.logs, part.labels, part.weights) for part in parts], sets)
    others = zip(fit_curves(table, sets, HATS), fit_trees(every, sets), strict=True)
    return [
        [OfPower(power), OfClasses(theta), OfTop(curve), tree]
        for (power, theta), (curve, tree) in zip(scaled, others, strict=True)
    ]


@final
@dataclass(frozen=True, slots=True)
class OfPower:
    """The direction of a temperature."""

    power: float

    def __call__(self, probs: Floats, logs: Floats) -> Floats:
        """Return the directions of rows: (k, m)."""
        return softmax(self.power * logs) - probs


@final
@dataclass(frozen=True, slots=True)
class OfClasses:
    """The direction of a slope and an intercept of every class."""

    theta: Floats  # (m, 2)

    def __call__(self, probs: Floats, logs: Floats) -> Floats:
        """Return the directions of rows: (k, m)."""
        return softmax(self.theta[:, 0] * logs + self.theta[:, 1]) - probs


class LossSums(NamedTuple):
    """Derivatives of the summed log loss of softmax(theta_j0 log p_j + theta_j1)."""

    gradient: Floats  # (m, 2)
    curvature: Floats  # (2m, 2m), or within each class alone: (m, 2, 2)
    slope: float  # along all theta_j0 alike
    bend: float  # the second derivative along these


def scale_classes(parts: Sequence[Rows], sets: Sets) -> list[Any]:
    """Return the power s and theta (m, 2) of each set: of a small penalised log loss.

    The power has the penalty 2 (s - 1)², and theta one of its distance from (s, 0). Classes that
    hardly occur together in predictions hardly matter to each other: beyond `DENSE`, second
    derivatives between classes are left out.
    """
    m = parts[0][0].shape[1]
    known: dict[tuple[int, int], LossSums] = {}

    def at_power(mine: Sequence[int], number: int) -> LossSums:
        for part in mine:
            if (part, number) not in known:
                theta = np.tile([POWERS[number], 0.0], (m, 1))
                known[part, number] = _sums(parts[part], theta)
        return _total(known[part, number] for part in mine)

    found = []
    for mine in sets:
        power, near = _power(lambda number, mine=mine: at_power(mine, number))
        centre, theta = np.tile([power, 0.0], (m, 1)), np.tile([POWERS[near], 0.0], (m, 1))
        theta = theta - _step(at_power(mine, near), theta - centre)
        for _ in range(STEPS):
            theta = theta - _step(
                _total(_sums(parts[part], theta) for part in mine), theta - centre
            )
        found.append((power, theta))
    return found


def _power(sums_at: Any) -> tuple[float, int]:
    """Return s where the penalised loss of softmax(s log p) is least, and the number next to it.

    The first derivative rises with s. Between two powers it is taken for the cubic in log s that
    has its values and slopes.
    """

    def end(number: int) -> tuple[float, float]:
        sums, s = sums_at(number), float(POWERS[number])
        slope = sums.slope + PENALTY_OF_POWER * (s - 1)
        return slope, (sums.bend + PENALTY_OF_POWER) * s

    number = POWERS.size // 2
    here = end(number)
    way = -1 if here[0] > 0 else 1
    while 0 <= number + way < POWERS.size:
        beyond = end(number + way)
        if beyond[0] * here[0] <= 0:
            break
        number, here = number + way, beyond
    else:
        return float(POWERS[number]), number
    share = _root(here, beyond, way * float(np.log(POWERS[1] / POWERS[0])))
    power = POWERS[number] * (POWERS[1] / POWERS[0]) ** (way * share)
    return float(power), number + (way if share > 0.5 else 0)


def _root(here: tuple[float, float], beyond: tuple[float, float], width: float) -> float:
    """Return where on the way a cubic is 0 that has these values and slopes at its ends."""
    low, high, sign = 0.0, 1.0, 1.0 if here[0] > 0 else -1.0
    for _ in range(30):
        t = (low + high) / 2
        value = (1 + 2 * t) * (1 - t) ** 2 * here[0] + t * t * (3 - 2 * t) * beyond[0]
        value += width * t * (1 - t) * ((1 - t) * here[1] - t * beyond[1])
        low, high = (t, high) if value * sign > 0 else (low, t)
    return (low + high) / 2


def _sums(rows: Rows, theta: Floats) -> LossSums:
    """Add up the derivatives of all rows."""
    m = len(theta)
    spans = threads.blocks(len(rows[0]), max(1, ALONE // (m * min(m, DENSE))))
    shape = (2 * m, 2 * m) if m <= DENSE else (m, 2, 2)
    nothing = LossSums(np.zeros((m, 2)), np.zeros(shape), 0.0, 0.0)
    blocks = (tuple(column[start:stop] for column in rows) for start, stop in spans)
    return _total((_of_block(theta, *block) for block in blocks), nothing)


def _of_block(theta: Floats, logs: Floats, labels: NDArray[Any], weights: Floats) -> LossSums:
    design = OwnClass()
    q = softmax(design.logits(theta, logs))
    means = over_classes(np.add, q * logs)
    squares = over_classes(np.add, q * logs * logs)
    bend = float(np.einsum("i,i->", weights, squares - means * means))
    if len(theta) <= DENSE:
        curvature = design.hessian(q, logs, weights)
    else:
        spread = weights[:, None] * q * (1 - q)
        one, both = design.adjoint(spread * logs, logs).T
        curvature = np.array([[one, both], [both, spread.sum(axis=0)]]).transpose(2, 0, 1)
    q[np.arange(len(q)), labels] -= 1.0
    q *= weights[:, None]
    gradient = design.adjoint(q, logs)
    return LossSums(gradient, curvature, float(gradient[:, 0].sum()), bend)


def _total(some: Iterator[LossSums], start: LossSums | None = None) -> LossSums:
    """Add up sums."""
    for a in some:
        b = start
        start = a if b is None else LossSums(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])
    assert start is not None
    return start


def _step(sums: LossSums, away: Floats) -> Floats:
    """Return Newton's step (m, 2) of the penalised loss, at a distance from the centre."""
    m = len(away)
    gradient = sums.gradient + PENALTIES * away
    if sums.curvature.ndim == 2:
        matrix = sums.curvature + np.diag(np.tile(PENALTIES, m))
        return np.asarray(np.linalg.solve(matrix, gradient.ravel())).reshape(m, 2)
    matrices = sums.curvature + np.diag(PENALTIES)
    return np.asarray(np.linalg.solve(matrices, gradient[:, :, None])[:, :, 0])


@final
@dataclass(frozen=True, slots=True)
class OfCells:
    """The direction that is constant on the cells of a tree."""

    tree: FittedPartition
    means: Floats  # (cells, m)

    def __call__(self, probs: Floats, _: Floats) -> Floats:
        """Return the directions of rows: (k, m)."""
        found: Floats = self.means[self.tree.assign(np.ascontiguousarray(probs))]
        return found


def fit_trees(parts: PartRows, sets: Sets) -> list[Direction]:
    """Return mean deviations on the cells of a tree, which shrink the more the fewer rows."""
    probs, labels, weights = parts.sample
    m = probs.shape[1]
    weighted = None if (weights == 1).all() else weights
    rows = Predictions.trusted(probs, labels.astype(np.int32), ("",) * m, weighted)
    size = max(SMALLEST, SHARE * float(weights.sum())) * (1 - NEARLY)
    tree, cells = VarianceTree(size).locate(rows)
    mass = parts.add_up(cells, tree.n_cells)
    residuals = ((labels == j) - probs[:, j] for j in range(m))
    sums = np.stack([parts.add_up(cells, tree.n_cells, each) for each in residuals], axis=2)

    def of_set(mine: Sequence[int]) -> Direction:
        some = list(mine)
        means = sums[some].sum(axis=0) / (mass[some].sum(axis=0) + SHRINKING)[:, None]
        return OfCells(tree, means)

    return [of_set(mine) for mine in sets]


class PartTable(NamedTuple):
    """Predictions of an event, nearly alike ones together, and what occurred in each part."""

    x: Floats  # (k,) their log-odds
    mass: Floats  # (parts, k) weight of rows
    events: Floats  # (parts, k) weight of those with the event

    @classmethod
    def of(cls, p: Floats, occurred: NDArray[np.bool_], parts: PartRows) -> "PartTable":
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


class LogitCurve(NamedTuple):
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


def fit_curves(table: PartTable, sets: Sets, hats: int) -> list[LogitCurve]:
    """Return the curve of least penalised log loss of each set of parts; without hats a line."""
    mass = table.mass.sum(axis=0)
    ranks = np.cumsum(mass) / mass.sum()
    middle = float(np.average(table.x, weights=mass))
    scale = max(0.1, float(np.sqrt(np.average((table.x - middle) ** 2, weights=mass))))
    knots = np.unique(np.interp((np.arange(hats) + 0.5) / max(hats, 1), ranks, table.x))
    curve = LogitCurve(middle, scale, knots, np.zeros(2 + knots.size))
    of_intercept, of_slope, of_hat = PENALTIES_OF_CURVE
    penalty = np.array([of_intercept, of_slope, *[of_hat] * knots.size])
    inputs = curve.inputs(table.x)
    found = []
    for mine in sets:
        some = PartTable(table.x, *(sums[list(mine)].sum(axis=0) for sums in table[1:]))
        found.append(curve._replace(theta=_logistic_fit(inputs, some, penalty)))
    return found


def _logistic_fit(inputs: Floats, table: PartTable, penalty: Floats) -> Floats:
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

    curve: LogitCurve

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

    curve: LogitCurve

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
