"""The parts of a picture as SVG, on pages whose places are known."""

from collections.abc import Callable

from calibrant.diagrams.charts import svg
from calibrant.diagrams.charts.chart import LETTER, WIDTH
from calibrant.diagrams.charts.keys import model_class, shade
from calibrant.diagrams.charts.svg import Point, element
from calibrant.diagrams.pictures.picture import (
    Areas,
    Arrows,
    Dots,
    Floats,
    Label,
    Lines,
    Marks,
    Part,
    wrapped,
)

Place = Callable[[Floats], list[Point]]  # from points (n, 2) of a picture to the page

SMALLEST, LARGEST = 3.0, 7.0  # radius of a mark
ASIDE = 4.0  # between the marks of models, so that none hides another
GAP = 9.0  # between a text and its point
LINES, LEADING = 3, 16.0  # of a text: at most so many, so far apart


def draw(part: Part, place: Place, top: float = 0.0, size: float = 1.0) -> str:
    """Draw one part.

    top : the largest share, which has the darkest shade
    size : of marks, where 1 is the usual one
    """
    if isinstance(part, Lines):
        return _of_model(part.model, _lines(part, place))
    if isinstance(part, Areas):
        return _of_model(part.model, _areas(part, place, top))
    if isinstance(part, Marks):
        return _of_model(part.model, _marks(part, place, size))
    if isinstance(part, Dots):
        rows = zip(place(part.at), part.shares.tolist(), part.notes, strict=True)
        return "".join(dot(at, share / top, note) for at, share, note in rows)
    if isinstance(part, Arrows):
        pairs = map(place, part.at)
        return "".join(svg.arrow(start, stop, arrow_class(part)) for start, stop in pairs)
    return _label(part, place)


def _of_model(model: int | None, drawn: str) -> str:
    return drawn if model is None else element("g", drawn, class_=model_class(model))


def _lines(part: Lines, place: Place) -> str:
    drawn = []
    for line in part.at:
        points = [(x + ASIDE * part.aside, y) for x, y in place(line)]
        drawn.append(svg.polyline(points, part.look))
        if part.look == "chance":  # a stroke where it begins
            (x, y), *_ = points
            drawn.append(svg.line((x, y - 4), (x, y + 4), part.look))
    return "".join(drawn)


def _areas(part: Areas, place: Place, top: float) -> str:
    if part.shares is None:
        return "".join(svg.polygon(place(corners), part.look) for corners in part.at)
    rows = zip(part.at, part.shares.tolist(), part.notes, strict=True)
    return "".join(
        svg.polygon(place(corners), part.look, note, shade(share / top))
        for corners, share, note in rows
    )


def _marks(part: Marks, place: Place, size: float) -> str:
    radii = size * (SMALLEST + (LARGEST - SMALLEST) * part.sizes)
    drawn = []
    for i, ((x, y), shape) in enumerate(zip(place(part.at), part.shapes, strict=True)):
        class_ = f"{part.look} off" if part.off[i] and part.look == "mark" else part.look
        radius = max(float(radii[i]), 4 * size if shape in ("up", "down") else 0.0)
        at = x + ASIDE * part.aside, y
        drawn.append(svg.mark(shape, at, radius, class_, part.notes[i]))
    return "".join(drawn)


def dot(place: Point, share: float, note: str, at: str = "") -> str:
    """Draw a dot that holds so much of what the fullest one holds; `at` is its place in space."""
    look = {"class_": "dot", "fill_opacity": shade(share), "data_at": at}
    x, y = place
    return element("circle", svg.title(note), cx=x, cy=y, r=3 + 7 * share**0.5, **look)


def arrow_class(part: Arrows) -> str:
    """Return the class of arrows."""
    return "arrow off" if part.off else "arrow faded" if part.faded else "arrow"


def label_lines(part: Label) -> list[str]:
    """Break the name of a corner into lines; other texts have one."""
    if not part.look.startswith("corner"):
        return [part.text]
    return wrapped(part.text, 50 if part.away[1] > 0 else 24, LINES)


def _label(part: Label, place: Place) -> str:
    """Write a text beside its point, within the drawing; lines above the point grow upwards."""
    ((x, y),), (right, up) = place(part.at[None]), part.away
    x += GAP * right
    y += 4 - GAP * up
    lines = label_lines(part)
    if up > 0:
        y -= LEADING * (len(lines) - 1)
    anchor = "middle" if right == 0 else "start" if right > 0 else "end"
    half = LETTER * max(map(len, lines)) / 2
    if right == 0 and x < half:
        x, anchor = 4.0, "start"
    elif right == 0 and x > WIDTH - half:
        x, anchor = WIDTH - 4.0, "end"
    elif right > 0:  # what is cut off is said on hovering over the mark
        most = int((WIDTH - x) / LETTER)
        lines = [each if len(each) <= most else f"{each[: most - 1]}…" for each in lines]
    places = [(x, y + LEADING * i) for i in range(len(lines))]
    rows = zip(places, lines, strict=True)
    return "".join(svg.text(at, each, anchor, part.look) for at, each in rows)
