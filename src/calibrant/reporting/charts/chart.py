"""A chart with what a page says around it, and the frame that charts share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams import Series
from calibrant.reporting.charts.svg import SHAPES, Scale, box, element, line, mark, text
from calibrant.words import capital, pvalue, rows_of

Floats = NDArray[np.float64]
Key = tuple[str, str]  # a small drawing, and what it means

WIDTH, HEIGHT = 440.0, 392.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 430.0, 10.0, 310.0  # of the drawing
STRIP = 324.0, 366.0  # upper and lower end of the distribution of predictions
ENDS = -0.02, 1.02  # of the axis of predictions: marks at 0 and 1 are whole
COLOURS = 6  # of models; the style sheet has them


@final
@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Parameters
    ----------
    svg : str
        The drawing.
    above, below : str
        What the axes show: the vertical one above the drawing, the horizontal one below.
    keys : tuple of Key
        What the marks mean: a small drawing and its meaning in words.
    """

    svg: str
    above: str
    below: str
    keys: tuple[Key, ...]


def drawing(parts: Sequence[str], label: str, ends: tuple[float, float] = (0.0, HEIGHT)) -> str:
    """Put parts into one drawing between two heights, with a name for those who cannot see it."""
    size = f"0 {ends[0]:g} {WIDTH:g} {ends[1] - ends[0]:g}"
    return element("svg", "".join(parts), viewBox=size, role="img", aria_label=label)


def swatch(content: str) -> str:
    """Return a small drawing, 28 by 14, that explains a mark; words beside it say the rest."""
    return element("svg", content, viewBox="0 0 28 14", aria_hidden="true")


def mark_key(class_: str, shape: str = "circle", model: str = "") -> str:
    """Return the swatch of a mark."""
    return swatch(element("g", mark(shape, (14, 7), 5, class_), class_=model))


def line_key(class_: str) -> str:
    """Return the swatch of a line."""
    return swatch(line((2, 7), (26, 7), class_))


def box_key(class_: str) -> str:
    """Return the swatch of an area."""
    return swatch(box(4, 24, 12, 2, class_))


def model_class(i: int, alone: bool) -> str:
    """Return the class that gives model i its colour; one that is alone has colours by meaning."""
    return "" if alone else f"m{i % COLOURS}"


def model_shape(i: int, alone: bool) -> str:
    """Return the shape of the marks of model i."""
    return "circle" if alone else SHAPES[i % len(SHAPES)]


def axes(x: Scale, y: Scale, largest: float) -> list[str]:
    """Draw the grid and the numbers of both axes, and of the strip below up to `largest`."""
    left, right = sorted((x.start, x.end))
    parts = []
    for value in y.ticks():
        parts.append(line((left, y(value)), (right, y(value)), "grid"))
        parts.append(text((left - 6, y(value) + 4), number(value, y.ticks()), "end"))
    for value in x.ticks():
        parts.append(line((x(value), BOTTOM), (x(value), TOP), "grid"))
        parts.append(text((x(value), STRIP[1] + 18), number(value, x.ticks())))
    parts.append(line((left, STRIP[1]), (right, STRIP[1]), "grid"))
    parts.append(text((left - 6, STRIP[0] + 9), share(largest), "end"))
    return parts


def share(value: float) -> str:
    """Write a share in per cent, with two digits or more.

    Examples
    --------
    >>> share(0.995).split(), share(0.0123).split()
    (['100', '%'], ['1.2', '%'])
    """
    digits = ".0f" if value >= 0.0995 else ".2g"
    return f"{100 * value:{digits}}\N{NO-BREAK SPACE}%"


def number(value: float, beside: Sequence[float]) -> str:
    """Write a number with as many digits as it takes to tell it from those beside it."""
    step = min(np.diff(beside), default=1.0)
    digits = max(0, int(np.ceil(-np.log10(step) - 1e-9)))
    return f"{value:.{digits}f}".replace("-", "−")


def bars(x: Scale, shares: Sequence[tuple[Floats, str]], noted: bool) -> list[str]:
    """Draw how predictions are distributed over even bins, models side by side.

    shares : share of the predictions in each bin, and the class of the model
    noted : whether each bar says what it is on hovering
    """
    largest = max(float(each.max()) for each, _ in shares)
    up = Scale(0.0, largest, STRIP[1], STRIP[0])
    parts = []
    for i, (each, class_) in enumerate(shares):
        width = 1 / each.size
        told = []
        for j in np.flatnonzero(each):
            low, high = (j + 0.05) * width, (j + 0.95) * width
            ends = [low + (high - low) * part / len(shares) for part in (i, i + 1)]
            place = f"from {j * width:.3g} to {(j + 1) * width:.3g}"
            note = f"{100 * each[j]:.1f} % of predictions {place}" if noted else ""
            told.append(box(x(ends[0]), x(ends[1]), STRIP[1], up(float(each[j])), "bar", note))
        parts.append(element("g", "".join(told), class_=class_))
    return parts


def cell_note(series: Series, c: int, names: Sequence[tuple[int, str]]) -> str:
    """Describe cell c, for hovering.

    names : the outcomes to tell of, and what to call them; "" for none
    """
    fn = series.function
    lines = [f"{capital(rows_of(float(fn.counts[c]), fn.weighted))} ({fn.proportions[c]:.1%})"]
    for j, name in names:
        of = f"{name}: " if name else ""
        lines.append(
            f"{of}predicted {fn.predicted[c, j]:.3f}, observed {fn.observed[c, j]:.3f}"
            f" ({fn.deviations[c, j]:+.3f})".replace("-", "−")
        )
    p = pvalue(float(series.cells.adjusted_pvalues[c]), series.cells.largest.size)
    return "\n".join([*([series.name] if series.name else []), *lines, f"adjusted {p}"])
