"""All rows of a file, checked: whole, of one model, or joined with those of other files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import arrays
from calibrant.checks.labels import cluster_codes
from calibrant.checks.parameters import Source, listed
from calibrant.loading import usual_names as usual
from calibrant.loading.options import Options
from calibrant.loading.reading import Reading
from calibrant.predictions import Beside, Predictions, frozen

if TYPE_CHECKING:
    import polars as pl

Array = NDArray[Any]


@final
@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file.

    Parameters
    ----------
    probs : array (n, m)
        Probabilities.
    labels : array (n,)
        Places of the classes.
    classes : tuple of str
        Names of the classes.
    weights : array (n,), optional
        Weights as they are in the file.
    names : dict
        Columns that name the model or the case of a row, by their names.
    reading : Reading
        Which column is what.
    source : Source
        How to speak of rows.
    """

    probs: Array
    labels: Array
    classes: tuple[str, ...]
    weights: Array | None
    names: dict[str, pl.Series]
    reading: Reading
    source: Source

    def predictions(self, rows: Sequence[int] | None = None) -> Predictions:
        """Return all rows, or some of them; a file of these alone would give the same bits."""
        probs, labels, weights = self.probs, self.labels, self.weights
        if rows is not None:
            probs, labels = probs.take(rows, axis=0), labels.take(rows)
            weights = None if weights is None else weights.take(rows)
        if weights is not None:
            weights = arrays.weights(weights, len(labels), source=self.source)
        beside = self._beside(rows)
        return Predictions.trusted(probs, labels, self.classes, weights, 1, self.reading, beside)

    def _beside(self, rows: Sequence[int] | None) -> Beside:
        """Return clusters and the columns that are kept, of all rows or of some."""
        names = (self.reading.cluster, *self.reading.kept)
        found = {name: self.names[name] for name in names if name is not None}
        if rows is not None:
            found = {name: series.gather(list(rows)) for name, series in found.items()}
        texts = {name: _texts(series) for name, series in found.items()}
        clusters = None
        if self.reading.cluster is not None:
            column = texts.pop(self.reading.cluster)
            clusters = frozen(cluster_codes(column, len(column), self.source))
        return Beside(clusters, MappingProxyType(texts))

    def models(self, column: str) -> dict[str, Table]:
        """Return the rows of each model, in the order of their first rows."""
        names = self.names[column]
        found = names.unique(maintain_order=True).to_list()
        return {str(name): self._some((names == name).arg_true().to_numpy()) for name in found}

    def ids(self) -> pl.Series:
        """Return the names of the rows as texts, which must differ."""
        from polars import String  # noqa: PLC0415 (only files need it)

        column = str(self.reading.id)
        ids = self.names[column].cast(String)
        if ids.n_unique() < len(ids):
            twice = ids.filter(ids.is_duplicated()).head(1).to_list()
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
            if column.lower() not in usual.MODELS:
                _refuse_copies(column, values)
            elif self.reading.model is None:
                _refuse_models(column, values)

    @property
    def suspects(self) -> list[str]:
        """Return columns that are called as if they named models or cases; nobody said so."""
        reading = self.reading
        known = {reading.model, reading.id, reading.cluster, *reading.kept}
        return [name for name in self.names if name not in known]

    def _some(self, rows: Array) -> Table:
        return replace(
            self,
            probs=self.probs.take(rows, axis=0),
            labels=self.labels.take(rows),
            weights=None if self.weights is None else self.weights.take(rows),
            names={name: series.gather(rows) for name, series in self.names.items()},
        )


def _texts(series: pl.Series) -> Array:
    """Return a column as texts (n,)."""
    from polars import String  # noqa: PLC0415 (only files need it)

    return np.asarray(series.cast(String).to_numpy(), object)


def _refuse_models(column: str, names: pl.Series) -> None:
    found = names.unique(maintain_order=True).to_list()
    if len(found) > 1:
        raise ValueError(
            f"rows of several models must not be pooled; column {column!r} names"
            f" {listed(found, 3)}. Take each with `model`, or set the column aside with `keep=…`."
        )


def _refuse_copies(column: str, ids: pl.Series) -> None:
    if ids.n_unique() < len(ids):
        twice = ids.filter(ids.is_duplicated()).head(1).to_list()
        raise ValueError(
            f"rows must be different cases; column {column!r} has {listed(twice)} more than"
            " once. Are there several models? Take each with `model`; else set the column aside"
            " with `keep=…`."
        )


def to_probabilities(matrix: Array, options: Options, source: Source) -> Array:
    """Return the probabilities (n, m) that a file holds, as such or as logits."""
    if options.logits:
        return arrays.softmax(matrix, owned=True, source=source)
    return arrays.probabilities(matrix, owned=True, source=source, normalize=options.normalize)


def refuse_decisions(probs: Array, options: Options) -> None:
    """Refuse probabilities that are all 0 or 1, unless the user named them."""
    if options.probs is None and not options.logits and _all_hard(probs):
        raise ValueError(
            "the probabilities must not all be 0 or 1: these are decisions. If they are meant, name"
            " them with `probs`."
        )


def _all_hard(probs: Array, step: int = 1 << 16) -> bool:
    flat = probs.reshape(-1)
    blocks = (flat[start : start + step] for start in range(0, flat.size, step))
    return all(bool(np.logical_or(block == 0, block == 1).all()) for block in blocks)
