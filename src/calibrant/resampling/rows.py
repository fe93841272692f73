"""Rows that are drawn again."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Gathered, View
from calibrant.engine.arrays import Replicates
from calibrant.predictions import Predictions
from calibrant.resampling.draws.labels import Redraw
from calibrant.resampling.draws.rows import RowsAway
from calibrant.resampling.exact import refuse_apart
from calibrant.resampling.resampler import Array, Resampler, Rho, check_rho, hypothesis


@final
@dataclass(frozen=True, slots=True)
class Consistency(Resampler):
    """Resample the predictions with replacement and draw their labels from rho: §4.2.

    Parameters
    ----------
    rho : callable, optional
        The hypothesised calibration function of the predictions (n, m) -> (n, m); default:
        the identity, which says that the model is calibrated.

    Warnings
    --------
    This is the paper's procedure to the letter, there to reproduce the paper. Where bins
    hold few rows its test rejects calibrated models, in the worst case all of them: copies of
    a row fall into one bin and average out, so the resampled miscalibration is too small.
    Use `Exact`.

    Examples
    --------
    >>> data = Predictions([0.0, 0.5, 1.0], [0, 0, 1])
    >>> Consistency().draw(data, np.uint64(1), 0).n
    3
    """

    rho: Rho | None = None

    labels_apart = True

    def __post_init__(self) -> None:
        check_rho(self.rho)

    def distributions(self, data: Predictions) -> Array:
        """Return what labels are drawn from: distributions (n, m)."""
        return hypothesis(self.rho, data)

    def times(self, data: Predictions, key: np.uint64, b: int) -> NDArray[np.int32]:
        """Return how often each row is drawn; never if its weight is 0."""
        if not data.weighted or data.weights.all():
            found: NDArray[np.int32] = engine.draws.draw_times(data.n, key, b)
            return found
        times = np.zeros(data.n, np.int32)
        present = np.flatnonzero(data.weights)
        times[present] = engine.draws.draw_times(present.size, key, b)
        return times


@final
@dataclass(frozen=True, slots=True)
class Bootstrap(Resampler):
    """Draw rows again, predictions with their labels: each a Poisson number of times, of mean 1.

    For standard errors: the ± of Tables 3–5. The number of rows of a replicate varies by √n
    around n, which does not show in a mean; in return, how often a row is drawn depends on no
    other row, so that parts of the data can be drawn apart.

    Parameters
    ----------
    refit : bool, default True
        Whether a data-dependent partition is fitted again to each data set. Keeping the bins
        is much faster and leaves out only that part of the variability which comes from
        their moving edges, which is small where there are many rows. It has an effect for the
        built-in statistics, and for lenses that keep a row for a row.

    Notes
    -----
    Rows keep their weights. Where data have clusters, whole clusters are drawn. A replicate
    without any row, which is possible if there are very few, is replaced by the data.

    Examples
    --------
    >>> data = Predictions([0.1, 0.5, 0.9], [0, 0, 1])
    >>> Bootstrap().times(data, np.uint64(1), 3).tolist()
    [1, 0, 1]
    """

    refit: bool = True

    def respecting(self, data: Predictions) -> Resampler:  # noqa: ARG002
        """Return this resampler, which draws whole clusters."""
        return self

    def times(self, data: Predictions, key: np.uint64, b: int) -> NDArray[np.int32]:
        """Return how often each row stands in replicate b (n,)."""
        count = data.n if data.clusters is None else int(data.clusters.max()) + 1
        times: NDArray[np.int32] = engine.resample.poisson_times(count, 0, key, b)
        times = times if data.clusters is None else times[data.clusters]
        present = times.any() if not data.weighted else (times * data.weights).any()
        return times if present else np.ones_like(times)

    def totals(self, cells: Gathered, key: np.uint64, replicates: Replicates) -> Any:
        """Return the totals of fixed cells, in one sweep for several replicates."""
        if cells.data.clusters is not None:
            return Resampler.totals(self, cells, key, replicates)
        return engine.resample.resampled_totals(cells.data.rows, cells.by_order, key, replicates)

    def away(self, view: View, redraw: Redraw) -> RowsAway:
        """Return how rows that are elsewhere are drawn again."""
        if not redraw.lens.rowwise:
            refuse_apart(redraw)
        view.rows.numbered()
        return RowsAway(redraw.key, view.m, view.rows.unit)
