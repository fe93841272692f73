"""The entrance: paths or a frame in, `Predictions` of one model or of several out.

Every fault is one sentence. What loads polars is imported when something is read.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from calibrant.checks.convert import is_frame
from calibrant.checks.files import as_path
from calibrant.checks.labels import spelled_out
from calibrant.checks.parameters import brief, listed
from calibrant.loading.plain_files import STANDARD_INPUT, one_sentence
from calibrant.loading.roles import MODELS, ColumnOptions, Notation, Options, Values
from calibrant.predictions import Predictions

if TYPE_CHECKING:
    from calibrant.loading.table import Table

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def load(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    weight: str | None = None,
    values: Values = "probabilities",
    cluster: str | None = None,
    keep: str | Sequence[str] = (),
    **notation: Unpack[Notation],
) -> Predictions:
    r"""Read predictions and labels from a file.

    Parameters
    ----------
    path : str or path-like
        CSV, TSV and text (.csv, .tsv, .tab, .txt), JSON (.json) and JSON lines (.jsonl, .ndjson),
        all of them also compressed with gzip, bzip2 or zstd (.csv.gz, .csv.bz2, .csv.zst);
        Parquet (.parquet, .pq); Arrow and Feather (.arrow, .feather, .ipc); NumPy (.npz); Excel
        (.xlsx), Stata (.dta) and SPSS (.sav); samples of lm-evaluation-harness (.jsonl), logs of
        inspect_ai (.eval, .json) and statistics of HELM (.json); ``-`` for standard input.
    label : str, optional
        Name of the column of labels. Default: the only one with a usual name, such as label,
        target, y, y_true, outcome; or correct, beside a confidence.
    probs : str or sequence of str, optional
        Names of the columns of probabilities, or of the only one. Default: ``prob_<class>``,
        ``proba_<class>`` or ``p_<class>``; else a column of lists called probs; else the columns
        of floats, if every label is the name of one of them; else a single column with a usual
        name, such as prob, score or confidence, which is P(class 1) of a binary problem.
    classes : sequence, optional
        Names of the classes in the order of the columns. They replace the names that the
        columns have, and must not be those names in another order. Of a single column: class 0,
        then class 1.
    weight : str, optional
        Name of the column of weights. Default: the only one called weight or sample_weight.
    values : {"probabilities", "rounded", "logits"}, default "probabilities"
        What the columns hold. "rounded": rows whose sums are between 0.5 and 1.5 are divided by
        them. "logits": the columns are ``logit_<class>``, or those named by `probs`.
    cluster : str, optional
        Name of the column that says which rows depend on each other: patient, document, day.
    keep : str or sequence of str, default ()
        Columns that are kept beside the predictions, for `slices`. They are taken for nothing
        else, whatever they are called: neither for weights nor for names of models or rows.
    percent : bool, default False
        Whether the columns hold percentages: 90, or texts such as "90 %".
    decimal_comma : bool, default False
        Whether numbers may be written with a comma for the point: 0,25.
    drop_missing : bool, default False
        Whether rows that lack a value in a column that is used are left out. ``reading`` says how
        many these were, and which.

    Returns
    -------
    Predictions
        float32 stays float32. Labels are read as `Predictions` reads them: as names of classes
        or the numbers that name them, or, where no class is named by a number, as the places
        0, …, m-1. ``reading`` says which column was taken for what.

    Notes
    -----
    Names of columns are compared without case and without spaces around them. Only the columns
    that are used are kept in memory, and copied once. An NPZ file holds the arrays `probs` (or
    `logits`) and `labels`, and `classes` and `weights` if it has them; nothing is unpickled.

    A guess that could be wrong is refused: a column whose name says nothing, probabilities that
    are all 0 or 1, rows of several models, rows that are there twice.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "predictions.csv")
    >>> _ = path.write_text("label,prob_cat,prob_dog\ncat,0.7,0.3\ndog,0.2,0.8\n")
    >>> data = load(path)
    >>> data
    Predictions(n=2, m=2, classes=('cat', 'dog'))
    >>> print(data.reading)
    Read labels from 'label' and probabilities from 'prob_cat' and 'prob_dog'; the event is dog.
    """
    from calibrant.loading.formats import read_file  # noqa: PLC0415

    options = Options(label, probs, classes, weight, values, cluster, keep, **notation)
    file = checked_path(path)
    with one_sentence(name_of(path)):
        table = read_file(file, options)
        table.refuse_mixtures()
        return table.predictions()


def from_frame(
    frame: Any,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    weight: str | None = None,
    values: Values = "probabilities",
    cluster: str | None = None,
    keep: str | Sequence[str] = (),
    **notation: Unpack[Notation],
) -> Predictions:
    """Take the columns of a pandas, polars or Arrow frame by the rules of `load`.

    `Predictions.from_frame` takes columns that are named, without any rules.

    Parameters
    ----------
    frame : data frame
        Of pandas, polars or Arrow.
    label, probs, classes, weight, values, cluster, keep, percent, decimal_comma, drop_missing
        As in `load`.

    Examples
    --------
    >>> import polars as pl
    >>> from_frame(pl.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8], "y": ["cat", "dog"]}))
    Predictions(n=2, m=2, classes=('cat', 'dog'))
    """
    from calibrant.loading.formats import read_frame  # noqa: PLC0415

    options = Options(label, probs, classes, weight, values, cluster, keep, **notation)
    with one_sentence("`frame`"):
        table = read_frame(frame, options)
        table.refuse_mixtures()
        return table.predictions()


def load_models(
    paths: Any,
    *,
    model: str | None = None,
    id: str | None = None,
    paired: bool = True,
    **columns: Unpack[ColumnOptions],
) -> dict[str, Predictions]:
    r"""Read several models: one file each, or one long file with a column of model names.

    Parameters
    ----------
    paths : path, sequence of paths, data frame, or mapping of str to data frame
        The files, as in `load`; or a long frame of pandas, polars or Arrow, or one of each model.
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
        By the names of the models in the long file, or of the files without their endings; of logs
        of language models, by their model and task.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "long.csv")
    >>> _ = path.write_text("model,id,y,p\na,1,0,0.25\na,2,1,0.75\nb,2,1,0.5\nb,1,0,0.5\n")
    >>> models = load_models(path, model="model", id="id")
    >>> {name: data.probs[:, 1].tolist() for name, data in models.items()}
    {'a': [0.25, 0.75], 'b': [0.5, 0.5]}
    """
    column, chosen = model, None
    if isinstance(model, str) and "=" in model:
        column, _, chosen = model.partition("=")
    tables = _read_models(paths, Options(**columns, model=column, id=id))
    if chosen is not None:
        if chosen not in tables:
            raise ValueError(f"`model` must choose a model; {chosen!r} not among {listed(tables)}.")
        tables = {chosen: tables[chosen]}
    if id is not None:
        return _joined(tables)
    if paired:
        _refuse_other_orders(tables)
    return {name: table.predictions() for name, table in tables.items()}


def _read_models(paths: Any, options: Options) -> "dict[str, Table]":
    """Return the models of files by their names; a file that does not tell them has one."""
    tables: dict[str, Table] = {}
    for name, words, read in _sources(paths):
        with one_sentence(words):
            table = read(options)
            column = table.reading.model
            parts = {name: table} if column is None else table.models(column)
            for key, part in parts.items():
                part.refuse_mixtures()
                if key in tables:
                    raise ValueError(f"models must have different names; found {brief(key)} twice.")
                tables[key] = part
    return tables


def _sources(paths: Any) -> "Iterator[tuple[str, str, Callable[[Options], Table]]]":
    """Yield the name of each file, or of a frame, the words for it, and what reads it."""
    from calibrant.loading.formats import read_file, read_frame  # noqa: PLC0415

    if is_frame(paths):
        yield "the frame", "`frame`", partial(read_frame, paths)
        return
    if isinstance(paths, Mapping) and paths and all(map(is_frame, paths.values())):
        for name, frame in paths.items():
            yield name, f"the frame of {name!r}", partial(read_frame, frame)
        return
    for name, file in _named(paths).items():
        yield name, name_of(file), partial(read_file, file)


def _named(paths: Paths) -> dict[str, Path]:
    """Return files by what they tell or are called, or by their paths where that is the same."""
    files = [checked_path(path) for path in _several(paths)]
    stems = [spelled_out(_stem(file)) for file in files]
    counts = Counter(stems)
    named = {
        stem if counts[stem] == 1 else str(file): file
        for stem, file in zip(stems, files, strict=True)
    }
    if len(named) < len(files):
        raise ValueError("`paths` must be different files; found one twice.")
    return named


def _stem(file: Path) -> str:
    """Return what a file tells of its name, or else what it is called."""
    from calibrant.loading.language_models import title  # noqa: PLC0415

    return "standard input" if file == STANDARD_INPUT else title(file) or file.stem


def _several(paths: Paths) -> Sequence[str | os.PathLike[str]]:
    """Return paths as a list of at least one."""
    several: Any = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(several, Sequence):
        raise TypeError(f"`paths` must be a path, or a list of paths; found {brief(paths)}.")
    if not several:
        raise ValueError("`paths` must name at least one file; found none.")
    return several


def _joined(tables: "Mapping[str, Table]") -> dict[str, Predictions]:
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
        reading = replace(table.reading, unmatched=len(places) - len(first))
        part = table.some([places[key] for key in first.to_list()])
        found[name] = replace(part, reading=reading).predictions()
    return found


def _refuse_other_orders(tables: "Mapping[str, Table]") -> None:
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


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that is there, or of standard input."""
    file = as_path(path)
    if file == STANDARD_INPUT:
        return file
    if file.is_dir():
        raise ValueError(f"`path` must be a file; {str(path)!r} is a folder.")
    if not file.exists():
        raise FileNotFoundError(f"`path` must be a file; {str(path)!r} does not exist.")
    if not file.is_file():
        raise ValueError(f"`path` must be a plain file; {str(path)!r} is not.")
    return file


def name_of(path: Any) -> str:
    """Return the words for a file."""
    return "standard input" if str(path) == "-" else str(path)
