"""The parts of a picture, and what they mean, as SVG."""

from collections.abc import Callable

from calibrant.diagrams import picture as pictures
from calibrant.diagrams.charts import svg
from calibrant.diagrams.charts.svg import LETTER, WIDTH, Point, element
from calibrant.diagrams.picture import Areas, Arrows, Dots, Floats, Key, Label, Lines, Marks, Part

Place = Callable[[Floats], list[Point]]  # from points (n, 2) of a picture to the page

SMALLEST, LARGEST = 3.0, 7.0  # radius of a mark
ASIDE = 4.0  # between the marks of models, so that none hides another
GAP = 9.0  # between a text and its point
LINES, LEADING = 3, 16.0  # of a text: at most so many, so far apart
COLOURS = 6  # of models; the style sheet has them
PALEST = 0.12  # opacity of a bin with hardly any rows
STEPS = 7  # of the scale of shades
MOST, THINNEST = 60, 0.5  # marks beside each other: more are smaller, down to this share


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
        return "".join(svg.arrow(start, stop, part.look) for start, stop in pairs)
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
    thin = max(THINNEST, min(1.0, MOST / max(len(part.at), 1)))
    radii = size * thin * (SMALLEST + (LARGEST - SMALLEST) * part.sizes)
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


def label_lines(part: Label) -> list[str]:
    """Break the name of a corner into lines; other texts have one."""
    if not part.look.startswith("corner"):
        return [part.text]
    return pictures.wrapped(part.text, 50 if part.away[1] > 0 else 24, LINES)


def _label(part: Label, place: Place) -> str:
    """Write a text beside its point, within the drawing; lines above the point grow upwards."""
    ((x, y),), (right, up) = place(part.at[None]), part.away
    lines = label_lines(part)
    if up > 0:
        y -= LEADING * (len(lines) - 1)
    x, anchor, lines = _fitted(x + GAP * right, part.side, lines)
    places = [(x, y + 4 - GAP * up + LEADING * i) for i in range(len(lines))]
    rows = zip(places, lines, strict=True)
    return "".join(svg.text(at, each, anchor, part.look) for at, each in rows)


def _fitted(x: float, side: str, lines: list[str]) -> tuple[float, str, list[str]]:
    """Return place, anchor and lines of a text that is not to leave the drawing."""
    half = LETTER * max(map(len, lines)) / 2
    if side == "center" and x < half:
        return 4.0, "start", lines
    if side == "center" and x > WIDTH - half:
        return WIDTH - 4.0, "end", lines
    if side == "right":  # what is cut off is said on hovering over the mark
        most = int((WIDTH - x) / LETTER)
        lines = [each if len(each) <= most else f"{each[: most - 1]}…" for each in lines]
    return x, {"left": "end", "center": "middle", "right": "start"}[side], lines


def drawn_keys(picture: pictures.Picture) -> tuple[svg.DrawnKey, ...]:
    """Draw the keys of a picture, and a scale if it has shades."""
    keys = [(_of_model(key.model, _sample(key)), key.name) for key in picture.keys]
    largest = picture.largest_share
    if largest > 0:
        keys.append((_scale(), f"share of predictions, 0 to {pictures.rounded_percent(largest)}"))
    return tuple(keys)


def model_class(model: int | None) -> str:
    """Return the class that gives a model its colour; one that is alone has colours by meaning."""
    if model is None:
        return ""
    return "of any" if model == pictures.ANY else f"of m{model % COLOURS}"


def shade(part: float) -> str:
    """Return the opacity of a bin that holds so much of what the fullest one holds."""
    return f"{PALEST + (1 - PALEST) * part:.2f}"


def _sample(key: Key) -> str:
    if key.sample == "area":
        return svg.box(4, 24, 12, 2, key.look)
    if key.sample == "line":
        return svg.line((2, 7), (26, 7), key.look)
    return svg.mark(key.shape, (14, 7), 5 if key.sample == "mark" else 3, key.look)


def _scale() -> str:
    """Draw the shades from the palest to the darkest."""
    steps = []
    for i in range(STEPS):
        step = svg.box(28 / STEPS * i, 28 / STEPS * (i + 1), 12, 2, "shade")
        steps.append(element("g", step, fill_opacity=shade(i / (STEPS - 1))))
    return "".join(steps)
