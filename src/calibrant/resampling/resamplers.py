"""The resamplers: labels drawn again, signs of clusters flipped, rows drawn again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.arguments import not_one
from calibrant.calibration import Draws, Gathered, View
from calibrant.checks.parameters import brief, derive, one_of
from calibrant.engine.arrays import Replicates
from calibrant.predictions import Predictions
from calibrant.resampling.draws import Away
from calibrant.resampling.draws.counts import Counts
from calibrant.resampling.draws.labels import Labels, Redraw, labels_away
from calibrant.resampling.draws.rows import rows_away
from calibrant.resampling.draws.signs import Signs
from calibrant.resampling.resampler import Array, Resampler, UnderRho
from calibrant.rows import MEMORY, Batch


@final
@dataclass(frozen=True, slots=True)
class Exact(UnderRho):
    """Keep the predictions and redraw the labels, Y* ~ rho(g(x)).

    If the hypothesis holds, such a data set is exchangeable with the observed one, so a test
    that counts how many of them have a statistic at least as large is valid for every number
    of rows, lens, partition, distance and statistic, provided that rows are independent and
    that weights do not depend on labels.

    Parameters
    ----------
    rho : callable, optional
        The hypothesised calibration function of the predictions (n, m) -> (n, m); default:
        the identity, which says that the model is calibrated.
    draws : {"labels", "counts"}
        The rule by which replicates are drawn. "labels": the label of row i in replicate b is a
        function of (key, b, i), so all statistics and lenses see the same labels. "counts": the
        number of events in bin c is a function of (key, b, c), drawn from its exact
        distribution. It takes the same time for any number of rows and nearly so for any number
        of replicates, but it is for a single statistic on bins, two outcomes and no weights.

    Notes
    -----
    A row has one outcome whatever its weight: weights enter the statistic, not the draw.
    Probabilities are rounded to multiples of 2^-52 before labels are drawn.

    Examples
    --------
    >>> data = Predictions([0.0, 0.5, 1.0], [0, 0, 1])
    >>> Exact().draw(data, np.uint64(1), 0).labels[[0, 2]].tolist()
    [0, 1]
    """

    draws: Literal["labels", "counts"] = "labels"

    def __post_init__(self) -> None:
        UnderRho.__post_init__(self)
        one_of("draws", self.draws, ("labels", "counts"))

    @property
    def identity(self) -> bool:  # type: ignore[override]
        """Whether labels are drawn from the predictions: without `rho`."""
        return self.rho is None

    def respecting(self, data: Any) -> Resampler:
        """Return `WildClusters` of the same hypothesis if there are clusters."""
        return self if data.clusters is None else WildClusters(self.rho)

    def redraw(self, batch: Batch, redraw: Redraw) -> Draws:
        """Return replicates of rows at hand: labels by the row, or counts by the cell."""
        labels = Labels(batch, redraw)
        if self.draws == "labels":
            return labels
        return Counts(labels, allowed=_counts_known(batch.seen, redraw))

    def away(self, view: View, redraw: Redraw) -> Away:
        """Return how replicates of rows that are elsewhere are drawn."""
        if view.weighted and not redraw.lens.rowwise:
            _refuse_apart(redraw)
        if self.draws == "labels":
            view.rows.numbered()
            return labels_away(redraw, view.m)
        counts = Counts(Labels(view.sample, redraw), allowed=_counts_known(view, redraw))
        counts.check()
        return Away(0, None, lambda *_: counts)  # the tables of cells are all that is needed


@final
@dataclass(frozen=True, slots=True)
class WildClusters(UnderRho):
    r"""Keep the data and flip the signs of whole clusters: for rows that depend on each other.

    .. math:: R_c^{*b} = \sum_k s_{bk} \sum_{i \in c, k} w_i (e_{y_i} - \rho(g(x_i)))

    with a sign s of +1 or -1 for each cluster k, a function of (key, b, k). If the hypothesis
    holds, such sums over a bin c have mean 0 and the covariance of the observed ones, however
    rows of one cluster depend on each other. Where few clusters have an outcome that is rare, sums
    are scaled to the variance that the hypothesis implies of rows. So the test is valid for many
    clusters, each of them small beside all; unlike that with `Exact`, it is not exact. Where
    clusters are worth fewer than six, it cannot tell, and p is 1. Measured size:
    `docs/inference.md`.

    It is for statistics on bins. `Exact` becomes this where data have clusters.

    Parameters
    ----------
    rho : callable, optional
        The hypothesised calibration function; default: the identity.

    Examples
    --------
    >>> data = Predictions([0.2, 0.2, 0.9, 0.9], [0, 0, 1, 1], clusters=["a", "a", "b", "b"])
    >>> Exact().respecting(data)
    WildClusters(rho=None)
    """

    flips_signs = True

    def respecting(self, data: Any) -> Resampler:  # noqa: ARG002
        """Return this resampler, which keeps clusters whole."""
        return self

    def redraw(self, batch: Batch, redraw: Redraw) -> Draws:
        """Return replicates that flip the signs of clusters."""
        return Signs(batch, redraw)

    def distributions(self, data: Predictions) -> Array:
        """Return what labels are compared with: distributions (n, m)."""
        if data.clusters is None:
            raise ValueError(
                "`clusters` must be given with the data for WildClusters(); of a file, name their"
                " column with `cluster`."
            )
        return UnderRho.distributions(self, data)


@final
@dataclass(frozen=True, slots=True)
class Consistency(UnderRho):
    """Resample the predictions with replacement and draw their labels from rho: §4.2.

    Parameters
    ----------
    rho : callable, optional
        As in `Exact`.

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

    def label_key(self, key: np.uint64) -> np.uint64:
        """Return the key of the labels, apart from that of the rows."""
        return derive(key, 1)

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

    def away(self, view: View, redraw: Redraw) -> Away:
        """Return how rows that are elsewhere are drawn again."""
        if not redraw.lens.rowwise:
            _refuse_apart(redraw)
        view.rows.numbered()
        return rows_away(redraw.key, view.m, view.rows.unit)


PLAIN: dict[str, Callable[[], Resampler]] = {
    "exact": Exact,
    "bootstrap": Bootstrap,
    "consistency": Consistency,
    "wild-clusters": WildClusters,
}


def as_resampler(resampler: Any) -> Resampler:
    """Return a resampler, or the one that a text names; refuse what cannot draw data sets."""
    if isinstance(resampler, Resampler):
        return resampler
    if not isinstance(resampler, str):
        raise TypeError(f"`resampler` must be one such as Exact(); found {brief(resampler)}.")
    if resampler not in PLAIN:
        raise not_one("resampler", resampler, "exact, bootstrap, consistency or wild-clusters")
    return PLAIN[resampler]()


def _counts_known(seen: Any, redraw: Redraw) -> bool:
    """Whether the distribution of a cell's count is known: two outcomes and no weights."""
    return seen.m == 2 and not seen.weighted and redraw.lens.rowwise


def _refuse_apart(redraw: Redraw) -> NoReturn:
    """Refuse a lens that takes rows apart, of rows elsewhere with weights or drawn again."""
    raise ValueError(
        "`lens` must keep a row for a row where scanned rows have weights or are drawn again;"
        f" {redraw.lens} does not. {MEMORY}"
    )
