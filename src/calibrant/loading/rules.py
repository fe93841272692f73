"""Which columns hold the probabilities, by their names.

All functions take `kinds`, what each column holds, in the order of the columns. Nothing is
guessed where two answers are possible, or where a name says nothing: the sentence then lists
the columns and names the option.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from calibrant.checks.labels import meaning, shown
from calibrant.checks.parameters import listed
from calibrant.loading import usual_names as usual
from calibrant.loading.column_store import Kind
from calibrant.loading.roles import present


@final
@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of probabilities, and the classes that they are named for.

    Parameters
    ----------
    columns : tuple of str
        Their names. A single column is P(class 1), or holds a list for each row.
    classes : tuple of str
        A class for each; for a single column one or none.
    lists : bool, default False
        Whether the only column holds a list for each row.
    asked : bool, default False
        Whether the user named them.
    """

    columns: tuple[str, ...]
    classes: tuple[str, ...]
    lists: bool = False
    asked: bool = False


def by_request(kinds: Mapping[str, Kind], asked: Sequence[str], logits: bool) -> Chosen:
    """Return the columns asked for; their classes stand after a prefix that all of them have."""
    if not asked:
        raise ValueError("`probs` must name at least one column; found none.")
    columns = present("probs", kinds, asked)
    several = len(columns) > 1
    lists = [name for name in columns if kinds[name] == "list"]
    if lists and several:
        raise ValueError(f"`probs` must name one column of lists only; {lists[0]!r} holds lists.")
    if lists:
        return Chosen(columns, (), lists=True, asked=True)
    classes = _after_prefix(columns, logits) or columns[: len(columns) * several]
    return Chosen(columns, classes, asked=True)


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


def by_list(kinds: Mapping[str, Kind], logits: bool) -> Chosen | None:
    """Return the column that holds a list of probabilities for each row; None if there is none."""
    names = usual.LOGIT_LISTS if logits else usual.LISTS
    found = [name for name, kind in kinds.items() if kind == "list" and name.lower() in names]
    if len(found) > 1:
        raise ValueError(
            f"one column must hold the lists of probabilities; {listed(found)} could each be it."
            " Choose with `probs`."
        )
    return Chosen((found[0],), (), lists=True) if found else None


def are_columns(names: Iterable[str], labels: Iterable[str]) -> bool:
    """Whether every label is the name of a column."""
    return {meaning(label) for label in labels} <= {meaning(name) for name in names}


def by_class(kinds: Mapping[str, Kind], labels: Iterable[str]) -> Chosen | None:
    """Return the columns that are named <class>: the floats, if every label is one of them."""
    found = {meaning(label) for label in labels}
    names = tuple(n for n, kind in kinds.items() if kind == "float" or meaning(n) in found)
    return Chosen(names, names) if len(names) > 1 and are_columns(names, labels) else None


def single(kinds: Mapping[str, Kind], logits: bool, correct: bool) -> Chosen:
    """Return the column of P(class 1), which must have a usual name.

    Parameters
    ----------
    kinds : dict
        What each column holds.
    logits : bool
        Whether it holds logits.
    correct : bool
        Whether labels say that predictions are right: then a confidence is meant.
    """
    named = _usual(kinds, logits)
    if not named:
        raise ValueError(_missing(kinds, logits))
    found = (_confidences(named) if correct else []) or _likely(named, kinds)
    if len(found) > 1:
        raise ValueError(_ambiguous(found))
    if not correct:
        _refuse_confidence(found[0], kinds)
    return Chosen((found[0],), _after_prefix(found, logits))


def _likely(named: list[str], kinds: Mapping[str, Kind]) -> list[str]:
    """Leave out columns of hard decisions that stand beside one of probabilities."""
    return [name for name in named if kinds[name] == "float"] or named


def _usual(kinds: Mapping[str, Kind], logits: bool) -> list[str]:
    """Return the names that a single column of probabilities usually has."""
    names = usual.LOGIT_SINGLES if logits else usual.SINGLES
    single = [name for name, kind in kinds.items() if kind != "list"]
    return [n for n in single if n.lower() in names or _after_prefix([n], logits)]


def _confidences(names: Iterable[str]) -> list[str]:
    """Return those that a confidence in a decision usually has."""
    return [name for name in names if name.lower() in usual.CONFIDENCES]


def _refuse_confidence(column: str, kinds: Iterable[str]) -> None:
    """Refuse a confidence in a decision: it is not the probability of class 1."""
    decision = next((name for name in kinds if name.lower() in usual.DECISIONS), None)
    if decision is not None and _confidences([column]):
        raise ValueError(
            f"one column must hold the probability of class 1; {column!r} may be the confidence in"
            f" {decision!r}. Then add a column 'correct', 1 where that is right and 0 where not."
            " Else name it with `probs`."
        )


def _ambiguous(found: Sequence[str]) -> str:
    return (
        f"one column must hold the probability of class 1; {listed(found)} could each be it."
        " Choose with `probs`."
    )


def _missing(kinds: Mapping[str, Kind], logits: bool) -> str:
    what, prefix = ("logits", "logit_") if logits else ("probabilities", "prob_")
    return (
        f"the columns of {what} must be called {prefix}<class>, or be named after the labels; found"
        f" {listed(kinds, 12)} beside the labels. Name them with `probs`.{_hint(kinds, logits)}"
    )


def _hint(kinds: Mapping[str, Kind], logits: bool) -> str:
    """Say which columns may be meant."""
    other = [name for name in kinds if _after_prefix([name], not logits)]
    floats = [name for name, kind in kinds.items() if kind in ("float", "list")]
    if other:
        remedy = f"{'leave out' if logits else 'say so with'} `values='logits'`"
        return f" Are {listed(other[:2])} meant? Then {remedy}."
    return f" Is it {shown(floats[0])}?" if len(floats) == 1 else ""


def _prefixes(logits: bool) -> tuple[str, ...]:
    return usual.LOGIT_PREFIXES if logits else usual.PREFIXES


def _has(name: str, prefix: str) -> bool:
    return len(name) > len(prefix) and name.lower().startswith(prefix)


def _after_prefix(names: Sequence[str], logits: bool) -> tuple[str, ...]:
    """Return what stands after the prefix that all names have; nothing if they have none."""
    for prefix in _prefixes(logits):
        if all(_has(name, prefix) for name in names):
            return tuple(name[len(prefix) :].strip() for name in names)
    return ()
