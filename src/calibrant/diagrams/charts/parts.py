"""The parts of a picture, and what they mean, as SVG."""

from collections.abc import Callable

from calibrant.diagrams.charts import chart, svg
from calibrant.diagrams.charts.chart import LETTER, WIDTH
from calibrant.diagrams.charts.svg import Point, element
from calibrant.diagrams.pictures.picture import (
    Areas,
    Arrows,
    Dots,
    Floats,
    Key,
    Label,
    Lines,
    Marks,
    Part,
    Picture,
    wrapped,
)

Place = Callable[[Floats], list[Point]]  # from points (n, 2) of a picture to the page

SMALLEST, LARGEST = 3.0, 7.0  # radius of a mark
ASIDE = 4.0  # between the marks of models, so that none hides another
GAP = 9.0  # between a text and its point
LINES, LEADING = 3, 16.0  # of a text: at most so many, so far apart
COLOURS = 6  # of models; the style sheet has them
PALEST = 0.12  # opacity of a bin with hardly any rows
STEPS = 7  # of the scale of shades


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


def drawn_keys(picture: Picture) -> tuple[chart.Key, ...]:
    """Draw the keys of a picture, and a scale if it has shades."""
    several = any(key.model is not None for key in picture.keys)
    keys = [(_drawn(key, several), key.name) for key in picture.keys]
    largest = picture.largest_share
    if largest > 0:
        keys.append((_scale(), f"share of predictions, 0 to {share(largest)}"))
    return tuple(keys)


def model_class(model: int | None) -> str:
    """Return the class that gives a model its colour; one that is alone has colours by meaning."""
    return "" if model is None else f"of m{model % COLOURS}"


def shade(part: float) -> str:
    """Return the opacity of a bin that holds so much of what the fullest one holds."""
    return f"{PALEST + (1 - PALEST) * part:.2f}"


def share(value: float) -> str:
    """Write a share in per cent, with two digits or more.

    Examples
    --------
    >>> share(0.995).split(), share(0.0123).split()
    (['100', '%'], ['1.2', '%'])
    """
    digits = ".0f" if value >= 0.0995 else ".2g"
    return f"{100 * value:{digits}}\N{NO-BREAK SPACE}%"


def _drawn(key: Key, several: bool) -> str:
    """Draw a key; what has the colours of several models has that of the text."""
    class_ = model_class(key.model)
    if key.model is None and (several or "any" in key.look):
        class_ = "any"
    if key.sample in ("mark", "dot"):
        radius = 5 if key.sample == "mark" else 3
        drawn = svg.mark(key.shape, (14, 7), radius, key.look.replace(" any", ""))
    elif key.sample == "area":
        drawn = svg.box(4, 24, 12, 2, key.look)
    else:
        drawn = svg.line((2, 7), (26, 7), key.look)
    return element("g", drawn, class_=class_) if class_ else drawn


def _scale() -> str:
    """Draw the shades from the palest to the darkest."""
    steps = []
    for i in range(STEPS):
        step = svg.box(28 / STEPS * i, 28 / STEPS * (i + 1), 12, 2, "shade")
        steps.append(element("g", step, fill_opacity=shade(i / (STEPS - 1))))
    return "".join(steps)
