"""The evidence of a monitor over time, as a picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, log10
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibrant.diagrams.diagram import Diagram
from calibrant.diagrams.picture import Areas, Frame, Key, Label, Lines, Marks, Part, Picture
from calibrant.engine.arrays import Floats, Ints
from calibrant.monitor.curve import ThinnedCurve
from calibrant.monitor.starts import Start
from calibrant.words import percent

if TYPE_CHECKING:
    from calibrant.monitor.monitor import Monitor

LOWEST = -3.0  # powers of ten of the evidence that are drawn
HIGHEST = 12.0


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MonitorDiagram(Diagram):
    """The evidence against calibration after each row, and the alarm.

    Parameters
    ----------
    n : int
        Number of rows.
    rows, evidence : arrays of shape (k,)
        The base-10 logarithm of the e-value after so many rows.
    alarm, change : int or None
        The row of the alarm of the test, and of the detector of changes.
    start : Start or None
        When the deviation began.
    text : str
        What the monitor says.
    settings : mapping
        The level alpha.
    """

    n: int
    rows: Ints
    evidence: Floats
    alarm: int | None
    change: int | None
    start: Start | None
    text: str
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, monitor: "Monitor", curve: ThinnedCurve) -> "MonitorDiagram":
        """Return the diagram of a monitor now."""
        rows = np.concatenate([[0], curve.rows, [monitor.n]])
        evidence = np.concatenate([[0.0], curve.values, [monitor.log_evalue]]) / log(10)
        facts = monitor.alarm, monitor.change, monitor.start, monitor.sentence
        return cls(monitor.n, rows, evidence, *facts, {"alpha": monitor.alpha})

    @property
    def sentence(self) -> str:
        """What the diagram shows."""
        return self.text

    def picture(self) -> Picture:
        """Show the evidence, the level of the alarm, the alarm and when the deviation began."""
        heights = np.clip(self.evidence, LOWEST, HIGHEST)
        right = float(max(self.n, 1))
        limit = log10(1 / self.alpha)
        top = max(float(heights.max()), limit) + 0.5
        floor = min(-1.0, float(heights.min())) - 0.15
        frame = Frame("row", "e-value, powers of ten", (0.0, 1.03 * right), (floor, top))
        low, high = frame.y
        parts: list[Part] = []
        if self.start is not None:
            left, end = self.start.interval
            corners = [(left, low), (end + 1, low), (end + 1, high), (left, high)]
            parts.append(Areas(np.array([corners], float), "band"))
            upright = [[(self.start.row, low), (self.start.row, high)]]
            parts.append(Lines(np.array(upright, float), "region"))
        parts.append(Lines(np.array([[(0.0, limit), (right, limit)]]), "mean"))
        parts.append(Lines(np.stack([self.rows, heights], axis=1)[None].astype(float), "curve"))
        parts += self._alarms(heights, limit)
        over = np.flatnonzero(self.evidence > HIGHEST)
        if over.size:
            at = np.array([float(self.rows[over[0]]), HIGHEST])
            side = (1, -1) if at[0] < right / 2 else (-1, 1)  # away from the axis and the curve
            parts.append(Label(at, f"more than 10^{HIGHEST:.0f}", side, "name"))
        return Picture(self.text, tuple(parts), self._keys(), frame)

    def _alarms(self, heights: Floats, limit: float) -> list[Part]:
        """Mark the alarm of the test at its level, and that of the detector on the curve."""
        found: list[Part] = []
        for row, name in ((self.alarm, "alarm"), (self.change, "change detected")):
            if row is not None:
                height = limit if name == "alarm" else float(np.interp(row, self.rows, heights))
                at = np.array([[row, height]], float)
                note = f"{name} at row {row:,}"
                shape = "circle" if name == "alarm" else "diamond"
                off = np.array([name == "alarm"])
                found.append(Marks(at, off, (note,), np.full(1, 0.8), (shape,)))
                side = 1 if row < self.n / 4 else -1  # away from the axis
                found.append(Label(at[0], f"{row:,}", (side, 1), "name"))
        return found

    def _keys(self) -> tuple[Key, ...]:
        keys = [
            Key("evidence against calibration", "line", "curve"),
            Key(f"alarm level ({percent(self.alpha)}, ever)", "line", "mean"),
        ]
        if self.alarm is not None:
            keys.append(Key("alarm", "mark", "mark off"))
        if self.change is not None:
            keys.append(Key("change detected", "mark", "mark", None, "diamond"))
        if self.start is not None:
            keys.append(Key("most likely start", "line", "region"))
            keys.append(Key("95\N{NO-BREAK SPACE}% interval of the start", "area", "band"))
        return tuple(keys)

    def __str__(self) -> str:
        return self.text.rstrip(".")
