"""What the user says about columns, and which of them are labels, weights, models and names.

Here is also what people call the columns of a file of predictions: the only place that knows, but
for prefixes of columns that are named for a class, which `checks.convert` knows.
Names are compared in small letters. A column with none of these names is never taken for anything
unless the user says so, or all labels are names of columns.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, final, get_args

from calibrant.checks.convert import LOGIT_PREFIXES, PREFIXES, after_prefix, has_prefix
from calibrant.checks.labels import Classes, as_tuple, class_names, meaning, named_for
from calibrant.checks.parameters import brief, listed, one_of, truth

LABELS = (
    *("label", "labels", "target", "targets", "y", "y_true", "outcome", "truth", "true_class"),
    *("true_label", "ground_truth", "gold", "actual", "observed", "class"),
)
EVENTS = ("event", "events", "obs")  # labels, where nothing is called as those are
# whether a prediction was right: labels that go with a confidence
CORRECT = ("correct", "is_correct", "was_correct", "correctness", "hit")
CONFIDENCES = ("confidence", "conf", "top_confidence", "top_prob", "max_prob")
SINGLES = (
    *("prob", "p", "proba", "probability", "score", "y_prob", "y_proba", "y_score", "pred_prob"),
    *("pred_proba", "predicted_prob", "predicted_probability", "prediction", "forecast", "risk"),
    *CONFIDENCES,
)
LISTS = (
    *("probs", "prob", "proba", "probas", "probabilities", "p", "y_prob", "y_proba", "y_score"),
    *("scores", "predict_proba"),
)
LOGIT_SINGLES = ("logit", "logits", "score", "y_score")
LOGIT_LISTS = ("logits", "logit", "scores")
DECISIONS = (
    *("prediction", "predicted", "pred", "y_pred", "predicted_class", "predicted_label"),
    *("pred_label", "answer"),
)
WEIGHTS = ("weight", "weights", "sample_weight", "sample_weights")
MODELS = ("model", "models", "model_name", "model_id", "classifier", "system")
IDS = (
    *("id", "ids", "row_id", "sample_id", "example_id", "case_id", "item_id", "question_id"),
    *("uid", "uuid", "guid", "patient_id", "subject_id", "participant_id"),
)
MISSING = ("na", "n/a", "nan", "null", "none", "-", "?", "#n/a", "missing", ".")

ONE_HOT = (  # what to do with columns of labels, one for each class
    "Make one column of them that names the class of each row, or look at one class alone: its"
    " column as `label`, and that of its probability as `probs`."
)

Kind = Literal["float", "whole", "list", "nested", "text", "other"]  # what a column holds
Values = Literal["probabilities", "rounded", "logits"]


class Notation(TypedDict, total=False):
    """How numbers are written, as keywords of `load`."""

    percent: bool
    decimal_comma: bool
    drop_missing: bool


def remedy(cell: str) -> str:
    """Return what may help where a number cannot be read."""
    if cell.lower() in MISSING:
        return " A missing value cannot be evaluated: leave out such rows with `drop_missing=True`."
    if "," in cell:
        return " Write decimal points, or say that there are commas with `decimal_comma=True`."
    if cell.endswith("%"):
        return " Write 0.25, or say that there are percentages with `percent=True`."
    return ""


class ColumnOptions(Notation, total=False):
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
    percent: bool = False  # values are percentages
    decimal_comma: bool = False  # numbers may have commas for points
    drop_missing: bool = False  # rows that lack a value are left out

    def __post_init__(self) -> None:
        for option in ("label", "weight", "cluster", "model", "id"):
            value = getattr(self, option)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"`{option}` must be the name of a column; found {brief(value)}.")
        for option in ("probs", "keep", "ignore"):
            if getattr(self, option) is not None:  # what can be read only once is read here
                object.__setattr__(self, option, _names(option, getattr(self, option)))
        one_of("values", self.values, get_args(Values))
        self._check_notation()

    def _check_notation(self) -> None:
        for option in ("percent", "decimal_comma", "drop_missing"):
            truth(option, getattr(self, option))
        if self.percent and self.values == "logits":
            raise ValueError("`percent` must not be given with logits, which are no percentages.")

    @property
    def logits(self) -> bool:
        """Whether the columns hold logits."""
        return self.values == "logits"

    @property
    def normalize(self) -> bool:
        """Whether rows are divided by their sums."""
        return self.values == "rounded"

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


@final
@dataclass(frozen=True, slots=True)
class Roles:
    """Which column holds what, beside the probabilities."""

    label: str
    weight: str | None
    model: str | None  # where the user says so, as with id and cluster
    id: str | None
    cluster: str | None
    kept: tuple[str, ...]  # beside the predictions
    suspects: tuple[str, ...]  # called as if they named models or cases; nobody said so

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns that the user says more about rows with."""
        named = (self.model, self.id, self.cluster)
        return (*(name for name in named if name is not None), *self.kept)

    @property
    def correct(self) -> bool:
        """Whether the labels say that predictions are right."""
        return self.label.lower() in CORRECT

    @property
    def taken(self) -> tuple[str, ...]:
        """Return all of these columns."""
        weight = () if self.weight is None else (self.weight,)
        return (self.label, *weight, *self.beside, *self.suspects)


def find_roles(kinds: Mapping[str, Kind], options: Options) -> Roles:
    """Return the columns that the user names, and those with usual names."""
    kept = present("keep", kinds, options.keep)
    label = _label(kinds, options, kept)
    asked = {role: _asked(kinds, options, role) for role in ("model", "id", "cluster")}
    probs = () if options.probs is None else present("probs", kinds, options.probs)
    taken = {label, *asked.values(), *kept, *probs}
    free = {name: kind for name, kind in kinds.items() if name not in taken}
    models = _called(free, MODELS, "whole", "text") if options.model is None else []
    ids = _called(free, IDS, "whole", "text") if options.id is None else []
    weight = _weight(kinds, free, options)
    return Roles(label, weight, **asked, kept=kept, suspects=(*models, *ids))


def _asked(kinds: Mapping[str, Kind], options: Options, role: str) -> str | None:
    """Return the column that the user names for a role."""
    name = getattr(options, role)
    return None if name is None else present(role, kinds, [name])[0]


def _called(columns: Mapping[str, Kind], names: Collection[str], *kinds: Kind) -> list[str]:
    """Return the columns of some kinds that have one of some names."""
    return [name for name, kind in columns.items() if name.lower() in names and kind in kinds]


def present(option: str, names: Collection[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the names asked for as the columns spell them, or refuse those that are missing."""
    known = {name.strip().lower(): name for name in reversed(list(names))}
    exact = set(names)
    columns = [name if name in exact else known.get(name.strip().lower()) for name in asked]
    missing = [name for name, column in zip(asked, columns, strict=True) if column is None]
    if missing:
        raise ValueError(
            f"`{option}` must name columns; {listed(missing)} not among {listed(names, 12)}."
        )
    found = tuple(map(str, columns))
    twice = repeated(found)
    if twice:
        raise ValueError(f"`{option}` must name different columns; found {listed(twice)} twice.")
    return found


def refuse_several(found: Sequence[str], what: str, remedy: str) -> None:
    """Refuse columns of which each could be what only one is."""
    if len(found) > 1:
        raise ValueError(
            f"one column {what}; {listed(found)} could each be it. Choose with {remedy}."
        )


def spelled(names: Collection[str]) -> dict[str, str]:
    """Return the names by what they are without spaces around them, which must differ."""
    twice = repeated(name.strip() for name in names)
    if twice:
        raise ValueError(f"columns must have different names; found {listed(twice)} twice.")
    return {name.strip(): name for name in names}


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _label(kinds: Mapping[str, Kind], options: Options, kept: Sequence[str]) -> str:
    """Return the column of labels: the one asked for, or the only one with a usual name."""
    if options.label is not None:
        return present("label", kinds, [options.label])[0]
    found = _usual_labels({name: kind for name, kind in kinds.items() if name not in kept})
    if len(found) == 1:
        return found[0]
    refuse_several(found, "must hold the labels", "`label`")
    _refuse_kept(_usual_labels({name: kind for name, kind in kinds.items() if name in kept}))
    raise ValueError(
        f"one column must hold the labels, and be called {', '.join(LABELS[:7])} or correct; found"
        f" {listed(kinds, 12)}. {_one_hot(kinds) or _name_it(kinds, options)}"
    )


def _name_it(kinds: Mapping[str, Kind], options: Options) -> str:
    """Say what names the labels; and the probabilities, where no column is called as they are."""
    usual = {*SINGLES, *LISTS, *LOGIT_SINGLES, *LOGIT_LISTS}
    begin = (*PREFIXES, *LOGIT_PREFIXES)
    if options.probs is not None or any(n.lower() in usual or n.startswith(begin) for n in kinds):
        return "Name it with `label`."
    rest = "the probabilities with `probs`, unless their columns are named after the labels"
    return f"Name it with `label`, and {rest}."


def _refuse_kept(labels: Sequence[str]) -> None:
    """Refuse to make groups of rows by the labels themselves."""
    if labels:
        raise ValueError(
            f"`keep` must name other columns than that of the labels, {labels[0]!r}: rows that are"
            " chosen by their outcomes cannot be calibrated. Name another with `label` if it does"
            " not hold them."
        )


def _one_hot(names: Collection[str]) -> str:
    """Say which columns look as if they were labels, one for each class; nothing if none do."""
    for prefix in PREFIXES:
        family = [name for name in names if has_prefix(name, prefix)]
        others = [name for name in names if name not in family]
        found = named_for(others, after_prefix(family)) if len(family) > 1 else []
        if found:
            return f"Are {listed(found, 4)} labels, one-hot? {ONE_HOT}"
    return ""


def _usual_labels(kinds: Mapping[str, Kind]) -> list[str]:
    """Return columns that are called as labels usually are, or as what tells who is right."""
    found, right = _among(kinds, LABELS), _among(kinds, CORRECT)
    if right and (not found or _of_predictions(kinds)):
        return right
    return found or _among(kinds, EVENTS)


def _among(names: Iterable[str], known: Collection[str]) -> list[str]:
    return [name for name in names if name.lower() in known]


def _of_predictions(kinds: Mapping[str, Kind]) -> bool:
    """Whether there is a confidence in a prediction, and no probabilities of the classes."""
    if "list" in kinds.values() or sum(n.lower().startswith(PREFIXES) for n in kinds) > 1:
        return False
    return any(name.lower() in CONFIDENCES for name in kinds)


def _weight(kinds: Mapping[str, Kind], free: Mapping[str, Kind], options: Options) -> str | None:
    """Return the column of weights: the one asked for, or the only one with a usual name."""
    if options.weight is not None:
        return present("weight", kinds, [options.weight])[0]
    found = _called(free, WEIGHTS, "whole", "float")
    remedy = "`weight`, or set the others aside with `keep=…`"
    refuse_several(found, "may hold weights", remedy)
    return found[0] if found else None
