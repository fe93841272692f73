"""The command as a user runs it, and files to run it on."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
from typer.testing import CliRunner

from calibrant.cli import app

os.environ.pop("COLUMNS", None)  # of whoever runs the tests: a pipe has no width
COMMAND = [sys.executable, "-m", "calibrant"]


def run(*words):
    """Run the command in this process."""
    return CliRunner().invoke(app, [str(word) for word in words])


def run_process(*words, **options):
    """Run the command in a process of its own, with nothing but pipes."""
    environment = {**os.environ, **options.pop("env", {})}
    words = [*COMMAND, *map(str, words)]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, env=environment, **options
    )


def write(path, n=300, classes=("cat", "dog", "bird"), power=1.0, seed=0):
    """Write a CSV or Parquet file of predictions: calibrated if `power` is 1."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet([1.0] * len(classes), n)
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1).clip(0, len(classes) - 1)
    probs = truth**power / (truth**power).sum(axis=1, keepdims=True)
    columns = {f"prob_{name}": probs[:, j] for j, name in enumerate(classes)}
    frame = pl.DataFrame({"label": [classes[y] for y in labels], **columns})
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path
