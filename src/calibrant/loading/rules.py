"""Which column is what, by its name: the only place that knows.

All functions take `kinds`, what each column holds, in the order of the columns. Nothing is
guessed where two answers are possible: the sentence then lists them and names the option.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from calibrant.checks.meaning import meaning
from calibrant.checks.parameters import listed
from calibrant.loading.column_store import Kind, repeated

LABELS = ("label", "labels", "target", "y_true", "y", "true_class", "class")
PREFIXES = ("prob_", "proba_", "p_")
SINGLES = ("prob", "p", "probability", "score", "y_prob", "y_score", "prediction")
LOGIT_PREFIXES = ("logit_", "logits_")
LOGIT_SINGLES = ("logit", "logits", "score", "y_score")


@final
@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of probabilities, and the classes that they are named for.

    Parameters
    ----------
    columns : tuple of str
        Their names. A single column is P(class 1).
    classes : tuple of str
        A class for each; for a single column one or none.
    """

    columns: tuple[str, ...]
    classes: tuple[str, ...]


def label_column(names: Collection[str], asked: str | None) -> str:
    """Return the column of labels: the one asked for, or the only one with a usual name."""
    if asked is not None:
        return present("label", names, [asked])[0]
    found = [name for name in names if name.lower() in LABELS]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"one column must hold the labels; {listed(found)} could each be it. Choose with"
            " `label`."
        )
    raise ValueError(
        f"one column must hold the labels, and be called {', '.join(LABELS[:-1])} or"
        f" {LABELS[-1]}; found {listed(names, 12)}. Name it with `label`."
    )


def present(option: str, names: Collection[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the names asked for as the columns spell them, or refuse those that are missing."""
    spelled = {name: _spelled(names, name) for name in asked}
    missing = [name for name, column in spelled.items() if column is None]
    if missing:
        raise ValueError(
            f"`{option}` must name columns; {listed(missing)} not among {listed(names, 12)}."
        )
    found = tuple(column for name in asked if (column := spelled[name]) is not None)
    twice = repeated(found)
    if twice:
        raise ValueError(f"`{option}` must name different columns; found {listed(twice)} twice.")
    return found


def by_request(names: Collection[str], asked: Sequence[str], logits: bool) -> Chosen:
    """Return the columns asked for; their classes stand after a prefix that all of them have."""
    if not asked:
        raise ValueError("`probs` must name at least one column; found none.")
    columns = present("probs", names, asked)
    classes = _after_prefix(columns, logits)
    if not classes and len(columns) > 1:
        classes = columns
    return Chosen(columns, classes)


def by_prefix(kinds: Mapping[str, Kind], logits: bool) -> Chosen | None:
    """Return the columns prob_<class>, two or more; None if there are none."""
    found = {}
    for prefix in _prefixes(logits):
        family = tuple(name for name in kinds if _has(name, prefix))
        if len(family) > 1:
            found[prefix] = family
    if len(found) > 1:
        raise ValueError(
            "the columns of probabilities must have one prefix; found those of"
            f" {' and '.join(found)}. Choose with `probs`."
        )
    for family in found.values():
        return Chosen(family, _after_prefix(family, logits))
    return None


def are_columns(names: Iterable[str], labels: Iterable[str]) -> bool:
    """Whether every label is the name of a column."""
    return {meaning(label) for label in labels} <= {meaning(name) for name in names}


def by_class(kinds: Mapping[str, Kind], labels: Iterable[str]) -> Chosen | None:
    """Return the columns that are named <class>: the floats, if every label is one of them."""
    found = {meaning(label) for label in labels}
    names = tuple(n for n, kind in kinds.items() if kind == "float" or meaning(n) in found)
    return Chosen(names, names) if len(names) > 1 and are_columns(names, labels) else None


def single(kinds: Mapping[str, Kind], logits: bool) -> Chosen:
    """Return the column of P(class 1): one with a usual name, or the only column of floats."""
    named = _usual(kinds, logits)
    # A column of hard decisions that stands beside one of probabilities is left out.
    found = _floats(kinds, named) or named or _floats(kinds, kinds)
    if len(found) != 1:
        raise ValueError(_ambiguous(found) if named else _missing(kinds, logits))
    return Chosen((found[0],), _after_prefix(found, logits))


def _spelled(names: Collection[str], asked: str) -> str | None:
    """Return a name as the columns spell it; None if they do not have it."""
    if asked in names:
        return asked
    wanted = asked.strip().lower()
    return next((name for name in names if name.lower() == wanted), None)


def _usual(names: Iterable[str], logits: bool) -> list[str]:
    """Return the names that a single column of probabilities usually has."""
    usual = LOGIT_SINGLES if logits else SINGLES
    return [n for n in names if n.lower() in usual or _after_prefix([n], logits)]


def _floats(kinds: Mapping[str, Kind], names: Iterable[str]) -> list[str]:
    return [name for name in names if kinds[name] == "float"]


def _ambiguous(found: Sequence[str]) -> str:
    return (
        f"one column must hold the probability of class 1; {listed(found)} could each be it."
        " Choose with `probs`."
    )


def _missing(kinds: Mapping[str, Kind], logits: bool) -> str:
    what, prefix = ("logits", "logit_") if logits else ("probabilities", "prob_")
    other = [name for name in kinds if _after_prefix([name], not logits)]
    hint = ""
    if other:
        remedy = "leave out `logits`" if logits else "say so with `logits`"
        hint = f" Are {listed(other[:2])} meant? Then {remedy}."
    return (
        f"the columns of {what} must be called {prefix}<class>, or be named after the labels; found"
        f" {listed(kinds, 12)} beside the labels. Name them with `probs`.{hint}"
    )


def _prefixes(logits: bool) -> tuple[str, ...]:
    return LOGIT_PREFIXES if logits else PREFIXES


def _has(name: str, prefix: str) -> bool:
    return len(name) > len(prefix) and name.lower().startswith(prefix)


def _after_prefix(names: Sequence[str], logits: bool) -> tuple[str, ...]:
    """Return what stands after the prefix that all names have; nothing if they have none."""
    for prefix in _prefixes(logits):
        if all(_has(name, prefix) for name in names):
            return tuple(name[len(prefix) :].strip() for name in names)
    return ()
