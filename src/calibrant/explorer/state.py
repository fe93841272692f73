"""What is on the screen, as an address: every picture of the explorer has one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, final
from urllib.parse import urlencode

from calibrant.checks.parameters import brief

Tab = Literal["bins", "rows", "classes", "groups", "where", "when", "code"]
TABS: dict[Tab, str] = {
    "bins": "Bins",
    "rows": "Rows",
    "classes": "Which class?",
    "groups": "Which group?",
    "where": "Where?",
    "when": "When?",
    "code": "Reproduce",
}
STYLES = {"": "deviation", "line": "line", "bars": "bars"}
MOST_BINS = 50
LONGEST = 2_000  # letters of a field
STEEPEST = 4  # what sliders of a lesson reach


@final
@dataclass(frozen=True, slots=True)
class State:
    """What somebody chose; every default is what the library does by itself."""

    model: str = ""  # the first
    other: str = ""  # a model to draw beside it
    lens: str = ""
    bins: int = 0  # 0: as many as a diagram has by default
    mass: bool = False  # whether bins hold equally many rows, instead of being equally wide
    style: str = ""
    statistic: str = ""  # of the exact test; empty: the ECE
    region: str = ""
    by: str = ""  # a column
    group: str = ""  # and the value that rows have in it
    found: str = ""  # a region that was searched: its place from 1, an @, and the lens
    repair: str = ""  # a calibrator
    bin: int = -1  # the mark whose rows are shown
    low: float = 0.0  # or the range of predictions
    high: float = 1.0
    page: int = 0  # of the rows
    tab: str = "bins"
    lesson: int = 0  # of how calibration works, from 1; 0: the data
    beta0: float = 0.0  # of the model of a lesson
    beta1: float = -2.0

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "State":
        """Read an address; what means nothing is refused in a sentence."""
        plain = asdict(cls())
        given = {name: _read(name, query[name], plain[name]) for name in plain if name in query}
        return cls(**given)._checked()

    def _checked(self) -> "State":
        if not 0 <= self.bins <= MOST_BINS:
            raise ValueError(f"`bins` must be between 0 and {MOST_BINS}; found {self.bins}.")
        if self.style not in STYLES:
            raise ValueError(f"`style` must be line or bars; found {brief(self.style)}.")
        if not (abs(self.beta0) <= STEEPEST and abs(self.beta1) <= STEEPEST):
            raise ValueError(f"`beta0` and `beta1` must be from -{STEEPEST} to {STEEPEST}.")
        if self.lesson < 0:
            raise ValueError(f"`lesson` must be at least 0; found {self.lesson}.")
        if not 0.0 <= self.low <= self.high <= 1.0:
            raise ValueError(f"`low` and `high` must be in order; found {self.low}, {self.high}.")
        if self.tab not in TABS:
            raise ValueError(f"`tab` must be one of {', '.join(TABS)}; found {brief(self.tab)}.")
        return replace(self, page=max(0, self.page), bin=max(-1, self.bin))

    @property
    def selected(self) -> bool:
        """Whether a mark or a range of predictions was chosen."""
        return self.bin >= 0 or (self.low, self.high) != (0.0, 1.0)

    @property
    def source(self) -> "State":
        """What says which rows are looked at, and nothing else."""
        names = ("model", "region", "by", "group", "found", "repair", "lesson", "beta0", "beta1")
        return State(**{name: getattr(self, name) for name in names})

    @property
    def partition(self) -> str | None:
        """The bins as a text, for diagrams of two outcomes; None for the default."""
        return None if self.bins == 0 else f"{'mass' if self.mass else 'width'}:{self.bins}"

    def query(self, **changes: Any) -> str:
        """Return the address of this state, or of one that differs from it.

        Examples
        --------
        >>> State(lens="top").query(bins=15)
        '?lens=top&bins=15'
        """
        changed, plain = asdict(replace(self, **changes)), asdict(State())
        told = {k: v for k, v in changed.items() if v != plain[k]}
        return "?" + urlencode({k: int(v) if isinstance(v, bool) else v for k, v in told.items()})

    def moved(self, **changes: Any) -> str:
        """Return the address of a state in which other rows are looked at: none are selected."""
        return self.query(**{"bin": -1, "low": 0.0, "high": 1.0, "page": 0, **changes})


def _read(name: str, text: str, default: Any) -> Any:
    """Read a field of an address, of the type of its default."""
    if len(text) > LONGEST:
        raise ValueError(f"`{name}` is too long: {len(text):,} letters.")
    if isinstance(default, bool):
        return text == "1"
    try:
        return type(default)(text)
    except ValueError:
        raise ValueError(f"`{name}` must be a number; found {brief(text)}.") from None
