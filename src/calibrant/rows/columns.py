"""From the columns of an Arrow batch to checked Predictions."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import arrays
from calibrant.checks.labels import Classes, decoded
from calibrant.checks.parameters import Wording
from calibrant.predictions import Predictions

Array = NDArray[Any]
Where = Callable[[int], str]


class Coded(NamedTuple):
    """A column as the texts that stand in it, spelled as `load` does, and which each row has."""

    texts: tuple[str, ...]
    codes: NDArray[Any]  # (n,)

    @classmethod
    def of(cls, column: Any, name: str) -> "Coded":
        """Tell the values of an Arrow column apart."""
        import pyarrow  # noqa: PLC0415 (an extra)

        try:
            coded = column if hasattr(column, "dictionary") else column.dictionary_encode()
        except (pyarrow.ArrowNotImplementedError, pyarrow.ArrowInvalid):
            raise ValueError(
                f"`by` must name columns of texts, numbers or truths; {name!r} holds {column.type}."
            ) from None
        texts = [_text(value) for value in (*coded.dictionary.to_pylist(), None)]
        return cls(tuple(texts), _plain(coded.indices.fill_null(len(texts) - 1)))

    def rows(self, values: Collection[str]) -> NDArray[np.intp]:
        """Return the numbers of the rows that have one of these values."""
        wanted = np.array([text in values for text in self.texts])
        return np.flatnonzero(wanted[self.codes])

    def counts(self) -> dict[str, int]:
        """Return how many rows have each value."""
        found = np.bincount(self.codes, minlength=len(self.texts)).tolist()
        return {text: n for text, n in zip(self.texts, found, strict=True) if n}


@final
@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold what, and how they are read."""

    label: str
    probs: tuple[str, ...]  # one for each class, a single one of lists, or P(class 1)
    lists: bool  # whether the only column of `probs` holds a list for each row
    single: bool  # whether numbers are 32-bit floats; else rows are read as 64-bit floats
    known: Classes  # that labels may be of
    weight: str | None = None
    row: str | None = None  # numbers of rows, if they have some that do not depend on their place
    logits: bool = False
    normalize: bool = False  # whether probabilities were rounded
    kept: tuple[str, ...] = ()  # kept beside the predictions

    @property
    def m(self) -> int:
        """Number of classes."""
        return len(self.known.names)

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        others = [name for name in (self.weight, self.row) if name is not None]
        return [*self.probs, self.label, *others, *self.kept]

    def predictions(self, table: Any, where: Where, unit: float | None) -> Predictions:
        """Check a batch of rows, a pyarrow.RecordBatch, and return it.

        where : gives words for the place of a row of the batch
        unit : what weights are rounded to multiples of; None if there are none
        """
        source = Wording(
            where,
            self._words,
            probs="the probabilities",
            logits="the logits",
            labels="the labels",
            hint="Are these logits? Then say so with `values='logits'`.",
            rounded_hint="Were they rounded? Then say so with `values='rounded'`.",
        )
        matrix = self._matrix(table, where)
        if self.logits:
            probs, top = arrays.softmax(matrix, owned=True, source=source), None
        else:
            probs, top = arrays.checked(matrix, owned=True, source=source, normalize=self.normalize)
        labels = decoded(self._labels(table), table.num_rows, self.known, source)
        weights = None
        if self.weight is not None and unit is not None:
            weights = np.rint(self.weights(table, where) / unit) * unit
        return Predictions.trusted(probs, labels, self.known.names, weights, 1).know_top(top)

    def beside(self, table: Any, where: Where) -> dict[str, "Coded"]:
        """Return the columns that are kept beside the predictions of a batch."""
        missing = [name for name in self.kept if name not in table.schema.names]
        if missing:
            raise ValueError(f"column {missing[0]!r} must be in all files; {where(0)} lacks it.")
        return {name: Coded.of(table.column(name), name) for name in self.kept}

    def weights(self, table: Any, where: Where) -> NDArray[np.float64]:
        """Return the weights of a batch, checked but not rounded."""
        array = _plain(table.column(self.weight)).astype(np.float64)
        return arrays.plausible_weights(array, Wording(where))

    def numbers(self, table: Any, where: Where) -> NDArray[np.int64] | None:
        """Return the numbers of the rows of a batch; None if they follow from their place."""
        if self.row is None:
            return None
        column = table.column(self.row)
        if column.null_count:
            raise ValueError(f"`row` must name every row; {where(_missing(column))} has no number.")
        numbers = np.ascontiguousarray(_plain(column), np.int64)
        if numbers.size and (numbers < 0).any():
            row = int(np.argmax(numbers < 0))
            raise ValueError(f"`row` must not be negative; {where(row)} has {numbers[row]}.")
        values, times = np.unique(numbers, return_counts=True)
        if values.size < numbers.size:
            twice = values[np.argmax(times > 1)]
            raise ValueError(f"`row` must be unique; {twice} stands twice near {where(0)}.")
        return numbers

    def _words(self, j: int) -> str:
        """Return the words for a column of the matrix."""
        if self.lists:
            return f"entry {j} of column {self.probs[0]!r}"
        return f"column {self.probs[min(j, len(self.probs) - 1)]!r}"

    def _matrix(self, table: Any, where: Where) -> Array:
        """Return the numbers (n, m), or (n,) of a single column, in an array of their own."""
        dtype = np.float32 if self.single else np.float64
        if self.lists:
            return _of_lists(table.column(self.probs[0]), self.m, dtype, where)
        if len(self.probs) == 1:
            return np.array(_plain(table.column(self.probs[0])), dtype)
        out = np.empty((table.num_rows, len(self.probs)), dtype)
        for j, name in enumerate(self.probs):
            out[:, j] = _plain(table.column(name))
        return out

    def _labels(self, table: Any) -> Any:
        """Return the labels as NumPy has them; missing ones are None or NaN."""
        column = table.column(self.label)
        if str(column.type).startswith("dictionary"):
            column = column.dictionary_decode()
        return _plain(column)


def _plain(column: Any) -> Array:
    """Return an Arrow column as a NumPy array; missing numbers are NaN."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _missing(column: Any) -> int:
    """Return the first row that lacks a value."""
    return int(np.argmax(_plain(column.is_null())))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_lists(column: Any, m: int, dtype: Any, where: Where) -> Array:
    """Return a column of lists, each of m numbers, as rows of a matrix."""
    if column.null_count:
        raise ValueError(f"the probabilities must be finite; {where(_missing(column))} has none.")
    flat = column.flatten()
    if len(flat) != m * len(column) or hasattr(column, "offsets"):
        lengths = np.asarray(column.value_lengths())
        off = np.flatnonzero(lengths != m)
        if off.size:
            raise ValueError(
                f"each list must have {m} probabilities, as the first one has; {where(int(off[0]))}"
                f" has {lengths[off[0]]}."
            )
    return np.array(_plain(flat), dtype).reshape(-1, m)
