"""The squared miscalibration on bins, without bias; its spread, and intervals for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.arguments import as_partition
from calibrant.calibration import Block, Gathered, View
from calibrant.checks.parameters import fraction
from calibrant.engine.arrays import Order
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.statistics.statistic import Evaluate, Floats, Outcomes, Statistic, batches, spans

BATCH = 1 << 20  # counts of a cell in a batch of replicates
MOST = 256  # outcomes up to which eigenvalues are computed in full


@final
@dataclass(frozen=True, slots=True, init=False)
class SquaredMiscalibration(Statistic):
    r"""The squared Euclidean miscalibration, without bias: pairs of rows of one bin.

    .. math:: \sum_c \frac{n_c}{n} \frac{1}{n_c (n_c - 1)} \sum_{i \ne j \in c}
              (e_{y_i} - p_i)' (e_{y_j} - p_j)

    Parameters
    ----------
    partition : Partition
        The bins.

    Notes
    -----
    Its mean is what :math:`\sum_c p^{(c)} |r^{(c)} - g^{(c)}|^2` would be with as many rows as one
    likes: 0 if the model is calibrated, so that it may be negative. A bin of one row has no pair
    and adds 0; `share` tells how many rows are in others. Both outcomes of a binary problem count,
    which doubles the value of the event alone.

    A row of weight w is w rows, all of them paired. With R the sum of a bin's w (e_y - p), Q that
    of its ``w |e_y - p|²`` and W that of its weights, a bin adds ``(|R|² - Q) / (W - 1)`` over the
    weight of all; a bin with W below 2 adds 0. So weights must be numbers of rows: shares that add
    up to 1 leave nothing. And a row has one label whatever its weight, so that with weights the
    mean under calibration is not 0; the exact test is valid all the same.

    Examples
    --------
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    >>> squared = SquaredMiscalibration("width:2")
    >>> squared(data), squared.plugin(data), squared.share(data)
    (-0.125, 0.125, 1.0)
    """

    partition: Partition

    def __init__(self, partition: Partition | str) -> None:
        object.__setattr__(self, "partition", as_partition(partition))

    def prepare(self, view: View) -> Evaluate:
        data, kept = view.data, pairable(view.cells(self.partition))
        most = max(1, BATCH // data.m)

        def evaluate(block: Block) -> Floats:
            return np.concatenate([_values(data, kept, some) for some in batches(block, most)])

        return evaluate

    def share(self, data: Predictions) -> float:
        """Return the share of the rows, or of their weight, in bins of two or more."""
        mass = Gathered(data, self.partition).mass
        return float(mass[mass >= 2].sum() / mass.sum())

    def plugin(self, data: Predictions) -> float:
        r"""Return :math:`\sum_c \hat p^{(c)} |\hat r^{(c)} - \hat g^{(c)}|^2`: biased upwards."""
        return self.pieces(data).plugin

    def null_mean(self, data: Predictions) -> float:
        """Return the mean if labels are redrawn from the predictions: 0 without weights."""
        return self.pieces(data).null_mean

    def null_spread(self, data: Predictions) -> float:
        r"""Return the standard deviation if labels are redrawn from the predictions.

        .. math:: \sqrt{\sum_c \frac{2}{(n (n_c - 1))^2} \sum_{i \ne j \in c} tr(C_i C_j)},
                  \quad C = diag(p) - p p'
        """
        return self.pieces(data).null_sd

    def interval(self, data: Predictions, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for the value that these bins would have with any number of rows.

        It takes a weight of 2 for two rows.
        """
        return covering_interval(self.pieces(data), level)

    def pieces(self, data: Predictions) -> "Pieces":
        """Return what intervals are made of."""
        return pieces_of(Gathered(data, self.partition), self(data))

    def __str__(self) -> str:
        return f"unbiased squared euclidean on {self.partition}"


def pairable(cells: Gathered) -> Any:
    """Return the cells of weight 2 or more as the engine takes them."""
    keep = cells.mass >= 2
    sizes = np.diff(cells.order.starts)
    rows = cells.order.rows[np.repeat(keep, sizes)]
    starts = np.concatenate(([0], np.cumsum(sizes[keep])))
    return engine.null.SortedCells(Order(rows, starts), cells.mass[keep], float(cells.mass.sum()))


def _values(data: Predictions, cells: Any, outcomes: Outcomes) -> Floats:
    """Return the statistic of each replicate: (size,)."""
    state = engine.arrays.blank(engine.null.Squares, m=data.m, size=outcomes.size)
    for span in spans(cells.order.rows.size, outcomes.size):
        drawn = outcomes.of(cells.order.rows[span[0] : span[1]])
        engine.null.add_squares(data.rows, cells, span, drawn, state)
    return np.asarray(state.value)


class Pieces(NamedTuple):
    """The squared miscalibration and its spread; intervals are made of them.

    Cells c have sizes n_c, residuals e_y - p, their mean u_c, second moment M_c and sample
    covariance S_c, whose divisor is n_c - 1.
    """

    unbiased: float  # mean over pairs of rows of one cell
    plugin: float  # sum_c (n_c/n) |u_c|²
    null_mean: float  # mean of `unbiased` under redrawn labels: 0 without weights
    null_sd: float  # its standard deviation under redrawn labels
    remainder: float  # sum_c 2 tr(S_c²) n_c / (n² (n_c - 1)): its variance where u_c is 0
    # (4/n) sum_c (n_c/n) × the largest eigenvalue of S_c: how fast the variance grows at most
    slope: float
    steepest: float  # (4/n) × the largest eigenvalue of any S_c: the same in the worst cell
    # sum_c (n_c/n) (4 u_c' M_c u_c - 3 |u_c|⁴) - plugin²: n times its variance elsewhere
    sigma2: float
    between: float  # sum_c (n_c/n) |u_c|⁴ - plugin²: the part due to how rows fall into cells
    mass: float  # number of rows, or their weight
    share: float  # share of them in cells of two or more


class _SortedRows(NamedTuple):
    """Rows of positive weight in some cells, sorted by cell."""

    numbers: NDArray[np.int64]  # (n,)
    residuals: Floats  # (n, m)
    probs: Floats  # (n, m)
    weights: Floats  # (n,)
    starts: NDArray[np.int64]  # (cells,) the first row of each
    sizes: NDArray[np.int64]  # (cells,)

    def sums(self, values: Floats) -> Floats:
        """Add up values (n, …) over the rows of each cell."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))

    def means(self) -> tuple[Floats, Floats]:
        """Return the weight of each cell, and the mean of its residuals (cells, m)."""
        mass = np.add.reduceat(self.weights, self.starts)
        return mass, self.sums(self.weights[:, None] * self.residuals) / mass[:, None]


def _sorted_rows(cells: Gathered) -> Iterator[_SortedRows]:
    """Yield the rows that count, some cells at a time."""
    data = cells.data
    for first, last in cells.blocks():
        order = cells.order.rows[cells.order.starts[first] : cells.order.starts[last]]
        order = order[data.weights[order] > 0]
        if order.size == 0:
            continue
        probs = np.array(data.probs[order], np.float64)
        if data.event is not None:
            probs[:, 1 - data.event] = 1.0 - probs[:, data.event]
        residuals = -probs
        residuals[np.arange(order.size), data.labels[order]] += 1.0
        starts = np.flatnonzero(np.diff(cells.of_rows[order], prepend=-1))
        sizes = np.diff(np.append(starts, order.size))
        yield _SortedRows(order, residuals, probs, data.weights[order], starts, sizes)


def pieces_of(cells: Gathered, unbiased: float) -> Pieces:
    """Return the pieces of data in cells whose unbiased value is known."""
    total = float(cells.mass.sum())
    spreads, found = [np.zeros(5)], []
    for rows in _sorted_rows(cells):
        mass, means = rows.means()
        norms = (means**2).sum(axis=1)
        along = (rows.residuals * np.repeat(means, rows.sizes, axis=0)).sum(axis=1) ** 2
        fourth = 4 * rows.sums(rows.weights * along) / mass - 3 * norms**2
        found.append((mass, norms, fourth))
        for c in np.flatnonzero(mass >= 2):
            part = slice(rows.starts[c], rows.starts[c] + rows.sizes[c])
            spreads.append(_spread_of(rows, part, means[c], total))
    mass, norms, fourth = (np.concatenate(of_cells) for of_cells in zip(*found, strict=True))
    shares = mass / total
    plugin = float(shares @ norms)
    null_mean, null_variance, remainder, slope, _ = np.cumsum(spreads, axis=0)[-1].tolist()
    return Pieces(
        unbiased=unbiased,
        plugin=plugin,
        null_mean=null_mean,
        null_sd=sqrt(null_variance),
        remainder=remainder,
        slope=slope,
        steepest=float(np.max(spreads, axis=0)[-1]),
        sigma2=float(shares @ fourth) - plugin**2,
        between=float(shares @ (norms - plugin) ** 2),
        mass=total,
        share=float(shares[mass >= 2].sum()),
    )


def _spread_of(rows: _SortedRows, part: slice, mean: Floats, total: float) -> Floats:
    """Return what a cell of weight 2 or more adds to null mean and variance, remainder and slope.

    The last of the five numbers is its own slope, of which `steepest` is the largest.
    """
    weights, residuals = rows.weights[part], rows.residuals[part]
    mass = float(weights.sum())
    about = (residuals - mean) * np.sqrt(weights / (mass - 1))[:, None]
    # A'A is the covariance. A A' has the same eigenvalues but for zeros, and may be far smaller.
    covariance = about.T @ about if about.shape[0] > about.shape[1] else about @ about.T
    remainder = 2 * float((covariance**2).sum()) * mass / (total**2 * (mass - 1))
    largest = _largest_eigenvalue(covariance)
    slopes = 4 / total * (mass / total) * largest, 4 / total * largest
    null_mean, null_variance = _null_moments(rows.probs[part], weights)
    scale = 1.0 / (total * (mass - 1))
    return np.array([null_mean * scale, null_variance * scale**2, remainder, *slopes])


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


def covering_interval(pieces: Pieces, level: float = 0.95) -> tuple[float, float]:
    r"""Return the interval that `SquaredMiscalibration.interval` gives.

    .. math:: (T - v)^2 \le z^2 (a v + b), \quad v \ge 0, \quad
              b = \min(remainder, null\_sd^2) + between / n

    The variance of T grows with v, at a rate a that depends on where the deviations are. Here it
    lies between that of deviations in all cells alike, `slope`, and in the worst one, `steepest`:
    a quarter of the one and three of the other. Measured coverage is in `docs/inference.md`.
    """
    constant = min(pieces.remainder, pieces.null_sd**2) + pieces.between / pieces.mass
    rate = (pieces.slope + 3 * pieces.steepest) / 4
    return score_interval(pieces._replace(remainder=constant, slope=rate), level)


def score_interval(pieces: Pieces, level: float = 0.95) -> tuple[float, float]:
    r"""Return all values v that the estimate T does not speak against.

    .. math:: (T - v)^2 \le z^2 (slope \cdot v + remainder), \quad v \ge 0

    The variance is that which T would have if v were true, at most. If no value will do, because T
    is far below 0, the interval is 0 alone.
    """
    from scipy.special import ndtri  # noqa: PLC0415

    z = float(ndtri((1 + fraction("level", level)) / 2))
    middle = pieces.unbiased + z * z * pieces.slope / 2
    square = middle**2 - pieces.unbiased**2 + z * z * pieces.remainder
    half = sqrt(max(square, 0.0))
    return max(0.0, middle - half), max(0.0, middle + half)
