"""Resampled data sets D*, §4.2.

A resampler says which rows stand in a replicate, and from what distribution their labels are
drawn. Both are pure functions of a key, the number of the replicate and the row. It may use
`calibration` and what is below it; it has not heard of statistics.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells
from calibrant.checks.parameters import function
from calibrant.checks.seeds import derive
from calibrant.engine.tuples import Replicates, Source
from calibrant.predictions import Predictions

Array = NDArray[Any]
Rho = Callable[[Array], Array]


class Resampler:
    """A source of data sets that might have been observed.

    One of the user's says which rows stand in a data set (`times`), what their labels are drawn
    from (`distributions`), or both. Where that does not do, it may draw whole data sets (`draw`).

    Law: a replicate depends on nothing but the data, the key and its number. Label and number of
    copies of row i in replicate b are functions of (key, b, i) alone, made of whole numbers, so
    that every engine draws the same ones, whatever else is drawn.
    """

    __slots__ = ()

    @property
    def refit(self) -> bool:
        """Whether a partition that looks at the data is fitted to each data set."""
        return True

    def distributions(self, data: Predictions) -> Array | None:  # noqa: ARG002
        """Return what labels are drawn from: distributions (n, m), or None to keep the labels."""
        return None

    def times(self, data: Predictions, key: np.uint64, b: int) -> Array | None:  # noqa: ARG002
        """Return how often each row stands in replicate b: integers (n,), or None for once."""
        return None

    def label_key(self, key: np.uint64) -> np.uint64:
        """Return the key of the labels, where `key` is that of everything."""
        return key

    def totals(self, cells: Cells, key: np.uint64, replicates: Replicates) -> Any:
        """Return the totals of fixed cells whose rows stand so many times, with their labels."""
        out = engine.totals.Totals.zeros(replicates.size)
        for b in range(*replicates):
            times = self.times(cells.data, key, b)
            data = cells.data if times is None else cells.data.weighted_by(times)
            found = cells.totals(data)
            for mine, theirs in zip(out, found, strict=True):
                mine[:, b - replicates.start] = theirs[:, 0]
        return out

    @property
    def draws_rows(self) -> bool:
        """Whether it says how often each row stands in a data set."""
        return type(self).times is not Resampler.times

    @property
    def draws_data_sets(self) -> bool:
        """Whether it draws whole data sets in a way of its own."""
        return type(self).draw is not Resampler.draw

    def draw(self, data: Predictions, key: np.uint64, b: int) -> Predictions:
        """Return replicate b as a data set, the copies of a row one after the other."""
        probs, times = self.distributions(data), self.times(data, key, b)
        if times is None:
            return data if probs is None else data.with_labels(self._labels(probs, key, b))
        rows = data.take(np.repeat(np.arange(data.n), times))
        if probs is None:
            return rows
        source = Source(probs, None, self.label_key(key), 0)
        return rows.with_labels(engine.draws.draw_copies(source, times, b))

    def _labels(self, probs: Array, key: np.uint64, b: int) -> NDArray[np.int32]:
        source = Source(probs, None, self.label_key(key), 0)
        found: NDArray[np.int32] = engine.draws.draw_labels(source, Replicates(b, b + 1))[0]
        return found


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
        number of events in cell c is a function of (key, b, c), drawn from its exact
        distribution. It takes the same time for any number of rows and nearly so for any number
        of replicates, but it is for a single statistic on cells, two outcomes and no weights.

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

    rho: Rho | None = None
    draws: Literal["labels", "counts"] = "labels"

    def __post_init__(self) -> None:
        if self.rho is not None:
            function("rho", self.rho)
        if self.draws not in ("labels", "counts"):
            raise ValueError(f"`draws` must be 'labels' or 'counts'; found {self.draws!r}.")

    def distributions(self, data: Predictions) -> Array:
        """Return what labels are drawn from: distributions (n, m)."""
        return hypothesis(self.rho, data)


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
    This is the paper's procedure to the letter, there to reproduce the paper. Where cells
    hold few rows its test rejects calibrated models, in the worst case all of them: copies of
    a row fall into one cell and average out, so the resampled miscalibration is too small.
    Use `Exact`.

    Examples
    --------
    >>> data = Predictions([0.0, 0.5, 1.0], [0, 0, 1])
    >>> Consistency().draw(data, np.uint64(1), 0).n
    3
    """

    rho: Rho | None = None

    def __post_init__(self) -> None:
        if self.rho is not None:
            function("rho", self.rho)

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

    def label_key(self, key: np.uint64) -> np.uint64:
        """Return the key of the labels, apart from that of the rows."""
        return derive(key, 1)


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
        Whether a data-dependent partition is fitted again to each data set. Keeping the cells
        is much faster and leaves out only that part of the variability which comes from
        their moving edges, which is small where there are many rows. It has an effect for the
        built-in statistics, and for lenses that keep a row for a row.

    Notes
    -----
    Rows keep their weights. A replicate without any row, which is possible if there are very
    few, is replaced by the data.

    Examples
    --------
    >>> data = Predictions([0.1, 0.5, 0.9], [0, 0, 1])
    >>> Bootstrap().times(data, np.uint64(1), 3).tolist()
    [1, 0, 1]
    """

    refit: bool = True

    def times(self, data: Predictions, key: np.uint64, b: int) -> NDArray[np.int32]:
        """Return how often each row stands in replicate b (n,)."""
        times: NDArray[np.int32] = engine.resample.poisson_times(data.n, 0, key, b)
        present = times.any() if not data.weighted else (times * data.weights).any()
        return times if present else np.ones_like(times)

    def totals(self, cells: Cells, key: np.uint64, replicates: Replicates) -> Any:
        """Return the totals of fixed cells, in one sweep for several replicates."""
        return engine.resample.resampled_totals(cells.data.rows, cells.by_order, key, replicates)


def hypothesis(rho: Rho | None, data: Predictions) -> Array:
    """Return rho of the predictions, checked: rows of probabilities (n, m)."""
    if rho is None:
        return data.probs
    returned = rho(data.probs)
    try:
        probs = np.array(returned, np.float64, order="C")
    except (TypeError, ValueError):
        raise TypeError(
            f"`rho` must return an array of probabilities; it returned {type(returned).__name__}."
        ) from None
    if probs.shape != data.probs.shape:
        raise ValueError(
            f"`rho` must turn predictions of shape {data.probs.shape} into the same shape; it"
            f" returned {probs.shape}."
        )
    totals = probs.sum(axis=1)
    bad = np.flatnonzero(~((probs >= 0).all(axis=1) & (np.abs(totals - 1) < 1e-3)))
    if bad.size:
        raise ValueError(
            "`rho` must return probabilities that sum to 1; row"
            f" {bad[0]} is {probs[bad[0]].tolist()}."
        )
    probs /= totals[:, None]
    probs.flags.writeable = False
    return probs


def check_resampler(resampler: Any) -> None:
    """Refuse what cannot draw data sets."""
    if not isinstance(resampler, Resampler):
        raise TypeError(f"`resampler` must be one such as Exact(); found {resampler!r}.")
