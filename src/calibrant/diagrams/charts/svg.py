"""Elements of SVG, and charts made of them, which can show and save themselves.

Classes of elements are painted by ``chart.css``, light or dark.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from math import cos, hypot, pi, sin
from pathlib import Path
from typing import NamedTuple, final

from calibrant import tables
from calibrant.checks.files import whole_file
from calibrant.diagrams.picture import wrapped
from calibrant.tables import visible

Point = tuple[float, float]
DrawnKey = tuple[str, str]  # a small drawing, and what it means

WIDTH = 440.0
LETTER = 7.4  # width of a letter, about
SWATCH = 28.0, 14.0  # width and height of the drawing of a key
ROW = 20.0  # height of a line of keys
SHOWN = 560  # pixels across, in a notebook
NUMBERS = "The numbers as a table"

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
    written = []
    for name, value in attributes.items():
        if value == "":
            continue
        text = escape(value) if isinstance(value, str) else f"{value:.1f}"
        written.append(f' {name.rstrip("_").replace("_", "-")}="{text}"')
    opened = f"<{tag}{''.join(written)}"
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


class Scale(NamedTuple):
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


@cache
def asset(file: str) -> str:
    """Return the text of a file beside this one."""
    return files("calibrant.diagrams.charts").joinpath(file).read_text("utf-8")


def policy(script: str) -> str:
    """Return the policy of a page that runs one script, by its hash, and loads nothing."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    styles = "style-src 'unsafe-inline'; img-src data:"
    return f"default-src 'none'; script-src 'sha256-{digest}'; {styles}"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Chart:
    """A picture as SVG, for browsers and notebooks.

    In a notebook it shows itself, with the numbers of each mark on hovering.
    """

    drawing: str  # SVG between `top` and `bottom`, `WIDTH` wide
    label: str  # what it shows, for those who cannot see it
    top: float
    bottom: float
    keys: tuple[DrawnKey, ...]  # what the marks mean: a small drawing, and its meaning in words
    above: str = ""  # what the vertical axis shows
    below: str = ""  # and the horizontal one
    turn: str = ""  # from where a drawing in space is seen, so that a page can turn it
    table: tables.Lines = ((), ())  # the numbers, for those who have no mouse

    @property
    def figure(self) -> str:
        """HTML of the chart with its axes and keys, for a page that has the style sheet."""
        drawing = element(
            "svg",
            self.drawing,
            viewBox=f"0 {self.top:g} {WIDTH:g} {self.bottom - self.top:g}",
            role="img",
            aria_label=self.label,
            tabindex="0" if self.turn else "",
            data_turn=self.turn,
        )
        above = f'<p class="axis">{escape(self.above)}</p>\n' if self.above else ""
        below = f'<p class="axis below">{escape(self.below)}</p>\n' if self.below else ""
        keys = ""
        for drawn, name in self.keys:
            swatch = element("svg", drawn, viewBox="0 0 28 14", aria_hidden="true")
            keys += f"<li>{swatch}{escape(name)}</li>"
        return f'{above}{drawing}\n{below}<ul class="key">{keys}</ul>{self._folded()}'

    def _folded(self) -> str:
        """Return the numbers as a table that is folded."""
        header, rows = self.table
        if not rows:
            return ""
        shown = tables.plain(header, rows, "Numbers of the diagram")
        return (
            f'\n<details class="numbers"><summary>{NUMBERS}</summary>'
            f'<div class="scroll" role="group" aria-label="{NUMBERS}" tabindex="0">{shown}</div>'
            "</details>"
        )

    @property
    def html(self) -> str:
        """A page that needs no network."""
        script = asset("chart.js")
        page = asset("page.html").format(
            policy=policy(script),
            title=escape(self.label),
            style=asset("palette.css") + asset("chart.css"),
            figure=self.figure,
            script=script,
        )
        return visible(page, keep="\n\t")

    @property
    def svg(self) -> str:
        """A drawing that stands alone: light, with axes and keys inside."""
        top = self.top - 24 if self.above else self.top
        parts = [self.drawing]
        if self.above:
            parts.append(text((4, top + 16), self.above, "start"))
        bottom = self.bottom
        for line in wrapped(self.below, int(WIDTH / LETTER)) if self.below else ():
            bottom += ROW
            parts.append(text((WIDTH / 2, bottom - 4), line))
        x, bottom = 4.0, bottom + 4
        for drawn, name in self.keys:
            width = SWATCH[0] + 6 + LETTER * len(name)
            if x > 4 and x + width > WIDTH:
                x, bottom = 4.0, bottom + ROW
            parts.append(element("g", drawn, transform=f"translate({x:g} {bottom:g})"))
            parts.append(text((x + SWATCH[0] + 6, bottom + 11), name, "start"))
            x += width + 16
        height = bottom + ROW + 4 - top
        paper = element("rect", y=top, width=WIDTH, height=height, class_="paper")
        drawing = element(
            "svg",
            f"<style>{_light_style()}</style>{paper}{''.join(parts)}",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 {top:g} {WIDTH:g} {height:g}",
            width=f"{WIDTH:g}",
            height=f"{height:g}",
            role="img",
            aria_label=self.label,
        )
        return visible(drawing, keep="\n\t")

    def save(self, path: str | Path) -> Path:
        """Write a file and return its path: .svg is a drawing, .html answers the mouse."""
        path = Path(path)
        written = {".html": "html", ".htm": "html", ".svg": "svg"}.get(path.suffix.lower())
        if written is None:
            raise ValueError(
                f"`path` must end in .svg or .html; found {path.name!r}. For .png and .pdf, use"
                " `plot()`."
            )
        with whole_file(path) as temporary:
            temporary.write_text(getattr(self, written), encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        """Return a frame with the page, so that styles of chart and notebook do not mix."""
        letters = sum(len(name) + 10 for _, name in self.keys)
        height = SHOWN * (self.bottom - self.top) / WIDTH + 24 * (4 + letters // 70)
        page, title = escape(self.html), escape(self.label)
        size = f"width: {SHOWN}px; max-width: 100%; height: {height:.0f}px; border: 0"
        return f'<iframe title="{title}" style="{size}" srcdoc="{page}"></iframe>'

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<chart: {self.label}>"


def _light_style() -> str:
    """Return the style sheet with colours in place of their names, which not all programs know."""
    light = dict(re.findall(r"--([\w-]+): (#\w+);", asset("palette.css").partition("@media")[0]))
    rules = asset("chart.css").partition("/* On pages */")[0]
    return re.sub(r"var\(--([\w-]+)\)", lambda found: light[found[1]], rules)
