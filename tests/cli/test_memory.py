"""What the whole command needs beside the data."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from command import COMMAND

N, M = 400_000, 10
MOST = 4.0  # times the probabilities; measured 3.6, with what sizes keep of each row

# The peak of a child of a fresh process, which has no other child: the command itself.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def write(path, n):
    """Write predictions of `n` rows."""
    probs = np.random.default_rng(0).dirichlet(np.ones(M), n)
    labels = np.random.default_rng(1).integers(0, M, n)
    columns = {f"prob_{j}": probs[:, j] for j in range(M)}
    pl.DataFrame({**columns, "label": labels}).write_parquet(path)
    return path


def peak(path):
    """Return the largest size of the command, in bytes."""
    words = [*COMMAND, "evaluate", str(path), "--partition", "width:10", "--resamples", "19"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *words], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_the_command_needs_about_four_times_the_data(tmp_path):
    small = write(tmp_path / "small.parquet", 1000)
    large = write(tmp_path / "large.parquet", N)
    peak(small)  # compiles what was not yet compiled
    extra = peak(large) - peak(small)
    assert extra <= MOST * 8 * N * M
