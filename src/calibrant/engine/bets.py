r"""Bets on an event of known probability: factors whose mean is one if the probability is true.

A bet on row t is a distribution q_t made of earlier rows and p_t alone. Its factor is
L_t = q_t(y_t) / p_t(y_t), so that p_t L_t(1) + (1 - p_t) L_t(0) = 1. A mixture keeps weights w_k
of its bets and has the factor f = sum_k w_k L_k; then w_k becomes w_k L_k / f. Five of them are
mixed: a grid of lines on the scale of log-odds, a dense and a sparse tree of intervals of p, and
two smooth curves with knots on p and on its log-odds.
"""

from math import exp, log, sqrt
from typing import Annotated, NamedTuple

import numpy as np

from calibrant.engine.arrays import Array, Floats, blank
from calibrant.engine.kernel import f8, helper, i8, out

OFFSETS = (0.0, 0.15, -0.15, 0.3, -0.3, 0.6, -0.6)  # a of log-odds a + b logit p
SLOPES = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)  # b
SHIFTS = (0.0, 0.25, -0.25, 0.5, -0.5, 1.0, -1.0)  # of log-odds in an interval
DENSE, SPARSE = (1, 10), (1, 5, 10, 20)  # intervals of the levels of a tree, from root to leaves
NODES = {levels: sum(levels) for levels in (DENSE, SPARSE)}
PARTS = {"line": 0.30, "tenths": 0.20, "region": 0.15, "curve": 0.20, "curve of log-odds": 0.15}
KNOTS = 9
REACH = 8.0  # log-odds of the outermost knots
DEVIATION = 0.6  # of a curve's prior
FAR = 30.0  # log-odds beyond which lines do not bet: their powers would overflow
LEAST, MOST = 1e-12, 1e12  # odds of staying at a node
FLOOR = 1e-100  # of weights: nothing underflows
STEEP = 10.0  # the largest shift of a curve


class BetPlan(NamedTuple):
    """What bets are made of, and scratch memory for the factors of a row."""

    offsets: Annotated[Floats, out(f8["offsets"])]  # factors of the odds
    slopes: Annotated[Floats, out(f8["slopes"])]
    ratios: Annotated[Floats, out(f8["shifts"])]  # factors of the odds in an interval
    dense: Annotated[Array, out(i8["dense"])]  # intervals of each level
    sparse: Annotated[Array, out(i8["sparse"])]
    powers: Annotated[Floats, out(f8["slopes"])]  # scratch: odds to the power of each slope
    lines: Annotated[Floats, out(f8["lines"])]  # scratch: factors of lines
    moves: Annotated[Floats, out(f8["shifts"])]  # scratch: factors of shifts
    gain: Annotated[Floats, out(f8["knots"])]  # scratch: covariances with a curve's height

    @classmethod
    def start(cls) -> "BetPlan":
        """Return the bets as they are named above."""
        lengths = {"offsets": 7, "slopes": 7, "shifts": 7, "lines": 49, "knots": KNOTS}
        plan = blank(cls, dense=len(DENSE), sparse=len(SPARSE), **lengths)
        plan.offsets[:], plan.slopes[:] = np.exp(OFFSETS), SLOPES
        plan.ratios[:] = np.exp(SHIFTS)
        plan.dense[:], plan.sparse[:] = DENSE, SPARSE
        return plan


class Bets(NamedTuple):
    """Weights of all bets on one event, which sum to one in each mixture."""

    parts: Annotated[Floats, out(f8["parts"])]
    line: Annotated[Floats, out(f8["lines"])]
    dense: Annotated[Floats, out(f8["tenths shifts"])]  # of the shifts, at each node
    dense_odds: Annotated[Floats, out(f8["tenths"])]  # of a node against its children
    sparse: Annotated[Floats, out(f8["regions shifts"])]
    sparse_odds: Annotated[Floats, out(f8["regions"])]
    mean: Annotated[Floats, out(f8["2 knots"])]  # of the curve at its knots
    spread: Annotated[Floats, out(f8["2 knots knots"])]  # covariance

    @classmethod
    def start(cls) -> "Bets":
        """Return the weights before the first row."""
        lengths = {"parts": len(PARTS), "lines": 49, "shifts": 7, "knots": KNOTS}
        bets = blank(cls, tenths=NODES[DENSE], regions=NODES[SPARSE], **lengths)
        bets.parts[:] = tuple(PARTS.values())
        bets.line[:] = line_prior()
        bets.dense[:], bets.dense_odds[:] = shift_prior(0.1), 0.25
        bets.sparse[:], bets.sparse_odds[:] = shift_prior(0.6), 1.0
        apart = np.abs(np.subtract.outer(np.arange(KNOTS), np.arange(KNOTS)))
        bets.spread[:] = DEVIATION**2 * np.exp(-apart / 2)
        return bets


def line_prior(null: float = 0.05) -> Floats:
    """Return weights of lines: those that only shift or only stretch share two thirds."""
    simple = np.logical_or.outer(np.array(OFFSETS) == 0, np.array(SLOPES) == 1)
    weights = np.where(simple, 0.65 / 12, 0.30 / 36)
    weights[0, SLOPES.index(1.0)] = 0.0
    weights *= (1 - null) / weights.sum()
    weights[0, SLOPES.index(1.0)] = null
    return weights.ravel()


def shift_prior(none: float) -> Floats:
    """Return weights of shifts of the log-odds, of which `none` is on no shift."""
    return np.array([none] + [(1 - none) / 6] * 6)


@helper
def shift_factor(p, occurred, ratio):
    """Return q(y) / p(y) where q has the odds of p times a ratio."""
    return (ratio if occurred else 1.0) / (1.0 + p * (ratio - 1.0))


@helper
def find_factors(p, occurred, plan):
    """Write the factors of all lines and shifts; return the log-odds of p."""
    for k in range(plan.ratios.shape[0]):
        plan.moves[k] = shift_factor(p, occurred, plan.ratios[k])
    odds = log(p / (1.0 - p))
    if abs(odds) > FAR:
        plan.lines[:] = 1.0
        return odds
    raise_odds(p / (1.0 - p), odds, plan.powers)
    chance = p if occurred else 1.0 - p
    size = plan.slopes.shape[0]
    for j in range(plan.offsets.shape[0]):
        for k in range(size):
            power = plan.offsets[j] * plan.powers[k]
            plan.lines[j * size + k] = (power if occurred else 1.0) / ((1.0 + power) * chance)
    return odds


@helper
def raise_odds(odds, logarithm, powers):
    """Write the powers of `SLOPES`, all of which are made of those of 0.5 and 0.35."""
    half, part = sqrt(odds), exp(0.35 * logarithm)
    powers[0] = half
    powers[1] = part * part
    powers[2] = half * part
    powers[3] = odds
    powers[4] = half * part * part
    powers[5] = half * odds
    powers[6] = odds * odds


@helper
def bet(weights, factors):
    """Return the factor of a mixture, and turn its weights to those that won."""
    total = 0.0
    for k in range(weights.shape[0]):
        weights[k] *= factors[k]
        total += weights[k]
    scale = 1.0 / total
    for k in range(weights.shape[0]):
        weights[k] = max(weights[k] * scale, FLOOR)
    return total


@helper
def shift_bet(weights, node, factors):
    """Return the factor of a node's mixture of seven shifts, and turn its weights likewise."""
    w0, w1, w2 = weights[node, 0], weights[node, 1] * factors[1], weights[node, 2] * factors[2]
    w3, w4 = weights[node, 3] * factors[3], weights[node, 4] * factors[4]
    w5, w6 = weights[node, 5] * factors[5], weights[node, 6] * factors[6]
    total = ((w0 + w1) + (w2 + w3)) + ((w4 + w5) + w6)
    scale = 1.0 / total
    weights[node, 0] = max(w0 * scale, FLOOR)
    weights[node, 1] = max(w1 * scale, FLOOR)
    weights[node, 2] = max(w2 * scale, FLOOR)
    weights[node, 3] = max(w3 * scale, FLOOR)
    weights[node, 4] = max(w4 * scale, FLOOR)
    weights[node, 5] = max(w5 * scale, FLOOR)
    weights[node, 6] = max(w6 * scale, FLOOR)
    return total


@helper
def tree_bet(p, levels, weights, odds, factors):
    """Return the factor of all ways to cut [0, 1] into nodes of a tree (context-tree weighting)."""
    first, below = weights.shape[0], 0.0
    for level in range(levels.shape[0] - 1, -1, -1):
        first -= levels[level]
        node = first + min(int(p * levels[level]), levels[level] - 1)
        here = shift_bet(weights, node, factors)
        if level == levels.shape[0] - 1:
            below = here
        else:
            stay = odds[node]
            odds[node] = min(max(stay * here / below, LEAST), MOST)
            below = (stay * here + below) / (stay + 1.0)
    return below


@helper
def curve_bet(p, occurred, place, mean, spread, gain):
    """Return the factor of a smooth curve of shifts, and learn it from the outcome.

    The curve is linear between knots, and normal. The bet averages the shifts one deviation above
    and below its mean at p; the outcome changes it by a step of Newton's method.
    """
    i = min(int(place), KNOTS - 2)
    right = place - i
    left = 1.0 - right
    for j in range(KNOTS):
        gain[j] = left * spread[i, j] + right * spread[i + 1, j]
    variance = left * gain[i] + right * gain[i + 1]
    center = left * mean[i] + right * mean[i + 1]
    width = sqrt(max(variance, 0.0))
    middle, step = exp(min(max(center, -STEEP), STEEP)), exp(width)
    q = p * middle / (1.0 + p * (middle - 1.0))
    slope = q * (1.0 - q)
    scale = 1.0 / (1.0 + slope * variance)
    for j in range(KNOTS):
        mean[j] += gain[j] * ((occurred - q) * scale)
        change = gain[j] * (slope * scale)
        for k in range(KNOTS):
            spread[j, k] -= change * gain[k]
    up, down = middle * step, middle / step
    return 0.5 * (shift_factor(p, occurred, up) + shift_factor(p, occurred, down))


@helper
def share_wealth(shares, f0, f1, f2, f3, f4):
    """Return the factor of five bets that share the wealth; each share becomes what it won."""
    total = shares[0] * f0 + shares[1] * f1 + shares[2] * f2
    total += shares[3] * f3 + shares[4] * f4
    shares[0] = max(shares[0] * f0 / total, FLOOR)
    shares[1] = max(shares[1] * f1 / total, FLOOR)
    shares[2] = max(shares[2] * f2 / total, FLOOR)
    shares[3] = max(shares[3] * f3 / total, FLOOR)
    shares[4] = max(shares[4] * f4 / total, FLOOR)
    return total


@helper
def event_bet(p, occurred, bets, plan):
    """Return the factor of the mixture of all bets on an event, 0 < p < 1, and learn."""
    odds = find_factors(p, occurred, plan)
    on_odds = (min(max(odds, -REACH), REACH) + REACH) * ((KNOTS - 1) / (2.0 * REACH))
    line = bet(bets.line, plan.lines)
    dense = tree_bet(p, plan.dense, bets.dense, bets.dense_odds, plan.moves)
    sparse = tree_bet(p, plan.sparse, bets.sparse, bets.sparse_odds, plan.moves)
    curve = curve_bet(p, occurred, p * (KNOTS - 1), bets.mean[0], bets.spread[0], plan.gain)
    other = curve_bet(p, occurred, on_odds, bets.mean[1], bets.spread[1], plan.gain)
    return share_wealth(bets.parts, line, dense, sparse, curve, other)
