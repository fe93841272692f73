"""Labels and names of classes: one rule for arrays, frames and files.

A label and the name of a class are texts. Anything else counts as Python writes it: 3, 3.0,
True; bytes are UTF-8. Spaces around a text do not count. A text means

- the number that it writes: 3, "3", 3.0, "+3", "03" and "3e0" are one number, and however many
  digits there are, all of them count;
- 1 if it is true and 0 if it is false, in small or capital letters;
- itself, letter by letter, if it is neither.

Two classes must not mean the same. A label is read in one of these ways, and all labels of a
data set in the same way:

1. It means what the name of its class means.
2. It means what its class was called before somebody renamed the columns of a file.
3. It is the place of its class, 0, …, m-1: only where no name of a class means a number.

True and false are labels only where there are two classes, or classes of that name. A missing
value (None, NaN, an empty text) is no label. Labels of two dimensions are one-hot.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import isnan
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant import device
from calibrant.checks.convert import column_names, columns, to_numpy
from calibrant.checks.parameters import ARRAYS, Wording, brief, listed, more, short, whole

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


def spelled_out(text: str) -> str:
    r"""Return a text that UTF-8 can hold: half a character becomes what JSON writes for it.

    Examples
    --------
    >>> print(spelled_out("\u00e4\ud83d"))
    ä\ud83d
    """
    return text.encode(errors="backslashreplace").decode()


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


def as_tuple(classes: Iterable[Any]) -> tuple[Any, ...]:
    """Return the names of classes so that they can be read more than once."""
    try:
        return tuple(classes)
    except TypeError:
        raise TypeError(f"`classes` must be a list of names; found {brief(classes)}.") from None


def class_names(classes: Iterable[Any] | None, m: int) -> tuple[str, ...]:
    """Return m class names that mean different things; "0", "1", … where none are given."""
    if classes is None:
        return _numbers(m)
    if isinstance(classes, str):
        raise TypeError(f"`classes` must be a list of names; found the string {brief(classes)}.")
    names = tuple(written(name) for name in as_tuple(classes))
    if len(names) != m:
        raise ValueError(f"`classes` must name the {m} classes; found {len(names)}.")
    _refuse_equal(names)
    return names


@lru_cache(maxsize=16)
def _numbers(m: int) -> tuple[str, ...]:
    return tuple(map(str, range(m)))


def class_index(label: int | str, classes: Sequence[str]) -> int:
    """Return the index of a class that is given by name or by index."""
    if isinstance(label, str):
        if label in classes:
            return classes.index(label)
        raise ValueError(f"`label` must be a class; {label!r} is not among {listed(classes)}.")
    j = whole("label", label, least=0)
    if j >= len(classes):
        raise ValueError(f"`label` must be a class from 0 to {len(classes) - 1}; found {j}.")
    return j


def _refuse_equal(names: Sequence[str]) -> None:
    """Refuse an empty name, and two names that mean the same."""
    first: dict[Meaning, str] = {}
    for j, name in enumerate(names):
        if not name:
            raise ValueError(f"`classes` must be names; the name of class {j} is empty.")
        other = first.setdefault(meaning(name), name)
        if len(first) <= j:
            same = f"{name!r} twice"
            if name != other:
                same = f"{other!r} and {name!r}, which are equal"
            raise ValueError(f"`classes` must differ from one another; found {same}.")


@final
@dataclass(frozen=True, slots=True)
class Classes:
    """The classes that labels may be of."""

    names: tuple[str, ...]  # of the m classes, as `class_names` returns them
    before: tuple[str, ...] = ()  # what they were called before they were renamed
    given: bool = True  # whether somebody named them; if not, their names are "0", "1", …

    def codes(self, labels: Sequence[str]) -> list[int]:
        """Return the place of the class of each label of a data set; -1 where there is none."""
        meant = self._meanings(labels)
        found = [[way.get(label, -1) for label in meant] for way in self._ways()]
        return min(found, key=lambda codes: codes.count(-1))

    def refuse(
        self,
        codes: NDArray[np.int32],
        label: Callable[[int], Any],
        source: Wording = ARRAYS,
        column: str = "",
    ) -> None:
        """Say which row has a label of no class, if one has.

        `codes` (n,) are places of classes, or -1; `label` of a row gives what is there, and
        `column` are the words for the column of a file.
        """
        bad = np.flatnonzero(codes < 0)
        if bad.size:
            first = int(bad[0])
            found = label(first)
            raise ValueError(
                f"{source.labels} must be {self._expected()}; {source.row(first)} has"
                f" {shown(found)}{column}{more(bad.size)}.{self._remedy(written(found))}"
            )

    def _meanings(self, labels: Sequence[str]) -> list[Meaning]:
        """Return what labels mean; true and false are mere texts where they make no sense."""
        if len(self.names) == 2 or any(map(is_truth, (*self.names, *self.before))):
            return [meaning(label) for label in labels]
        return [label if is_truth(label) else meaning(label) for label in labels]

    def _ways(self) -> list[dict[Meaning, int]]:
        """Return the ways to read labels: what they mean → the place of the class."""
        ways: list[dict[Meaning, int]] = [
            {meaning(name): j for j, name in enumerate(names)}
            for names in (self.names, self.before)
        ]
        if self._by_place():
            ways.append({Decimal(j): j for j in range(len(self.names))})
        return ways

    def _by_place(self) -> bool:
        return all(isinstance(meaning(name), str) for name in (*self.names, *self.before))

    def _expected(self) -> str:
        last = len(self.names) - 1
        if not self.given:
            return f"whole numbers from 0 to {last}"
        places = f" or 0 to {last}" if self._by_place() else ""
        return f"among the classes {listed(self.names)}{places}"

    def _remedy(self, label: str) -> str:
        (meant,) = self._meanings([label])
        if any(meant in way for way in self._ways()):
            return " Write all labels in one way: all as names, or all as numbers."
        if not self.given:
            return " If they are names, name the classes in order: `Predictions(…, classes=[…])`."
        return ""


def outcomes(value: Any, n: int, known: Classes, *, on_device: bool = False) -> Any:
    """Return n labels as the places of known classes; those of rows on a GPU may stay there."""
    if on_device and not known.given and device.stays(value):
        found = device.rows.integers(value, n, len(known.names))
        if found is not None:
            return found
    return decoded(value, n, known)


def decoded(value: Any, n: int, known: Classes, source: Wording = ARRAYS) -> NDArray[np.int32]:
    """Return n labels as the places of known classes."""
    m = len(known.names)
    array = _as_array(value, known)
    _check_shape(array, n, m, source.labels)
    if array.ndim == 2 and array.shape[1] == m:
        return _one_hot(array)
    array = array.reshape(n)
    if not known.given and array.dtype.kind in "iu" and _unsigned(array).max() < m:
        return array.astype(np.int32)  # the usual case, quickly
    found = distinct(array)
    codes = found.replaced(known.codes(found.labels))
    known.refuse(codes, array.__getitem__, source)
    return codes


def _unsigned(array: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers without their sign: what was negative is larger than all others."""
    return array.view(array.dtype.str.replace("i", "u"))


def cluster_codes(value: Any, n: int, source: Wording = ARRAYS) -> NDArray[np.int32]:
    """Return the number of each row's cluster (n,), in the order of their first rows."""
    array = to_numpy("clusters", value)
    if array.shape != (n,):
        raise ValueError(f"`clusters` must be one for each of the {n:,} rows; found {array.shape}.")
    if array.dtype.kind not in "biufOUSTM":
        raise TypeError(f"`clusters` must be numbers or names; found {array.dtype}.")
    found = distinct(array.astype(str) if array.dtype.kind == "M" else array)
    codes = found.replaced(range(len(found.labels)))
    missing = {"", "nan", "None", "NaT", "<NA>"}
    lacking = [code for code, label in enumerate(found.labels) if label in missing]
    if lacking:
        row = int(np.flatnonzero(np.isin(codes, lacking))[0])
        raise ValueError(f"`clusters` must have no missing values; {source.row(row)} has none.")
    if len(found.labels) < 2:
        raise ValueError("`clusters` must be at least two; all rows are in the same one.")
    _, first = np.unique(codes, return_index=True)
    return np.argsort(np.argsort(first)).astype(np.int32)[codes]


def _check_shape(array: Array, n: int, m: int, name: str) -> None:
    if array.ndim not in (1, 2) or array.shape[1:] not in ((), (1,), (m,)):
        raise ValueError(
            f"{name} must be of shape ({n},), or ({n}, {m}) if one-hot; found {array.shape}."
        )
    if array.shape[0] != n:
        raise ValueError(
            f"{name} must be one for each of the {n:,} rows; found {array.shape[0]:,}."
        )
    if array.dtype.kind not in "biufOUST":
        raise TypeError(f"{name} must be whole numbers or names; found {array.dtype}.")


def _as_array(value: Any, known: Classes) -> Array:
    """Return labels as an array; the columns of a one-hot frame in the order of the classes."""
    found = column_names(value)
    if found is None:
        return _column(value)
    if len(found) == 1:
        return _column(value[found[0]])
    if known.given and len(found) == len(known.names):
        found = _in_order(found, known.names)
    return columns("labels", value, found)


def _column(value: Any) -> Array:
    """Return labels as an array of integers, also where NumPy would round or refuse large ones."""
    if str(getattr(value, "dtype", "")) in ("Int128", "UInt128"):  # of polars
        value = value.to_list()
    array = to_numpy("labels", value)
    rounded = array.dtype.kind == "f" and isinstance(value, list | tuple)
    if rounded and all(isinstance(label, int) for label in value):
        return np.array(value, object)
    return array


def _in_order(found: list[Any], names: Sequence[str]) -> list[Any]:
    """Return the columns that are named after the classes in their order.

    Columns with other names, or mere numbers from 0, are in that order already.
    """
    column = {meaning(written(name)): name for name in found}
    wanted = [meaning(name) for name in names]
    if set(wanted) == set(column):
        return [column[name] for name in wanted]
    if begun := named_for(found, names):
        return begun
    if set(wanted) & set(column) and found != list(range(len(found))):
        raise ValueError(
            "`labels` of two dimensions must have columns named after the classes"
            f" {listed(names)}; found {listed(found)}. If they are in the order of the classes,"
            " give an array."
        )
    return found


def named_for(columns: Sequence[Any], classes: Sequence[str]) -> list[Any]:
    """Return the columns that are called after the classes, with one beginning, in their order.

    Nothing if there are none for some of the classes.

    Examples
    --------
    >>> named_for(["y_dog", "id", "y_cat"], ["cat", "dog"])
    ['y_cat', 'y_dog']
    """
    known = {column for column in columns if isinstance(column, str)}
    for column in sorted(name for name in known if name.endswith(classes[0])):
        begin = column[: len(column) - len(classes[0])]
        wanted = [f"{begin}{name}" for name in classes]
        if known.issuperset(wanted):
            return wanted
    return []


def _one_hot(array: Array) -> NDArray[np.int32]:
    ones = array == 1
    bad = np.flatnonzero((ones.sum(axis=1) != 1) | (~ones & (array != 0)).any(axis=1))
    if bad.size:
        raise ValueError(
            "`labels` of two dimensions must be one-hot: a single 1 in each row, the rest 0; row"
            f" {bad[0]} is {array[bad[0]].tolist()}{more(bad.size)}."
        )
    return np.asarray(ones.argmax(axis=1), np.int32)
