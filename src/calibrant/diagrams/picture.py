"""Pictures as data: parts that are drawn somewhere in some look, and what is said about them.

Places are in units of the axes, or of `bins.TRIANGLE` and `bins.TETRAHEDRON`. A look is a
word, such as "limits", that every renderer has a style for. A part belongs to a model and has its
colour, or to none, and then has the colour of its look.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.lenses import TopLabel
from calibrant.words import percent

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Range = tuple[float, float]

UNIT: Range = (0.0, 1.0)
SQUARE: Range = (-0.02, 1.02)  # of an axis of all probabilities: marks at 0 and 1 are whole
CORNER = 0.3  # of the unit interval: what lies in so much of it, at either end, is enlarged
ROUND_ENDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, CORNER)  # of enlarged axes
ANY = -1  # in place of a model: the colour of the text
SHAPES = ("circle", "square", "up", "diamond", "down", "cross", "x")  # of the marks of models
LETTER, LEADING, ROUND = 0.026, 0.056, 0.06  # of a summary: shares of the axes, with a margin
CORNERS = (("left", "top"), ("right", "bottom"), ("right", "top"), ("left", "bottom"))
STEPS = np.linspace(0, 1, 60)  # places on a line or in an area that are looked at
FEW_MODELS = 2  # whose limits and bands are drawn beside each other; marks of more are smaller
MOST_LINES = 5  # of a name; a group of a thousand classes would fill the page


class Lines(NamedTuple):
    """Lines of one look."""

    at: Floats  # (lines, points, dimensions)
    look: str
    model: int | None = None
    aside: float = 0.0  # steps to the right, so that no model hides another


class Areas(NamedTuple):
    """Filled polygons: the band of a curve, or bins that are coloured by their share."""

    at: Floats  # (areas, corners, 2)
    look: str
    model: int | None = None
    shares: Floats | None = None  # (areas,) of the predictions
    notes: tuple[str, ...] = ()  # what is said of each on hovering


class Marks(NamedTuple):
    """Points with a note each; those that are significant are filled."""

    at: Floats  # (marks, 2)
    off: Mask  # (marks,)
    notes: tuple[str, ...]
    sizes: Floats  # (marks,) from 0, the smallest, to 1
    shapes: tuple[str, ...]
    look: str = "mark"
    model: int | None = None
    aside: float = 0.0
    beyond: bool = False  # whether some are at the end of an axis, and would be beyond it


class Dots(NamedTuple):
    """Points whose colour and size show a share of the predictions."""

    at: Floats  # (dots, dimensions)
    shares: Floats  # (dots,)
    notes: tuple[str, ...]


class Arrows(NamedTuple):
    """Arrows from predictions to frequencies."""

    at: Floats  # (arrows, 2, dimensions)
    of: int  # how many bins the picture has
    look: str  # "arrow off" if they are significant, "arrow faded" if their bins hold few rows


class Label(NamedTuple):
    """A text beside a point."""

    at: Floats  # (dimensions,)
    text: str
    away: tuple[float, float]  # from the point: right and up, in units of a small gap
    look: str

    @property
    def side(self) -> str:
        """Which side of the point it is on: "left", "right", or "center" above and below it."""
        right = self.away[0]
        return "center" if right == 0 else "right" if right > 0 else "left"


Part = Lines | Areas | Marks | Dots | Arrows | Label


class Corner(NamedTuple):
    """A corner of the axes."""

    side: str  # "left" or "right"
    end: str  # "top" or "bottom"


class Key(NamedTuple):
    """What a part means."""

    name: str
    sample: str  # what it is shown with: "line", "mark", "area" or "dot"
    look: str
    model: int | None = None  # whose colour it has; ANY for what many models have
    shape: str = "circle"


class Frame(NamedTuple):
    """Two axes."""

    horizontal: str
    vertical: str
    x: Range
    y: Range
    square: bool = False
    above: tuple[tuple[float, str], ...] = ()  # places and texts of a second axis above
    above_name: str = "predicted probability"
    whole: bool = False  # whether the horizontal axis has whole numbers alone

    def across(self, most: int = 7) -> list[float]:
        """Return round numbers of the horizontal axis, at most so many."""
        return [x for x in round_ticks(*self.x, most) if not self.whole or x.is_integer()]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture: parts from back to front, with what surrounds them."""

    label: str  # what it shows, for those who cannot see it
    parts: tuple[Part, ...]
    keys: tuple[Key, ...]
    frame: Frame | None = None  # None on a simplex
    strip: tuple[Floats, ...] = ()  # shares of predictions in even bins, of each model
    strip_range: Range = UNIT  # over which these bins are
    strip_lines: tuple[tuple[float, str], ...] = ()  # upright lines over the strip: place and look
    summary: tuple[str, ...] = ()  # lines of text in a corner, or above where none is free

    @property
    def corner(self) -> "Corner | None":
        """The corner of the axes where the summary touches no part; None if there is none.

        Lengths are those of the chart, whose letters are wider than those of matplotlib.
        """
        assert self.frame is not None
        across, up = self.frame.x, self.frame.y
        longest = max(map(len, self.summary), default=0)
        width = (LETTER * longest + ROUND) * (across[1] - across[0])
        height = (LEADING * len(self.summary) + ROUND) * (up[1] - up[0])
        points = np.concatenate([np.empty((0, 2)), *(covered(part) for part in self.parts)])
        for side, end in CORNERS:
            x = (
                points[:, 0] < across[0] + width
                if side == "left"
                else points[:, 0] > across[1] - width
            )
            y = points[:, 1] > up[1] - height if end == "top" else points[:, 1] < up[0] + height
            if not (x & y).any():
                return Corner(side, end)
        return None

    @property
    def labels(self) -> list[Label]:
        """The texts beside points."""
        return [part for part in self.parts if isinstance(part, Label)]

    @property
    def in_space(self) -> bool:
        """Whether it has three dimensions."""
        return any(label.at.size == 3 for label in self.labels)

    @property
    def largest_share(self) -> float:
        """The largest share of predictions that colours stand for; 0 if there are none."""
        shares = present(p.shares for p in self.parts if isinstance(p, Areas | Dots))
        return max((float(each.max()) for each in shares), default=0.0)


def covered(part: Part) -> Floats:
    """Return points (n, 2) that a part on axes covers: densely on lines and in areas."""
    if isinstance(part, Marks):
        return part.at if part.look == "mark" else np.empty((0, 2))
    if isinstance(part, Lines):
        start, stop = part.at[:, :-1].reshape(-1, 1, 2), part.at[:, 1:].reshape(-1, 1, 2)
        return np.asarray(start + (stop - start) * STEPS[:, None]).reshape(-1, 2)
    if isinstance(part, Areas):
        low, high = part.at.min(axis=1), part.at.max(axis=1)
        across, up = (each.ravel() for each in np.meshgrid(STEPS, STEPS))
        grid = np.stack((across, up), axis=1)
        return np.asarray(low[:, None] + (high - low)[:, None] * grid).reshape(-1, 2)
    return np.empty((0, 2))


def prediction_name(subject: str | None, event: str) -> str:
    """Return what predictions of an event are called, if the diagram is about this subject."""
    if subject == TopLabel().subject:
        return "confidence"
    return f"predicted probability of {subject or f'class {event}'}"


def significant_name(alpha: float, family: str) -> str:
    """Say what is marked, for the legend; `family` is what its p-value is adjusted for."""
    return f"significant ({percent(alpha)}, {family})"


def band_name(level: float, of: str = "") -> str:
    """Say what consistency limits are, and what they hold for, for the legend: a bin by default."""
    return f"{percent(level)} " + (f"consistency band ({of})" if of else "band of each bin")


def reference(slope: float, across: Range = UNIT) -> Lines:
    """Return the line on which a calibrated model is, over a range of predictions."""
    return Lines(np.array([[(end, slope * end) for end in across]]), "zero")


def corner(values: Iterable[Floats]) -> Range:
    """Return the part of the unit interval to show: the end that holds all values, or all of it.

    Examples
    --------
    >>> corner([np.array([0.01, 0.07])]), corner([np.array([0.93, 1.0])]), corner([np.ones(1) / 2])
    ((0.0, 0.1), (0.9, 1.0), (0.0, 1.0))
    """
    every = np.concatenate([*values, np.empty(0)])
    low, high = float(every.min(initial=1.0)), float(every.max(initial=0.0))
    if high <= CORNER:
        return 0.0, min(end for end in ROUND_ENDS if end >= high)
    if 1.0 - low <= CORNER:
        return 1.0 - min(end for end in ROUND_ENDS if end >= 1.0 - low), 1.0
    return UNIT


def axis(shown: Range) -> Range:
    """Return the range of an axis of probabilities: marks at both ends are whole."""
    margin = 0.02 * (shown[1] - shown[0])
    return shown[0] - margin, shown[1] + margin


def enlarged(name: str, shown: Range, share: float = 1.0) -> str:
    """Say of an axis that it shows a part of the unit interval, and so much of the predictions."""
    if shown == UNIT:
        return name
    held = "" if share > 0.9995 else f", {rounded_percent(share)} of the predictions"
    return f"{name} (axis from {shown[0]:g} to {shown[1]:g}{held})"


def present(values: Iterable[Floats | None]) -> tuple[Floats, ...]:
    """Return what is there."""
    return tuple(value for value in values if value is not None)


def model_shape(model: int | None) -> str:
    """Return the shape of the marks of a model; one that is alone has circles."""
    return "circle" if model is None else SHAPES[model % len(SHAPES)]


def round_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers within a range, at most so many."""
    least = (high - low) / most
    power = 10.0 ** floor(log10(least))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= least * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def rounded_percent(share: float) -> str:
    """Write a share in per cent with two digits."""
    return percent(float(f"{share:.2g}"))


def with_margins(ends: list[Floats]) -> Range:
    """Return a range that holds numbers, with some space at both ends."""
    every = np.concatenate(ends)
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    height = max(high - low, 1e-3)
    return low - 0.10 * height, high + 0.08 * height


def wrapped(text: str, width: int, most: int = MOST_LINES) -> list[str]:
    """Break a text into lines: after spaces and joints, or anywhere if a word is too long."""
    width = max(width, 4)
    lines = [""]
    for piece in _pieces(text, width):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1].rstrip() + "…"]
    return [line.strip() for line in lines]


def _pieces(text: str, width: int) -> list[str]:
    """Cut a text where a line may end, into pieces of at most `width` letters."""
    return [
        word[start : start + width]
        for word in re.split(r"(?<=[ \t\n+/_|-])", text)
        for start in range(0, len(word), width)
    ]
