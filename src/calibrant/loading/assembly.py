"""From a table and the user's options to `Predictions`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from calibrant.checks import arrays
from calibrant.checks.parameters import Source, listed
from calibrant.loading import labels, rules
from calibrant.loading.reading import Read, read
from calibrant.loading.table import Table
from calibrant.predictions import Predictions

if TYPE_CHECKING:
    import polars as pl

LOGITS = "Are these logits? Then say so with `logits`."


@final
@dataclass(frozen=True, slots=True)
class Options:
    """What the user says about the columns; None where the rules shall find them."""

    label: str | None = None
    probs: str | Sequence[str] | None = None
    classes: Sequence[Any] | None = None
    weight: str | None = None
    logits: bool = False

    def __post_init__(self) -> None:
        for name in ("label", "weight"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"`{name}` must be the name of a column; found {value!r}.")
        if self.probs is None or isinstance(self.probs, str):
            return
        names = arrays.as_tuple(self.probs) if hasattr(self.probs, "__iter__") else (None,)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"`probs` must be names of columns; found {self.probs!r}.")
        object.__setattr__(self, "probs", names)  # what can be read only once is read here

    @property
    def columns(self) -> Sequence[str] | None:
        """Return the columns of probabilities that were asked for."""
        return [self.probs] if isinstance(self.probs, str) else self.probs


def predictions(table: Table, options: Options) -> Predictions:
    """Choose the columns, read them once, and check what they hold."""
    label = rules.label_column(table.kinds, options.label)
    weight = [] if options.weight is None else [*_weight(table, options.weight)]
    chosen = _probabilities(table, options, label, weight)
    used = [*chosen.columns, *weight]
    twice = sorted({name for name in (label, *weight) if [label, *used].count(name) > 1})
    if twice:
        raise ValueError(
            "a column must be one thing only: label, probability or weight; found"
            f" {listed(twice)} twice."
        )
    return _checked(read(table, chosen.columns, label, weight), chosen, table, options)


def _weight(table: Table, asked: str) -> tuple[str, ...]:
    return rules.present("weight", table.kinds, [asked])


def _probabilities(
    table: Table, options: Options, label: str, weight: Sequence[str]
) -> rules.Chosen:
    if options.columns is not None:
        return rules.by_request(table.kinds, options.columns, options.logits)
    rest = {name: kind for name, kind in table.kinds.items() if name != label}
    found = rules.by_prefix(rest, options.logits)
    rest = {name: kind for name, kind in rest.items() if name not in weight}
    if found is None and len(rest) > 1:
        values = labels.distinct(table.read([], label).to_series().drop_nulls())
        found = rules.by_class(rest, values)
    return rules.single(rest, options.logits) if found is None else found


def _checked(found: Read, chosen: rules.Chosen, table: Table, options: Options) -> Predictions:
    n, m = found.matrix.shape
    source = Source(table.place, lambda j: f"column {chosen.columns[j]!r}", _hint(chosen, options))
    if m == 1:
        names = columns = _two(found.label, chosen, options)
    else:
        names = arrays.names(chosen.classes if options.classes is None else _given(options), m)
        columns = chosen.classes
    if options.classes is not None and chosen.classes:
        labels.check_order(names, chosen.classes, [f"column {name!r}" for name in chosen.columns])
    weights = None
    if found.weight is not None:
        weights = arrays.weights(found.weight.to_numpy(), n, source=source)
    make = arrays.softmax if options.logits else arrays.probabilities
    numbers = found.matrix[:, 0] if m == 1 else found.matrix
    probs = make(numbers, owned=True, source=source)
    outcomes = labels.positions(found.label, names, columns, table.place)
    return Predictions.trusted(probs, outcomes, names, weights, event=1)


def _two(label: pl.Series, chosen: rules.Chosen, options: Options) -> tuple[str, ...]:
    given = _given(options)
    if given is not None:
        return arrays.names(given, 2)
    event = next(iter(chosen.classes), None)
    return labels.binary_names(labels.distinct(label), event, chosen.columns[0])


def _given(options: Options) -> Sequence[Any] | None:
    classes = options.classes
    return classes if classes is None or isinstance(classes, str) else arrays.as_tuple(classes)


def _hint(chosen: rules.Chosen, options: Options) -> str:
    """Return the likely causes of numbers that are no probabilities."""
    if options.probs is not None or len(chosen.columns) == 1:
        return LOGITS
    return (
        f"The columns {listed(chosen.columns, 4)} were taken; others can be named with `probs`."
        f" {LOGITS}"
    )
