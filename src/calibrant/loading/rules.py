"""Which column is what, by its name: the only place that knows.

All functions take `kinds`, what each column holds, in the order of the columns. Nothing is
guessed where two answers are possible: the sentence then lists them and names the option.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from calibrant.checks.parameters import listed
from calibrant.loading.table import Kind

LABELS = ("label", "labels", "target", "y_true", "y", "true_class", "class")
PREFIXES = ("prob_", "proba_", "p_")
SINGLES = ("prob", "p", "probability", "score", "y_prob", "y_score", "prediction")
LOGIT_PREFIXES = ("logit_", "logits_")
LOGIT_SINGLES = ("logit", "logits", "score", "y_score")


@final
@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of probabilities, and the classes that they are named for.

    A single column is P(class 1); it is named for one class or for none.
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
    spelled = {name.lower(): name for name in reversed(list(names))}
    missing = [name for name in asked if name not in names and name.strip().lower() not in spelled]
    if missing:
        raise ValueError(
            f"`{option}` must name columns; {listed(missing)} not among {listed(names, 12)}."
        )
    found = tuple(name if name in names else spelled[name.strip().lower()] for name in asked)
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise ValueError(f"`{option}` must name different columns; found {listed(twice)} twice.")
    return found


def by_request(names: Collection[str], asked: Sequence[str], logits: bool) -> Chosen:
    """Return the columns asked for; their classes stand after a prefix that all of them have."""
    if not asked:
        raise ValueError("`probs` must name at least one column; found none.")
    columns = present("probs", names, asked)
    for prefix in _prefixes(logits):
        if all(_has(name, prefix) for name in columns):
            return Chosen(columns, _after(prefix, columns))
    return Chosen(columns, columns if len(columns) > 1 else ())


def by_prefix(kinds: Mapping[str, Kind], logits: bool) -> Chosen | None:
    """Return the columns prob_<class>, two or more; None if there are none."""
    families = {
        prefix: family
        for prefix in _prefixes(logits)
        if len(family := [name for name in kinds if _has(name, prefix)]) > 1
    }
    if len(families) > 1:
        some = [name for family in families.values() for name in family[:2]]
        raise ValueError(
            "the columns of probabilities must have one prefix; found those of"
            f" {' and '.join(families)} ({listed(some, 4)}). Choose with `probs`."
        )
    for prefix, family in families.items():
        return Chosen(tuple(family), _after(prefix, family))
    return None


def by_class(kinds: Mapping[str, Kind], values: Iterable[str]) -> Chosen | None:
    """Return the columns that are named <class>: the floats, if every label is one of them."""
    labels = set(values)
    names = tuple(name for name, kind in kinds.items() if kind == "float" or name in labels)
    return Chosen(names, names) if len(names) > 1 and labels <= set(names) else None


def single(kinds: Mapping[str, Kind], logits: bool) -> Chosen:
    """Return the column of P(class 1): one with a usual name, or the only column of floats."""
    usual = LOGIT_SINGLES if logits else SINGLES
    prefixed = [name for name in kinds if any(_has(name, prefix) for prefix in _prefixes(logits))]
    named = [name for name in kinds if name.lower() in usual] + prefixed
    found = _floats_first(kinds, named) or [n for n, kind in kinds.items() if kind == "float"]
    if len(found) != 1:
        raise ValueError(_none(kinds, logits) if not named else _several(found))
    for prefix in _prefixes(logits):
        if _has(found[0], prefix):
            return Chosen((found[0],), _after(prefix, found))
    return Chosen((found[0],), ())


def _floats_first(kinds: Mapping[str, Kind], named: Sequence[str]) -> list[str]:
    """Leave out a column of hard decisions that stands beside one of probabilities."""
    return [name for name in named if kinds[name] == "float"] or list(named)


def _several(found: Sequence[str]) -> str:
    return (
        f"one column must hold the probability of class 1; {listed(found)} could each be it."
        " Choose with `probs`."
    )


def _none(kinds: Mapping[str, Kind], logits: bool) -> str:
    what, prefix = ("logits", "logit_") if logits else ("probabilities", "prob_")
    other = [n for n in kinds if any(_has(n, p) for p in _prefixes(not logits))]
    hint = "" if not other else f" Are {listed(other[:2])} meant? "
    if other:
        hint += "Then leave out `logits`." if logits else "Then say so with `logits`."
    return (
        f"the columns of {what} must be called {prefix}<class>, or as the labels are; found"
        f" {listed(kinds, 12)} beside the labels. Name them with `probs`.{hint}"
    )


def _prefixes(logits: bool) -> tuple[str, ...]:
    return LOGIT_PREFIXES if logits else PREFIXES


def _has(name: str, prefix: str) -> bool:
    return len(name) > len(prefix) and name.lower().startswith(prefix)


def _after(prefix: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name[len(prefix) :] for name in names)
