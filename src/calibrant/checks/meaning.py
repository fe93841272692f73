"""What labels and names of classes say: texts, what they mean, and which of them differ."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from math import isnan
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import short

Array = NDArray[Any]
Meaning = Decimal | str

NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d{1,6})?", re.ASCII)
BLOCK = 1 << 16  # rows at a time: nothing as long as the labels is laid beside them
SPAN = 1 << 16  # integers that lie closer together are counted in a table
TRUTHS = {"false": Decimal(0), "true": Decimal(1)}


def written(value: Any) -> str:
    """Write a label or the name of a class; an empty text is a missing value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    return str(value).strip()


def meaning(text: str) -> Meaning:
    """Return the number that a text writes, or the text itself.

    Examples
    --------
    >>> meaning("+03.0") == meaning("3")
    True
    """
    if NUMBER.fullmatch(text):
        return Decimal(text)
    return TRUTHS.get(text.lower(), text)


def is_truth(text: str) -> bool:
    """Whether a text is true or false."""
    return text.lower() in TRUTHS


def shown(label: Any) -> str:
    """Write a label for a sentence: names in quotes, and not without end."""
    if isinstance(label, np.generic):
        label = label.item()
    words = repr(written(label)) if isinstance(label, str | bytes) else str(label)
    return short(words)


@final
class Distinct(NamedTuple):
    """The different labels of an array, and which of them each row has."""

    labels: list[str]  # (k,) the different ones
    keys: Array  # (k,) what stands for each of them in `rows`
    rows: NDArray[np.int32]  # (n,) the key of each row's label

    def replaced(self, codes: Sequence[int]) -> NDArray[np.int32]:
        """Return the rows (n,) with a code in place of each label; `rows` is overwritten."""
        table = np.zeros(int(self.keys.max()) + 1, np.int32)
        table[self.keys] = codes
        for block in _blocks(len(self.rows)):
            self.rows[block] = table[self.rows[block]]
        return self.rows


def distinct(array: Array) -> Distinct:
    """Find the different labels of an array (n,) of numbers, truths, texts or objects."""
    if array.dtype.kind in "OUST":
        return _texts(array)
    if array.dtype.kind != "f" or _exact_integers(array):
        span = array.max().item() - array.min().item()
        if span < SPAN:
            return _close_integers(array, int(span))
    values, rows = np.unique(array, return_inverse=True)
    labels = [written(value) for value in values]
    return Distinct(labels, np.arange(len(labels)), rows.astype(np.int32))


def _texts(array: Array) -> Distinct:
    keys: dict[str, int] = {}
    rows = np.empty(len(array), np.int32)
    for block in _blocks(len(array)):
        labels = [x if type(x) is str else written(x) for x in array[block].tolist()]
        rows[block] = [keys.setdefault(label, len(keys)) for label in labels]
    return Distinct([written(label) for label in keys], np.arange(len(keys)), rows)


def _exact_integers(array: Array) -> bool:
    """Whether floats are integers of which none was rounded."""
    return bool((array == np.floor(array)).all() and np.abs(array).max().item() < 2**53)


def _close_integers(array: Array, span: int) -> Distinct:
    """Take the distance from the lowest label for the key of a label."""
    low = array.min()
    rows = np.empty(len(array), np.int32)
    np.subtract(array, low, out=rows, dtype=np.int64, casting="unsafe")
    counts = np.zeros(span + 1, np.int64)
    for block in _blocks(len(array)):
        counts += np.bincount(rows[block], minlength=span + 1)
    keys = np.flatnonzero(counts)
    kind = array.dtype.type
    return Distinct([written(kind(low.item() + key)) for key in keys.tolist()], keys, rows)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, n, BLOCK))
