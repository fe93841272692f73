"""Predictions g(X) and outcomes Y, checked once and then immutable."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import device, engine
from calibrant.checks import arrays, convert
from calibrant.checks.labels import Classes, class_index, class_names, cluster_codes, outcomes
from calibrant.engine.arrays import Rows

if TYPE_CHECKING:
    from calibrant.loading.reading import Reading

Array = NDArray[Any]
Top = Any  # engine.rows.Top or None
CONFIDENCES = ("wrong", "correct")  # the classes of confidences in predictions


def frozen(array: Array | None) -> Array | None:
    """Return a view of an array that cannot be written to."""
    if array is not None and array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


class Beside(NamedTuple):
    """What is known of rows beside predictions and outcomes."""

    clusters: NDArray[np.int32] | None = None  # (n,) number of the cluster of each row
    columns: Mapping[str, Array] = MappingProxyType({})  # (n,) of a file that were kept, as texts

    def take(self, rows: Array) -> "Beside":
        """Return what is known of the rows with these numbers."""
        clusters = None if self.clusters is None else frozen(self.clusters.take(rows))
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Beside(clusters, MappingProxyType(columns))


@final
class Predictions:
    r"""Predicted probabilities g(x_i) and outcomes y_i of n rows and m classes.

    Parameters
    ----------
    probs : array_like of shape (n, m) or (n,)
        Row i holds the predicted distribution g(x_i). One dimension is P(class 1) of a binary
        problem. NumPy arrays, nested lists, pandas, polars and Arrow frames, torch and JAX
        tensors. float32 and float64 stay what they are, anything else becomes one of them.
    labels : array_like of shape (n,) or (n, m)
        Outcomes: integers 0, …, m-1, one-hot rows, or names out of `classes`.
    classes : sequence of m names, optional
        Default: the columns of a frame, without a prefix such as ``prob_`` that all have, or "0",
        "1", …. Names that are whole numbers, such
        as scikit-learn's ``classes_`` or the digits "3", "5", "8", are matched with integer
        labels; then a label is a name, not a position.
    weights : array_like of shape (n,), optional
        Not negative. A row of weight 2 counts as the row twice in every estimate. They are
        rounded to 53 bits of n times the largest, so that their sums are exact.
    clusters : array_like of shape (n,), optional
        Which rows belong together: numbers or names of patients, documents, days. Rows of one
        cluster may depend on each other; tests then use `resampling.WildClusters`.

    Notes
    -----
    A row must sum to 1 within 0.00146, which is what half precision or rounding to three
    decimals leaves; inside that, it is divided by its sum. Logits are never guessed: see
    `from_logits`.

    Arrays of the right type are not copied: a large one is read where it is. Do not change it
    afterwards, or hand over a copy. A tensor on a GPU stays there, see `docs/device.md`. Two-class
    problems are about class 1, the event: bins, tables and diagrams show P(class 1).

    Examples
    --------
    >>> data = Predictions([0.2, 0.9, 0.4], [0, 1, 1])
    >>> data
    Predictions(n=3, m=2, classes=('0', '1'))
    >>> data.probs[:, 1].tolist()
    [0.2, 0.9, 0.4]
    """

    __slots__ = (
        "_labels", "_probs", "_top", "_weights", "beside", "classes", "event", "on_device",
        "ranked", "reading",
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
    on_device: Any  # device.rows.DeviceRows: probs and labels on a GPU, copied when asked for

    def __init__(
        self,
        probs: ArrayLike | Any,
        labels: ArrayLike | Any,
        classes: Sequence[Any] | None = None,
        weights: ArrayLike | Any | None = None,
        clusters: ArrayLike | Any | None = None,
    ) -> None:
        convert.refuse_other_rows(probs, labels=labels, weights=weights, clusters=clusters)
        classes = convert.class_columns(probs) if classes is None else classes
        with convert.in_order(probs, labels):
            checked = arrays.checked_anywhere(convert.one_column(probs))
            self._check(*checked, labels, classes, weights, clusters)

    def _check(
        self, probs: Array, top: Top, labels: Any, classes: Any, weights: Any, clusters: Any
    ) -> None:
        n, m = probs.shape
        known = Classes(class_names(classes, m), given=classes is not None)
        codes = outcomes(labels, n, known, on_device=device.stays(probs))
        checked = None if weights is None else arrays.weights(weights, n)
        beside = Beside(None if clusters is None else cluster_codes(clusters, n))
        self._set(probs, codes, known.names, checked, 1, None, beside)
        self.know_top(top)

    @classmethod
    def from_logits(
        cls,
        logits: ArrayLike | Any,
        labels: ArrayLike | Any,
        classes: Sequence[Any] | None = None,
        weights: ArrayLike | Any | None = None,
        clusters: ArrayLike | Any | None = None,
    ) -> Self:
        """Apply the softmax to logits (n, m), or the logistic function to (n,), and wrap them.

        Minus infinity is a probability of 0.

        Examples
        --------
        >>> Predictions.from_logits([[0.0, 0.0], [1000.0, 0.0]], [0, 0]).probs.tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        self = cls.__new__(cls)
        classes = convert.class_columns(logits, logits=True) if classes is None else classes
        convert.refuse_other_rows(logits, labels=labels, weights=weights, clusters=clusters)
        self._check(
            arrays.softmax(convert.one_column(logits)), None, labels, classes, weights, clusters
        )
        return self

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str,
        probs: Sequence[str],
        classes: Sequence[Any] | None = None,
        weight: str | None = None,
        cluster: str | None = None,
    ) -> Self:
        """Take the columns of a pandas, polars or Arrow frame.

        Parameters
        ----------
        frame : data frame
            Of pandas, polars or Arrow.
        label : str
            Name of the column of outcomes.
        probs : sequence of str
            Names of the columns of probabilities, in the order of the classes; a single one
            is P(class 1) of a binary problem.
        classes : sequence, optional
            Names of the classes; default: those of the columns, without a prefix of all.
        weight, cluster : str, optional
            Names of the columns of weights, and of what makes rows depend on each other.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8], "y": ["cat", "dog"]})
        >>> Predictions.from_frame(frame, label="y", probs=["cat", "dog"])
        Predictions(n=2, m=2, classes=('cat', 'dog'))
        """
        chosen = [probs] if isinstance(probs, str) else list(probs)
        convert.check_columns(frame, [*chosen, label, *filter(None, (weight, cluster))])
        if not chosen:
            raise ValueError("`probs` must name at least one column; found none.")
        matrix = convert.columns("probs", frame, chosen)
        checked = arrays.checked(matrix[:, 0] if len(chosen) == 1 else matrix, owned=True)
        names = convert.names_of_columns(chosen) if classes is None else classes
        beside = [None if column is None else frame[column] for column in (weight, cluster)]
        self = cls.__new__(cls)
        self._check(*checked, frame[label], names, *beside)
        return self

    def _set(self, *parts: Any) -> None:
        probs, labels, classes, weights, event, reading, beside = parts
        put = partial(object.__setattr__, self)
        away = not isinstance(probs, np.ndarray | None) and device.stays(probs)
        put("on_device", device.rows.rows_of(probs, labels, weights) if away else None)
        put("_probs", None if away else frozen(probs))
        put("_labels", None if away else frozen(labels))
        put("classes", classes)
        put("_weights", frozen(weights))
        put("event", event if len(classes) == 2 else None)
        put("reading", reading)
        put("beside", beside)
        put("_top", None)
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
        the outcome that a problem of two is about; a lens puts that first. `reading` names columns.
        """
        self = cls.__new__(cls)
        self._set(probs, labels, classes, weights, event, reading, beside)
        return self

    def know_top(self, top: Top) -> Self:
        """Remember the most probable class of every row, which a check found; return these rows."""
        where = "_top" if self.on_device is None else "on_device"
        object.__setattr__(self, where, top if where == "_top" else self.on_device.known(top))
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
            if self.on_device is not None:
                probs, labels = self.on_device.pulled()
            else:
                assert self.ranked is not None
                probs, labels = engine.rows.against_top(self.ranked)
            object.__setattr__(self, "_labels", frozen(labels))
            object.__setattr__(self, "_probs", frozen(probs))
        assert self._probs is not None
        return self._probs, self._labels  # type: ignore[return-value]

    @property
    def n(self) -> int:
        """Number of rows."""
        if self.on_device is not None:
            return int(self.on_device.shape[0])
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
        """Whether these are confidences in predictions, of classes "wrong" and "correct"."""
        return self.classes == CONFIDENCES or getattr(self.reading, "correct", False)

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
        event, reading, beside = self.event, self.reading, self.beside
        return self.trusted(probs, labels, self.classes, weights, event, reading, beside)

    def restrict(self, where: Callable[[Array], ArrayLike] | ArrayLike) -> Self:
        """Keep the rows whose predictions are in the set A of §3.2.

        Parameters
        ----------
        where : callable or array of bool of shape (n,)
            A function of probs (n, m) that gives a mask, or the mask itself.

        Examples
        --------
        >>> data = Predictions([0.2, 0.9, 0.4], [0, 1, 1])
        >>> data.restrict(lambda probs: probs[:, 1] > 0.3).n
        2
        """
        mask = arrays.mask(where(self.probs) if callable(where) else where, self.weights)
        return self.take(np.flatnonzero(mask))

    def take(self, rows: Array) -> Self:
        """Return the rows with these numbers, in this order."""
        weights = self._weights if self._weights is None else self._weights.take(rows)
        if weights is not None and rows.size > self.n and weights.any():
            weights = arrays.rounded(weights)  # so that sums over more rows are exact, too
        probs, labels = self.probs.take(rows, axis=0), self.labels.take(rows)
        beside = self.beside.take(rows)
        return self.trusted(probs, labels, self.classes, weights, self.event, self.reading, beside)

    def index(self, label: int | str) -> int:
        """Return the index of a class that is given by name or by index."""
        return class_index(label, self.classes)

    def induced(self, probs: Array | None, labels: Array | None, classes: tuple[str, ...]) -> Self:
        """Return what a lens made of these rows, with their weights; its event is outcome 0."""
        return self.trusted(probs, labels, classes, self._weights, beside=self.beside)

    def induced_top(self, classes: tuple[str, str]) -> Self:
        """Return the problem of the most probable class, made when somebody looks at it."""
        found = self.induced(None, None, classes)
        object.__setattr__(found, "ranked", engine.rows.Ranked(self.labels, self.top))
        return found

    def induced_on_device(self, rows: Any, classes: tuple[str, ...]) -> Self:
        """Return what a lens made of rows on a device; its event is outcome 0."""
        found = self.induced(None, None, classes)
        object.__setattr__(found, "on_device", rows)
        return found

    def with_labels(self, labels: Array) -> Self:
        """Return the same predictions with other outcomes (n,): integers that are not checked."""
        return self._with(self.probs, np.asarray(labels, np.int32), self._weights)

    def with_probs(self, probs: Array) -> Self:
        """Return other predictions (n, m), which are not checked, of the same outcomes."""
        return self._with(probs, self.labels, self._weights)

    def weighted_by(self, times: Array) -> Self:
        """Return the rows with their weights multiplied by `times` (n,), which is not checked."""
        weights = np.multiply(times, self.weights, dtype=np.float64)
        return self._with(self.probs, self.labels, weights)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        shown = self.classes if self.m <= 4 else (*self.classes[:3], "…")
        return f"Predictions(n={self.n}, m={self.m}, classes={shown})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Predictions are immutable; `{name}` cannot be set.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Predictions are immutable; `{name}` cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        beside = self.beside._replace(columns=dict(self.columns))
        state = self.probs, self.labels, self.classes, self._weights, self.event
        return type(self).trusted, (*state, self.reading, beside)


_ONE = np.broadcast_to(np.float64(1.0), 1)
