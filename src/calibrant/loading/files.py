"""The entrance: a path or a frame in, `Predictions` out, every fault one sentence."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from calibrant.checks import convert
from calibrant.loading.assembly import predictions
from calibrant.loading.column_store import ColumnStore
from calibrant.loading.columnar import Columnar, arrow, parquet
from calibrant.loading.delimited import delimited
from calibrant.loading.json_lines import json_lines
from calibrant.loading.npz import npz
from calibrant.loading.options import Options
from calibrant.predictions import Predictions

# ending → how to open it; arrays of NPZ files are no columns
FORMATS: dict[str, Callable[[Path], ColumnStore] | None] = {
    ".csv": delimited,
    ".tsv": delimited,
    ".tab": delimited,
    ".parquet": parquet,
    ".pq": parquet,
    ".arrow": arrow,
    ".feather": arrow,
    ".ipc": arrow,
    ".jsonl": json_lines,
    ".ndjson": json_lines,
    ".npz": None,
}
COMPRESSED = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson")


def load(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    weight: str | None = None,
    logits: bool = False,
) -> Predictions:
    r"""Read predictions and labels from a file.

    Parameters
    ----------
    path : str or path-like
        CSV and TSV, also compressed with gzip (.csv.gz); Parquet (.parquet, .pq); Arrow and
        Feather (.arrow, .feather, .ipc); JSON lines (.jsonl, .ndjson); NumPy (.npz).
    label : str, optional
        Name of the column of labels. Default: the only one of label, labels, target, y_true,
        y, true_class, class.
    probs : str or sequence of str, optional
        Names of the columns of probabilities, or of the only one. Default: ``prob_<class>``,
        ``proba_<class>`` or ``p_<class>``; else the columns of floats, if every label is the
        name of one of them; else a single column prob, p, probability, score, y_prob, y_score
        or prediction, or the only column of floats, which is P(class 1) of a binary problem.
    classes : sequence, optional
        Names of the classes in the order of the columns. They replace the names that the
        columns have, and must not be those names in another order. Of a single column: class 0,
        then class 1.
    weight : str, optional
        Name of the column of weights. Without it, no column is taken for weights.
    logits : bool, default False
        Whether the columns hold logits: ``logit_<class>``, or those named by `probs`.

    Returns
    -------
    Predictions
        float32 stays float32. Labels are read as `Predictions` reads them: as names of classes
        or the numbers that name them, or, where no class is named by a number, as the places
        0, …, m-1.

    Notes
    -----
    Names of columns are compared without case and without spaces around them. Only the columns
    that are used are kept in memory, and copied once. An NPZ file holds the arrays `probs` (or
    `logits`) and `labels`, and `classes` and `weights` if it has them; nothing is unpickled.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "predictions.csv")
    >>> _ = path.write_text("label,prob_cat,prob_dog\ncat,0.7,0.3\ndog,0.2,0.8\n")
    >>> load(path)
    Predictions(n=2, m=2, classes=('cat', 'dog'))
    """
    options = Options(label, probs, classes, weight, logits)
    file = _file(path)
    try:
        open_columns = FORMATS[_ending(file)]
        if not file.stat().st_size:
            raise ValueError("the file must have a header and rows; it is empty.")
        if open_columns is None:
            return npz(file, options)
        return predictions(open_columns(file), options)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{file}: {error}") from error
    except OSError as error:
        raise ValueError(f"{file}: the file must be readable; {error.strerror}.") from error


def from_frame(
    frame: Any,
    *,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    weight: str | None = None,
    logits: bool = False,
) -> Predictions:
    """Take the columns of a pandas, polars or Arrow frame by the rules of `load`.

    `Predictions.from_frame` takes columns that are named, without any rules.

    Parameters
    ----------
    frame : data frame
        Of pandas, polars or Arrow.
    label, probs, classes, weight, logits
        As in `load`.

    Examples
    --------
    >>> import polars as pl
    >>> from_frame(pl.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8], "y": ["cat", "dog"]}))
    Predictions(n=2, m=2, classes=('cat', 'dog'))
    """
    options = Options(label, probs, classes, weight, logits)
    try:
        return predictions(Columnar.of(convert.to_polars(frame).lazy()), options)
    except (ValueError, TypeError) as error:
        raise type(error)(f"`frame`: {error}") from error
    except OverflowError:
        raise ValueError(
            "`frame`: integers must fit in 64 bits; found larger ones. Write them as texts."
        ) from None


def _file(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"`path` must be the path of a file; found {path!r}.")
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"`path` must be a file; {str(path)!r} is a folder.")
    if not file.exists():
        raise FileNotFoundError(f"`path` must be a file; {str(path)!r} does not exist.")
    if not file.is_file():
        raise ValueError(f"`path` must be a plain file; {str(path)!r} is not.")
    return file


def _ending(file: Path) -> str:
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
