"""Every way in which classes and labels can reach the library."""

import csv
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from calibrant import Predictions, load
from calibrant.loading import from_frame


def matrix(labels, classes):
    return np.full((len(labels), len(classes)), 1 / len(classes))


def frame(labels, classes):
    """Return the columns of a file: names of classes are texts there."""
    columns = {f"prob_{name}": [1 / len(classes)] * len(labels) for name in classes}
    assert len(columns) == len(classes), "two columns of one name"
    return {"y": labels, **columns}


def array(labels):
    """Return an array that NumPy did not have to round."""
    made = np.array(labels)
    assert made.tolist() == labels
    return made


def write_csv(labels, classes, folder):
    path = folder / "x.csv"
    columns = frame(labels, classes)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def write_json_lines(labels, classes, folder):
    path = folder / "x.jsonl"
    columns = frame(labels, classes)
    rows = zip(*columns.values(), strict=True)
    path.write_text(
        "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    )
    return path


def write_parquet(labels, classes, folder):
    path = folder / "x.parquet"
    pl.DataFrame(frame(labels, classes)).write_parquet(path)
    return path


def write_arrow(labels, classes, folder):
    path = folder / "x.arrow"
    pl.DataFrame(frame(labels, classes)).write_ipc(path)
    return path


def write_npz(labels, classes, folder):
    path = folder / "x.npz"
    named = {"labels": array(labels), "classes": np.array(classes)}
    assert not any(values.dtype.hasobject for values in named.values())
    np.savez(path, probs=matrix(labels, classes), **named)
    return path


ARRAYS = {
    "list": list,
    "array": array,
    "objects": lambda labels: np.array(labels, object),
    "pandas": pd.Series,
    "pandas objects": lambda labels: pd.Series(labels, dtype=object),
    "polars": pl.Series,
    "arrow": pa.array,
    "one column": lambda labels: pl.DataFrame({"y": labels}),
}
FRAMES = {
    "polars frame": pl.DataFrame,
    "pandas frame": pd.DataFrame,
    "arrow table": pa.table,
}
WIDE = (2**64, 10**30, 10**30 + 1)  # pandas has no type for them, and polars cannot read them
FILES = {
    "csv": write_csv,
    "json lines": write_json_lines,
    "parquet": write_parquet,
    "arrow file": write_arrow,
    "npz": write_npz,
}


def ways_in(labels, classes, folder):
    """Return door → function that gives predictions, for the doors that can hold such labels."""
    probs = matrix(labels, classes)
    found = {}
    for door, make in ARRAYS.items():
        found[door] = (make, (labels,), lambda made: Predictions(probs, made, classes))
    for door, make in FRAMES.items():
        if door == "pandas frame" and any(label in WIDE for label in labels):
            continue
        found[door] = (lambda *x, make=make: make(frame(*x)), (labels, classes), from_frame)
    for door, write in FILES.items():
        found[door] = (write, (labels, classes, folder), load)
    return found


def answers(labels, classes, folder):
    """Return door → codes, or the sentence of a refusal."""
    found = {}
    for door, (make, arguments, use) in ways_in(labels, classes, folder).items():
        try:
            made = make(*arguments)
        except Exception:  # such labels do not fit through this door
            continue
        try:
            found[door] = use(made).labels.tolist()
        except (ValueError, TypeError) as error:
            found[door] = str(error)
    return found
