"""Groups of rows, such as men and women: which of them are off, and how far."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import tables, words
from calibrant.arguments import as_lens, as_rows, check_data, takes_arrays
from calibrant.checks.convert import columns_of
from calibrant.checks.parameters import Rng, listed, whole
from calibrant.cuts.gathering import gathered, rule
from calibrant.inference.replicates.problem import REST, TENTH, Plan, Progress, Settings, fields
from calibrant.inference.testing.families import Evidence
from calibrant.inference.verdicts.evaluation import EvaluationRow, judged
from calibrant.inference.verdicts.judging import sizes_of
from calibrant.inference.verdicts.verdict import Verdict
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.rows import Group, Memory, Rows, Scan, Values
from calibrant.words import BIAS

LEAST = 50  # rows of a group
HEADER = ("column", "group", "rows", "off by", "95 % interval", BIAS, "adjusted p")


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slice:
    """A group of rows and its verdict.

    Parameters
    ----------
    column : str
        What the rows were grouped by.
    group : str
        The value that they share, or "others" for the small groups together.
    n : int
        How many they are.
    verdict : Verdict
        What the tests say, adjusted for all groups.
    """

    column: str
    group: str
    n: int
    verdict: Verdict

    def cells(self) -> list[str]:
        """Return the texts of a line of the table."""
        return [self.column, self.group, f"{self.n:,}", *self.verdict.cells()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return fields(self, "column", "group", "n") | self.verdict.to_dict()

    def __repr__(self) -> str:
        return f"<{self.column} = {self.group[:60]}: {self.verdict.sentence[:300]}>"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slices(tables.Tabular):
    """Groups of rows, each with its verdict.

    Parameters
    ----------
    rows : tuple of Slice
        One for each group.
    settings : mapping
        What it was made with.
    tests : tuple of EvaluationRow
        The tests of all groups, which see the same draws.
    evidence : float and array of shape (n_resamples,)
        As in `Evaluation`.
    cut : tuple of str
        What is said of columns of numbers that were cut into quantiles.
    """

    rows: tuple[Slice, ...]
    settings: Settings
    tests: tuple[EvaluationRow, ...]
    evidence: Evidence
    cut: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return fields(self, "rows", "settings")

    def lines(self) -> tables.Lines:
        """Return header and lines of the table."""
        return HEADER, [row.cells() for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """Return one record a group."""
        rows = [row.to_dict() for row in self.rows]
        for row in rows:
            low, high = row.pop("interval") or (None, None)
            row |= {"low": low, "high": high}
        return rows

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        off = sum(row.verdict.rejected for row in self.rows)
        unclear = sum(not row.verdict.clusters_tell for row in self.rows)
        text = f"{off} of {len(self.rows)} groups are miscalibrated at 5 % (adjusted)"
        return "; ".join((text + words.too_few_for(unclear, "group", "groups"), *self.cut))


@takes_arrays
def slices(
    data: Predictions | Scan,
    by: Mapping[str, Sequence[Any]] | Sequence[str] | str | Any,
    *,
    lens: Lens | str | None = None,
    least: int = LEAST,
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Slices:
    """Find out which groups of rows are off, in which direction, and how far.

    Each group gets the omnibus test of `calibration_test`. All groups see the same drawn labels,
    so the adjustment for their number is exact, whether or not they overlap.

    Parameters
    ----------
    data : Predictions or Scan
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
        The default tests of a Scan are statistics on bins.
    by : mapping of str to sequence of length n, data frame, or names
        Columns that are known before the outcome, such as sex or hospital; rows with equal values
        form a group. More than 12 different numbers are cut into quartiles, unless the name of
        the column ends in id or code; as many dates into days, months, quarters or years. Names
        refer to columns that `load` kept, to those of the frame `data`, or to scanned files.
    lens : Lens, optional
        Default: the event of two classes, else the top label.
    least : int, default 50
        Groups of a column with fewer rows are gathered as "others".
    n_resamples, rng, progress
        As in `calibration_test`.

    Returns
    -------
    Slices

    Examples
    --------
    >>> p = np.linspace(0.05, 0.95, 400)
    >>> women = np.arange(400) % 2 == 1
    >>> labels = np.arange(400) * 0.618 % 1 < np.where(women, p**3, p)
    >>> sex = np.where(women, "female", "male")
    >>> found = slices(Predictions(p, labels), {"sex": sex}, rng=0)
    >>> [(row.group, row.verdict.direction) for row in found.rows]
    [('female', 'high'), ('male', None)]
    """
    check_data(data, scans=True)
    chosen = as_lens((Canonical() if data.m == 2 else TopLabel()) if lens is None else lens, data)
    fewest = whole("least", least, least=1)
    plan = Plan.of(data, Exact(), n_resamples, rng, progress)
    rows = as_rows(data)
    names, found, cut = _at_hand(data, by, fewest) if rows.held else _elsewhere(data, by, fewest)
    problems = [plan.look(one.rows, chosen, distributions=True) for one in found]
    sizes = sizes_of(problems, plan.part(*TENTH).progress)
    tests = judged(problems, None, plan.part(*REST), sizes)
    slices_found = tuple(
        Slice(one.column, one.name, one.n, verdict)
        for one, verdict in zip(found, tests.verdicts, strict=True)
    )
    made_with = plan.settings(by=names, lens=chosen, least=least)
    return Slices(slices_found, made_with, tests.rows, tests.evidence, cut)


def kept_columns(data: Predictions | Scan) -> list[str]:
    """Return the names of the columns that were kept beside the predictions."""
    return list(as_rows(data).kept)


class FoundGroup(NamedTuple):
    """A group of rows."""

    column: str
    name: str
    n: int
    rows: Rows


def _at_hand(data: Any, by: Any, least: int) -> tuple[list[str], list[FoundGroup], tuple[str, ...]]:
    """Return the columns, the groups of rows in memory, and what is said of columns that were cut.

    Rows of weight 0 are absent, and the others keep their numbers, and so their draws.
    """
    columns, found, cut = named_columns(data, by, "by"), [], []
    for column, values in columns.items():
        texts = Texts.of(str(column), values, data.n)
        cut.append(rule(texts.counts, str(column)))
        for name, rows, n in texts.groups(least):
            found.append(FoundGroup(str(column), name, n, Memory(data.weighted_by(rows))))
    return list(columns), found, tuple(filter(None, cut))


class Texts(NamedTuple):
    """The values of a column of rows at hand, as texts."""

    column: str
    names: NDArray[Any]  # (k,) the different values
    places: NDArray[np.intp]  # (n,) which of them rows have
    counts: dict[str, int]  # of rows

    @classmethod
    def of(cls, column: str, values: Any, n: int) -> Self:
        """Gather the values of n rows."""
        texts = np.array([str(value) for value in np.atleast_1d(values)])
        if texts.shape != (n,):
            raise ValueError(
                f"`by` must have a value for each of the {n:,} rows; column {column!r} has"
                f" {texts.size:,}."
            )
        names, places, counts = np.unique(texts, return_inverse=True, return_counts=True)
        return cls(column, names, places, dict(zip(names.tolist(), counts.tolist(), strict=True)))

    def groups(self, least: int) -> Iterator[tuple[str, NDArray[np.bool_], int]]:
        """Yield groups: the name, which rows (n,) belong to it, and how many."""
        for name, shared, count in gathered(self.counts, least, self.column):
            yield name, np.isin(self.names, shared)[self.places], count


def _elsewhere(
    scan: Any, by: Any, least: int
) -> tuple[list[str], list[FoundGroup], tuple[str, ...]]:
    """Return the same of scanned rows; one pass counts them."""
    names, found, cut = _names(by, "by"), [], []
    scan = scan.keeping(names)
    counted: list[Counter[str]] = scan.fold([scan.part(Values(tuple(names)))])[0]
    for column, counts in zip(names, counted, strict=True):
        cut.append(rule(counts, column))
        for name, shared, n in gathered(counts, least, column):
            found.append(FoundGroup(column, name, n, scan.only(Group(column, shared), n)))
    return names, found, tuple(filter(None, cut))


def named_columns(data: Predictions, given: Any, argument: str) -> Mapping[str, Any]:
    """Return columns by name: those that were given, of a dict or frame, or those kept."""
    if isinstance(given, Mapping) and given:
        return given
    if frame := columns_of(given):
        return frame
    names = _names(given, argument)
    missing = sorted(set(names) - set(data.columns))
    if missing:
        known = listed(data.columns)
        found = f"{listed(missing)} not among {known}" if known else "none were"
        raise ValueError(
            f"`{argument}` must name columns that were kept beside the data; {found}. Keep them"
            " with load(…, keep=…), or give them as a dict."
        )
    return {name: data.columns[name] for name in names}


def _names(given: Any, argument: str) -> list[str]:
    """Return names of columns."""
    names = [given] if isinstance(given, str) else given
    some = isinstance(names, list | tuple) and len(names) > 0
    if not some or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"`{argument}` must be a dict of columns, such as {{'sex': [...]}}, a data frame, or"
            " names of columns that were kept."
        )
    return list(names)
