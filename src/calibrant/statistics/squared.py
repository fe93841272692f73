"""The squared miscalibration on cells, without bias."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, Gathered, View
from calibrant.engine.tuples import Order
from calibrant.partitions import Partition
from calibrant.predictions import Predictions
from calibrant.spelling import as_partition
from calibrant.statistics.outcomes import Outcomes, batches, spans
from calibrant.statistics.squared_intervals import covering_interval
from calibrant.statistics.squared_pieces import Pieces, pieces_of
from calibrant.statistics.statistic import Evaluate, Statistic

Floats = NDArray[np.float64]

ROOM = 1 << 20  # counts of a cell in a batch of replicates


@final
@dataclass(frozen=True, slots=True)
class SquaredMiscalibration(Statistic):
    r"""The squared Euclidean miscalibration, without bias: pairs of rows of one cell.

    .. math:: \sum_c \frac{n_c}{n} \frac{1}{n_c (n_c - 1)} \sum_{i \ne j \in c}
              (e_{y_i} - p_i)' (e_{y_j} - p_j)

    Parameters
    ----------
    partition : Partition
        The cells.

    Notes
    -----
    Its mean is what :math:`\sum_c p^{(c)} |r^{(c)} - g^{(c)}|^2` would be with as many rows as one
    likes: 0 if the model is calibrated, so that it may be negative. A cell of one row has no pair
    and adds 0; `share` tells how many rows are in others. Both outcomes of a binary problem count,
    which doubles the value of the event alone.

    A row of weight w is w rows, all of them paired. With R the sum of a cell's w (e_y - p), Q that
    of its w |e_y - p|² and W that of its weights, a cell adds (|R|² - Q) / (W - 1) over the weight
    of all; a cell with W below 2 adds 0. So weights must be numbers of rows: shares that add
    up to 1 leave nothing. And a row has one label whatever its weight, so that with weights the
    mean under calibration is not 0; the exact test is valid all the same.

    Examples
    --------
    >>> from calibrant import Predictions, partitions
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    >>> squared = SquaredMiscalibration(partitions.EqualWidth(2))
    >>> squared(data), squared.plugin(data), squared.share(data)
    (-0.125, 0.125, 1.0)
    """

    partition: Partition

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", as_partition(self.partition))

    def prepare(self, view: View) -> Evaluate:
        """Sort the rows into cells, and keep those of two rows or more."""
        data, kept = view.data, pairable(view.cells(self.partition))
        most = max(1, ROOM // data.m)

        def evaluate(block: Block) -> Floats:
            return np.concatenate([_values(data, kept, some) for some in batches(block, most)])

        return evaluate

    def share(self, data: Predictions) -> float:
        """Return the share of the rows, or of their weight, in cells of two or more."""
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
        """Return an interval for the value that these cells would have with any number of rows.

        It takes a weight of 2 for two rows. Examples are in `squared_intervals`.
        """
        return covering_interval(self.pieces(data), level)

    def pieces(self, data: Predictions) -> Pieces:
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
    return engine.null.Cells(Order(rows, starts), cells.mass[keep], float(cells.mass.sum()))


def _values(data: Predictions, cells: Any, outcomes: Outcomes) -> Floats:
    """Return the statistic of each replicate: (size,)."""
    state = engine.squares.State.zeros(data.m, outcomes.size)
    for span in spans(cells.order.rows.size, outcomes.size):
        drawn = outcomes.of(cells.order.rows[span[0] : span[1]])
        engine.squares.add_rows(data.rows, cells, span, drawn, state)
    found: Floats = state.value
    return found
