"""Columns cut into codes, of which conditions are made: intervals of numbers, levels, periods.

What is cut where follows from the values of a column alone. Labels have no say.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, NamedTuple, final

import numpy as np

from calibrant.cuts.coders import NOWHERE, SPELLED, TRUTHS, Array, Coder, Codes, Levels, Numbers
from calibrant.cuts.gathering import LACKING, MISSING, MOST, NUMBER, OTHERS, UNKNOWN, days

Span = tuple[int, int]  # codes from, and below

BINS = 8  # quantiles of a column of numbers
FINE = 16  # the same, where a condition stands alone
FEW = 15  # different numbers that have a code each, and levels that have one
LEVEL = 30  # the fewest rows of a level


@final
@dataclass(frozen=True, slots=True)
class Cut:
    """How a column is cut: its codes, what they mean, and which of them are in order.

    Parameters
    ----------
    name : str
        What a condition calls the column.
    names : tuple of str
        What each code stands for if it is one value, level or period; else "".
    edges : tuple of str
        Of each code that is in order: what its values reach, and those of codes before it do not.
        As many codes, the first ones, are in order; others are levels.
    coder : Numbers or Levels, optional
        What gives values their codes.
    predicted : bool
        Whether the column is made of predictions.
    """

    name: str
    names: tuple[str, ...]
    edges: tuple[str, ...] = ()
    coder: Coder | None = None
    predicted: bool = False

    def codes(self, distinct: "DistinctValues") -> Codes:
        """Return the code of each row (n,)."""
        assert self.coder is not None
        return self.coder.codes(distinct.values)[distinct.of_rows]

    @property
    def intervals(self) -> list[Span]:
        """Every interval of codes in order, and every level."""
        k = len(self.edges)
        spans = [(low, high) for low in range(k) for high in range(low + 1, k + 1)]
        return [span for span in (*spans, *self._levels) if span != (0, len(self.names))]

    @property
    def halves(self) -> list[Span]:
        """The codes below or from an edge on, and every level."""
        k = len(self.edges)
        spans = [*((0, edge) for edge in range(1, k)), *((edge, k) for edge in range(1, k))]
        return [*spans, *self._levels]

    @property
    def _levels(self) -> list[Span]:
        return [(code, code + 1) for code in range(len(self.edges), len(self.names))]

    def text(self, span: Span) -> str:
        """Say which rows have a code of this span.

        Examples
        --------
        >>> age = Cut("age", ("", "", "90", "missing"), ("1", "40", "90"))
        >>> [age.text(span) for span in ((0, 1), (1, 3), (1, 2), (2, 3), (3, 4))]
        ['age < 40', 'age ≥ 40', '40 ≤ age < 90', 'age = 90', 'age missing']
        """
        low, high = span
        k = len(self.edges)
        if high == low + 1 and self.names[low]:
            return f"{self.name} {self._equal(low)}{self.names[low]}"
        if (low, high) == (0, k):
            return f"{self.name} known"
        if low == 0:
            return f"{self.name} < {self.edges[high]}"
        if high == k:
            return f"{self.name} ≥ {self.edges[low]}"
        return f"{self.edges[low]} ≤ {self.name} < {self.edges[high]}"

    def _equal(self, code: int) -> str:
        """Return what stands between the name of the column and that of a code."""
        last = code == len(self.names) - 1
        return "" if last and code >= len(self.edges) and self.names[code] == LACKING else "= "


class Column(NamedTuple):
    """A column that is cut, and the code of each row."""

    cut: Cut
    codes: Codes  # (n,)
    alone: bool = True  # whether a condition on it may stand alone,
    paired: bool = True  # and beside one on another column


class LeftOut(NamedTuple):
    """A column that no condition is made of, and why."""

    name: str
    why: str


class DistinctValues(NamedTuple):
    """The different values of a column, as numbers or texts, and which of them each row has."""

    values: Array  # (k,) of floats, NaN where missing, or of texts
    of_rows: Array  # (n,)
    counts: Array  # (k,)

    @classmethod
    def of(cls, column: Any) -> "DistinctValues":
        """Tell the values of a column apart."""
        array = _array(column)
        if array.dtype.kind in "iuf":
            return cls(*np.unique(array.astype(float), return_inverse=True, return_counts=True))
        known: dict[str, int] = {}
        texts = texts_of(array).tolist()
        of_rows = np.array([known.setdefault(text, len(known)) for text in texts], np.intp)
        values = _numbers_or_texts(known)
        if values.dtype.kind == "f":  # 1 and 1.0 are two texts of one number
            values, same = np.unique(values, return_inverse=True)
            of_rows = same[of_rows]
        return cls(values, of_rows, np.bincount(of_rows, minlength=len(values)))


def _array(column: Any) -> Array:
    """Return a column as an array of one dimension; of more, each row is a value."""
    try:
        array = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    except ValueError:  # lists of several lengths
        return np.array([str(value) for value in column], object)
    rows = [str(value) for value in array.tolist()] if array.ndim > 1 else array
    return np.atleast_1d(np.asarray(rows))


def texts_of(column: Any) -> Array:
    """Return the values of a column as texts (n,); of dates, the days."""
    array = _array(column)
    if array.dtype.kind == "M":
        array = array.astype("datetime64[D]").astype(str)
    return np.array([_text(value) for value in array.tolist()], object)


def _text(value: Any) -> str:
    return TRUTHS.get(str(value), str(value))


def _numbers_or_texts(known: Collection[str]) -> Array:
    """Return values as floats if all are numbers or missing; else as texts."""
    lacking = MISSING if set(known) <= set(UNKNOWN) else UNKNOWN
    if all(text in lacking or NUMBER.fullmatch(text) for text in known):
        return np.array([np.nan if text in lacking else float(text) for text in known])
    return np.array(list(known), object)


def distinct_values(given: Mapping[str, Any], n: int) -> dict[str, DistinctValues]:
    """Tell the values of columns of n rows apart."""
    found = {str(name): DistinctValues.of(values) for name, values in given.items()}
    for name, distinct in found.items():
        if distinct.of_rows.shape != (n,):
            raise ValueError(
                f"`columns` must have a value for each of the {n:,} rows; column {name!r} has"
                f" {distinct.of_rows.size:,}."
            )
    return found


def cut_columns(
    given: Mapping[str, DistinctValues], predicted: Collection[str] = (), *, whole: bool = True
) -> tuple[list[Column], list[LeftOut]]:
    """Cut columns, some of which are predictions; leave out those that conditions cannot be on.

    whole : whether these are all rows; else others may have values that these lack
    """
    found: list[Column] = []
    left_out: list[LeftOut] = []
    for name, distinct in given.items():
        some = [each for each in _cuts(name, distinct, whole) if len(each[0].names) > 1]
        for cut, *use in some:
            marked = replace(cut, predicted=name in predicted)
            found.append(Column(marked, marked.codes(distinct), *use))
        if not some:
            left_out.append(LeftOut(name, _why(distinct)))
    return found, left_out


def code_rows(cuts: Sequence[Cut], given: Mapping[str, DistinctValues], n: int) -> Codes:
    """Return the codes of all columns, behind one of zeros: (n, columns)."""
    of_columns = [cut.codes(given[cut.coder.column]) for cut in cuts if cut.coder is not None]
    return np.ascontiguousarray(np.stack([np.zeros(n, np.uint8), *of_columns], axis=1))


def _why(distinct: DistinctValues) -> str:
    """Say why a column is left out."""
    if len(distinct.values) == 1:
        return "one value"
    return f"text: none of its {len(distinct.values):,} values has {LEVEL} rows"


def _cuts(name: str, distinct: DistinctValues, whole: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the ways in which a column is cut, and how conditions on each are used."""
    if distinct.values.dtype.kind == "f":
        few = int((~np.isnan(distinct.values)).sum()) <= FEW
        if not few:
            yield _numbers(name, distinct, FINE, whole), True, False
        yield _numbers(name, distinct, BINS, whole), few
        return
    texts = distinct.values.tolist()
    of_texts = days({text: 0 for text in texts if text not in UNKNOWN})
    if of_texts:
        yield from _dates(name, [of_texts.get(text) for text in texts], distinct.counts, whole)
    else:
        yield (_levels(name, texts, distinct.counts, whole),)


def _dates(
    name: str, dates: Sequence[date | None], counts: Array, whole: bool
) -> Iterator[tuple[Cut]]:
    """Yield the cuts of dates: into periods, and into weekdays."""
    yield (_periods(name, dates, whole),)
    weekdays = ["" if day is None else SPELLED["weekday"](day) for day in dates]
    cut = _levels(f"weekday of {name}", weekdays, counts, whole)
    if isinstance(cut.coder, Levels):
        cut = replace(cut, coder=replace(cut.coder, column=name, period="weekday"))
    yield (cut,)


def _numbers(name: str, distinct: DistinctValues, bins: int, whole: bool) -> Cut:
    """Cut numbers into quantiles; few different ones have a code each."""
    values, counts = distinct.values, distinct.counts
    known = ~np.isnan(values)
    order = np.argsort(values[known], kind="stable")
    ranked, rows = values[known][order], counts[known][order]
    places = np.arange(ranked.size)
    if ranked.size > FEW:
        middles = (np.cumsum(rows) - rows / 2) / rows.sum()
        places = np.unique((bins * middles).astype(int), return_inverse=True)[1]
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    ends = np.append(starts, ranked.size)[1:] - 1
    names = [
        f"{ranked[a]:.12g}" if a == b and whole else "" for a, b in zip(starts, ends, strict=True)
    ]
    edges = [
        roundest(float(ranked[start - 1]) if start else -math.inf, float(ranked[start]))
        for start in starts
    ]
    lacking = [LACKING] * (not (known.all() and whole))
    coder = Numbers(name, tuple(map(float, edges[1:])))
    return Cut(name, (*names, *lacking), tuple(edges), coder)


def roundest(low: float, high: float) -> str:
    """Write the number above `low`, and not above `high`, that has the fewest digits.

    Examples
    --------
    >>> roundest(39, 40), roundest(0.4983, 0.5021), roundest(-3, 2), roundest(41, 43)
    ('40', '0.5', '0', '43')
    """
    if low < 0 <= high:
        return "0"
    largest = max(abs(low), abs(high))
    if not 1e-290 < largest < math.inf:  # powers of ten that digits are counted by end there
        return f"{high:.17g}"
    size = math.floor(math.log10(largest))
    for digits in range(1, 17):
        text = (
            f"{math.floor(high / 10.0 ** (size - digits + 1)) * 10.0 ** (size - digits + 1):.12g}"
        )
        if low < float(text) <= high:
            return text
    return f"{high:.17g}"


def _levels(name: str, texts: Sequence[str], counts: Array, whole: bool) -> Cut:
    """Give the levels of most rows a code each; the others share one, and the missing another."""
    rows = _rows_of(texts, counts)
    lacking = rows.pop("", 0) > 0 or not whole
    kept = sorted(text for text, n in rows.most_common(FEW) if n >= LEVEL)
    others = [text for text in rows if text not in kept]
    if not kept:
        return Cut(name, ())
    rest = _others(others) if whole else [OTHERS]
    names = (*kept, *rest, *[LACKING] * lacking)
    return Cut(name, names, (), _levels_coder(name, kept, len(rest)))


def _levels_coder(name: str, kept: Sequence[str], rest: int, period: Any = "") -> Levels:
    """Return what codes levels, then the others if these have a code, then the missing."""
    return Levels(name, tuple(kept), len(kept) if rest else NOWHERE, len(kept) + rest, period)


def _rows_of(texts: Sequence[str], counts: Array) -> Counter[str]:
    """Return the number of rows of each level; all that is missing is one."""
    rows: Counter[str] = Counter()
    for text, count in zip(texts, counts.tolist(), strict=True):
        rows["" if text in MISSING else text] += count
    return rows


def _others(texts: Sequence[str]) -> list[str]:
    """Return what other levels are called together, if there are any."""
    return list(texts) if len(texts) <= 1 else [OTHERS]


def _periods(name: str, dates: Sequence[date | None], whole: bool) -> Cut:
    """Cut dates into days, months, quarters or years: the finest of which there are few enough."""
    known = sorted({day for day in dates if day is not None})
    periods = list(SPELLED)[:-1]
    spelled = {period: list(dict.fromkeys(map(SPELLED[period], known))) for period in periods}
    chosen = next(each for each in periods if len(spelled[each]) <= MOST or each == periods[-1])
    names = tuple(spelled[chosen])
    rest, lacking = [OTHERS] * (not whole), [LACKING] * (None in dates or not whole)
    coder = _levels_coder(name, names, len(rest), chosen)
    return Cut(name, (*names, *rest, *lacking), names, coder)
