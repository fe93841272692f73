"""Four outcomes: arrows in a tetrahedron, which the script of the page can turn.

Everything has its place in space in ``data-at``, and the drawing in ``data-turn`` how it is seen;
the script projects as `seen` does.
"""

from itertools import combinations

import numpy as np

from calibrant.diagrams import ReliabilityDiagram
from calibrant.diagrams.style import tetrahedron as corners_of
from calibrant.diagrams.style import well_filled
from calibrant.reporting.charts import svg
from calibrant.reporting.charts.chart import WIDTH, Chart, Floats, cell_note
from calibrant.reporting.charts.simplex import LEADING, arrow, arrow_keys, shade, short_lines
from calibrant.reporting.charts.svg import Point, element

AZIMUTH, ELEVATION = 1.30, 0.30  # from where it is seen, in radians
SCALE, DISTANCE = 140.0, 5.0  # pixels to a unit of length, and units of length to the eye
ENDS = -215.0, 190.0  # upper and lower end of the drawing, around the centre
NAMED = 1.1  # how far out names are, where corners are at 1
LETTERS = 10  # on a line of a name


def tetrahedron(diagram: ReliabilityDiagram, label: str) -> Chart:
    """Draw dots at mean predictions, coloured by their share, and arrows to the frequencies."""
    corners = corners_of() - corners_of().mean(axis=0)
    edges = [svg.line(seen(a), seen(b), "edge", at=_at(a, b)) for a, b in combinations(corners, 2)]
    middle = [*_arrows(diagram, corners), *_dots(diagram, corners)]
    names = [_name(NAMED * p, name) for p, name in zip(corners, diagram.classes, strict=True)]
    # The script sorts what is between edges and names by depth; here, the far ones come first.
    ordered = [drawn for _, drawn in sorted(middle, key=lambda pair: pair[0])]
    parts = [*edges, element("g", "".join(ordered), class_="inside"), *names]
    turned = element("g", "".join(parts), transform=f"translate({WIDTH / 2:g} 0)")
    svg_ = element(
        "svg",
        turned,
        viewBox=f"0 {ENDS[0]:g} {WIDTH:g} {ENDS[1] - ENDS[0]:g}",
        role="img",
        tabindex="0",
        aria_label=label,
        data_turn=f"{AZIMUTH} {ELEVATION} {SCALE} {DISTANCE}",
    )
    return Chart(svg_, "", "", arrow_keys(diagram, faded=False))


def seen(point: Floats) -> Point:
    """Return where a point in space (3,) is on the page, from the centre, in perspective."""
    ahead, across, up = _directions()
    nearer = SCALE * DISTANCE / (DISTANCE - point @ ahead)
    return float(nearer * (point @ across)), float(-nearer * (point @ up))


def _directions() -> tuple[Floats, Floats, Floats]:
    """Return directions in space: towards the eye, to the right, and up."""
    (a, e), (sin, cos) = (AZIMUTH, ELEVATION), (np.sin, np.cos)
    ahead = np.array([cos(e) * cos(a), cos(e) * sin(a), sin(e)])
    up = np.array([-sin(e) * cos(a), -sin(e) * sin(a), cos(e)])
    return ahead, np.array([-sin(a), cos(a), 0.0]), up


def _at(*points: Floats) -> str:
    """Write points in space."""
    return " ".join(",".join(f"{v:.4f}" for v in point) for point in points)


def _depth(point: Floats) -> float:
    return float(point @ _directions()[0])


def _arrows(diagram: ReliabilityDiagram, corners: Floats) -> list[tuple[float, str]]:
    """Draw arrows of cells that are off or well filled, each with its depth."""
    series = diagram.series[0]
    off = series.significant(diagram.alpha) & series.shown
    parts = []
    for c in np.flatnonzero(off | well_filled(series)).tolist():
        start, stop = series.function.predicted[c] @ corners, series.function.observed[c] @ corners
        drawn = arrow(seen(start), seen(stop), "arrow off" if off[c] else "arrow")
        parts.append((_depth(stop), element("g", drawn, data_at=_at(start, stop))))
    return parts


def _dots(diagram: ReliabilityDiagram, corners: Floats) -> list[tuple[float, str]]:
    """Draw a dot for each cell, with its depth."""
    series = diagram.series[0]
    shares = series.function.proportions
    names = list(enumerate(diagram.classes))
    parts = []
    for c in np.flatnonzero(series.shown).tolist():
        place, part = series.function.predicted[c] @ corners, float(shares[c] / shares.max())
        note = svg.title(cell_note(series, c, names))
        x, y = seen(place)
        look = {"class_": "dot", "fill_opacity": shade(part), "data_at": _at(place)}
        drawn = element("circle", note, cx=x, cy=y, r=3 + 7 * part**0.5, **look)
        parts.append((_depth(place), drawn))
    return parts


def _name(place: Floats, name: str) -> str:
    """Write the name of a corner beside it."""
    x, y = seen(place)
    lines = short_lines(name, LETTERS)
    middle = LEADING * (len(lines) - 1) / 2
    told = [svg.text((0, 5 - middle + LEADING * i), each, "") for i, each in enumerate(lines)]
    down = middle * np.sign(y) if abs(y) > abs(x) else 0.0
    return element(
        "g",
        "".join(told),
        data_at=_at(place),
        transform=f"translate({x:.1f} {y + down:.1f})",
        text_anchor="middle" if abs(x) < 30 else "start" if x > 0 else "end",
    )
