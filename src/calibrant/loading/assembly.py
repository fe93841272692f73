"""From the columns of a file and the user's options to `Predictions`."""

from collections.abc import Mapping, Sequence

from calibrant.checks import arrays
from calibrant.checks.labels import Classes, class_names
from calibrant.checks.parameters import Source, listed
from calibrant.loading import label_values, rules
from calibrant.loading.column_store import ColumnStore, Kind, repeated
from calibrant.loading.matrix import Loaded, load_columns
from calibrant.loading.options import LOGITS_HINT, Options, check_order
from calibrant.loading.two_classes import two_names
from calibrant.predictions import Predictions


def predictions(store: ColumnStore, options: Options) -> Predictions:
    """Choose the columns, read them once, and check what they hold."""
    label = rules.label_column(store.kinds, options.label)
    weight: tuple[str, ...] = ()
    if options.weight is not None:
        weight = rules.present("weight", store.kinds, [options.weight])
    chosen = _by_name(store, options, label)
    loaded = None
    if chosen is None:
        chosen, loaded = _by_labels(store, options, label, weight)
    if loaded is None:
        loaded = _load(store, chosen, label, weight)
    return _checked(loaded, chosen, store, options)


def _by_name(store: ColumnStore, options: Options, label: str) -> rules.Chosen | None:
    """Choose columns of probabilities by their names alone, if that is possible."""
    if options.columns is not None:
        return rules.by_request(store.kinds, options.columns, options.logits)
    rest = {name: kind for name, kind in store.kinds.items() if name != label}
    return rules.by_prefix(rest, options.logits)


def _by_labels(
    store: ColumnStore, options: Options, label: str, weight: Sequence[str]
) -> tuple[rules.Chosen, Loaded | None]:
    """Choose columns that are named after the labels, or else a single one."""
    rest = {name: kind for name, kind in store.kinds.items() if name not in (label, *weight)}
    if len(rest) > 1:
        chosen, loaded = _named_after_labels(store, rest, label, weight)
        if chosen is not None:
            return chosen, loaded
    return rules.single(rest, options.logits), None


def _named_after_labels(
    store: ColumnStore, rest: Mapping[str, Kind], label: str, weight: Sequence[str]
) -> tuple[rules.Chosen | None, Loaded | None]:
    """Choose among the columns `rest`, and read them if that shows whether the choice is right.

    The labels of the first rows show which columns these may be. They are read together with
    all labels, so that a good file is read only once.
    """
    first = store.first_labels(label)
    if not rules.are_columns(rest, first):
        return None, None
    guess = rules.by_class(rest, first)
    if guess is None:
        labels = store.read([], label).to_series().drop_nulls()
        return rules.by_class(rest, label_values.distinct(labels)), None
    loaded = _load(store, guess, label, weight)
    chosen = rules.by_class(rest, label_values.distinct(loaded.label))
    return chosen, loaded if chosen == guess else None


def _load(store: ColumnStore, chosen: rules.Chosen, label: str, weight: Sequence[str]) -> Loaded:
    twice = repeated([label, *chosen.columns, *weight])
    if twice:
        raise ValueError(
            "a column must be one thing only: label, probability or weight; found"
            f" {listed(twice)} twice."
        )
    return load_columns(store, chosen.columns, label, weight)


def _checked(
    loaded: Loaded, chosen: rules.Chosen, store: ColumnStore, options: Options
) -> Predictions:
    n, k = loaded.matrix.shape
    source = Source(
        store.where,
        lambda j: f"column {chosen.columns[j]!r}",
        probs="the probabilities",
        logits="the logits",
        labels="the labels",
        hint=_hint(chosen, options),
    )
    known = _classes(loaded, chosen, options)
    weights = None
    if loaded.weight is not None:
        weights = arrays.weights(loaded.weight.to_numpy(), n, source=source)
    make = arrays.softmax if options.logits else arrays.probabilities
    probs = make(loaded.matrix[:, 0] if k == 1 else loaded.matrix, owned=True, source=source)
    codes = label_values.codes(loaded.label, known, source)
    return Predictions.trusted(probs, codes, known.names, weights, event=1)


def _classes(loaded: Loaded, chosen: rules.Chosen, options: Options) -> Classes:
    columns = [f"column {name!r}" for name in chosen.columns]
    if len(columns) > 1:
        return options.name_classes(chosen.classes, len(columns), columns)
    if options.classes is None:
        event = next(iter(chosen.classes), None)
        labels = label_values.distinct(loaded.label)
        return Classes(two_names(labels, event, chosen.columns[0]))
    names = class_names(options.classes, 2)
    check_order(names, chosen.classes, columns[: len(chosen.classes)])
    return Classes(names)


def _hint(chosen: rules.Chosen, options: Options) -> str:
    """Return the likely causes of numbers that are no probabilities."""
    if options.probs is not None or len(chosen.columns) == 1:
        return LOGITS_HINT
    return (
        f"The columns {listed(chosen.columns, 4)} were taken; others can be named with `probs`."
        f" {LOGITS_HINT}"
    )
