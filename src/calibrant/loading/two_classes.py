"""Beside one column of probabilities: which class it is of, and what the two are called."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from calibrant.checks.labels import Classes, Meaning, meaning
from calibrant.checks.parameters import listed

ZERO_AND_ONE = {Decimal(0), Decimal(1)}
TRUTHS = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))
NEGATIONS = ("no", "not", "none", "neg", "negative")


def right_or_wrong(labels: Sequence[str]) -> Classes | None:
    """Return the classes of labels that say whether a prediction is right; None of other labels."""
    if {meaning(label) for label in labels} <= ZERO_AND_ONE:
        return Classes(("wrong", "correct"), ("0", "1"))
    return None


def two_names(labels: Sequence[str], event: str | None, column: str) -> tuple[str, str]:
    """Return the names of class 0 and class 1.

    The column is of the class that it is named for, also where 0 is written 0.0 or false is
    written False, and where every label is the other one.

    Parameters
    ----------
    labels : sequence of str
        The different labels.
    event : str, optional
        The class that the column is named for, if it has a prefix.
    column : str
        Its name.
    """
    found = {meaning(label): _plain(label) for label in labels}
    if event is None and meaning(column) in {*found, *ZERO_AND_ONE}:
        event = column
    names = None if event is None else _named_for(event, found)
    if names is not None:
        return names
    if not set(found) <= ZERO_AND_ONE:
        raise ValueError(
            "the labels beside one column of probabilities must be 0 and 1, or `classes` must name"
            f" class 0 and class 1; found {listed(sorted(labels))}."
        )
    names = _zero_and_one(found)
    return names if event is None else _of_event(event, names)


def _named_for(event: str, found: Mapping[Meaning, str]) -> tuple[str, str] | None:
    """Return the names where the event is one of the labels, or the one that never occurs.

    `found` is what the labels mean, and how they are written.
    """
    own = meaning(event)
    all_found = {own: event, **found}
    if set(all_found) <= ZERO_AND_ONE:
        zero, one = _zero_and_one(all_found)
        return (zero, one) if own == 1 else (one, zero)
    if own not in found or len(found) > 2:
        return None
    others = (label for meant, label in found.items() if meant != own)
    return next(others, f"not {event}"), found[own]


def _of_event(event: str, labels: tuple[str, str]) -> tuple[str, str]:
    """Return the names for labels 0 and 1; refuse a column that need not be of class 1."""
    if event.lower() in NEGATIONS or not isinstance(meaning(event), str):
        raise ValueError(
            f"one column of probabilities must be of class 1; it is named for {event!r}, and labels"
            f" are {labels[0]} and {labels[1]}. Name class 0 and class 1 with `classes`."
        )
    return f"not {event}", event


def _plain(label: str) -> str:
    """Write a whole number without sign, zeros or point that it does not need."""
    meant = meaning(label)
    if isinstance(meant, str) or label.lower() in TRUTHS[0]:
        return label
    return str(int(meant)) if abs(meant) < 10**15 and meant % 1 == 0 else label


def _zero_and_one(found: Mapping[Meaning, str]) -> tuple[str, str]:
    """Return how 0 and 1 are written; where one never occurs, as the other is."""
    pair = next((truth for truth in TRUTHS if set(truth) & set(found.values())), ("0", "1"))
    return found.get(Decimal(0), pair[0]), found.get(Decimal(1), pair[1])
