"""The entrance: paths or a frame in, `Predictions` out, every fault one sentence."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from calibrant.checks import convert
from calibrant.checks.files import as_path
from calibrant.loading.columnar import Columnar, arrow, parquet
from calibrant.loading.columns import ColumnStore
from calibrant.loading.delimited import delimited
from calibrant.loading.json_files import json_file, json_lines
from calibrant.loading.npz import npz
from calibrant.loading.options import Options, Values
from calibrant.loading.plain_files import STANDARD_INPUT, one_sentence, plain_file
from calibrant.loading.table import Table, read_columns
from calibrant.predictions import Predictions

# ending → how to open it; arrays of NPZ files are no columns
FORMATS: dict[str, Callable[[Path], ColumnStore] | None] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), delimited),
    **dict.fromkeys((".parquet", ".pq"), parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), arrow),
    ".json": json_file,
    **dict.fromkeys((".jsonl", ".ndjson"), json_lines),
    ".npz": None,
}
COMPRESSED = (".csv", ".tsv", ".tab", ".txt", ".json", ".jsonl", ".ndjson")


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
) -> Predictions:
    r"""Read predictions and labels from a file.

    Parameters
    ----------
    path : str or path-like
        CSV, TSV and text (.csv, .tsv, .tab, .txt), JSON (.json) and JSON lines (.jsonl, .ndjson),
        all of them also compressed with gzip (.csv.gz); Parquet (.parquet, .pq); Arrow and
        Feather (.arrow, .feather, .ipc); NumPy (.npz); ``-`` for standard input.
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
    options = Options(label, probs, classes, weight, values, cluster, keep)
    file = checked_path(path)
    with one_sentence(name_of(path)):
        table = read_table(file, options)
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
) -> Predictions:
    """Take the columns of a pandas, polars or Arrow frame by the rules of `load`.

    `Predictions.from_frame` takes columns that are named, without any rules.

    Parameters
    ----------
    frame : data frame
        Of pandas, polars or Arrow.
    label, probs, classes, weight, values, cluster, keep
        As in `load`.

    Examples
    --------
    >>> import polars as pl
    >>> from_frame(pl.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8], "y": ["cat", "dog"]}))
    Predictions(n=2, m=2, classes=('cat', 'dog'))
    """
    options = Options(label, probs, classes, weight, values, cluster, keep)
    with one_sentence("`frame`"):
        table = read_columns(Columnar.of(convert.to_polars(frame).lazy()), options)
        table.refuse_mixtures()
        return table.predictions()


def read_table(file: Path, options: Options) -> Table:
    """Read and check the rows of a file."""
    if file != STANDARD_INPUT:
        ending(file)
    with plain_file(file) as plain:
        open_columns = _format(plain)
        if open_columns is None:
            return npz(plain, options)
        return read_columns(open_columns(plain), options)


def open_store(plain: Path) -> ColumnStore:
    """Open a file that must have columns."""
    open_columns = _format(plain)
    if open_columns is None:
        raise ValueError("the file must have columns; NPZ has arrays. Use the map in Python.")
    return open_columns(plain)


def _format(plain: Path) -> Callable[[Path], ColumnStore] | None:
    """Return how to open a file, which must not be empty."""
    if not plain.stat().st_size:
        raise ValueError("the file must have a header and rows; it is empty.")
    return FORMATS[ending(plain)]


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


def ending(file: Path) -> str:
    """Return the ending that says what is in the file, without that of a compression."""
    last = file.suffix.lower()
    if last == ".gz" and Path(file.stem).suffix.lower() in COMPRESSED:
        return Path(file.stem).suffix.lower()
    if last in FORMATS:
        return last
    found = repr(file.suffix) if file.suffix else "none"
    raise ValueError(
        f"the ending must say what is in the file: {', '.join(FORMATS)}, or .csv.gz; found {found}."
    )
