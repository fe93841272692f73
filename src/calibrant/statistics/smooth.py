"""Miscalibration without bins: residuals smoothed by a kernel of a width that they choose."""

from dataclasses import dataclass
from typing import NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, View
from calibrant.statistics.statistic import Evaluate, Floats, Statistic, Ties

FEWEST, MOST = 1 << 6, 1 << 20  # steps of a grid
BATCH = 1 << 22  # numbers in a table of nodes and replicates
CURVES = 1 << 18  # and in one of curves
FINER = 4  # times as many points as there are cosines
FAR = 9.0  # widths from every prediction; the density is 0 there
ROUNDS = 60  # of Newton's method, which needs five
CLOSE = 1e-10  # relative, of s and f(s); the last step then squares it
EQUAL = 1e-13  # relative, of f(s) and f(0)


@final
@dataclass(frozen=True, slots=True)
class SmoothMiscalibration(Statistic):
    r"""The smooth calibration error "SmoothECE": the width of a kernel that equals what it leaves.

    .. math:: f(s) = \int_0^1 \Big|\frac1n \sum_i K_s(t, p_i) (y_i - p_i)\Big| dt, \qquad f(s) = s

    K_s is the Gaussian density of width s in t - p, reflected at 0 and 1. f does not increase, so
    there is one such s. It is the value.

    Notes
    -----
    Biased upwards: residuals scatter, and the value of a calibrated model is of the order of
    n^(-1/3). So compare it with its distribution under calibration, not with 0. It has no bins to
    choose, and it is continuous: a small change of the predictions changes it little.

    No discretisation is left in it. Residuals are added up as Gaussians that are narrower than
    every s that is asked for. Their cosine transform gives the moments Σ r cos(πkp), as many as
    are not below 1e-14 for that s, and the transform back the density, with its derivative and
    its integral, at twelve or more points per s. Between two of these the integral is a
    polynomial of degree 5, cut where the density changes its sign. The value is right to 1e-11
    (values below 3e-6, of models that are nearly always certain and right, to 3e-6). A weight of
    2 counts as the row twice.

    A replicate costs 25 operations a different prediction, and some 15 transforms of thousands.

    References
    ----------
    Błasiok and Nakkiran (2024), "Smooth ECE: Principled reliability diagrams via kernel smoothing".

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.1, 0.2, 0.7, 0.8], [0, 1, 1, 0])
    >>> round(SmoothMiscalibration()(data), 6)
    0.247124
    """

    def prepare(self, view: View) -> Evaluate:
        ties = Ties.of(self, view)
        first = Steps.first(ties)

        def evaluate(block: Block) -> Floats:
            out = np.zeros(block.size)
            left, grid = np.arange(block.size), first
            while left.size:
                size = max(1, BATCH // grid.steps)
                parts = [left[i : i + size] for i in range(0, left.size, size)]
                known = [_try_grid(ties, block, grid, part, out) for part in parts]
                left, grid = left[~np.concatenate(known)], grid.finer(ties)
            return out

        return evaluate

    def __str__(self) -> str:
        return "smooth miscalibration"


class Steps(NamedTuple):
    """Even steps from low to low + length, on which residuals are smoothed.

    A value below `narrowest` is not resolved by it, and one above `widest` is known not to occur.
    """

    low: float
    length: float
    steps: int
    widest: float

    @property
    def narrowest(self) -> float:
        """The smallest s for which f(s) is right."""
        return 2 * engine.densities.WIDTH * self.length / self.steps

    @classmethod
    def first(cls, ties: Ties) -> Self:
        """Resolve half of the value that is to be expected of a calibrated model."""
        scale = float(np.sqrt((ties.predicted * (1.0 - ties.values)).sum())) / ties.total
        return cls.spanning(0.0, 1.0, expected_width(scale) / 2 or 1.0, 1.0)

    def finer(self, ties: Ties) -> Self:
        """Resolve a quarter of what this one does, near predictions alone."""
        low = max(0.0, ties.values[0] - FAR * self.narrowest)
        high = min(1.0, ties.values[-1] + FAR * self.narrowest)
        return self.spanning(low, high, self.narrowest / 4, self.narrowest)

    @classmethod
    def spanning(cls, low: float, high: float, narrowest: float, widest: float) -> Self:
        """Choose the number of steps, a power of 2."""
        length = high - low
        needed = 2 * engine.densities.WIDTH * length / max(narrowest, 1e-9)
        steps = 2 ** np.ceil(np.log2(needed))
        return cls(low, length, int(np.clip(steps, FEWEST, MOST)), widest)


def expected_width(path_scale: float) -> float:
    """Return about the value of a calibrated model whose mean of y - p scatters so much.

    Its density scatters like the end of the path over the root of 2 √π s. The mean modulus is
    √(2/π) of that.
    """
    factor = np.sqrt(2 / np.pi / np.sqrt(4 * np.pi))
    return float((factor * path_scale) ** (2 / 3))


def smoothed_residuals(ties: Ties, block: Block, width: float, points: int) -> Floats:
    """Return (1/n) Σ K_s(t, p) (y - p) at t = 0, 1/points, …, 1 of each replicate: (size, t)."""
    grid = Steps.spanning(0.0, 1.0, width, 1.0)
    return _at_points(_cosines(ties, block, grid, np.arange(block.size))[0], width, points)


def smoothed_mass(places: Floats, mass: Floats, width: float, points: int) -> Floats:
    """Return the density Σ K_s(t, p) m at t = 0, 1/points, …, 1 of masses m at places p."""
    grid = Steps.spanning(0.0, 1.0, width, 1.0)
    nodes = np.zeros((grid.steps + 1, 1))
    engine.densities.add_gaussians(places, mass[:, None], nodes)
    return np.asarray(_at_points(_series(nodes), width, points)[0])


def squared_mass(places: Floats, mass: Floats, width: float, points: int) -> Floats:
    """Return Σ K_s(t, p)² m, like `smoothed_mass`.

    The square of a Gaussian is a narrower one. The product of one and its image at 0 or 1 is one
    around that end; images that are farther away are left out.
    """
    t = np.arange(points + 1) / points
    found = smoothed_mass(places, mass, width / np.sqrt(2), points) / (2 * np.sqrt(np.pi) * width)
    for end in (0.0, 1.0):
        image = mass @ np.exp(-(((places - end) / width) ** 2)) / (np.pi * width**2)
        found += image * np.exp(-(((t - end) / width) ** 2))
    return np.asarray(np.maximum(found, 0.0))


def _at_points(cosines: Floats, width: float, points: int) -> Floats:
    """Return the densities of cosine series (size, steps + 1), smoothed to a width."""
    from scipy.fft import dct  # noqa: PLC0415

    steps = cosines.shape[1] - 1
    finer = max(points, steps)
    found = dct(_damped(cosines, np.array([width])), type=1, n=finer + 1)
    return np.asarray(found[:, :: finer // points])


def _try_grid(
    ties: Ties, block: Block, grid: Steps, replicates: NDArray[np.intp], out: Floats
) -> NDArray[np.bool_]:
    """Write the values of those replicates that a grid resolves to `out`; say which they are."""
    cosines, most = _cosines(ties, block, grid, replicates)
    known = np.zeros(replicates.size, np.bool_)
    size = max(1, CURVES // (FINER * grid.steps))
    for first in range(0, replicates.size, size):
        part = slice(first, first + size)
        found = _fixed_points(cosines[part], most[part], grid)
        known[part] = ~np.isnan(found)
        out[replicates[part][known[part]]] = found[known[part]]
    return known


def _cosines(
    ties: Ties, block: Block, grid: Steps, replicates: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """Return the cosine series of densities (size, steps + 1), and f(0), which f does not exceed.

    Densities over the grid, which count as long as 1, of residuals smoothed by WIDTH steps.
    """
    nodes = np.zeros((grid.steps + 1, replicates.size))
    most = np.zeros(replicates.size)
    places = (ties.values - grid.low) / grid.length
    for part, events in ties.events(block):
        residuals = (events[:, replicates] - ties.predicted[part, None]) / ties.total
        most += np.abs(residuals).sum(axis=0)
        engine.densities.add_gaussians(places[part], residuals, nodes)
    return _series(nodes), most


def _series(nodes: Floats) -> Floats:
    """Return the cosine series (size, steps + 1) of densities on nodes (steps + 1, size)."""
    from scipy.fft import dct  # noqa: PLC0415 (slow to import, rarely needed)

    nodes[[0, -1]] *= 2.0  # the images beyond the ends
    return np.asarray(dct(nodes.T, type=1, axis=1) / (2 * (nodes.shape[0] - 1)))


def _damped(cosines: Floats, width: Floats) -> Floats:
    """Smooth densities of WIDTH steps to widths (size,), where the grid is as long as 1."""
    steps = cosines.shape[1] - 1
    spread = width[:, None] ** 2 - (engine.densities.WIDTH / steps) ** 2
    return np.asarray(cosines * np.exp(-0.5 * (np.pi * np.arange(steps + 1)) ** 2 * spread))


def _fixed_points(cosines: Floats, most: Floats, grid: Steps) -> Floats:
    """Return the widths s with f(s) = s (size,); nan for one that the grid does not resolve."""
    s = np.full(most.size, grid.narrowest)
    f, slope = _moduli(cosines, s, grid)
    last = grid.steps == MOST
    below = f < s
    settled = below & (last | (most - f <= EQUAL * most))
    out = np.where(settled, f if last else most, np.nan)
    found = np.flatnonzero(~below)
    ends = s[found], np.minimum(most, grid.widest)[found] * (1.0 + CLOSE)  # for its rounding
    out[found] = _newton(cosines[found], (f[found], slope[found]), ends, grid)
    return out


def _newton(
    cosines: Floats, known: tuple[Floats, Floats], ends: tuple[Floats, Floats], grid: Steps
) -> Floats:
    """Solve log f(s) = log s for log s, since f is nearly a power of s.

    known : f(s) and its derivative at the lower of the ends between which s is
    """
    (f, slope), (low, high) = known, ends
    s = low.copy()
    at = np.arange(s.size)  # where s is still sought
    for _ in range(ROUNDS):
        here, above = s[at], f >= s[at]
        low[at] = np.where(above, here, low[at])
        high[at] = np.where(above, high[at], here)
        step = here * (f / here) ** (1.0 / (1.0 - here * slope / f))
        inside = (low[at] <= step) & (step <= high[at])
        s[at] = np.where(inside, step, np.sqrt(low[at] * high[at]))
        wide = np.abs(f - here) > CLOSE * here
        at = at[wide]
        if not at.size:
            break
        f, slope = _moduli(cosines[at], s[at], grid)
    return s


def _moduli(cosines: Floats, s: Floats, grid: Steps) -> tuple[Floats, Floats]:
    """Return f(s) and its derivative, for cosine series (size, steps + 1) and widths s (size,).

    Densities follow the heat equation, dg/ds = s g''. So f' is -2 s times the sum of |g'| over
    the points where g crosses 0.
    """
    from scipy.fft import dct, dst  # noqa: PLC0415

    points = FINER * grid.steps
    width = s / grid.length
    wave = np.pi * np.arange(grid.steps + 1)
    series = _damped(cosines, width)
    curves = np.zeros((3, s.size, points + 1))
    curves[0] = dct(series, type=1, n=points + 1)
    curves[1, :, 1:-1] = dst(-wave[1:] * series[:, 1:], type=1, n=points - 1)
    curves[2, :, 1:-1] = dst(series[:, 1:] / wave[1:], type=1, n=points - 1)
    curves[2] += series[:, :1] * np.linspace(0.0, 1.0, points + 1)
    found = engine.densities.moduli(engine.densities.Curves(*curves))
    return found.integral, -2.0 * width / grid.length * found.crossings
