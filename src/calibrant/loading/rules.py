"""Which columns hold the probabilities, by their names, and what the classes are called.

`kinds` is what each column holds, in the order of the columns. Nothing is guessed where two
answers are possible, or where a name says nothing: the sentence then lists the columns and names
the option.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import final

from calibrant.checks.convert import LOGIT_PREFIXES, PREFIXES, after_prefix, has_prefix
from calibrant.checks.labels import Classes, Meaning, class_names, meaning, named_for, shown
from calibrant.checks.parameters import listed
from calibrant.loading import roles as usual
from calibrant.loading.roles import Kind, Options, check_order, present, refuse_several
from calibrant.predictions import CONFIDENCES

ZERO_AND_ONE = {Decimal(0), Decimal(1)}
TRUTHS = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))
ANSWERS = (("no", "yes"), ("negative", "positive"), ("absent", "present"))  # of class 0, class 1
NEGATIONS = ("no", "not", "none", "neg", "negative")


@final
@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of probabilities, and the classes that they are named for."""

    columns: tuple[str, ...]  # a single one is P(class 1), or holds a list for each row
    classes: tuple[str, ...]  # one for each; for a single column one or none
    lists: bool = False  # whether the only column holds a list for each row
    asked: bool = False  # whether the user named them

    def several(self, m: int, options: Options) -> Classes:
        """Return the classes of m columns, or of m entries of the lists in one."""
        if self.lists:
            return options.name_classes(None, m, [f"entry {j}" for j in range(m)])
        return options.name_classes(self.classes, m, [f"column {name!r}" for name in self.columns])

    def two(self, labels: Sequence[str], correct: bool, options: Options) -> Classes:
        """Return the classes of a single column, which is about the second of them.

        `labels` are the different ones, and `correct` says whether they tell who is right.
        """
        if options.classes is not None:
            names = class_names(options.classes, 2)
            check_order(names, self.classes, [f"column {self.columns[0]!r}"] * len(self.classes))
            return Classes(names)
        event = next(iter(self.classes), None)
        if correct and event is None and {meaning(label) for label in labels} <= ZERO_AND_ONE:
            return Classes(CONFIDENCES, ("0", "1"))
        if self.columns[0].lower() in usual.CONFIDENCES and len(labels) > 2:
            raise ValueError(
                "the labels beside confidences must say whether the prediction was right, 1 or 0;"
                f" found {listed(sorted(labels))}. Compare predicted and true classes in a column"
                " 'correct'."
            )
        return Classes(_two_names(labels, event, self.columns[0]))


def by_name(
    kinds: Mapping[str, Kind], options: Options, aside: Collection[str] = ()
) -> Chosen | None:
    """Return the columns asked for, or those prob_<class>, or one of lists; None if none is.

    Those in `aside` are something else, unless the user asks for them.
    """
    if options.probs is not None:
        return _by_request(kinds, options.probs, options.logits)
    rest = {name: kind for name, kind in kinds.items() if name not in aside}
    return _by_prefix(rest, options.logits) or _by_list(rest, options.logits)


def _by_request(kinds: Mapping[str, Kind], asked: Sequence[str], logits: bool) -> Chosen:
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
    classes = after_prefix(columns, logits=logits) or columns[: len(columns) * several]
    return Chosen(columns, classes, asked=True)


def _by_prefix(kinds: Mapping[str, Kind], logits: bool) -> Chosen | None:
    """Return the columns prob_<class>, two or more; None if there are none."""
    families = {p: _family(kinds, p) for p in (LOGIT_PREFIXES if logits else PREFIXES)}
    found = {prefix: family for prefix, family in families.items() if len(family) > 1}
    if len(found) > 1:
        raise ValueError(
            "the columns of probabilities must have one prefix; found those of"
            f" {' and '.join(found)}. Choose with `probs`."
        )
    for family in found.values():
        return Chosen(family, after_prefix(family, logits=logits))
    return None


def _family(names: Iterable[str], prefix: str) -> tuple[str, ...]:
    return tuple(name for name in names if has_prefix(name, prefix))


def _by_list(kinds: Mapping[str, Kind], logits: bool) -> Chosen | None:
    """Return the column that holds a list of probabilities for each row; None if there is none."""
    names = usual.LOGIT_LISTS if logits else usual.LISTS
    found = [name for name, kind in kinds.items() if kind == "list" and name.lower() in names]
    refuse_several(found, "must hold the lists of probabilities", "`probs`")
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

    `correct` says whether labels tell which predictions are right: then a confidence is meant.
    """
    found = _usual(kinds, logits)
    if not found:
        what, prefix = ("logits", "logit_") if logits else ("probabilities", "prob_")
        raise ValueError(
            f"the columns of {what} must be called {prefix}<class>, or be named after the labels;"
            f" found {listed(kinds, 12) or 'nothing'} beside the labels. Name them with"
            f" `probs`.{_hint(kinds, logits)}"
        )
    found = (_confidences(found) if correct else []) or _likely(found, kinds)
    refuse_several(found, "must hold the probability of class 1", "`probs`")
    if not correct:
        _refuse_confidence(found[0], kinds)
    return Chosen((found[0],), after_prefix(found, logits=logits))


def _usual(kinds: Mapping[str, Kind], logits: bool) -> list[str]:
    """Return the columns that are called as a single one of probabilities usually is."""
    names = usual.LOGIT_SINGLES if logits else usual.SINGLES
    columns = [name for name, kind in kinds.items() if kind != "list"]
    return [n for n in columns if n.lower() in names or after_prefix([n], logits=logits)]


def _likely(named: list[str], kinds: Mapping[str, Kind]) -> list[str]:
    """Leave out columns of hard decisions that stand beside one of probabilities."""
    return [name for name in named if kinds[name] == "float"] or named


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


def _hint(kinds: Mapping[str, Kind], logits: bool) -> str:
    """Say which columns may be meant."""
    other = [name for name in kinds if after_prefix([name], logits=not logits)]
    floats = [name for name, kind in kinds.items() if kind in ("float", "list")]
    if other:
        remedy = f"{'leave out' if logits else 'say so with'} `values='logits'`"
        return f" Are {listed(other[:2])} meant? Then {remedy}."
    return f" Is it {shown(floats[0])}?" if len(floats) == 1 else ""


def refuse_one_hot(label: str, labels: Iterable[str], chosen: Chosen, names: Iterable[str]) -> None:
    """Refuse a column that says of one class whether it occurred: one of several, one-hot.

    Its 0 and 1 would be taken for the first and the second class.
    """
    columns = one_hot_columns(names, chosen)
    if label in columns and {meaning(each) for each in labels} <= ZERO_AND_ONE:
        raise ValueError(
            f"one column must hold the labels of all classes; {label!r} is one of"
            f" {listed(columns, 4)}, which are one-hot. {usual.ONE_HOT}"
        )


def one_hot_columns(names: Iterable[str], chosen: Chosen) -> list[str]:
    """Return columns, beside those of probabilities, that are named after all classes."""
    if len(chosen.classes) < 2:
        return []
    return named_for([name for name in names if name not in chosen.columns], chosen.classes)


def _two_names(labels: Sequence[str], event: str | None, column: str) -> tuple[str, str]:
    """Return the names of class 0 and class 1, whose probability one column holds.

    The column is of the class that it is named for, the `event` after a prefix or its whole name;
    also where 0 is written 0.0 or false is written False, and where every label is the other one.
    """
    found = {meaning(label): _plain(label) for label in labels}
    if event is None and meaning(column) in {*found, *ZERO_AND_ONE}:
        event = column
    names = _spoken(labels) if event is None else _named_for(event, found)
    if names is not None:
        return names
    if not set(found) <= ZERO_AND_ONE:
        raise _not_two(labels)
    names = _zero_and_one(found)
    return names if event is None else _of_event(event, names)


def _not_two(labels: Sequence[str]) -> ValueError:
    """Return the sentence for labels beside 0 and 1; those that are missing can be left out."""
    others = [label for label in labels if meaning(label) not in ZERO_AND_ONE]
    gaps = all(label.lower() in usual.MISSING for label in others)
    return ValueError(
        "the labels beside one column of probabilities must be 0 and 1, or `classes` must name"
        f" class 0 and class 1; found {listed(sorted(labels))}.{usual.remedy(others[0]) * gaps}"
    )


def _spoken(labels: Sequence[str]) -> tuple[str, str] | None:
    """Return labels that say no and yes, in this order, as they are spelled; None for others."""
    spelled = {label.strip().lower(): label for label in labels}
    for pair in ANSWERS:
        if set(spelled) <= set(pair):
            low, high = (spelled.get(word, word) for word in pair)
            return low, high
    return None


def _of_event(event: str, names: tuple[str, str]) -> tuple[str, str]:
    """Return the names for labels 0 and 1; refuse a column that need not be of class 1."""
    if event.lower() in NEGATIONS or not isinstance(meaning(event), str):
        raise ValueError(
            f"one column of probabilities must be of class 1; it is named for {event!r}, and labels"
            f" are {names[0]} and {names[1]}. Name class 0 and class 1 with `classes`."
        )
    return f"not {event}", event


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
