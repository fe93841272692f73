"""What is on the screen, as an address: every picture of the explorer has one."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, final
from urllib.parse import urlencode

from calibrant.checks.parameters import brief, listed

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
STEEPEST = 4  # what sliders of a lesson reach
MANY = 10**9
LIMITS: dict[str, tuple[float, float]] = {  # of numbers
    "bins": (0, MOST_BINS),
    "bin": (-1, MANY),
    "low": (0, 1),
    "high": (0, 1),
    "page": (0, MANY),
    "lesson": (0, MANY),
    "beta0": (-STEEPEST, STEEPEST),
    "beta1": (-STEEPEST, STEEPEST),
}
CHOICES: dict[str, Iterable[str]] = {"style": STYLES, "tab": TABS}
LONGEST = 2_000  # letters of a field


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
        state = cls(
            **{name: _read(name, query[name], plain[name]) for name in plain & query.keys()}
        )
        if state.low > state.high:
            raise ValueError(f"`low` and `high` must be in order; found {state.low}, {state.high}.")
        return state

    @property
    def selected(self) -> bool:
        """Whether a mark or a range of predictions was chosen."""
        return self.bin >= 0 or (self.low, self.high) != (0.0, 1.0)

    @property
    def source(self) -> "State":
        """What says which rows are looked at, and nothing else."""
        names = ["model", "region", "group", "found", "repair", "lesson", "beta0", "beta1"]
        names += ["by"] * bool(self.group)
        return State(**{name: getattr(self, name) for name in names})

    def query(self, **changes: Any) -> str:
        """Return the address of this state, or of one that differs from it.

        Examples
        --------
        >>> State(lens="top").query(bins=15)
        '?lens=top&bins=15'
        """
        plain = asdict(State())
        chosen = {k: v for k, v in asdict(replace(self, **changes)).items() if v != plain[k]}
        return "?" + urlencode({k: int(v) if v is True else v for k, v in chosen.items()})

    def moved(self, **changes: Any) -> str:
        """Return the address of a state in which other rows are looked at: none are selected."""
        return self.query(**{"bin": -1, "low": 0.0, "high": 1.0, "page": 0, **changes})


def one_of(name: str, found: str, known: Iterable[str]) -> str:
    """Return what is known; refuse anything else."""
    if found not in known:
        raise ValueError(f"`{name}` must be one of {listed(known)}; found {brief(found)}.")
    return found


def _read(name: str, text: str, default: Any) -> Any:
    """Read a field of an address, of the type of its default."""
    if len(text) > LONGEST:
        raise ValueError(f"`{name}` is too long: {len(text):,} letters.")
    if isinstance(default, bool):
        return text == "1"
    if isinstance(default, str):
        return one_of(name, text, CHOICES.get(name, (text,)))
    try:
        value = type(default)(text)
    except ValueError:
        raise ValueError(f"`{name}` must be a number; found {brief(text)}.") from None
    least, most = LIMITS[name]
    if not least <= value <= most:
        raise ValueError(f"`{name}` must be between {least} and {most:,}; found {brief(value)}.")
    return value
