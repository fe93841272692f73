"""Colours, marks and texts that both renderers share.

The colours are those of Okabe and Ito, which people with any colour vision tell apart. What
is significant also differs in shape or width, and models differ in shape, so that it shows
in grey.
"""

import html
import re

import numpy as np
from numpy.typing import NDArray

from calibrant.diagrams.curve import CurveDiagram, CurveSeries
from calibrant.diagrams.diagram import ReliabilityDiagram, Series, Truth
from calibrant.diagrams.plane import ScorePlane
from calibrant.words import pvalue

Floats = NDArray[np.float64]
Range = tuple[float, float]

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
GREY = "#8A8A8A"
MUTED = "#767676"
PALE = "#BFD7EA"
INK = "#222222"
MODELS = (BLUE, "#E69F00", GREEN, "#CC79A7", "#56B4E9", "#000000")
CORNERS = ("#00598C", "#00694C", "#8F3D68")  # of a triangle: top, left, right; ticks have them too
FADED = 0.3  # opacity of the arrow of a cell that holds few rows and is not significant
SHARES = ("#EDF4FA", "#A6CBE5", "#5A9BCB")  # ends early, so that arrows show on every cell

SPARSE = 0.01  # of the rows: cells that hold less do not decide the range of an axis
BEYOND = f"beyond the axis (below {SPARSE:.0%} of the rows)"
FEWEST = 5  # rows: frequencies of fewer are hardly more than noise
FEW_ROWS = f"below {SPARSE:.0%} of the rows, or {FEWEST} rows"
MOST_LINES = 5  # of a name; a group of a thousand classes would fill the page


def event_name(diagram: ReliabilityDiagram | CurveDiagram) -> str:
    """Return what a diagram of two outcomes is about, for the axis."""
    return diagram.subject or f"class {diagram.classes[diagram.event]}"


def model_colour(i: int) -> str:
    """Return the colour of model i; there are six."""
    return MODELS[i % len(MODELS)]


def percent(share: float) -> str:
    """Write a level: 0.05 as 5%, 0.975 as 97.5%."""
    return f"{100 * share:.4g}%"


def off_name(diagram: ReliabilityDiagram) -> str:
    """Say what marks a significant cell, for the legend."""
    return f"off ({percent(diagram.alpha)}, all cells)"


def limits_name(series: Series) -> str:
    """Say what the consistency limits are, for the legend."""
    return f"{percent(series.cells.level)} if calibrated"


def truth_at(n: int = 400) -> NDArray[np.float64]:
    """Return where a true curve is evaluated (n,): not at 0 and 1, where it may be undefined."""
    return (np.arange(n) + 0.5) / n


def filled(shares: Floats) -> NDArray[np.bool_]:
    """Return which cells or points hold enough of the rows to count; all if none does."""
    enough = shares >= SPARSE
    return enough if enough.any() else np.ones_like(enough)


def arrow_looks(
    diagram: ReliabilityDiagram, series: Series
) -> list[tuple[NDArray[np.bool_], bool, bool]]:
    """Return which cells (cells,) have an arrow of each look: (cells, significant, faded)."""
    off = series.significant(diagram.alpha)
    enough = _reliable(series)
    looks = [(~off & ~enough, False, True), (~off & enough, False, False), (off, True, False)]
    return [(which & series.shown, significant, faded) for which, significant, faded in looks]


def well_filled(series: Series) -> NDArray[np.bool_]:
    """Return which cells (cells,) hold 1 % of the rows, five, and as much as the average cell."""
    shares = series.function.proportions
    return series.shown & _reliable(series) & (shares >= 1 / max(1, int(series.shown.sum())))


def _reliable(series: Series) -> NDArray[np.bool_]:
    """Return which cells (cells,) hold enough of the rows, and enough rows; all if none does."""
    fn = series.function
    enough = filled(fn.proportions) & (fn.weighted | (fn.counts >= FEWEST))
    return enough if enough.any() else np.ones_like(enough)


def with_margins(ends: list[Floats]) -> Range:
    """Return a range that holds numbers, with some space at both ends."""
    every = np.concatenate(ends)
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    height = max(high - low, 1e-3)
    return low - 0.10 * height, high + 0.08 * height


def vertical_range(diagram: ReliabilityDiagram, truth: Truth | None) -> Range:
    """Return the range of deviations that is shown: of cells that hold enough of the rows."""
    ends = [np.zeros(1)]
    for series in diagram.series:
        cells, fn = series.cells, series.function
        some = series.shown & filled(fn.proportions)
        ends += [each[some, diagram.event] for each in (fn.deviations, cells.lower, cells.upper)]
    if truth is not None:
        ends.append(np.asarray(truth(truth_at())) - truth_at())
    return with_margins(ends)


def curve_range(diagram: CurveDiagram, *, confidence: bool) -> Range:
    """Return the range of a curve that is shown around 0."""
    ends = [np.zeros(1)]
    for series in diagram.series:
        ends += [series.y, *curve_limits(diagram, series, confidence=confidence)]
    return with_margins(ends)


def curve_limits(
    diagram: CurveDiagram, series: CurveSeries, *, confidence: bool
) -> tuple[Floats, Floats]:
    """Return the band that is drawn."""
    if confidence:
        assert series.confidence is not None
        return series.confidence
    return series.limits(diagram.kind)


def band_name(diagram: CurveDiagram, *, confidence: bool) -> str:
    """Say what the band is, for the legend."""
    level = percent(diagram.series[0].band.level)
    if confidence:
        return f"{level} confidence (whole curve)"
    return f"{level} if calibrated ({'whole curve' if diagram.kind.whole else 'each point'})"


def curve_off_name(diagram: CurveDiagram) -> str:
    """Say what marks the significant part of a curve, for the legend."""
    return f"off ({percent(diagram.alpha)}, whole curve)"


def summary_lines(diagram: ReliabilityDiagram) -> list[str]:
    """Say how many rows a model has, how far off it is, and its p-value; a line each of several."""
    if len(diagram.series) > 1:
        return [f"{series.name}: {', '.join(_numbers(series))}" for series in diagram.series]
    n, size, p = _numbers(diagram.series[0])
    return [n, f"{size} on average, {p}"]


def _numbers(series: Series) -> tuple[str, str, str]:
    n = f"n = {series.function.counts.sum():,.12g}"
    return (
        n,
        f"off by {series.miscalibration:.3f}",
        pvalue(series.pvalue, series.cells.largest.size),
    )


def plane_axes(diagram: ScorePlane) -> tuple[str, str]:
    """Return the names of both axes."""
    score = str(diagram.settings["score"]).replace("_", " ").replace("brier", "Brier")
    return f"miscalibration of the {score} (MCB)", "discrimination (DSC)"


def plane_range(diagram: ScorePlane) -> tuple[Range, Range]:
    """Return the ranges of both axes, with space for names on the right."""
    known = [p for p in diagram.points if np.isfinite(p.parts.miscalibration)]
    right = max([1e-3, *(max(p.parts.miscalibration, p.expected) for p in known)])
    heights = [p.parts.discrimination for p in known] or [0.0, 1.0]
    low, high = min(heights), max(heights)
    reach = max(high - low, 0.5 * right, 1e-3)
    return (-0.03 * right, 1.35 * right), (low - 0.15 * reach, high + 0.15 * reach)


def plane_lines(diagram: ScorePlane) -> list[tuple[float, list[float], list[float]]]:
    """Return lines of equal score, DSC = MCB + UNC - score: (score, x of both ends, y)."""
    if diagram.uncertainty is None:
        return []
    (left, right), (low, high) = plane_range(diagram)
    # A line passes through (0, UNC - score); those that cross the picture have it in this range.
    ends = low - right, high - left
    step = 10 ** np.floor(np.log10((ends[1] - ends[0]) / 4))
    step *= 5 if (ends[1] - ends[0]) / step > 20 else 2 if (ends[1] - ends[0]) / step > 8 else 1
    scores = diagram.uncertainty - np.array(ends)
    found = []
    for score in np.arange(np.ceil(scores[1] / step), scores[0] / step) * step:
        above = diagram.uncertainty - float(score)
        x0, x1 = max(left, low - above), min(right, high - above)
        found.append((float(score), [x0, x1], [x0 + above, x1 + above]))
    return found


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines: after spaces and joints, or anywhere if a word is too long."""
    width = max(width, 4)
    lines = [""]
    for piece in _pieces(text, width):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1].rstrip() + "…"]
    return [line.strip() for line in lines]


def _pieces(text: str, width: int) -> list[str]:
    """Cut a text where a line may end, into pieces of at most `width` letters."""
    return [
        word[start : start + width]
        for word in re.split(r"(?<=[\s+/_|-])", text)
        for start in range(0, len(word), width)
    ]


def escaped(text: str, width: int = 10**6) -> str:
    """Write a text so that plotly takes no part of it for HTML or TeX, on lines of `width`."""
    lines = (html.escape(line, quote=False).replace("$", "&#36;") for line in wrapped(text, width))
    return "<br>".join(lines)


def hover_texts(diagram: ReliabilityDiagram, series: Series) -> list[str]:
    """Describe every cell: count, then prediction, frequency and limits of each outcome."""
    fn = series.function
    shown = [diagram.event] if diagram.n_outcomes == 2 else range(diagram.n_outcomes)
    title = [f"<b>{escaped(series.name, 60)}</b>"] if series.name else []
    texts = []
    n_resamples = series.cells.largest.size
    for c, p in enumerate(series.cells.adjusted_pvalues):
        count = f"{fn.counts[c]:,.12g} rows ({fn.proportions[c]:.1%})"
        outcomes = [_outcome_text(diagram, series, c, j) for j in shown]
        texts.append("<br>".join([*title, count, *outcomes, f"adjusted {pvalue(p, n_resamples)}"]))
    return texts


def _outcome_text(diagram: ReliabilityDiagram, series: Series, c: int, j: int) -> str:
    """Describe outcome j of cell c."""
    fn, cells = series.function, series.cells
    return (
        f"<b>{escaped(diagram.classes[j], 40)}</b>: predicted {fn.predicted[c, j]:.3f}, observed"
        f" {fn.observed[c, j]:.3f}<br>deviation {fn.deviations[c, j]:+.3f},"
        f" {percent(cells.level)} limits {cells.lower[c, j]:+.3f} to {cells.upper[c, j]:+.3f}"
    )


def tetrahedron() -> NDArray[np.float64]:
    """Return the corners (4, 3) of a regular tetrahedron that stands on its base."""
    base = [[np.cos(a), np.sin(a), 0.0] for a in np.deg2rad([90.0, 210.0, 330.0])]
    return np.array([*base, [0.0, 0.0, np.sqrt(2.0)]])
