"""The bets on rows seen through one lens, one after the other."""

from dataclasses import dataclass
from math import log
from typing import Any, final

import numpy as np

from calibrant.arguments import as_lens
from calibrant.engine.arrays import Floats
from calibrant.engine.class_bets import ClassBets
from calibrant.engine.wealth import EventState, Traces, bet_on_classes, bet_on_event
from calibrant.lenses import Lens
from calibrant.predictions import Predictions

AnyLens = Lens | str


@final
@dataclass(slots=True, eq=False)
class Stream:
    """All that is known of rows through a lens; of more than two outcomes, bets on each class."""

    state: EventState
    of_classes: ClassBets | None

    @classmethod
    def start(cls, m: int) -> "Stream":
        """Return a stream of m outcomes before the first row."""
        return cls(EventState.start(), None if m == 2 else ClassBets.start(m))

    def add(self, seen: Predictions, limit: float) -> Traces:
        """Bet on rows, as the lens shows them; return log E and M after each of them."""
        if self.of_classes is not None:
            return bet_on_classes(seen.probs, seen.labels, self.state, self.of_classes, limit)
        event = seen.event or 0
        p = np.ascontiguousarray(seen.probs[:, event], np.float64)
        return bet_on_event(p, (seen.labels == event).astype(np.uint8), self.state, limit)

    @property
    def m(self) -> int:
        """The number of outcomes."""
        return 2 if self.of_classes is None else len(self.of_classes.one)

    @property
    def log_wealth(self) -> float:
        """The logarithm of the wealth."""
        return float(self.state.totals.log_wealth[0])


def resolved(given: tuple[AnyLens | None, ...], data: Predictions) -> tuple[Lens | None, ...]:
    """Return lenses, or those that texts name for these data, that keep a row for a row."""
    lenses = tuple(None if each is None else as_lens(each, data) for each in given)
    for lens in lenses:
        if lens is not None and not lens.rowwise:
            raise ValueError(
                f"`lens` must keep a row for a row; {lens} makes several of one, which are not"
                " separate bets."
            )
    return lenses


def one_row(classes: tuple[str, ...]) -> Predictions:
    """Return a row of these classes, to ask a lens what it makes of them."""
    m = len(classes)
    return Predictions.trusted(
        np.full((1, m), 1 / m), np.zeros(1, np.int32), classes, event=1 if m == 2 else None
    )


def log_mean(logs: Floats) -> Floats:
    """Return the logarithms of the means over the first axis; those of one row as they are."""
    if len(logs) == 1:
        return np.asarray(logs[0])
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - log(len(logs)))


def seen_through(lens: Lens | None, data: Predictions) -> Predictions:
    """Return rows as a lens shows them; without one, as they are."""
    return data if lens is None else lens(data)


def check_rows(data: Predictions, classes: tuple[str, ...] | None) -> None:
    """Refuse rows that cannot be bet on one after the other."""
    if data.weighted:
        raise ValueError(
            "`weights` must not be given: a bet on a row is won or lost once, and a power of its"
            " factor is no fair bet. Repeat no rows; watch those that you have."
        )
    if data.clusters is not None:
        raise ValueError(
            "`clusters` must not be given: rows of a cluster depend on each other, so they are not"
            " separate bets. Keep one row of each cluster, chosen without its outcome."
        )
    if classes is not None and data.classes != classes:
        raise ValueError(
            f"`probs` must have the same classes in every portion, {_some(classes)}; found"
            f" {_some(data.classes)}. Name them with `classes`."
        )


def _some(classes: tuple[str, ...]) -> str:
    return ", ".join(classes[:6]) + (", …" if len(classes) > 6 else "")


def arrays_of(stream: Stream) -> dict[str, Any]:
    """Return all arrays of a stream that change with its rows, by name."""
    found: dict[str, Any] = {}
    parts: dict[str, Any] = stream.state._asdict()
    if stream.of_classes is not None:
        parts["of_classes"] = stream.of_classes
    for name, part in parts.items():
        for field, array in part._asdict().items():
            if (name, field) not in CONSTANT:
                found[f"{name}.{field}"] = array
    return found


CONSTANT = {("change", "levels"), ("change", "prior"), ("change", "fresh")}
