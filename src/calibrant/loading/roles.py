"""The columns beside the probabilities: labels, weights, models and the names of rows.

Here is also what people call the columns of a file of predictions: the only place that knows.
Names are compared in small letters. A column with none of these names is never taken for anything
unless the user says so, or all labels are names of columns.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

from calibrant.checks.parameters import listed
from calibrant.loading.options import Options

LABELS = (
    *("label", "labels", "target", "targets", "y", "y_true", "outcome", "truth", "true_class"),
    *("true_label", "ground_truth", "gold", "actual", "observed", "class"),
)
# whether a prediction was right: labels that go with a confidence
CORRECT = ("correct", "is_correct", "was_correct", "correctness", "hit")
CONFIDENCES = ("confidence", "conf", "top_confidence", "top_prob", "max_prob")
SINGLES = (
    *("prob", "p", "proba", "probability", "score", "y_prob", "y_proba", "y_score", "pred_prob"),
    *("pred_proba", "predicted_prob", "predicted_probability", "prediction", "forecast", "risk"),
    *CONFIDENCES,
)
PREFIXES = ("prob_", "proba_", "p_")
LISTS = (
    *("probs", "prob", "proba", "probas", "probabilities", "p", "y_prob", "y_proba", "y_score"),
    *("scores", "predict_proba"),
)
LOGIT_SINGLES = ("logit", "logits", "score", "y_score")
LOGIT_PREFIXES = ("logit_", "logits_")
LOGIT_LISTS = ("logits", "logit", "scores")
DECISIONS = (
    *("prediction", "predicted", "pred", "y_pred", "predicted_class", "predicted_label"),
    *("pred_label", "answer"),
)
WEIGHTS = ("weight", "weights", "sample_weight", "sample_weights")
MODELS = ("model", "models", "model_name", "model_id", "classifier", "system")
IDS = (
    *("id", "ids", "row_id", "sample_id", "example_id", "case_id", "item_id", "question_id"),
    *("uid", "uuid", "guid"),
)

Kind = Literal["float", "whole", "list", "text", "other"]  # what a column holds


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
    probs = () if options.columns is None else present("probs", kinds, options.columns)
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
    if found:
        raise ValueError(
            f"one column must hold the labels; {listed(found)} could each be it. Choose with"
            " `label`."
        )
    raise ValueError(
        f"one column must hold the labels, and be called {', '.join(LABELS[:7])} or correct; found"
        f" {listed(kinds, 12)}. Name it with `label`."
    )


def _usual_labels(kinds: Mapping[str, Kind]) -> list[str]:
    """Return columns that are called as labels usually are, or as what tells who is right."""
    found = [name for name in kinds if name.lower() in LABELS]
    right = [name for name in kinds if name.lower() in CORRECT]
    return right if right and (not found or _of_predictions(kinds)) else found


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
    if len(found) > 1:
        raise ValueError(
            f"one column may hold weights; {listed(found)} could each be it. Choose with `weight`,"
            " or set the others aside with `keep=…`."
        )
    return found[0] if found else None
