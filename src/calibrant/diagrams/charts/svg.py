"""Elements of SVG. Their classes are painted by ``chart.css``, light or dark."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import cos, hypot, pi, sin
from typing import final

Point = tuple[float, float]

HEAD = 10.0  # length of an arrow head

CROSS = ((-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3), (-1, 1), (-3, 1))
PLUS = tuple((x / 3, y / 3) for x, y in (*CROSS, (-3, -1), (-1, -1)))
TURNED = tuple(((x - y) * cos(pi / 4), (x + y) * sin(pi / 4)) for x, y in PLUS)
POLYGONS: dict[str, tuple[Point, ...]] = {  # around (0, 0), about as large as a circle of radius 1
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "up": ((0, -1), (-1, 0.75), (1, 0.75)),
    "diamond": ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)),
    "down": ((0, 1), (-1, -0.75), (1, -0.75)),
    "cross": PLUS,
    "x": TURNED,
}


def element(tag: str, content: str = "", /, **attributes: float | str) -> str:
    """Write an element; `content` is SVG, ``class_`` stands for ``class``, and "" for nothing.

    Examples
    --------
    >>> element("circle", cx=1, r=2.25, class_="mark")
    '<circle cx="1.0" r="2.2" class="mark"/>'
    """
    told = []
    for name, value in attributes.items():
        if value == "":
            continue
        text = escape(value) if isinstance(value, str) else f"{value:.1f}"
        told.append(f' {name.rstrip("_").replace("_", "-")}="{text}"')
    opened = f"<{tag}{''.join(told)}"
    return f"{opened}>{content}</{tag}>" if content else f"{opened}/>"


def line(start: Point, stop: Point, class_: str, at: str = "") -> str:
    """Draw a line; `at` is its place in space, if it has one."""
    (x1, y1), (x2, y2) = start, stop
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_, data_at=at)


def text(at: Point, content: str, anchor: str = "middle", class_: str = "") -> str:
    """Write a text; `anchor` is the side of it that is at the point."""
    x, y = at
    return element("text", escape(content), x=x, y=y, text_anchor=anchor, class_=class_)


def box(left: float, right: float, bottom: float, top: float, class_: str, note: str = "") -> str:
    """Draw a rectangle."""
    size = {"width": right - left, "height": bottom - top}
    return element("rect", title(note), x=left, y=top, **size, class_=class_)


def polygon(corners: Iterable[Point], class_: str, note: str = "", fill_opacity: str = "") -> str:
    """Draw a polygon."""
    look = {"class_": class_, "fill_opacity": fill_opacity}
    return element("polygon", title(note), points=_written(corners), **look)


def polyline(points: Sequence[Point], class_: str) -> str:
    """Draw a line through points; through one alone, a dot."""
    if len(points) == 2:
        return line(points[0], points[1], class_)
    whole = points if len(points) > 1 else [*points, *points]
    return element("polyline", points=_written(whole), class_=class_)


def _written(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def arrow(start: Point, stop: Point, class_: str) -> str:
    """Draw an arrow; the head of a short one is smaller."""
    dx, dy = stop[0] - start[0], stop[1] - start[1]
    length = max(hypot(dx, dy), 1e-9)
    head = min(HEAD, 0.6 * length) / length
    x, y, u, v = stop[0] - head * dx, stop[1] - head * dy, -0.45 * head * dy, 0.45 * head * dx
    corners = (stop, (x + u, y + v), (x - u, y - v))
    return line(start, (x, y), class_) + polygon(corners, f"{class_} head")


def title(note: str) -> str:
    """Write what is said of an element on hovering; nothing if there is nothing to say."""
    return f"<title>{escape(note)}</title>" if note else ""


def mark(shape: str, at: Point, radius: float, class_: str, note: str = "") -> str:
    """Draw a mark of a shape: a circle or one of `POLYGONS`."""
    x, y = at
    if shape == "circle":
        return element("circle", title(note), cx=x, cy=y, r=radius, class_=class_)
    corners = [(x + radius * dx, y + radius * dy) for dx, dy in POLYGONS[shape]]
    return polygon(corners, class_, note)


@final
@dataclass(frozen=True, slots=True)
class Scale:
    """A straight map of numbers to places on the page."""

    low: float  # the range of the numbers
    high: float
    start: float  # where these two are on the page
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a number; one beyond the range is at its end."""
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share
