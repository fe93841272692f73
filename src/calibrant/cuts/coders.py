"""What gives the values of a column their codes: in the rows that it was made of, and in others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks.parameters import brief
from calibrant.cuts.gathering import MISSING, NUMBER, PERIODS, UNKNOWN, day_of

Array = NDArray[Any]
Codes = NDArray[np.uint8]

NOWHERE = 255  # code of values that no condition is on
TRUTHS = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}  # as files have them
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SPELLED: dict[str, Callable[[date], str]] = {  # from the finest period
    **dict(zip(("day", "month", "quarter", "year"), PERIODS, strict=True)),
    "decade": lambda day: f"{day.year // 10}0s",
    "century": lambda day: f"{day.year // 100}00s",
    "weekday": lambda day: WEEKDAYS[day.weekday()],
}


@final
@dataclass(frozen=True, slots=True)
class Numbers:
    """Codes of numbers: how many edges each reaches. The missing have the code after all.

    Examples
    --------
    >>> Numbers("age", (40.0, 90.0)).codes(["39.5", "40", "", "120"]).tolist()
    [0, 1, 3, 2]
    """

    kind = "numbers"

    column: str  # whose values these are
    edges: tuple[float, ...]  # that rise, from that of the second code on

    def codes(self, values: Array | Sequence[str]) -> Codes:
        """Return the codes of values (k,), numbers or texts."""
        numbers = self._numbers(values)
        found = np.searchsorted(np.array(self.edges, float), numbers, side="right")
        return np.where(np.isnan(numbers), len(self.edges) + 1, found).astype(np.uint8)

    def _numbers(self, values: Any) -> Array:
        if getattr(values, "dtype", np.dtype("O")).kind == "f":
            return np.asarray(values)
        other = [text for text in values if text not in UNKNOWN and not NUMBER.fullmatch(text)]
        if other:
            raise ValueError(
                f"column {self.column!r} must hold numbers, as where it was cut; found"
                f" {brief(other[0])}."
            )
        return np.array([np.nan if text in UNKNOWN else float(text) for text in values], float)


@final
@dataclass(frozen=True, slots=True)
class Levels:
    """Codes of levels, or of the periods or weekdays that dates are in.

    Examples
    --------
    >>> Levels("site", ("A", "B"), 2, 3).codes(["B", "C", ""]).tolist()
    [1, 2, 3]
    """

    kind = "levels"

    column: str  # whose values these are
    levels: tuple[str, ...]  # that have a code each
    rest: int  # code of the others
    lacking: int  # code of the missing
    period: Literal["", "day", "month", "quarter", "year", "decade", "century", "weekday"] = ""

    def codes(self, values: Array | Sequence[str]) -> Codes:
        """Return the codes of texts (k,)."""
        code = {level: k for k, level in enumerate(self.levels)}
        missing = UNKNOWN if self.period else MISSING
        found = [
            self.lacking if text in missing else code.get(self._spelled(text), self.rest)
            for text in map(str, values)
        ]
        return np.array(found, np.uint8)

    def _spelled(self, text: str) -> str:
        day = day_of(text) if self.period else None
        return TRUTHS.get(text, text) if day is None else SPELLED[self.period](day)


Coder = Numbers | Levels
