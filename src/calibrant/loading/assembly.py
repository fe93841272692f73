"""From the columns of a file and the user's options to checked rows."""

from collections.abc import Callable, Mapping

from calibrant.checks import arrays
from calibrant.checks.labels import Classes, class_names, shown
from calibrant.checks.parameters import Source, listed
from calibrant.loading import label_values, rules
from calibrant.loading.column_store import ColumnStore, Kind, repeated
from calibrant.loading.matrix import Loaded, load_columns
from calibrant.loading.options import LOGITS_HINT, PERCENT_HINT, ROUNDED_HINT, Options, check_order
from calibrant.loading.reading import Reading
from calibrant.loading.roles import Roles, find_roles, present
from calibrant.loading.table import Table, refuse_decisions, to_probabilities
from calibrant.loading.two_classes import right_or_wrong, two_names


def read_columns(store: ColumnStore, options: Options) -> Table:
    """Choose the columns, read them once, and check what they hold."""
    ignored = present("ignore", store.kinds, options.ignore)
    kinds = {name: kind for name, kind in store.kinds.items() if name not in ignored}
    roles = find_roles(kinds, options)
    chosen = _by_name(kinds, options, roles)
    loaded = None
    if chosen is None:
        chosen, loaded = _by_labels(store, kinds, options, roles)
    if loaded is None:
        loaded = _load(store, chosen, roles)
    return _checked(loaded, chosen, roles, store, options)


def _by_name(kinds: Mapping[str, Kind], options: Options, roles: Roles) -> rules.Chosen | None:
    """Choose columns of probabilities by their names alone, if that is possible."""
    if options.columns is not None:
        return rules.by_request(kinds, options.columns, options.logits)
    rest = {n: kind for n, kind in kinds.items() if n not in (roles.label, *roles.kept)}
    return rules.by_prefix(rest, options.logits) or rules.by_list(rest, options.logits)


def _by_labels(
    store: ColumnStore, kinds: Mapping[str, Kind], options: Options, roles: Roles
) -> tuple[rules.Chosen, Loaded | None]:
    """Choose columns that are named after the labels, or else a single one."""
    rest = {name: kind for name, kind in kinds.items() if name not in roles.taken}
    if len(rest) > 1:
        chosen, loaded = _named_after_labels(store, rest, roles)
        if chosen is not None:
            return chosen, loaded
    return rules.single(rest, options.logits, roles.correct), None


def _named_after_labels(
    store: ColumnStore, rest: Mapping[str, Kind], roles: Roles
) -> tuple[rules.Chosen | None, Loaded | None]:
    """Choose among the columns `rest`, and read them if that shows whether the choice is right.

    The labels of the first rows show which columns these may be. They are read together with
    all labels, so that a good file is read only once.
    """
    first = store.first_labels(roles.label)
    if not rules.are_columns(rest, first):
        return None, None
    guess = rules.by_class(rest, first)
    if guess is None:
        labels = store.read([], [roles.label]).to_series().drop_nulls()
        return rules.by_class(rest, label_values.distinct(labels)), None
    loaded = _load(store, guess, roles)
    chosen = rules.by_class(rest, label_values.distinct(loaded.label))
    return chosen, loaded if chosen == guess else None


def _load(store: ColumnStore, chosen: rules.Chosen, roles: Roles) -> Loaded:
    used = [roles.label, *chosen.columns, *roles.beside]
    twice = repeated(used if roles.weight is None else [*used, roles.weight])
    if twice:
        raise ValueError(
            "a column must be one thing only: label, probability, weight or another; found"
            f" {listed(twice)} twice."
        )
    return load_columns(store, chosen.columns, roles)


def _checked(
    loaded: Loaded, chosen: rules.Chosen, roles: Roles, store: ColumnStore, options: Options
) -> Table:
    n, k = loaded.matrix.shape
    taken = _taken(chosen)
    source = Source(
        store.where,
        _words_for_columns(chosen),
        probs="the probabilities",
        logits="the logits",
        labels="the labels",
        hint=f"{taken}{LOGITS_HINT}",
        rounded_hint=f"{taken}{ROUNDED_HINT}",
        percent_hint=f"{taken}{PERCENT_HINT}",
    )
    known = _classes(loaded, chosen, roles, options)
    weights = None
    if loaded.weight is not None:
        weights = loaded.weight.to_numpy()
        arrays.weights(weights, n, source=source)
    probs = to_probabilities(loaded.matrix[:, 0] if k == 1 else loaded.matrix, options, source)
    codes = label_values.codes(loaded.label, known, source)
    refuse_decisions(probs, options)
    reading = _reading(chosen, roles, known, store, options)
    return Table(probs, codes, known.names, weights, loaded.names, reading, source)


def _words_for_columns(chosen: rules.Chosen) -> Callable[[int], str]:
    if chosen.lists:
        return lambda j: f"entry {j} of column {shown(chosen.columns[0])}"
    return lambda j: f"column {shown(chosen.columns[j])}"


def _reading(
    chosen: rules.Chosen, roles: Roles, known: Classes, store: ColumnStore, options: Options
) -> Reading:
    used = {roles.label, roles.weight, *roles.beside, *chosen.columns}
    return Reading(
        roles.label,
        chosen.columns,
        known.names[1] if len(known.names) == 2 else None,
        roles.weight,
        roles.model,
        roles.id,
        tuple(name for name in store.kinds if name not in used),
        cluster=roles.cluster,
        kept=roles.kept,
        correct=roles.correct and len(chosen.columns) == 1 and not chosen.lists,
        lists=chosen.lists,
        logits=options.logits,
        normalize=options.normalize and len(known.names) > 2,
    )


def _classes(loaded: Loaded, chosen: rules.Chosen, roles: Roles, options: Options) -> Classes:
    k = loaded.matrix.shape[1]
    if chosen.lists:
        return options.name_classes(None, k, [f"entry {j}" for j in range(k)])
    columns = [f"column {name!r}" for name in chosen.columns]
    if len(columns) > 1:
        return options.name_classes(chosen.classes, k, columns)
    return _two_classes(loaded, chosen, roles, options)


def _two_classes(loaded: Loaded, chosen: rules.Chosen, roles: Roles, options: Options) -> Classes:
    """Return the classes of a single column, which is about the second of them."""
    if options.classes is None:
        labels = label_values.distinct(loaded.label)
        event = next(iter(chosen.classes), None)
        right = right_or_wrong(labels) if roles.correct and event is None else None
        return right or Classes(two_names(labels, event, chosen.columns[0]))
    names = class_names(options.classes, 2)
    check_order(names, chosen.classes, [f"column {chosen.columns[0]!r}"] * len(chosen.classes))
    return Classes(names)


def _taken(chosen: rules.Chosen) -> str:
    """Say which columns were taken, where that was a guess."""
    if chosen.asked or len(chosen.columns) == 1:
        return ""
    return f"The columns {listed(chosen.columns, 4)} were taken; others can be named with `probs`. "
