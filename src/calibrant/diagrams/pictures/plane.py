"""Discrimination over miscalibration, with lines of equal score."""

from typing import TYPE_CHECKING

import numpy as np

from calibrant.diagrams.pictures.picture import (
    Frame,
    Key,
    Label,
    Lines,
    Marks,
    Part,
    Picture,
    Range,
)
from calibrant.words import percent, pvalue, score_name

if TYPE_CHECKING:
    from calibrant.diagrams.plane import PlanePoint, ScorePlane

APART = 0.05  # of the height: names are at least so far from each other


def plane_picture(diagram: "ScorePlane") -> Picture:
    """Show a mark for each model, the way to it from what chance alone gives, and its name."""
    across, (low, high) = plane_ranges(diagram)
    known = sorted(_known(diagram), key=_order)
    names = _names(known, (across, (low, high)))
    high = max([high, *(label.at[1] + APART * (high - low) for label, _ in names)])
    parts: list[Part] = []
    for score, ends in plane_lines(diagram, (across, (low, high))):
        parts.append(Lines(np.array(ends)[None], "equal"))
        parts.append(Label(np.array(ends[1]), f"{score:.3g}", (-1, 1), "small"))
    parts += [leader for _, leader in names if leader is not None]
    parts += [Lines(np.array([[(p.expected, _at(p)[1]), _at(p)]]), "chance") for p in known]
    parts += [_marks(diagram, known), *(label for label, _ in names)]
    horizontal = f"miscalibration of the {score_name(str(diagram.settings['score']))} (MCB)"
    frame = Frame(horizontal, "discrimination (DSC)", across, (low, high))
    label = f"Discrimination over miscalibration of {len(diagram.points)} models."
    return Picture(label, tuple(parts), tuple(_keys(diagram)), frame)


def plane_ranges(diagram: "ScorePlane") -> tuple[Range, Range]:
    """Return the ranges of both axes, with space for names on the right."""
    known = _known(diagram)
    right = max([1e-3, *(max(p.parts.miscalibration, p.expected) for p in known)])
    heights = [p.parts.discrimination for p in known] or [0.0, 1.0]
    low, high = min(heights), max(heights)
    reach = max(high - low, 0.5 * right, 1e-3)
    return (-0.03 * right, 1.35 * right), (low - 0.15 * reach, high + 0.15 * reach)


def plane_lines(
    diagram: "ScorePlane", ranges: tuple[Range, Range]
) -> list[tuple[float, list[tuple[float, float]]]]:
    """Return lines of equal score, DSC = MCB + UNC - score: the score, and both ends."""
    if diagram.uncertainty is None:
        return []
    (left, right), (low, high) = ranges
    # A line passes through (0, UNC - score); those that cross the picture have it in this range.
    ends = low - right, high - left
    step = 10 ** np.floor(np.log10((ends[1] - ends[0]) / 4))
    n_steps = (ends[1] - ends[0]) / step
    step *= 5 if n_steps > 20 else 2 if n_steps > 8 else 1
    scores = diagram.uncertainty - np.array(ends)
    found = []
    for score in np.arange(np.ceil(scores[1] / step), scores[0] / step) * step:
        above = diagram.uncertainty - float(score)
        x0, x1 = max(left, low - above), min(right, high - above)
        found.append((float(score), [(x0, x0 + above), (x1, x1 + above)]))
    return found


def _known(diagram: "ScorePlane") -> list["PlanePoint"]:
    """Return the models that have a place: an infinite score has none."""
    return [point for point in diagram.points if np.isfinite(point.parts.miscalibration)]


def _at(point: "PlanePoint") -> tuple[float, float]:
    return point.parts.miscalibration, point.parts.discrimination


def _order(point: "PlanePoint") -> tuple[float, float]:
    """Return what decides who is named first: from below, and of those alike, from the right."""
    return round(point.parts.discrimination, 6), -point.parts.miscalibration


def _names(
    points: list["PlanePoint"], ranges: tuple[Range, Range]
) -> list[tuple[Label, Lines | None]]:
    """Return names on the right that do not overlap, with a line to those that had to give way."""
    width, height = (float(np.ptp(each)) for each in ranges)
    taken = -np.inf
    found = []
    for point in points:
        x, y = _at(point)
        moved, taken = taken + APART * height > y, max(y, taken + APART * height)
        place = np.array([x + 0.03 * width, taken])
        leader = Lines(np.array([[(x, y), place]]), "leader") if moved else None
        found.append((Label(place, point.name, (0.5, 0), "name"), leader))
    return found


def _marks(diagram: "ScorePlane", points: list["PlanePoint"]) -> Marks:
    return Marks(
        at=np.array([_at(point) for point in points]).reshape(-1, 2),
        off=np.array([point.pvalue <= diagram.alpha for point in points], bool),
        notes=tuple(_note(point, diagram.settings["n_resamples"]) for point in points),
        sizes=np.full(len(points), 0.6),
        shapes=("circle",) * len(points),
    )


def _note(point: "PlanePoint", n_resamples: int) -> str:
    parts = point.parts
    return (
        f"{point.name}\nscore {parts.score:.4f}\nmiscalibration {parts.miscalibration:.4f},"
        f" {point.expected:.4f} if calibrated, {pvalue(point.pvalue, n_resamples)}\n"
        f"discrimination {parts.discrimination:.4f}, uncertainty {parts.uncertainty:.4f}"
    )


def _keys(diagram: "ScorePlane") -> list[Key]:
    keys = [
        Key(f"miscalibrated ({percent(diagram.alpha)})", "mark", "mark off"),
        Key("not significant", "mark", "mark"),
        Key("from chance alone", "line", "chance"),
    ]
    if diagram.uncertainty is not None:
        keys.append(Key("equal scores", "line", "equal"))
    return keys
