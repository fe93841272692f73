"""What a search found: regions with their sentences, and what the search could have found."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, final, overload

import numpy as np
from numpy.typing import NDArray

from calibrant import tables, words
from calibrant.cuts.columns import LeftOut
from calibrant.inference.replicates.problem import Settings, fields
from calibrant.rows.rows import refuse_rows
from calibrant.words import ALPHA, BIAS

if TYPE_CHECKING:
    from calibrant.diagrams.charts import Chart
    from calibrant.diagrams.static import Axes

EXTREME = "too extreme by"  # heads a column, whose sign it says
ALONE = 1.96  # what a region that was chosen before has to reach
POWER = 0.84  # beyond that, to be found in 80 % of the data sets
MOST = 10  # findings that are told
CONFIDENCE = "confidence"  # the probability of the predicted class
BEFORE = "All of this holds if columns were known before the outcome."


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Region:
    """A region of rows, such as age < 40, and how far off its predictions are.

    Parameters
    ----------
    conditions : str
        Which rows these are.
    subject : str
        Whose probability is looked at: "confidence", "P(dog)" of several classes, or "".
    n : int
        How many rows.
    predicted, observed : float
        Mean prediction, and how often the event occurred.
    pvalue : float
        Adjusted for all regions that were looked at.
    interval : tuple of float
        95 % interval of the bias, for all regions at once: so it holds for one that was picked.
    by_chance : float
        What the bias stays below in 95 % of the data sets of a calibrated model, for all regions.
    n_regions, n_resamples : int
        How many regions were looked at, and data sets drawn.
    same : int
        How many more rejected regions say the same.
    family : str
        What the p-value is adjusted for.
    rows : array of bool of shape (n,), optional
        Which rows these are; None of scanned rows.
    extreme : float, optional
        How much too extreme predictions are, where a slope is searched for; interval and
        `by_chance` are then of this.
    """

    conditions: str
    subject: str
    n: int
    predicted: float
    observed: float
    pvalue: float
    interval: tuple[float, float]
    by_chance: float
    n_regions: int
    n_resamples: int
    same: int
    family: str
    rows: NDArray[np.bool_] | None
    extreme: float | None = None

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which rows these are (n,)."""
        return refuse_rows("the mask of a region") if self.rows is None else self.rows

    @property
    def bias(self) -> float:
        """Mean prediction minus how often the event occurred."""
        return self.predicted - self.observed

    @property
    def off(self) -> float:
        """How far predictions are off: their bias, or how much too extreme they are."""
        return self.bias if self.extreme is None else self.extreme

    @property
    def measured(self) -> str:
        """What `off` is called at the head of a column."""
        return BIAS if self.extreme is None else EXTREME

    @property
    def rejected(self) -> bool:
        """Whether the region is shown to be off, at 5 %."""
        return self.pvalue <= ALPHA

    @property
    def name(self) -> str:
        """Which rows these are, and of several classes, whose probability is looked at."""
        of = "" if self.subject in ("", CONFIDENCE) else f"{self.subject}: "
        return of + self.conditions

    @property
    def amount(self) -> str:
        """How far off it is, in a few words."""
        sign = 1.0 if self.off > 0 else -1.0
        low, high = (f"{100 * end:z.1f}" for end in sorted(sign * end for end in self.interval))
        by = f"{words.points(abs(self.off))} ({low.replace('-', '−')} to {high})"
        return f"{self._kinds[self.off <= 0]} by {by}"

    @property
    def _kinds(self) -> tuple[str, str]:
        """What predictions are that are off in either direction."""
        subject = self.subject
        if self.extreme is not None:
            kinds = ("overconfident,", "underconfident,") if not subject else (subject, subject)
            return f"{kinds[0]} too extreme", f"{kinds[1]} not extreme enough"
        if subject == CONFIDENCE:
            return "overconfident", "underconfident"
        return f"{subject} too high".strip(), f"{subject} too low".strip()

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        return f"{self.conditions}: {self.facts}"

    @property
    def facts(self) -> str:
        """How far off it is, and how sure that is."""
        p = words.pvalue(self.pvalue, self.n_resamples)
        rows = words.many(self.n, "row")
        return f"{self.amount}, {rows}, {p}, adjusted for {self.family}"

    def cells(self) -> list[str]:
        """Return the texts of a line of the table."""
        low, high = (words.signed(100 * end, 1) for end in self.interval)
        rates = (words.decimal(rate, 3) for rate in (self.predicted, self.observed))
        off = words.signed(100 * self.off, 1)
        p = f"{self.pvalue:.3g}"
        return [self.name, f"{self.n:,}", *rates, off, f"{low} to {high}", p]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        names = ("conditions", "subject", "n", "predicted", "observed", "bias", "interval")
        return fields(self, *names, "extreme", "pvalue", "rejected", "same", "sentence")

    def __repr__(self) -> str:
        return f"<{self.sentence}>"

    def __str__(self) -> str:
        return f"{self.sentence}."


class Price(NamedTuple):
    """What a region of so many rows has to be off by, to be found in 80 % of the data sets."""

    n: int
    searched: float  # if all regions are looked at
    alone: float  # if it were the only one

    @classmethod
    def of(cls, n: int, limit: float, variance: float) -> "Price":
        """Return the price, where the largest of all regions must reach `limit`."""
        unit = sqrt(variance / n)
        return cls(n, (max(limit, ALONE) + POWER) * unit, (ALONE + POWER) * unit)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regions(tables.Tabular, Sequence[Region]):
    """Regions that are significantly off, the strongest evidence first.

    Parameters
    ----------
    rows : tuple of Region
        The findings: of regions that say the same, the strongest or the simplest.
    strongest : Region
        The region with the strongest evidence, also if it is not shown to be off.
    largest : array of shape (n_resamples,)
        The strongest evidence of all regions in each replicate.
    evidence : float
        The strongest evidence of the data.
    price : Price
        What looking at so many regions costs.
    left_out : tuple of LeftOut
        Columns that no condition was made of.
    suspect : tuple of str
        Columns that half know the outcome.
    settings : mapping
        What it was made with.
    """

    rows: tuple[Region, ...]
    strongest: Region
    evidence: float
    largest: NDArray[np.float64]
    price: Price
    left_out: tuple[LeftOut, ...]
    suspect: tuple[str, ...]
    settings: Settings

    @property
    def n_regions(self) -> int:
        """How many regions were looked at."""
        return self.strongest.n_regions

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that all regions are calibrated."""
        return self.strongest.pvalue

    @overload
    def __getitem__(self, place: int) -> Region: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Region, ...]: ...

    def __getitem__(self, place: int | slice) -> Region | tuple[Region, ...]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Region]:
        return iter(self.rows)

    @property
    def shown(self) -> tuple[Region, ...]:
        """What tables and charts show: the first findings, or else the strongest region."""
        return self.rows[:MOST] or (self.strongest,)

    @property
    def sentences(self) -> list[str]:
        """What was found: a sentence for each finding, or one for none."""
        if not self.rows:
            none = f"None of {words.many(self.n_regions, 'region')} is shown to be off"
            return [f"{none}. The strongest: {self.strongest}"]
        more = len(self.rows) - MOST
        sentences = [str(row) for row in self.rows[:MOST]]
        return sentences + [f"{words.many(more, 'more finding')}."] * (more > 0)

    @property
    def notes(self) -> list[str]:
        """What the search cost, which columns were left out or are suspect, and what must hold."""
        n, searched, alone = self.price
        notes = [
            f"To be found in 80 % of such data sets, a region of {words.many(n, 'row')} must be"
            f" off by {words.points(searched)}; by {words.points(alone)} if no other were looked"
            " at."
        ]
        if self.left_out:
            reasons = [f"{name} ({why})" for name, why in self.left_out]
            notes.append(f"Left out: {words.listed(reasons)}.")
        asked = "tells much of the outcome: was it known before? If not, leave it out."
        return [*notes, *(f"{name} {asked}" for name in self.suspect), BEFORE]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        found = fields(self, "rows", "strongest", "n_regions", "pvalue", "suspect", "settings")
        found |= {"left_out": [one._asdict() for one in self.left_out]}
        return found | {"price": self.price._asdict(), "sentences": self.sentences}

    def records(self) -> list[dict[str, Any]]:
        """Return one record a finding."""
        rows = [row.to_dict() for row in self.rows]
        for row in rows:
            low, high = row.pop("interval")
            row |= {"low": low, "high": high}
        return rows

    def lines(self) -> tables.Lines:
        """Return header and lines of the table."""
        head = ("region", "rows", "predicted", "observed", self.strongest.measured)
        return (*head, "95 % interval", "adjusted p"), [row.cells() for row in self.shown]

    def figure(self) -> "Chart":
        """Return the picture as an SVG chart, for notebooks and pages."""
        from calibrant.diagrams.charts import bias_chart  # noqa: PLC0415

        return bias_chart(self.shown, " ".join(self.sentences))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the regions with matplotlib: bias, interval, and what chance would give.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        """
        from calibrant.diagrams import static  # noqa: PLC0415 (loads matplotlib)

        return static.biases(self.shown, ax)

    def judged(self, adjust: Callable[[float], float], family: str) -> "Regions":
        """Return the regions as part of a larger family: p-values are adjusted further."""

        def again(row: Region) -> Region:
            return replace(row, pvalue=adjust(row.pvalue), family=family)

        rows = tuple(row for row in map(again, self.rows) if row.rejected)
        return replace(self, rows=rows, strongest=again(self.strongest))

    def __repr__(self) -> str:
        return f"<{words.many(len(self.rows), 'finding')} in {self.n_regions:,} regions>"

    def __str__(self) -> str:
        return "\n".join((*self.sentences, *self.notes))
