"""What the unbiased squared miscalibration is, and how far it may be from what it estimates."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import Gathered
from calibrant.predictions import Predictions

Floats = NDArray[np.float64]

MOST = 256  # outcomes up to which eigenvalues are computed in full


class Pieces(NamedTuple):
    r"""The squared miscalibration and its spread; `squared_intervals` makes intervals of it.

    Gathered c have sizes n_c, residuals e_y - p, their mean u_c, second moment M_c and sample
    covariance S_c, whose divisor is n_c - 1.
    """

    unbiased: float
    """Mean over pairs of rows of one cell."""
    plugin: float
    """sum_c (n_c/n) |u_c|²."""
    null_mean: float
    """Mean of `unbiased` under redrawn labels: 0 without weights."""
    null_sd: float
    """Its standard deviation under redrawn labels."""
    remainder: float
    """sum_c 2 tr(S_c²) n_c / (n² (n_c - 1)): its variance where u_c is 0."""
    slope: float
    """(4/n) sum_c (n_c/n) × the largest eigenvalue of S_c: how fast the variance grows at most."""
    steepest: float
    """(4/n) × the largest eigenvalue of any S_c: the same in the worst cell."""
    sigma2: float
    """sum_c (n_c/n) (4 u_c' M_c u_c - 3 |u_c|⁴) - plugin²: n times its variance elsewhere."""
    between: float
    """sum_c (n_c/n) |u_c|⁴ - plugin²: its part that is due to how rows fall into cells."""
    mass: float
    """Number of rows, or their weight."""
    share: float
    """Share of them in cells of two or more."""


class _Rows(NamedTuple):
    """Rows of positive weight, sorted by cell."""

    numbers: NDArray[np.int64]  # (n,)
    residuals: Floats  # (n, m)
    probs: Floats  # (n, m)
    weights: Floats  # (n,)
    starts: NDArray[np.int64]  # (cells,) the first row of each


def pieces_of(cells: Gathered, unbiased: float) -> Pieces:
    """Return the pieces of data in cells whose unbiased value is known."""
    total = float(cells.mass.sum())
    spread, found = _Spread(0.0, 0.0, 0.0, 0.0, 0.0), []
    for first, last in cells.blocks():
        rows = _sorted_rows(cells, first, last)
        if rows.weights.size == 0:
            continue
        mass = np.add.reduceat(rows.weights, rows.starts)
        means = _sums(rows.weights[:, None] * rows.residuals, rows) / mass[:, None]
        norms = (means**2).sum(axis=1)
        sizes = np.diff(np.append(rows.starts, rows.weights.size))
        along = (rows.residuals * np.repeat(means, sizes, axis=0)).sum(axis=1) ** 2
        fourth = 4 * _sums(rows.weights * along, rows) / mass - 3 * norms**2
        found.append((mass, norms, fourth))
        for c in np.flatnonzero(mass >= 2):
            part = slice(rows.starts[c], rows.starts[c] + sizes[c])
            spread = spread.plus(_spread_of(rows, part, means[c], total))
    mass, norms, fourth = (np.concatenate(of_cells) for of_cells in zip(*found, strict=True))
    shares = mass / total
    plugin = float(shares @ norms)
    return Pieces(
        unbiased,
        plugin,
        spread.null_mean,
        float(np.sqrt(spread.null_variance)),
        spread.remainder,
        spread.slope,
        spread.steepest,
        float(shares @ fourth) - plugin**2,
        float(shares @ (norms - plugin) ** 2),
        total,
        float(shares[mass >= 2].sum()),
    )


def influence(cells: Gathered) -> Floats:
    r"""Return what each row adds to the value beyond its share (n,): :math:`2 u_c' r_i - |u_c|^2`.

    Its weighted mean is the plug-in value, and its variance over n that of the unbiased one, too
    large where deviations are small. Rows of weight 0 have 0.
    """
    out = np.zeros(cells.data.n)
    for first, last in cells.blocks():
        rows = _sorted_rows(cells, first, last)
        if rows.weights.size:
            mass = np.add.reduceat(rows.weights, rows.starts)
            means = _sums(rows.weights[:, None] * rows.residuals, rows) / mass[:, None]
            mine = np.repeat(means, np.diff(np.append(rows.starts, rows.weights.size)), axis=0)
            out[rows.numbers] = (mine * (2 * rows.residuals - mine)).sum(axis=1)
    return out


class _Spread(NamedTuple):
    """What cells add to the pieces that are about spread."""

    null_mean: float
    null_variance: float
    remainder: float
    slope: float
    steepest: float

    def plus(self, other: "_Spread") -> "_Spread":
        """Return what these cells and others add."""
        return _Spread(
            self.null_mean + other.null_mean,
            self.null_variance + other.null_variance,
            self.remainder + other.remainder,
            self.slope + other.slope,
            max(self.steepest, other.steepest),
        )


def _sorted_rows(cells: Gathered, first: int, last: int) -> _Rows:
    """Sort the rows that count in cells first … last - 1 by cell."""
    data: Predictions = cells.data
    order = cells.order.rows[cells.order.starts[first] : cells.order.starts[last]]
    order = order[data.weights[order] > 0]
    probs = np.array(data.probs[order], np.float64)
    if data.event is not None:
        probs[:, 1 - data.event] = 1.0 - probs[:, data.event]
    residuals = -probs
    residuals[np.arange(order.size), data.labels[order]] += 1.0
    starts = np.flatnonzero(np.diff(cells.of_rows[order], prepend=-1))
    return _Rows(order, residuals, probs, data.weights[order], starts)


def _sums(values: Floats, rows: _Rows) -> Floats:
    """Add up the rows of each cell."""
    return np.asarray(np.add.reduceat(values, rows.starts, axis=0))


def _spread_of(rows: _Rows, part: slice, mean: Floats, total: float) -> _Spread:
    """Return what a cell of weight 2 or more adds."""
    weights, residuals = rows.weights[part], rows.residuals[part]
    mass = float(weights.sum())
    about = (residuals - mean) * np.sqrt(weights / (mass - 1))[:, None]
    # A'A is the covariance. A A' has the same eigenvalues but for zeros, and may be far smaller.
    covariance = about.T @ about if about.shape[0] > about.shape[1] else about @ about.T
    squared = float((covariance**2).sum())  # the trace of its square
    largest = _largest_eigenvalue(covariance)
    null_mean, null_variance = _null_moments(rows.probs[part], weights)
    scale = 1.0 / (total * (mass - 1))
    return _Spread(
        null_mean * scale,
        null_variance * scale**2,
        2 * squared * mass / (total**2 * (mass - 1)),
        4 / total * (mass / total) * largest,
        4 / total * largest,
    )


def _largest_eigenvalue(covariance: Floats) -> float:
    """Return it; of large matrices after a hundred steps of the power method."""
    if covariance.shape[0] <= MOST:
        return float(np.linalg.eigvalsh(covariance)[-1])
    vector = covariance[:, int(np.argmax(np.diag(covariance)))]
    for _ in range(100):
        vector = covariance @ (vector / max(float(np.linalg.norm(vector)), 1e-300))
    return float(np.linalg.norm(vector))


def _null_moments(probs: Floats, weights: Floats) -> tuple[float, float]:
    """Return mean and variance of |sum w r|² - sum w |r|² if labels are redrawn, one for each row.

    With C = diag(p) - p p' the mean is sum (w² - w) tr C, and the variance is 2 sum_{i ≠ j}
    w_i² w_j² tr(C_i C_j) + sum (w² - w)² Var |r|².
    """
    two, three = (probs**2).sum(axis=1), (probs**3).sum(axis=1)
    squares = weights**2
    total, each = squares @ probs, weights[:, None] * probs
    if probs.shape[0] >= probs.shape[1]:
        whole = ((np.diag(total) - each.T @ each) ** 2).sum()
    else:  # the same, without a matrix of all classes
        whole = total @ total - 2 * (squares @ probs**2) @ total + ((each @ each.T) ** 2).sum()
    single = squares**2 * (two - 2 * three + two**2)  # w⁴ tr C²
    own = squares - weights
    lengths = 4 * (three - two**2)
    pairs = max(0.0, float(whole - single.sum()))
    return float(own @ (1 - two)), 2 * pairs + float(own**2 @ lengths)
