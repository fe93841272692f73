"""A chart: SVG with what is said around it, which can show and save itself."""

import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import final

from calibrant.checks.files import whole_file
from calibrant.diagrams.charts.svg import element, text
from calibrant.diagrams.picture import wrapped

Key = tuple[str, str]  # a small drawing, and what it means

WIDTH = 440.0
LETTER = 7.4  # width of a letter, about
SWATCH = 28.0, 14.0  # width and height of the drawing of a key
ROW = 20.0  # height of a line of keys
SHOWN = 560  # pixels across, in a notebook


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
    keys: tuple[Key, ...]  # what the marks mean: a small drawing, and its meaning in words
    above: str = ""  # what the vertical axis shows
    below: str = ""  # and the horizontal one
    turn: str = ""  # from where a drawing in space is seen, so that a page can turn it

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
        return f'{above}{drawing}\n{below}<ul class="key">{keys}</ul>'

    @property
    def html(self) -> str:
        """A page that needs no network."""
        script = asset("chart.js")
        return asset("page.html").format(
            policy=policy(script),
            title=escape(self.label),
            style=asset("palette.css") + asset("chart.css"),
            figure=self.figure,
            script=script,
        )

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
        return element(
            "svg",
            f"<style>{_light_style()}</style>{paper}{''.join(parts)}",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 {top:g} {WIDTH:g} {height:g}",
            width=f"{WIDTH:g}",
            height=f"{height:g}",
            role="img",
            aria_label=self.label,
        )

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
        height = SHOWN * (self.bottom - self.top) / WIDTH + 24 * (3 + letters // 70)
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
