"""Several models: one file each, or one long file, row by row or joined by the rows' names."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from calibrant.checks.parameters import brief, listed
from calibrant.loading.files import checked_path, name_of, read_table
from calibrant.loading.options import Columns, Options
from calibrant.loading.plain_files import one_sentence
from calibrant.loading.roles import MODELS
from calibrant.loading.table import Table
from calibrant.predictions import Predictions

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def load_models(
    paths: Paths,
    *,
    model: str | None = None,
    id: str | None = None,
    paired: bool = True,
    **columns: Unpack[Columns],
) -> dict[str, Predictions]:
    r"""Read several models, from a file each or from a long file that names the model of each row.

    Parameters
    ----------
    paths : path, or sequence of paths
        The files, as in `load`.
    model : str, optional
        Name of the column that says which model a row is of. ``model=NAME`` takes one of them.
    id : str, optional
        Name of the column that names each row. Rows of different models that have the same name
        are put side by side; rows that a model lacks are left out of all.
    paired : bool, default True
        Whether row i must be the same for all models. Then files that name their rows in
        different orders are refused, unless `id` joins them.
    **columns
        As in `load`; and `ignore`, columns that are left out, whatever they are called.

    Returns
    -------
    dict of str to Predictions
        By the names of the models in the long file, or of the files without their endings.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "long.csv")
    >>> _ = path.write_text("model,id,y,p\na,1,0,0.25\na,2,1,0.75\nb,2,1,0.5\nb,1,0,0.5\n")
    >>> models = load_models(path, model="model", id="id")
    >>> {name: data.probs[:, 1].tolist() for name, data in models.items()}
    {'a': [0.25, 0.75], 'b': [0.5, 0.5]}
    """
    column, chosen = _column_and_choice(model)
    options = Options(**columns, model=column, id=id)
    tables: dict[str, Table] = {}
    for name, path in _named(paths).items():
        with one_sentence(name_of(path)):
            for key, table in _models(name, read_table(checked_path(path), options)).items():
                if key in tables:
                    raise ValueError(f"models must have different names; found {brief(key)} twice.")
                tables[key] = table
    if chosen is not None:
        tables = {chosen: _chosen(tables, chosen)}
    if id is not None:
        return _joined(tables)
    if paired:
        _refuse_other_orders(tables)
    return {name: table.predictions() for name, table in tables.items()}


def _named(paths: Paths) -> dict[str, Any]:
    """Return files by their names without ending, or by their paths where two names are equal."""
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [checked_path(path) for path in several]
    stems = Counter(_stem(file) for file in files)
    named = {
        _stem(file) if stems[_stem(file)] == 1 else str(file): path
        for file, path in zip(files, several, strict=True)
    }
    if len(named) < len(files):
        raise ValueError("`paths` must be different files; found one twice.")
    return named


def _stem(file: Path) -> str:
    return name_of(file) if str(file) == "-" else file.stem


def _column_and_choice(model: str | None) -> tuple[str | None, str | None]:
    """Split ``model=NAME`` into the column and the model that is meant."""
    if not isinstance(model, str) or "=" not in model:
        return model, None
    column, _, chosen = model.partition("=")
    return column, chosen


def _models(name: str, table: Table) -> dict[str, Table]:
    """Return the models of a file by their names; its own name if it does not tell them apart."""
    column = table.reading.model
    parts = {name: table} if column is None else table.models(column)
    for part in parts.values():
        part.refuse_mixtures()
    return parts


def _chosen(tables: Mapping[str, Table], chosen: str) -> Table:
    if chosen not in tables:
        raise ValueError(f"`model` must choose a model; {chosen!r} not among {listed(tables)}.")
    return tables[chosen]


def _joined(tables: Mapping[str, Table]) -> dict[str, Predictions]:
    """Return the rows that all models have, in the order of the first."""
    ids = {name: table.ids() for name, table in tables.items()}
    first = next(iter(ids.values()))
    for other in ids.values():
        first = first.filter(first.is_in(other.implode()))
    if not len(first):
        raise ValueError("`id` must name rows that all models have; there is none.")
    found = {}
    for name, table in tables.items():
        places = {key: row for row, key in enumerate(ids[name].to_list())}
        found[name] = table.predictions([places[key] for key in first.to_list()])
    return found


def _refuse_other_orders(tables: Mapping[str, Table]) -> None:
    """Refuse models whose rows have names that differ, where nobody said that they are joined."""
    (first, a), *others = tables.items()
    for column in a.suspects:
        if column.lower() in MODELS:
            continue
        for name, b in others:
            if column in b.names and not a.names[column].equals(b.names[column]):
                raise ValueError(
                    f"`models` must have the same rows in the same order; column {column!r} of"
                    f" {first!r} and {name!r} differs. Join them with `id`, or use `paired=False`."
                )
