"""All rows of a file, chosen and checked: whole, of one model, or joined with those of others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from calibrant.checks import arrays
from calibrant.checks.labels import Classes, cluster_codes, shown
from calibrant.checks.parameters import Wording, listed
from calibrant.loading import rules
from calibrant.loading.columns import ColumnStore, Loaded, codes, distinct, load_columns
from calibrant.loading.reading import Reading
from calibrant.loading.roles import MODELS, Kind, Options, Roles, find_roles, present, repeated
from calibrant.predictions import Beside, Predictions, frozen

Array = NDArray[Any]
FILE = Wording(  # how sentences speak of the numbers of a file
    probs="the probabilities",
    logits="the logits",
    labels="the labels",
    hint="Are these logits? Then say so with `values='logits'`.",
    rounded_hint="Were they rounded? Then say so with `values='rounded'`.",
    percent_hint="Are these percentages? Then say so with `percent=True`.",
    gap_hint=" Leave out rows without a value with `drop_missing=True`.",
)


@final
@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file."""

    probs: Array  # (n, m)
    labels: Array  # (n,), places of the classes
    classes: tuple[str, ...]
    weights: Array | None  # (n,), as they are in the file
    names: dict[str, pl.Series]  # columns that name the model or the case of a row, or are kept
    reading: Reading
    source: Wording  # how to speak of rows

    def predictions(self) -> Predictions:
        """Return all rows."""
        weights = self.weights
        if weights is not None:
            weights = arrays.weights(weights, len(self.labels), source=self.source)
        return Predictions.trusted(
            self.probs, self.labels, self.classes, weights, 1, self.reading, self._beside()
        )

    def _beside(self) -> Beside:
        """Return clusters and the columns that are kept."""
        names = (self.reading.cluster, *self.reading.kept)
        texts = {
            name: np.asarray(self.names[name].cast(pl.String).to_numpy(), object)
            for name in names
            if name is not None
        }
        clusters = None
        if self.reading.cluster is not None:
            column = texts.pop(self.reading.cluster)
            clusters = frozen(cluster_codes(column, len(column), self.source))
        return Beside(clusters, MappingProxyType(texts))

    def models(self, column: str) -> "dict[str, Table]":
        """Return the rows of each model, in the order of their first rows."""
        names = self.names[column]
        found = names.unique(maintain_order=True).to_list()
        return {str(name): self.some((names == name).arg_true().to_numpy()) for name in found}

    def some(self, rows: Any) -> "Table":
        """Return some rows; a file of these alone would give the same bits."""
        return replace(
            self,
            probs=self.probs.take(rows, axis=0),
            labels=self.labels.take(rows),
            weights=None if self.weights is None else self.weights.take(rows),
            names={name: series.gather(rows) for name, series in self.names.items()},
        )

    def ids(self) -> pl.Series:
        """Return the names of the rows as texts, which must differ."""
        column = str(self.reading.id)
        ids = self.names[column].cast(pl.String)
        twice = _twice(ids)
        if twice:
            raise ValueError(
                f"`id` must name each row once; column {column!r} has {listed(twice)} more than"
                " once. Are there several models? Take each with `model`."
            )
        return ids

    def refuse_mixtures(self) -> None:
        """Refuse rows that seem to be of several models, or copies, if nobody said so.

        What they are is guessed from columns that are called as if they named models or cases.
        """
        for column in self.suspects:
            values = self.names[column].drop_nulls()
            if column.lower() in MODELS:
                found = values.unique(maintain_order=True).to_list()
                if len(found) > 1:
                    raise ValueError(
                        f"rows of several models must not be pooled; column {column!r} names"
                        f" {listed(found, 3)}. Take each with `model`, or set the column aside with"
                        " `keep=…`."
                    )
            elif twice := _twice(values):
                raise ValueError(
                    f"rows must be different cases; column {column!r} has {listed(twice)} more than"
                    " once. Are there several models? Take each with `model`. Was a question asked,"
                    " or a patient seen, more than once? Say so with `cluster`. Else set the"
                    " column aside with `keep=…`."
                )

    @property
    def suspects(self) -> list[str]:
        """Return columns that are called as if they named models or cases; nobody said so."""
        reading = self.reading
        known = {reading.model, reading.id, reading.cluster, *reading.kept}
        return [name for name in self.names if name not in known]


def _twice(ids: pl.Series) -> list[Any]:
    """Return the first value that is there more than once, if one is."""
    return ids.filter(ids.is_duplicated()).head(1).to_list() if ids.n_unique() < len(ids) else []


def read_columns(store: ColumnStore, options: Options) -> Table:
    """Choose the columns, read them once, and check what they hold."""
    ignored = present("ignore", store.kinds, options.ignore)
    kinds = {name: kind for name, kind in store.kinds.items() if name not in ignored}
    roles = find_roles(kinds, options)
    chosen, loaded = rules.by_name(kinds, options, (roles.label, *roles.kept)), None
    if chosen is None:
        rest = {name: kind for name, kind in kinds.items() if name not in roles.taken}
        chosen, loaded = _named_after_labels(store, rest, roles)
        chosen = chosen or rules.single(rest, options.logits, roles.correct)
    loaded = loaded or _load(store, chosen, roles)
    return _checked(loaded, chosen, roles, store, options)


def _named_after_labels(
    store: ColumnStore, rest: Mapping[str, Kind], roles: Roles
) -> tuple[rules.Chosen | None, Loaded | None]:
    """Choose among the columns `rest`, and read them if that shows whether the choice is right.

    The labels of the first rows show which columns these may be. They are read together with
    all labels, so that a good file is read only once.
    """
    if len(rest) < 2:
        return None, None
    first = store.first_labels(roles.label)
    if not rules.are_columns(rest, first):
        return None, None
    guess = rules.by_class(rest, first)
    if guess is None:
        labels = store.read([], [roles.label]).to_series().drop_nulls()
        return rules.by_class(rest, distinct(labels)), None
    loaded = _load(store, guess, roles)
    chosen = rules.by_class(rest, distinct(loaded.label))
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
    source = _source(store, chosen)
    single = k == 1 and not chosen.lists
    if single:
        known = chosen.two(distinct(loaded.label), roles.correct, options)
    else:
        known = chosen.several(k, options)
    rules.refuse_one_hot(roles.label, distinct(loaded.label), chosen, store.kinds)
    weights = None
    if loaded.weight is not None:
        weights = loaded.weight.to_numpy()
        arrays.weights(weights, n, source=source)
    probs = to_probabilities(loaded.matrix[:, 0] if k == 1 else loaded.matrix, options, source)
    labels = codes(loaded.label, known, source)
    refuse_decisions(probs, options)
    correct = roles.correct and single
    reading = reading_of(chosen, roles, known, store.kinds, options, correct)
    count, rows = getattr(store, "dropped", (0, ()))
    nested = tuple(name for name in reading.left_out if store.kinds[name] in ("list", "nested"))
    reading = replace(reading, dropped=count, dropped_rows=rows, nested=nested)
    return Table(probs, labels, known.names, weights, loaded.names, reading, source)


def _source(store: ColumnStore, chosen: rules.Chosen) -> Wording:
    """Return the words for rows and columns; say which were taken, where that was a guess."""
    columns = chosen.columns

    def column(j: int) -> str:
        if chosen.lists:
            return f"entry {j} of column {shown(columns[0])}"
        return f"column {shown(columns[j])}"

    source = replace(FILE, row=store.where, column=column)
    if len(columns) == 1 or chosen.asked:
        return source
    taken = f"The columns {listed(columns, 4)} were taken; others can be named with `probs`. "
    hints = ("hint", "rounded_hint", "percent_hint")
    return replace(source, **{name: taken + getattr(FILE, name) for name in hints})


def reading_of(
    chosen: rules.Chosen,
    roles: Roles,
    known: Classes,
    names: Iterable[str],
    options: Options,
    correct: bool = False,
) -> Reading:
    """Return what was made of the columns or arrays `names`."""
    used = {roles.label, roles.weight, *roles.beside, *chosen.columns}
    return Reading(
        roles.label,
        chosen.columns,
        known.names[1] if len(known.names) == 2 else None,
        roles.weight,
        roles.model,
        roles.id,
        tuple(name for name in names if name not in used),
        roles.cluster,
        roles.kept,
        correct,
        chosen.lists,
        options.logits,
        options.normalize and len(known.names) > 2,
        options.percent,
    )


def to_probabilities(matrix: Array, options: Options, source: Wording) -> Array:
    """Return the probabilities (n, m) that a file holds, as such, as percentages or as logits."""
    if options.percent:
        matrix = matrix / 100
        if matrix.size and np.nanmax(matrix) <= 0.01:
            raise ValueError(
                f"{source.probs} must be percentages, as `percent=True` says; none is above 1."
            )
        source = replace(source, hint="They were divided by 100, as `percent=True` says.")
    if options.logits:
        return arrays.softmax(matrix, owned=True, source=source)
    return arrays.probabilities(matrix, owned=True, source=source, normalize=options.normalize)


def refuse_decisions(probs: Array, options: Options, step: int = 1 << 16) -> None:
    """Refuse probabilities that are all 0 or 1, unless the user named them."""
    if options.probs is not None or options.logits:
        return
    flat = probs.reshape(-1)
    blocks = (flat[start : start + step] for start in range(0, flat.size, step))
    if all(bool(np.logical_or(block == 0, block == 1).all()) for block in blocks):
        raise ValueError(
            "the probabilities must not all be 0 or 1: these are decisions. If they are meant, name"
            " them with `probs`."
        )
