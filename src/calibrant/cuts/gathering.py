"""The values of a column, gathered into groups: each alone, quantiles of numbers, or periods.

Values come as texts with their numbers of rows, as files and scans have them. A column of more than
`MOST` different numbers is cut into quantiles, one of as many dates into periods. Values that are
no numbers, codes such as 017, and numbers of a column whose name ends in id or code make a group
each, and those of few rows are one group.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain, pairwise

Gathered = tuple[str, tuple[str, ...], int]  # name of a group, its values, number of its rows

Cut = Callable[[Mapping[str, int], int], Iterator[Gathered]]

OTHERS = "others"
LACKING = "missing"
MISSING = ("", "nan", "NaN", "None", "NaT", "<NA>")
UNKNOWN = (*MISSING, "NA", "N/A", "null", "NULL", "?", ".")  # among numbers and among dates
MOST = 12  # different numbers or dates that make a group each
FEW = 50  # whole numbers that may be names of groups
QUANTILES = 4
NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*|(?=\.))(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
CODES = re.compile(r"(?i:(^|[\W_])(id|ids|code|codes))$|[a-z0-9](Id|ID)$")  # hospital_id, siteID
DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})([T ].*)?")
Period = Callable[[date], str]
PERIODS: tuple[Period, ...] = (  # from the finest
    lambda day: f"{day:%Y-%m-%d}",
    lambda day: f"{day:%Y-%m}",
    lambda day: f"{day.year} Q{(day.month + 2) // 3}",
    lambda day: f"{day.year}",
)


def gathered(counts: Mapping[str, int], least: int, column: str = "") -> Iterator[Gathered]:
    """Yield the groups of a column, of at least so many rows each where there are as many.

    Examples
    --------
    >>> ages = {str(age): 10 for age in range(20, 60)}
    >>> [(name, n) for name, _, n in gathered(ages, 50)]
    [('20 to 29', 100), ('30 to 39', 100), ('40 to 49', 100), ('50 to 59', 100)]
    >>> [(name, n) for name, _, n in gathered({"a": 60, "b": 70, "c": 1, "d": 2}, 50)]
    [('a', 60), ('b', 70), ('others', 3)]
    """
    present = _present(counts)
    cut = _cut(present, column)
    if cut is None:
        yield from _large({value: (value,) for value in counts}, counts, least)
        return
    yield from cut(present, least)
    lacking = tuple(value for value in counts if value in MISSING)
    if lacking:
        yield LACKING, lacking, _rows(lacking, counts)


def rule(counts: Mapping[str, int], column: str) -> str:
    """Say that numbers of a column were cut, and how they would have stayed apart; else nothing.

    Examples
    --------
    >>> print(rule(dict.fromkeys(map(str, range(1, 21)), 100), "ward"))
    ward in quantiles of its 20 different numbers (in a column called ward_id each is a group)
    """
    present = _present(counts)
    if _cut(present, column) is not _quantiles:
        return ""
    text = f"{column} in quantiles of its {len(present):,} different numbers"
    if len(present) > FEW or not all(WHOLE.fullmatch(value) for value in present):
        return text
    return f"{text} (in a column called {column}_id each is a group)"


def _present(counts: Mapping[str, int]) -> dict[str, int]:
    return {value: n for value, n in counts.items() if value not in MISSING}


def _cut(counts: Mapping[str, int], column: str) -> Cut | None:
    """Return how a column is cut: into quantiles or periods; None if values stay as they are."""
    if len(counts) <= MOST:
        return None
    if all(NUMBER.fullmatch(value) for value in counts):
        return None if CODES.search(column) else _quantiles
    return None if days(counts) is None else _periods


def _rows(values: Iterable[str], counts: Mapping[str, int]) -> int:
    return sum(counts[value] for value in values)


def _large(
    groups: Mapping[str, tuple[str, ...]], counts: Mapping[str, int], least: int
) -> Iterator[Gathered]:
    """Yield the groups in the order of their names, those of few rows together at the end."""
    sizes = {name: _rows(values, counts) for name, values in groups.items()}
    for name in sorted(name for name, n in sizes.items() if n >= least):
        yield name, groups[name], sizes[name]
    small = [groups[name] for name, n in sizes.items() if n < least]
    if small:
        values = tuple(sorted(chain.from_iterable(small)))
        yield OTHERS, values, _rows(values, counts)


def _quantiles(counts: Mapping[str, int], least: int) -> Iterator[Gathered]:
    """Yield quantiles of numbers, of about equal numbers of rows; equal numbers stay together.

    A number is in the quantile that the middle of its rows is in.
    """
    ranked = sorted(counts, key=float)
    n = sum(counts.values())
    k = max(1, min(QUANTILES, n // least))
    places, before = [], 0
    for value in ranked:
        places.append(int(k * (before + counts[value] / 2) / n))
        before += counts[value]
    ends = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(places)) if a != b), len(ranked)]
    for start, stop in pairwise(ends):
        group = tuple(ranked[start:stop])
        yield _span(group), group, _rows(group, counts)


def _span(group: Sequence[str]) -> str:
    """Write the least and the largest of numbers."""
    low, high = (f"{float(value):.6g}" for value in (group[0], group[-1]))
    return low if low == high else f"{low} to {high}"


def day_of(value: str) -> date | None:
    """Return the day that a text names, if it does."""
    match = DATE.fullmatch(value)
    try:
        return date(*map(int, match.groups()[:3])) if match else None
    except ValueError:  # such as the 30th of February
        return None


def days(counts: Mapping[str, int]) -> dict[str, date] | None:
    """Return the day of each value; None if some are no dates."""
    found = {value: day_of(value) for value in counts}
    known = {value: day for value, day in found.items() if day is not None}
    return known if len(known) == len(found) else None


def _periods(counts: Mapping[str, int], least: int) -> Iterator[Gathered]:
    """Yield days, months, quarters or years: the finest of which there are few enough."""
    known = days(counts) or {}
    names = [{value: period(day) for value, day in known.items()} for period in PERIODS]
    chosen = next((each for each in names if len(set(each.values())) <= MOST), names[-1])
    groups: dict[str, tuple[str, ...]] = {}
    for value in sorted(counts):
        groups[chosen[value]] = (*groups.get(chosen[value], ()), value)
    yield from _large(groups, counts, least)
