"""Charts of three and four outcomes: arrows in a triangle, or in a tetrahedron that turns.

In space, everything has its place in ``data-at``, and the drawing in ``data-turn`` how it is seen;
``chart.js`` projects as `seen` does.
"""

from collections.abc import Iterator
from zlib import crc32

import numpy as np

from calibrant.diagrams.bins import TETRAHEDRON, TRIANGLE
from calibrant.diagrams.charts import svg
from calibrant.diagrams.charts.parts import GAP, LEADING, LINES, dot, draw, label_lines
from calibrant.diagrams.charts.svg import WIDTH, Chart, DrawnKey, Point, element
from calibrant.diagrams.picture import Arrows, Dots, Floats, Label, Lines, Part, Picture, wrapped

SIDE, LEFT, BASE = 330.0, 55.0, 286.0  # of the triangle: length, left end and lower end
MARGIN = 14.0  # above and below the names

AZIMUTH, ELEVATION = 1.30, 0.30  # from where a tetrahedron is seen, in radians
SCALE, DISTANCE = 140.0, 5.0  # pixels to a unit of length, and units of length to the eye
ENDS = -215.0, 190.0  # upper and lower end of the drawing, around the centre
NAMED = 1.1  # how far out names are, where corners are at 1
LETTERS = 10  # on a line of a name in space
CENTRE = TETRAHEDRON.mean(axis=0)


def triangle_chart(picture: Picture, label: str, keys: tuple[DrawnKey, ...]) -> Chart:
    """Draw bins coloured by the share of predictions, and arrows to the outcome frequencies."""
    inside, around, top, bottom = "", "", 0.0, BASE
    for part in picture.parts:
        drawn = draw(part, _place, picture.largest_share)
        if isinstance(part, Label):
            around += drawn
            up = part.away[1]
            further = GAP * abs(up) + LEADING * (len(label_lines(part)) - 1) + MARGIN
            ((_, y),) = _place(part.at[None])
            top = min(top, y - further * (up > 0))
            bottom = max(bottom, y + further * (up < 0))
        elif isinstance(part, Lines) and part.look != "region":
            around += drawn
        else:
            inside += drawn
    return Chart(_cut_off(inside) + around, label, top, bottom, keys)


def _place(points: Floats) -> list[Point]:
    """Return where points (n, 2) are on the page."""
    return [(LEFT + SIDE * x, BASE - SIDE * y) for x, y in points.tolist()]


def _cut_off(drawn: str) -> str:
    """Cut off what leaves the simplex; other drawings have paths of other names."""
    name = f"inside-{crc32(drawn.encode()):08x}"
    path = element("clipPath", svg.polygon(_place(TRIANGLE), "outline"), id=name)
    return path + element("g", drawn, clip_path=f"url(#{name})")


def tetrahedron_chart(picture: Picture, label: str, keys: tuple[DrawnKey, ...]) -> Chart:
    """Draw dots at mean predictions, coloured by their share, and arrows to the frequencies."""
    # Far ones come first; when it is turned, the script sorts them again.
    drawn = [each for part in picture.parts for each in _in_space(part)]
    ordered = "".join(each for _, each in sorted(drawn, key=lambda pair: pair[0]))
    return Chart(
        drawing=element("g", ordered, transform=f"translate({WIDTH / 2:g} 0)"),
        label=f"{label} Arrow keys turn it.",
        top=ENDS[0],
        bottom=ENDS[1],
        keys=keys,
        turn=f"{AZIMUTH} {ELEVATION} {SCALE} {DISTANCE}",
    )


def _in_space(part: Part) -> Iterator[tuple[float, str]]:
    """Draw a part, each piece with its depth: edges behind everything, names in front."""
    if isinstance(part, Label):
        yield np.inf, _name(NAMED * (part.at - CENTRE), part.text)
    elif isinstance(part, Dots):
        shares = (part.shares / part.shares.max()).tolist()
        for point, share, note in zip(part.at - CENTRE, shares, part.notes, strict=True):
            place, depth = seen(point)
            yield depth, dot(place, share, note, _at(point[None]))
    elif isinstance(part, Lines | Arrows):
        for ends in part.at - CENTRE:
            (start, _), (stop, depth) = map(seen, ends)
            if isinstance(part, Lines):
                yield -np.inf, svg.line(start, stop, "edge", _at(ends))
            else:
                arrow = svg.arrow(start, stop, part.look)
                yield depth, element("g", arrow, data_at=_at(ends))


def seen(point: Floats) -> tuple[Point, float]:
    """Return where a point in space (3,) is on the page, from the centre, and its depth."""
    (a, e), (sin, cos) = (AZIMUTH, ELEVATION), (np.sin, np.cos)
    ahead = np.array([cos(e) * cos(a), cos(e) * sin(a), sin(e)])
    across = np.array([-sin(a), cos(a), 0.0])
    up = np.array([-sin(e) * cos(a), -sin(e) * sin(a), cos(e)])
    depth = float(point @ ahead)
    nearer = SCALE * DISTANCE / (DISTANCE - depth)
    return (float(nearer * (point @ across)), float(-nearer * (point @ up))), depth


def _at(points: Floats) -> str:
    """Write points in space (n, 3)."""
    return " ".join(",".join(f"{v:.4f}" for v in point) for point in points)


def _name(point: Floats, name: str) -> str:
    """Write the name of a corner beside it."""
    (x, y), _ = seen(point)
    lines = wrapped(name, LETTERS, LINES)
    middle = LEADING * (len(lines) - 1) / 2
    texts = [svg.text((0, 5 - middle + LEADING * i), each, "") for i, each in enumerate(lines)]
    down = middle * np.sign(y) if abs(y) > abs(x) else 0.0
    return element(
        "g",
        "".join(texts),
        data_at=_at(point[None]),
        transform=f"translate({x:.1f} {y + down:.1f})",
        text_anchor="middle" if abs(x) < 30 else "start" if x > 0 else "end",
        class_="name",
    )
