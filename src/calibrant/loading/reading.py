"""What was read: which column was taken for what, and which were left out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from calibrant.words import listed, many


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """Which columns of a file or frame, or arrays of an NPZ file, became what.

    Parameters
    ----------
    label : str
        The column of the labels.
    probs : tuple of str
        The columns of the probabilities, or of the logits.
    event : str, optional
        Of two classes, the one whose probability is evaluated.
    weight, model, id : str, optional
        The columns of weights, of the names of models and of the rows' own names, if used.
    left_out : tuple of str, default ()
        The other columns.
    cluster : str, optional
        The column that says which rows depend on each other.
    kept : tuple of str, default ()
        Columns that were kept beside the predictions.
    correct : bool, default False
        Whether the probabilities are confidences in a prediction, and the labels say whether it
        was right.
    lists : bool, default False
        Whether the only column of probabilities held those of all classes.
    logits, normalize : bool, default False
        Whether the columns held logits, and whether rows were divided by their sums.
    percent : bool, default False
        Whether the columns held percentages.
    dropped : int, default 0
        How many rows were left out since they lacked a value.
    dropped_rows : tuple of str, default ()
        The first of them, in words.
    unmatched : int, default 0
        How many rows of this model were left out since another model has none of that name.
    nested : tuple of str, default ()
        Those of the other columns that hold lists or records, and so cannot be kept.

    Examples
    --------
    >>> print(Reading("y", ("prob_rain",), "rain", left_out=("id",)))
    Read labels from 'y' and P(rain) from 'prob_rain'. Left out: 'id'.
    """

    label: str
    probs: tuple[str, ...]
    event: str | None = None
    weight: str | None = None
    model: str | None = None
    id: str | None = None
    left_out: tuple[str, ...] = ()
    cluster: str | None = None
    kept: tuple[str, ...] = ()
    correct: bool = False
    lists: bool = False
    logits: bool = False
    normalize: bool = False
    percent: bool = False
    dropped: int = 0
    dropped_rows: tuple[str, ...] = ()
    unmatched: int = 0
    nested: tuple[str, ...] = ()

    @property
    def keepable(self) -> tuple[str, ...]:
        """The other columns that can be kept beside the predictions."""
        return tuple(name for name in self.left_out if name not in self.nested)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        fields = asdict(self).items()
        return {name: list(v) if isinstance(v, tuple) else v for name, v in fields}

    def __str__(self) -> str:
        used = [self._labels(), self._probabilities()]
        roles = {"weights": self.weight, "clusters": self.cluster, "models": self.model}
        for what, column in (roles | {"ids": self.id}).items():
            if column is not None:
                used.append(f"{what} from {column!r}")
        if self.kept:
            used.append(f"groups from {few(self.kept)}")
        start = f"Read {', '.join(used[:-1])} and {used[-1]}"
        if self.event is not None and not self._of_one_class():
            start += f"; the event is {self.event}"
        rounded = "; rows were divided by their sums" if self.normalize else ""
        rounded = "; percentages were divided by 100" * self.percent + rounded
        rest = f" Left out: {few(self.left_out)}." if self.left_out else ""
        return f"{start}{rounded}.{rest}{self._lacking()}"

    def _lacking(self) -> str:
        """Say which rows were left out."""
        found = ""
        if self.dropped:
            others = self.dropped - len(self.dropped_rows)
            names = [*self.dropped_rows, *([f"{others:,} more"] if others else [])]
            found = f" Dropped {many(self.dropped, 'row')} with missing values: {listed(names)}."
        if self.unmatched:
            found += f" Left out {many(self.unmatched, 'row')} that other models lack."
        return found

    def _of_one_class(self) -> bool:
        return len(self.probs) == 1 and not self.lists

    def _labels(self) -> str:
        what = "whether predictions are right" if self.correct else "labels"
        return f"{what} from {self.label!r}"

    def _probabilities(self) -> str:
        what = "logits" if self.logits else "probabilities"
        if self.correct:
            what = "confidences"
        elif self._of_one_class():
            what = f"{'the logit of ' * self.logits}P({self.event})"
        return f"{what} from {few(self.probs)}"


def few(names: Sequence[str]) -> str:
    """Write the names, of many the first and the last: 'a', 'b', …, 'z' (26 columns)."""
    short = [name if len(name) <= 20 else f"{name[:19]}…" for name in names]
    quoted = [repr(name) for name in short]
    if len(names) <= 4:
        return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
    return f"{quoted[0]}, {quoted[1]}, …, {quoted[-1]} ({len(names):,} columns)"
