"""What every resampler is, and the hypothesis that labels are drawn under."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Draws, Gathered, View
from calibrant.checks.parameters import brief, function
from calibrant.engine.arrays import Replicates, Source
from calibrant.predictions import Predictions
from calibrant.resampling.draws.labels import Labels, Redraw
from calibrant.resampling.draws.rows import RowDraws
from calibrant.rows import MEMORY, Batch

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

    refit: bool = True  # whether a partition that looks at the data is fitted to each data set
    identity: bool = False  # whether `distributions` are sure to be the predictions
    flips_signs = False  # whether replicates flip the signs of clusters, and have no labels
    draws_rows = False  # whether it says how often each row stands in a data set
    draws_data_sets = False  # whether it draws whole data sets in a way of its own

    def __init_subclass__(cls) -> None:
        cls.draws_rows = cls.times is not Resampler.times
        cls.draws_data_sets = cls.draw is not Resampler.draw

    def distributions(self, data: Predictions) -> Array | None:  # noqa: ARG002
        """Return what labels are drawn from: distributions (n, m), or None to keep the labels."""
        return None

    def checked_distributions(self, data: Predictions) -> Array | None:
        """Return `distributions`; refuse rows that are none."""
        probs = self.distributions(data)
        if probs is None or probs is data.probs:
            return probs
        name, shape = f"{type(self).__name__}.distributions", data.probs.shape
        array = isinstance(probs, np.ndarray)
        if not array or probs.dtype.kind != "f" or probs.shape != shape:
            found = f"{probs.dtype} of shape {probs.shape}" if array else type(probs).__name__
            raise TypeError(f"`{name}` must return floats of shape {shape}; it returned {found}.")
        sums_to_one(name, probs)
        return probs

    def times(self, data: Predictions, key: np.uint64, b: int) -> Array | None:  # noqa: ARG002
        """Return how often each row stands in replicate b: integers (n,), or None for once."""
        return None

    def label_key(self, key: np.uint64) -> np.uint64:
        """Return the key of the labels, where `key` is that of everything."""
        return key

    def respecting(self, data: Any) -> "Resampler":
        """Return what stands for this resampler if rows of these data depend on each other."""
        if data.clusters is None:
            return self
        raise ValueError(
            "`resampler` must respect the clusters of the rows, as WildClusters() does;"
            f" {type(self).__name__} takes rows as independent."
        )

    def totals(self, cells: Gathered, key: np.uint64, replicates: Replicates) -> Any:
        """Return the totals of fixed cells whose rows stand so many times, with their labels."""
        out = engine.norms.Totals.zeros(replicates.size)
        for b in range(*replicates):
            times = self.times(cells.data, key, b)
            found = cells.totals(None if times is None else cells.data.weighted_by(times))
            for mine, theirs in zip(out, found, strict=True):
                mine[:, b - replicates.start] = theirs[:, 0]
        return out

    def redraw(self, batch: Batch, redraw: Redraw) -> Draws:
        """Return the replicates of rows that are at hand."""
        if self.draws_rows or self.draws_data_sets:
            return RowDraws(batch, redraw)
        return Labels(batch, redraw)

    def away(self, view: View, redraw: Redraw) -> Any:  # noqa: ARG002
        """Return how replicates of rows that are elsewhere are drawn, or refuse."""
        raise ValueError(
            "`resampler` must be Exact() or Bootstrap() for scanned data;"
            f" {type(self).__name__} looks at all rows. {MEMORY}"
        )

    def draw(self, data: Predictions, key: np.uint64, b: int) -> Predictions:
        """Return replicate b as a data set, the copies of a row one after the other."""
        probs, times = self.distributions(data), self.times(data, key, b)
        rows = data if times is None else data.take(np.repeat(np.arange(data.n), times))
        if probs is None:
            return rows
        source = Source(probs, None, self.label_key(key), 0)
        if times is None:
            return rows.with_labels(engine.draws.draw_labels(source, Replicates(b, b + 1))[0])
        return rows.with_labels(engine.draws.draw_copies(source, times, b))


@dataclass(frozen=True, slots=True)
class UnderRho(Resampler):
    """A resampler that draws labels under the hypothesis rho; None is the identity."""

    rho: Rho | None = None

    def __post_init__(self) -> None:
        if self.rho is not None:
            function("rho", self.rho, "probs")

    def distributions(self, data: Predictions) -> Array:
        """Return what labels are drawn from: distributions (n, m)."""
        return hypothesis(self.rho, data)


def hypothesis(rho: Rho | None, data: Predictions) -> Array:
    """Return rho of the predictions, checked: rows of probabilities (n, m)."""
    if rho is None:
        return data.probs
    returned = rho(data.probs)
    try:
        probs = np.array(returned, np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        probs = None
    if probs is None or np.iscomplexobj(returned):
        raise TypeError(
            f"`rho` must return an array of probabilities; it returned {type(returned).__name__}."
        )
    if probs.shape != data.probs.shape:
        raise ValueError(
            f"`rho` must turn predictions of shape {data.probs.shape} into the same shape; it"
            f" returned {probs.shape}."
        )
    probs /= sums_to_one("rho", probs)[:, None]
    probs.flags.writeable = False
    return probs


def sums_to_one(name: str, probs: Array) -> Array:
    """Return the sums of rows (n,) that a user's function returned; refuse other than about 1."""
    totals: Array = probs.sum(axis=1)
    bad = np.flatnonzero(~((probs >= 0).all(axis=1) & (np.abs(totals - 1) < 1e-3)))
    if bad.size:
        raise ValueError(
            f"`{name}` must return probabilities that sum to 1; row"
            f" {bad[0]} is {brief(probs[bad[0]].tolist())}."
        )
    return totals
