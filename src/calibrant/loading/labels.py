"""From the values of a column of labels to the numbers of classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import listed, more

if TYPE_CHECKING:
    import polars as pl

NUMBER = re.compile(r"[+-]?\d{1,18}(\.0*)?", re.ASCII)
TRUTHS = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))
PAIRS: tuple[tuple[int | str, int | str], ...] = ((0, 1), ("false", "true"))
NEGATIONS = ("no", "not", "none", "neg", "negative", "false", "0")

BLOCK = 1 << 16  # rows at a time: what polars keeps beside a column is larger than the column


def distinct(series: pl.Series) -> list[str]:
    """Return the different labels as texts, in the order of their first rows."""
    return [_text(value) for value in _values(series).to_list()]


def positions(
    series: pl.Series,
    names: Sequence[str],
    columns: Sequence[str],
    place: Callable[[int], str],
) -> NDArray[np.int32]:
    """Return the numbers of the classes.

    A label is the name of a class, or of its column where the classes were renamed, or the
    number that names it; where no names are numbers, it may be its place 0, …, m-1. All
    labels must be so in the same way.
    """
    values = _values(series)
    texts = [_text(value) for value in values.to_list()]
    ways = [_by_name(texts, names), _by_name(texts, columns), _by_number(texts, names)]
    found = next((way for way in ways if -1 not in way), max(ways, key=_matches))
    codes = np.empty(len(series), np.int32)
    for start in range(0, len(series), BLOCK):
        part = series.slice(start, BLOCK).replace_strict(values, found, return_dtype=_int32())
        codes[start : start + BLOCK] = part.to_numpy()
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        text = _text(series[int(bad[0])])
        raise ValueError(
            f"labels must be among the classes {listed(names)}{_or_places(names)};"
            f" {place(int(bad[0]))} has {text!r} in column {series.name!r}{more(bad.size)}."
        )
    return codes


def check_order(names: Sequence[str], own: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse names of classes that are the columns' own names in another order.

    names : what the user calls the classes
    own : what the columns are named for; of a single column, class 1
    columns : the words for the columns
    """
    first = len(names) - len(own)
    for name, called, column in zip(names[first:], own, columns, strict=True):
        if name != called and called in names:
            raise ValueError(
                f"`classes` must be in the order of the columns; {column} is named for {called!r},"
                f" but `classes` calls it {name!r}."
            )


def binary_names(texts: Sequence[str], event: str | None, column: str) -> tuple[str, str]:
    """Return the names of class 0 and class 1 when there is one column of probabilities.

    texts : the different labels
    event : the class that the column is named for, if it is
    column : its name

    The column is of the class it is named for, also where 0 is written 0.0 or false is False,
    and where every label is the other one.
    """
    found = {_meaning(text): _plain(text) for text in texts}
    if event is None and _meaning(column) in {*found, *PAIRS[0], *PAIRS[1]}:
        event = column
    named = None if event is None else _named_for(event, found)
    if named is not None:
        return named
    for truth in TRUTHS:
        if set(texts) <= set(truth):
            _check_event(event, truth)
            return truth
    if -1 not in _by_number(texts, ("0", "1")):
        _check_event(event, ("0", "1"))
        return ("0", "1") if event is None else (f"not {event}", event)
    raise ValueError(
        "labels beside one column of probabilities must be 0 and 1, or `classes` must name"
        f" class 0 and class 1; found {listed(sorted(texts))}."
    )


def _named_for(event: str, found: Mapping[int | str, str]) -> tuple[str, str] | None:
    """Return the names where the event is one of the labels, or the one that never occurs.

    found : what the labels say, and how they are written
    """
    own = _meaning(event)
    others = [text for meaning, text in found.items() if meaning != own]
    if own in found and len(others) == 1:
        return others[0], found[own]
    for pair in PAIRS:
        if own in pair and set(found) <= set(pair):
            other = pair[1 - pair.index(own)]
            return found.get(other, _like(event, other)), found.get(own, event)
    return (f"not {event}", event) if own in found and not others else None


def _check_event(event: str | None, labels: Sequence[str]) -> None:
    """Refuse a column that seems to be of class 0, where labels do not say so."""
    if event is not None and event.lower() in NEGATIONS:
        raise ValueError(
            f"one column of probabilities must be of class 1; it is named for {event!r}, and labels"
            f" are {labels[0]} and {labels[1]}. Name class 0 and class 1 with `classes`."
        )


def _meaning(text: str) -> int | str:
    """Return what a label says: a number, a truth or a name."""
    number = _number(text)
    if number is not None:
        return number
    return text.lower() if any(text in truth for truth in TRUTHS) else text


def _plain(text: str) -> str:
    number = _number(text)
    return text if number is None else str(number)


def _like(event: str, other: int | str) -> str:
    """Write the other of two truths, or numbers, as the event is written."""
    pair = next((truth for truth in TRUTHS if event in truth), None)
    return str(other) if pair is None else pair[1 - pair.index(event)]


def _values(series: pl.Series) -> pl.Series:
    found = series.clear()
    for start in range(0, len(series), BLOCK):
        part = series.slice(start, BLOCK).unique(maintain_order=True)
        found = found.append(part).unique(maintain_order=True)
    return found


def _by_name(texts: Sequence[str], names: Sequence[str]) -> list[int]:
    place = {name: j for j, name in enumerate(names)}
    return [place.get(text, -1) for text in texts]


def _by_number(texts: Sequence[str], names: Sequence[str]) -> list[int]:
    numbers = [_number(name) for name in names]
    if None in numbers:
        numbers = list(range(len(names)))
    place = {number: j for j, number in enumerate(numbers)}
    return [-1 if (number := _number(text)) is None else place.get(number, -1) for text in texts]


def _or_places(names: Sequence[str]) -> str:
    return "" if all(_number(name) is not None for name in names) else f" or 0 to {len(names) - 1}"


def _matches(way: Sequence[int]) -> int:
    return len(way) - way.count(-1)


def _number(text: str) -> int | None:
    return int(text.split(".", maxsplit=1)[0]) if NUMBER.fullmatch(text) else None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _int32() -> Any:
    import polars as pl  # noqa: PLC0415 (only files need it)

    return pl.Int32
