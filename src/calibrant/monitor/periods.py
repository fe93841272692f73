"""Rows with dates, watched in the order of time: bias and evidence by day, month or year."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant import words
from calibrant.diagrams.picture import Picture
from calibrant.engine.arrays import Floats
from calibrant.lenses import TopLabel
from calibrant.monitor.monitor import Monitor
from calibrant.predictions import Predictions

Dates = NDArray[np.datetime64]

DATE = re.compile(
    r"(?P<time>\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?)?)"
    r"(Z|(?P<hours>[+-]\d{2}):?(?P<minutes>\d{2}))?"
)
HEADER = ("period", "rows", words.BIAS, "e-value", "found")
DAYS = {"D": 60, "M": 5 * 366}  # the longest span of which days, and months, are shown
LETTERS = {"D": 10, "M": 7, "Y": 4}  # of a date
TICKS = 5  # dates above the rows of a picture


class Period(NamedTuple):
    """Rows of a day, month or year, and the evidence after them."""

    name: str
    n: int
    bias: float
    log_evalue: float
    found: str  # what of the start, the change and the alarm is in it

    def cells(self) -> list[str]:
        """Return the texts of a line of the table."""
        evalue = f"{np.exp(self.log_evalue):.3g}" if self.log_evalue < 700 else "∞"
        return [self.name, f"{self.n:,}", words.signed(100 * self.bias, 1), evalue, self.found]


class OverTime(NamedTuple):
    """A monitor of rows in the order of a column of dates."""

    column: str
    monitor: Monitor
    periods: tuple[Period, ...]
    dates: Dates  # (n,) in order

    @property
    def sentence(self) -> str:
        """What was seen when."""
        monitor = self.monitor
        watched = f"Watched in the order of {self.column}, {self._day(0)} to {self._day(-1)}"
        if monitor.start is None:
            return f"{watched}: {monitor}."
        row, promise = monitor.alarm, "(in at most 5 % of calibrated streams, ever)"
        if row is None:
            row, promise = monitor.change, "(a false one comes every 1,000,000 rows on average)"
        assert row is not None
        came = "alarm" if monitor.alarm is not None else "change detected"
        low, high = (self._day(min(each, monitor.n - 1)) for each in monitor.start.interval)
        since = f"most likely since {self._day(monitor.start.row)} ({low} to {high})"
        return f"{watched}: {came} on {self._day(row)} {promise}; {monitor.which}; {since}."

    def picture(self) -> Picture:
        """Show the evidence by row, with dates above."""
        picture = self.monitor.diagram().picture()
        assert picture.frame is not None
        letters = LETTERS[unit_of(self.dates)]
        rows = dict.fromkeys(k * self.monitor.n // TICKS for k in range(TICKS))
        above = tuple((float(row), str(self.dates[row])[:letters]) for row in rows)
        frame = picture.frame._replace(above=above, above_name=self.column)
        return replace(picture, frame=frame)

    def _day(self, row: int) -> str:
        return str(self.dates[row])[:10]


def dates_of(columns: Mapping[str, Any]) -> tuple[str, Dates] | None:
    """Return the first column of dates, as they are written in ISO 8601; None if there is none."""
    for name, texts in columns.items():
        found = [DATE.fullmatch(str(text)) for text in texts]  # some are None
        if found and all(found):
            try:
                return name, _moments(found)
            except ValueError:  # such as a month 13
                continue
    return None


def _moments(found: Sequence[Any]) -> Dates:
    """Return dates as they are written, or of several time zones in universal time."""
    dates = np.array([each["time"] for each in found], "datetime64[s]")
    ahead = [f"{each['hours'] or '+00'}{each['minutes'] or '00'}" for each in found]
    if len(set(ahead)) == 1:
        return dates
    minutes = [int(each[:3]) * 60 + int(each[0] + each[3:]) for each in ahead]
    return np.asarray(dates - np.array(minutes, "timedelta64[m]"))


def over_time(data: Predictions) -> OverTime | None:
    """Watch rows in the order of their dates, if they have them and can be bet on."""
    found = dates_of(data.columns)
    if found is None or data.weighted or data.clusters is not None:
        return None
    column, dates = found
    order = np.argsort(dates, kind="stable")
    dates, rows = dates[order], data.take(order)
    names = np.array([str(each)[: LETTERS[unit_of(dates)]] for each in dates])
    seen = rows if data.m == 2 else TopLabel()(rows)
    event = seen.event or 0
    residual = seen.probs[:, event] - (seen.labels == event)
    return OverTime(column, *_watched(rows, residual, names), dates)


def _watched(
    rows: Predictions, residual: Floats, names: NDArray[np.str_]
) -> tuple[Monitor, tuple[Period, ...]]:
    """Watch rows period by period."""
    monitor, known = Monitor(), []
    for name in dict.fromkeys(names.tolist()):
        inside = np.flatnonzero(names == name)
        monitor.update(rows.take(inside))
        known.append((name, inside.size, float(residual[inside].mean()), monitor.log_evalue))
    ends = np.cumsum([n for _, n, *_ in known]).tolist()
    periods = [
        Period(*each, _found(monitor, end - each[1], end))
        for each, end in zip(known, ends, strict=True)
    ]
    return monitor, tuple(periods)


def _found(monitor: Monitor, first: int, end: int) -> str:
    """Say what of the start, the change and the alarm is in rows from `first` to before `end`."""
    at = {
        "most likely start": monitor.since,
        "change detected": monitor.change,
        "alarm": monitor.alarm,
    }
    return ", ".join(name for name, row in at.items() if row is not None and first <= row < end)


def unit_of(dates: Dates) -> str:
    """Return the unit of periods: days of up to two months, months of up to five years, years."""
    span = (dates[-1] - dates[0]) / np.timedelta64(1, "D")
    return next((unit for unit, most in DAYS.items() if span <= most), "Y")
