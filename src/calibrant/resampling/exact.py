"""Rows that stay: labels are drawn again, or the signs of clusters flipped."""

from dataclasses import dataclass
from typing import Any, Literal, NoReturn, final

from calibrant.calibration import Draws, View
from calibrant.checks.parameters import one_of
from calibrant.predictions import Predictions
from calibrant.resampling.draws.counts import Counts, CountsAway
from calibrant.resampling.draws.labels import Labels, Redraw
from calibrant.resampling.draws.signs import Signs
from calibrant.resampling.draws.tables import LabelsAway
from calibrant.resampling.resampler import Array, Resampler, Rho, check_rho, hypothesis
from calibrant.rows import MEMORY, Batch


@final
@dataclass(frozen=True, slots=True)
class Exact(Resampler):
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
    >>> import numpy as np
    >>> data = Predictions([0.0, 0.5, 1.0], [0, 0, 1])
    >>> Exact().draw(data, np.uint64(1), 0).labels[[0, 2]].tolist()
    [0, 1]
    """

    rho: Rho | None = None
    draws: Literal["labels", "counts"] = "labels"

    def __post_init__(self) -> None:
        check_rho(self.rho)
        one_of("draws", self.draws, ("labels", "counts"))

    @property
    def identity(self) -> bool:  # type: ignore[override]
        """Whether labels are drawn from the predictions: without `rho`."""
        return self.rho is None

    def distributions(self, data: Predictions) -> Array:
        """Return what labels are drawn from: distributions (n, m)."""
        return hypothesis(self.rho, data)

    def respecting(self, data: Any) -> Resampler:
        """Return `WildClusters` of the same hypothesis if there are clusters."""
        return self if data.clusters is None else WildClusters(self.rho)

    def redraw(self, batch: Batch, redraw: Redraw) -> Draws:
        """Return replicates of rows at hand: labels by the row, or counts by the cell."""
        labels = Labels(batch, redraw)
        if self.draws == "labels":
            return labels
        return Counts(labels, allowed=counts_known(batch.seen, redraw))

    def away(self, view: View, redraw: Redraw) -> Any:
        """Return how replicates of rows that are elsewhere are drawn."""
        if view.weighted and not redraw.lens.rowwise:
            refuse_apart(redraw)
        if self.draws == "labels":
            view.rows.numbered()
            return LabelsAway(redraw, view.m)
        sample = Labels(view.sample, redraw)
        counts = Counts(sample, allowed=counts_known(view.outline, redraw))
        counts.check()
        return CountsAway(counts)


@final
@dataclass(frozen=True, slots=True)
class WildClusters(Resampler):
    r"""Keep the data and flip the signs of whole clusters: for rows that depend on each other.

    .. math:: R_c^{*b} = \sum_k s_{bk} \sum_{i \in c, k} w_i (e_{y_i} - \rho(g(x_i)))

    with a sign s of +1 or -1 for each cluster k, a function of (key, b, k). If the hypothesis
    holds, such sums over a bin c have mean 0 and the covariance of the observed ones, however
    rows of one cluster depend on each other. So the test is valid for many clusters, each of them
    small beside all; unlike that with `Exact`, it is not exact. Measured size:
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

    rho: Rho | None = None

    def __post_init__(self) -> None:
        check_rho(self.rho)

    flips_signs = True

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
        return hypothesis(self.rho, data)


def counts_known(seen: Any, redraw: Redraw) -> bool:
    """Whether the distribution of a cell's count is known: two outcomes and no weights."""
    return seen.m == 2 and not seen.weighted and redraw.lens.rowwise


def refuse_apart(redraw: Redraw) -> NoReturn:
    """Refuse a lens that takes rows apart, of rows elsewhere with weights or drawn again."""
    raise ValueError(
        "`lens` must keep a row for a row where scanned rows have weights or are drawn again;"
        f" {redraw.lens} does not. {MEMORY}"
    )
