"""Columns cut into codes, of which conditions are made: intervals of numbers, levels, periods.

What is cut where follows from the values of a column alone. Labels have no say.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.inference.verdicts.gathering import (
    LACKING,
    MISSING,
    MOST,
    NUMBER,
    OTHERS,
    PERIODS,
    days,
)

Array = NDArray[Any]
Codes = NDArray[np.uint8]
Span = tuple[int, int]  # codes from, and below

BINS = 8  # quantiles of a column of numbers
FINE = 16  # the same, where a condition stands alone
FEW = 15  # different numbers that have a code each, and levels that have one
LEVEL = 30  # the fewest rows of a level
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


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
    """

    name: str
    names: tuple[str, ...]
    edges: tuple[str, ...] = ()

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

    def told(self, span: Span) -> str:
        """Say which rows have a code of this span.

        Examples
        --------
        >>> age = Cut("age", ("", "", "90", "missing"), ("1", "40", "90"))
        >>> [age.told(span) for span in ((0, 1), (1, 3), (1, 2), (2, 3), (3, 4))]
        ['age < 40', 'age ≥ 40', '40 ≤ age < 90', 'age = 90', 'age missing']
        """
        low, high = span
        k = len(self.edges)
        if high == low + 1 and self.names[low]:
            is_missing = low >= k and self.names[low] == LACKING and low == len(self.names) - 1
            return f"{self.name} {'' if is_missing else '= '}{self.names[low]}"
        if (low, high) == (0, k):
            return f"{self.name} known"
        if low == 0:
            return f"{self.name} < {self.edges[high]}"
        if high == k:
            return f"{self.name} ≥ {self.edges[low]}"
        return f"{self.edges[low]} ≤ {self.name} < {self.edges[high]}"


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


class Distinct(NamedTuple):
    """The different values of a column, as numbers or texts, and which of them each row has."""

    values: Array  # (k,) of floats, NaN where missing, or of texts
    of_rows: Array  # (n,)
    counts: Array  # (k,)

    @classmethod
    def of(cls, column: Any) -> "Distinct":
        """Tell the values of a column apart."""
        array = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        if array.dtype.kind in "iuf":
            return cls(*np.unique(array.astype(float), return_inverse=True, return_counts=True))
        if array.dtype.kind == "M":
            array = array.astype("datetime64[D]").astype(str)
        known: dict[str, int] = {}
        texts = (_text(value) for value in array.tolist())
        of_rows = np.array([known.setdefault(text, len(known)) for text in texts], np.intp)
        values = np.array(list(known), object)
        if all(text in MISSING or NUMBER.fullmatch(text) for text in known):
            values = np.array([np.nan if text in MISSING else float(text) for text in known])
        return cls(values, of_rows, np.bincount(of_rows, minlength=len(known)))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def distinct_values(given: Mapping[str, Any], n: int) -> dict[str, Distinct]:
    """Tell the values of columns of n rows apart."""
    found = {str(name): Distinct.of(values) for name, values in given.items()}
    for name, distinct in found.items():
        if distinct.of_rows.shape != (n,):
            raise ValueError(
                f"`columns` must have a value for each of the {n:,} rows; column {name!r} has"
                f" {distinct.of_rows.size:,}."
            )
    return found


def cut_columns(given: Mapping[str, Distinct]) -> tuple[list[Column], list[LeftOut]]:
    """Cut columns; those of which no condition can be made are left out."""
    found: list[Column] = []
    left_out: list[LeftOut] = []
    for name, distinct in given.items():
        some = [column for column in _columns(name, distinct) if len(column.cut.names) > 1]
        found += [one._replace(codes=one.codes[distinct.of_rows]) for one in some]
        if not some:
            left_out.append(LeftOut(name, _why(distinct)))
    return found, left_out


def _why(distinct: Distinct) -> str:
    """Say why a column is left out."""
    if len(distinct.values) == 1:
        return "one value"
    return f"text: none of its {len(distinct.values):,} values has {LEVEL} rows"


def _columns(name: str, distinct: Distinct) -> Iterator[Column]:
    """Yield the ways in which a column is cut, with the code of each of its values."""
    texts = distinct.values.tolist()
    if distinct.values.dtype.kind == "f":
        few = int((~np.isnan(distinct.values)).sum()) <= FEW
        if not few:
            yield Column(*_numbers(name, distinct, FINE), paired=False)
        yield Column(*_numbers(name, distinct, BINS), alone=few)
        return
    of_texts = days({text: 0 for text in texts if text not in MISSING})
    if not of_texts:
        yield Column(*_levels(name, texts, distinct.counts))
        return
    dates = [of_texts.get(text) for text in texts]
    weekdays = ["" if day is None else WEEKDAYS[day.weekday()] for day in dates]
    yield Column(*_periods(name, dates))
    yield Column(*_levels(f"weekday of {name}", weekdays, distinct.counts))


def _numbers(name: str, distinct: Distinct, bins: int) -> tuple[Cut, Codes]:
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
    ends = np.append(starts[1:], ranked.size) - 1
    names = [f"{ranked[a]:.12g}" if a == b else "" for a, b in zip(starts, ends, strict=True)]
    edges = [
        roundest(float(ranked[start - 1]) if start else -math.inf, float(ranked[start]))
        for start in starts
    ]
    codes = np.full(values.size, starts.size)
    codes[np.flatnonzero(known)[order]] = places
    return Cut(name, (*names, *[LACKING] * (not known.all())), tuple(edges)), codes.astype(np.uint8)


def roundest(low: float, high: float) -> str:
    """Write the number above `low`, and not above `high`, that has the fewest digits.

    Examples
    --------
    >>> roundest(39, 40), roundest(0.4983, 0.5021), roundest(-3, 2), roundest(41, 43)
    ('40', '0.5', '0', '43')
    """
    if low < 0 <= high:
        return "0"
    if not (math.isfinite(low) and math.isfinite(high)):
        return f"{high:.12g}"
    size = math.floor(math.log10(max(abs(low), abs(high))))
    for digits in range(1, 17):
        text = (
            f"{math.floor(high / 10.0 ** (size - digits + 1)) * 10.0 ** (size - digits + 1):.12g}"
        )
        if low < float(text) <= high:
            return text
    return f"{high:.17g}"


def _levels(name: str, texts: Sequence[str], counts: Array) -> tuple[Cut, Codes]:
    """Give the levels of most rows a code each; the others share one, and the missing another."""
    rows: dict[str, int] = {}
    for text, count in zip(texts, counts.tolist(), strict=True):
        rows[text] = rows.get(text, 0) + count
    common = [text for text, n in rows.items() if n >= LEVEL and text not in MISSING]
    kept = sorted(sorted(common, key=lambda text: -rows[text])[:FEW])
    others = [text for text in rows if text not in kept and text not in MISSING]
    lacking = any(text in MISSING for text in rows)
    code = {text: k for k, text in enumerate(kept)} | dict.fromkeys(others, len(kept))
    names = kept + [_others(others)] * bool(others) + [LACKING] * lacking
    codes = np.array([code.get(text, len(names) - 1) for text in texts])
    return Cut(name, tuple(names) if kept else ()), codes.astype(np.uint8)


def _others(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else OTHERS


def _periods(name: str, dates: Sequence[date | None]) -> tuple[Cut, Codes]:
    """Cut dates into days, months, quarters or years: the finest of which there are few enough."""
    known = sorted({day for day in dates if day is not None})
    spelled = [[period(day) for day in known] for period in (*PERIODS, _decade, _century)]
    chosen = next(each for each in spelled if len(set(each)) <= MOST or each is spelled[-1])
    names = list(dict.fromkeys(chosen))
    place = dict(zip(known, (names.index(text) for text in chosen), strict=True))
    codes = np.array([len(names) if day is None else place[day] for day in dates])
    return Cut(name, (*names, *[LACKING] * (None in dates)), tuple(names)), codes.astype(np.uint8)


def _decade(day: date) -> str:
    return f"{day.year // 10}0s"


def _century(day: date) -> str:
    return f"{day.year // 100}00s"
