"""The entrance: a path or a frame in, `Predictions` out, every fault one sentence."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from calibrant.checks import convert
from calibrant.loading import text
from calibrant.loading.assembly import Options, predictions
from calibrant.loading.columnar import Columnar, arrow, parquet
from calibrant.loading.delimited import delimited
from calibrant.loading.json_lines import json_lines
from calibrant.loading.npz import npz
from calibrant.loading.table import Table
from calibrant.predictions import Predictions

# ending → how to open it, and the first bytes it must have
FORMATS: dict[str, tuple[Callable[[Path], Table] | None, tuple[bytes, ...]]] = {
    ".csv": (delimited, ()),
    ".tsv": (delimited, ()),
    ".tab": (delimited, ()),
    ".parquet": (parquet, (b"PAR1", b"PARE")),
    ".pq": (parquet, (b"PAR1", b"PARE")),
    ".arrow": (arrow, (b"ARROW1", b"\xff\xff\xff\xff")),
    ".feather": (arrow, (b"ARROW1", b"\xff\xff\xff\xff")),
    ".ipc": (arrow, (b"ARROW1", b"\xff\xff\xff\xff")),
    ".jsonl": (json_lines, ()),
    ".ndjson": (json_lines, ()),
    ".npz": (None, (b"PK",)),
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
    path : file
        CSV and TSV, also compressed with gzip (.csv.gz); Parquet (.parquet, .pq); Arrow and
        Feather (.arrow, .feather, .ipc); JSON lines (.jsonl, .ndjson); NumPy (.npz).
    label : name of the column of labels, optional
        Default: the only one of label, labels, target, y_true, y, true_class, class.
    probs : names of the columns of probabilities, or the only one, optional
        Default: ``prob_<class>``, ``proba_<class>`` or ``p_<class>``; else the columns of
        floats, if every label is the name of one of them; else a single column prob, p,
        probability, score, y_prob, y_score or prediction, or the only column of floats, which
        is P(class 1) of a binary problem.
    classes : names of the classes, optional
        In the order of the columns; they replace the names that the columns have, and must not
        be those names in another order. Of a single column: class 0, then class 1.
    weight : name of the column of weights, optional
        Without it, no column of a table is taken for weights.
    logits : bool
        Whether the columns hold logits: ``logit_<class>``, or those named by `probs`.

    Returns
    -------
    Predictions
        float32 stays float32. Labels are names of classes, or the numbers that name them; where
        no class is named by a number, they may be the places 0, …, m-1.

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
        open_table, magic = _format(file)
        if not file.stat().st_size:
            raise ValueError("the file must have a header and rows; it is empty.")
        text.belongs(file, *magic, *([text.GZIP] if file.suffix.lower() == ".gz" else []))
        return npz(file, options) if open_table is None else predictions(open_table(file), options)
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
    label, probs, classes, weight, logits : as in `load`

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


def _format(file: Path) -> tuple[Callable[[Path], Table] | None, tuple[bytes, ...]]:
    endings = [ending.lower() for ending in file.suffixes]
    if endings and endings[-1] == ".gz" and len(endings) > 1 and endings[-2] in COMPRESSED:
        return FORMATS[endings[-2]]
    if endings and endings[-1] in FORMATS:
        return FORMATS[endings[-1]]
    found = repr(file.suffix) if file.suffix else "none"
    raise ValueError(
        f"the ending must say what is in the file: {', '.join(FORMATS)}, or .csv.gz; found {found}."
    )
