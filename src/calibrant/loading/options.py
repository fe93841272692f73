"""What the user says about the columns or arrays of a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, final, get_args

from calibrant.checks.labels import Classes, as_tuple, class_names, meaning
from calibrant.checks.parameters import brief, one_of

LOGITS_HINT = "Are these logits? Then say so with `values='logits'`."
PERCENT_HINT = "Are these percentages? Divide them by 100."
ROUNDED_HINT = "Were they rounded? Then say so with `values='rounded'`."

Values = Literal["probabilities", "rounded", "logits"]


class Columns(TypedDict, total=False):
    """The options of `load`, as keywords."""

    label: str | None
    probs: str | Sequence[str] | None
    classes: Sequence[Any] | None
    weight: str | None
    values: Values
    ignore: str | Sequence[str]
    cluster: str | None
    keep: str | Sequence[str]


@final
@dataclass(frozen=True, slots=True)
class Options:
    """What the user says, as `load` explains it; None where the rules shall find it."""

    label: str | None = None
    probs: str | Sequence[str] | None = None
    classes: Sequence[Any] | None = None
    weight: str | None = None
    values: Values = "probabilities"
    cluster: str | None = None
    keep: str | Sequence[str] = ()
    model: str | None = None  # the column that names the model of a row
    id: str | None = None  # the column that names the case of a row
    ignore: str | Sequence[str] = ()  # left out, whatever they are called

    def __post_init__(self) -> None:
        for option in ("label", "weight", "cluster", "model", "id"):
            value = getattr(self, option)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"`{option}` must be the name of a column; found {brief(value)}.")
        for option in ("probs", "keep", "ignore"):
            if getattr(self, option) is not None:  # what can be read only once is read here
                object.__setattr__(self, option, _names(option, getattr(self, option)))
        one_of("values", self.values, get_args(Values))

    @property
    def logits(self) -> bool:
        """Whether the columns hold logits."""
        return self.values == "logits"

    @property
    def normalize(self) -> bool:
        """Whether rows are divided by their sums."""
        return self.values == "rounded"

    @property
    def columns(self) -> Sequence[str] | None:
        """Return the columns of probabilities that were asked for."""
        return self.probs  # a tuple, since it was checked

    def name_classes(self, own: Sequence[Any] | None, m: int, columns: Sequence[str]) -> Classes:
        """Return the m classes as the user calls them, or else as the file does: `own`.

        `columns` are the words for their columns.
        """
        if own is None:
            return Classes(class_names(self.classes, m), given=self.classes is not None)
        before = class_names(own, m)
        if self.classes is None:
            return Classes(before)
        names = class_names(self.classes, m)
        check_order(names, before, columns)
        return Classes(names, before)


def _names(option: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    names = as_tuple(value) if hasattr(value, "__iter__") else (None,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"`{option}` must be names of columns; found {brief(value)}.")
    return names


def check_order(names: Sequence[str], own: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse names of classes that are the columns' own names in another order.

    `own` is what the columns are named for, of a single column class 1; `columns` are the words
    for them.
    """
    given = [meaning(name) for name in names]
    known = set(given)
    first = len(names) - len(own)
    for j, (called, column) in enumerate(zip(own, columns, strict=True), first):
        if meaning(called) != given[j] and meaning(called) in known:
            raise ValueError(
                f"`classes` must be in the order of the columns; {column} is named for {called!r},"
                f" but `classes` calls it {names[j]!r}."
            )
