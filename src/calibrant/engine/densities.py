"""Densities on [0, 1] that are reflected at both ends, as values on a grid.

A Gaussian of width s is one of width a, smoothed once more with width sqrt(s^2 - a^2). So values on
a grid that is fine beside a hold all there is to know about every larger width.
"""

from math import exp
from typing import Annotated, NamedTuple

import numpy as np

from calibrant.engine.arrays import Floats
from calibrant.engine.kernel import f8, helper, kernel, out

WIDTH = 1.5  # steps of the grid that the Gaussian of `add_gaussians` is wide
REACH = 12  # steps to either side of the nearest node; beyond, it is below 1e-15 of its peak
NOISE = 1e-15  # of the largest density: below, signs are those of rounding
ROUNDS = 8  # of Newton's method; it starts within a step and doubles the digits each time


def add_gaussians(values: Floats, masses: Floats, nodes: Floats) -> None:
    """Add masses (cells, size) at values (cells,), smoothed by WIDTH steps, to nodes (k + 1, size).

    The first and the last node get half of the density: what an image beyond the end adds there
    is as much again.
    """
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError("`values` must be from 0 to 1.")
    if nodes.shape[0] <= REACH + 1:
        raise ValueError(f"`nodes` must be more than {REACH + 1}; found {nodes.shape[0]}.")
    falls = np.exp(-0.5 * (np.arange(REACH + 1) / WIDTH) ** 2)
    scratch = falls, np.empty(2 * REACH + 1)
    _add_gaussians(values, masses, scratch, nodes)


@kernel(f8["cells"], f8["cells size"], (f8["_"], out(f8["_"])), out(f8["_ size"]))
def _add_gaussians(values, masses, scratch, nodes):
    falls, weights = scratch
    steps = nodes.shape[0] - 1
    peak = steps / (WIDTH * np.sqrt(2.0 * np.pi))
    for c in range(values.shape[0]):
        place = values[c] * steps
        nearest = np.int64(np.floor(place + 0.5))
        # exp(-(x - j)² / 2) is exp(-x² / 2) times exp(x) to the power j times exp(-j² / 2).
        x = (place - nearest) / WIDTH
        up = down = weights[REACH] = peak * exp(-0.5 * x * x)
        rise, fall = exp(x / WIDTH), exp(-x / WIDTH)
        for j in range(1, REACH + 1):
            up *= rise
            down *= fall
            weights[REACH + j] = up * falls[j]
            weights[REACH - j] = down * falls[j]
        for j in range(2 * REACH + 1):
            node = abs(nearest + j - REACH)
            node = node if node <= steps else 2 * steps - node
            for t in range(masses.shape[1]):
                nodes[node, t] += weights[j] * masses[c, t]


class Curves(NamedTuple):
    """Densities on an even grid of [0, 1], their derivatives and their integrals: (size, k + 1)."""

    density: Annotated[Floats, f8["size nodes"]]
    slope: Annotated[Floats, f8["size nodes"]]
    integral: Annotated[Floats, f8["size nodes"]]


class Moduli(NamedTuple):
    """Integrals of the modulus of each density, and the sums of |slope| where it crosses 0."""

    integral: Annotated[Floats, out(f8["size"])]
    crossings: Annotated[Floats, out(f8["size"])]


def moduli(curves: Curves) -> Moduli:
    """Integrate |density| over [0, 1].

    Between two nodes the integral is a polynomial of degree 5, from its values and those of the
    density and of the slope. Where the density crosses 0, or dips below and comes back, it is cut.
    """
    size = len(curves.density)
    found = Moduli(np.zeros(size), np.zeros(size))
    _moduli(curves, np.empty(6), found)
    return found


@kernel(Curves, out(f8["6"]), Moduli)
def _moduli(curves, poly, out):
    steps = curves.density.shape[1] - 1
    for t in range(curves.density.shape[0]):
        curve = curves.density[t], curves.slope[t], curves.integral[t]
        g = curve[0]
        noise = 0.0
        for j in range(steps + 1):
            noise = max(noise, NOISE * abs(g[j]))
        for j in range(steps):
            if abs(g[j]) > noise or abs(g[j + 1]) > noise:
                whole, crossings = step(curve, j, poly)
                out.integral[t] += whole
                out.crossings[t] += crossings


@helper
def step(curve, j, poly):
    """Return the integral of the modulus from node j to the next, and |slope| at crossings."""
    g, slope, integral = curve
    h = 1.0 / (g.shape[0] - 1)
    if g[j] == 0.0:
        return abs(integral[j + 1] - integral[j]), abs(slope[j])
    crosses = g[j] * g[j + 1] < 0.0
    dips = not crosses and g[j] * slope[j] < 0.0 and g[j + 1] * slope[j + 1] > 0.0
    if not (crosses or dips):
        return abs(integral[j + 1] - integral[j]), 0.0
    # The integral from node j on, in units of a step, is a polynomial.
    poly[0] = 0.0
    poly[1] = h * g[j]
    poly[2] = 0.5 * h * h * slope[j]
    a = integral[j + 1] - integral[j] - poly[1] - poly[2]
    b = h * g[j + 1] - poly[1] - 2.0 * poly[2]
    c = h * h * slope[j + 1] - 2.0 * poly[2]
    poly[3] = 10.0 * a - 4.0 * b + 0.5 * c
    poly[4] = -15.0 * a + 7.0 * b - c
    poly[5] = 6.0 * a - 3.0 * b + 0.5 * c
    lowest = root(poly, 2, 0.0, 1.0) if dips else 1.0
    first, down = piece(poly, 0.0, lowest)
    second, up = piece(poly, lowest, 1.0)
    return first + second, (down + up) / (h * h)


@helper
def derivative(poly, order, x):
    """Return a derivative, of order 0, 1, 2 or 3, of a polynomial at x."""
    found = 0.0
    for j in range(5, order - 1, -1):
        factor = 1.0
        for i in range(order):
            factor *= j - i
        found = found * x + factor * poly[j]
    return found


@helper
def root(poly, order, low, high):
    """Return where a derivative that changes its sign between low and high is 0."""
    rising = derivative(poly, order, low) < derivative(poly, order, high)
    x = 0.5 * (low + high)
    for _ in range(ROUNDS):
        y = derivative(poly, order, x)
        if (y < 0.0) == rising:
            low = x
        else:
            high = x
        bend = derivative(poly, order + 1, x)
        x = x - y / bend if bend != 0.0 else -1.0
        if not low <= x <= high:
            x = 0.5 * (low + high)
    return x


@helper
def piece(poly, low, high):
    """Return the integral of the modulus from low to high, and |slope| at a crossing, else 0."""
    start, stop = derivative(poly, 0, low), derivative(poly, 0, high)
    if not derivative(poly, 1, low) * derivative(poly, 1, high) < 0.0:
        return abs(stop - start), 0.0
    x = root(poly, 1, low, high)
    middle = derivative(poly, 0, x)
    return abs(middle - start) + abs(stop - middle), abs(derivative(poly, 2, x))
