"""Arrays of rows that belong together, and cannot be changed."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from calibrant import device, engine
from calibrant.checks.arrays import frozen
from calibrant.engine.tuples import Rows

if TYPE_CHECKING:
    from calibrant.loading.reading import Reading

Array = NDArray[Any]
Top = Any  # engine.rows.Top or None


class Beside(NamedTuple):
    """What is known of rows beside predictions and outcomes.

    Parameters
    ----------
    clusters : array of int32 of shape (n,), optional
        Number of the cluster of each row.
    columns : mapping of str to array of shape (n,)
        Columns of a file that were kept, as texts.
    """

    clusters: NDArray[np.int32] | None = None
    columns: Mapping[str, Array] = MappingProxyType({})

    def take(self, rows: Array) -> "Beside":
        """Return what is known of the rows with these numbers."""
        clusters = None if self.clusters is None else frozen(self.clusters.take(rows))
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Beside(clusters, MappingProxyType(columns))


class Held:
    """What `Predictions` hold: arrays that are known to be right."""

    __slots__ = (
        "_labels", "_probs", "_top", "_weights", "beside", "classes", "event", "ranked", "reading",
        "there",
    )  # fmt: skip

    _probs: Array | None
    _labels: NDArray[np.int32] | None
    _weights: NDArray[np.float64] | None
    _top: Top
    classes: tuple[str, ...]
    beside: Beside
    event: int | None
    reading: "Reading | None"
    ranked: "engine.rows.Ranked | None"  # what probs and labels are made of, until asked for
    there: "device.rows.Rows | None"  # probs and labels on a GPU, copied when they are asked for

    def _set(self, parts: tuple[Any, ...], top: Top = None) -> None:
        probs, labels, classes, weights, event, reading, beside = parts
        put = partial(object.__setattr__, self)
        away = device.stays(probs)
        put("there", device.rows.rows_of(probs, labels, weights) if away else None)
        put("_probs", None if away else frozen(probs))
        put("_labels", None if away else frozen(labels))
        put("classes", classes)
        put("_weights", frozen(weights))
        put("event", event if len(classes) == 2 else None)
        put("reading", reading)
        put("beside", beside)
        put("_top", top)
        put("ranked", None)

    @classmethod
    def trusted(
        cls,
        probs: Array | None,
        labels: Array | None,
        classes: tuple[str, ...],
        weights: Array | None = None,
        event: int | None = 0,
        reading: "Reading | None" = None,
        beside: Beside = Beside(),
    ) -> Self:
        """Wrap arrays that are known to be right, without a check or a copy.

        For lenses and resamplers: probs float32 or float64 in C order with rows that sum to
        1, labels int32, weights and `beside` as they come from other Predictions. `event` is
        the outcome that a problem of two is about; a lens puts that first. `reading` says which
        columns of a file these are.
        """
        self = cls.__new__(cls)
        self._set((probs, labels, classes, weights, event, reading, beside))
        return self

    def know_top(self, top: Top) -> Self:
        """Remember the most probable class of every row, which a check found; return these rows."""
        object.__setattr__(self, "_top", top)
        return self

    @property
    def probs(self) -> Array:
        """Predicted probabilities (n, m)."""
        return self._arrays()[0]

    @property
    def labels(self) -> NDArray[np.int32]:
        """Outcomes (n,): places of classes."""
        return self._arrays()[1]

    def _arrays(self) -> tuple[Array, NDArray[np.int32]]:
        """Return probs and labels, which may have to be made or copied when they are first used."""
        if self._probs is None:
            if self.there is not None:
                probs, labels = self.there.pulled()
            else:
                assert self.ranked is not None
                probs, labels = engine.rows.against_top(self.ranked)
            object.__setattr__(self, "_labels", frozen(labels))
            object.__setattr__(self, "_probs", frozen(probs))
        assert self._probs is not None
        assert self._labels is not None
        return self._probs, self._labels

    @property
    def n(self) -> int:
        """Number of rows."""
        if self.there is not None:
            return self.there.shape[0]
        return len(self.labels if self.ranked is None else self.ranked.labels)

    @property
    def m(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def clusters(self) -> NDArray[np.int32] | None:
        """Number of the cluster of each row (n,); None if rows are independent."""
        return self.beside.clusters

    @property
    def columns(self) -> Mapping[str, Array]:
        """Columns that `load` kept beside the predictions, as texts (n,)."""
        return self.beside.columns

    @property
    def of_confidences(self) -> bool:
        """Whether a file held confidences in predictions, and whether these were right."""
        return self.reading is not None and self.reading.correct

    @property
    def weighted(self) -> bool:
        """Whether weights were given."""
        return self._weights is not None

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights (n,), ones where none were given."""
        return np.broadcast_to(np.float64(1.0), self.n) if self._weights is None else self._weights

    @property
    def top(self) -> "engine.rows.Top":
        """The most probable class of every row and its probability; of equal ones, the first."""
        if self._top is None:
            object.__setattr__(self, "_top", engine.rows.check(self.probs, 1.0, 1.0).top)
        found: engine.rows.Top = self._top
        return found

    @property
    def rows(self) -> Rows:
        """Predictions, outcomes and weights as the engine takes them."""
        weights, step = (_ONE, 0) if self._weights is None else (self._weights, 1)
        event = -1 if self.event is None else self.event
        return Rows(self.probs, self.labels, weights, step, 0, event)

    def _with(self, probs: Array, labels: Array, weights: Array | None) -> Self:
        return self.trusted(probs, labels, self.classes, weights, self.event, beside=self.beside)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Predictions are immutable; `{name}` cannot be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Predictions are immutable; `{name}` cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        beside = self.beside._replace(columns=dict(self.columns))
        state = self.probs, self.labels, self.classes, self._weights, self.event
        return type(self).trusted, (*state, self.reading, beside)


_ONE = np.broadcast_to(np.float64(1.0), 1)
