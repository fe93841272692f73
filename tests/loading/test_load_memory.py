"""What loading costs: one matrix beside the columns, and neither polars nor numba at import."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from calibrant import Predictions, load
from calibrant.checks import arrays
from calibrant.loading import from_frame

N, M = 1_000_000, 10
MIB = 1 << 20

# In a process of its own: memory that polars takes is seen only in the size of the process.
# A small file comes first, so that libraries and compiled kernels are not counted.
MEASURE = """
import json, resource, sys
from calibrant import load
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
load(sys.argv[1])
before = peak()
data = load(sys.argv[2])
print(json.dumps([peak() - before, data.probs.nbytes, str(data.probs.dtype), data.n]))
"""


@pytest.fixture(scope="module")
def table():
    probs = np.random.default_rng(0).dirichlet(np.ones(M), N).astype(np.float32)
    labels = np.random.default_rng(1).integers(0, M, N)
    columns = {f"prob_{j}": probs[:, j] for j in range(M)}
    return pl.DataFrame({**columns, "label": labels, "note": ["something"] * N})


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_peak_memory_is_twice_the_data(tmp_path, table, ending):
    write = {"parquet": pl.DataFrame.write_parquet, "arrow": pl.DataFrame.write_ipc}[ending]
    write(table.head(1000), tmp_path / f"small.{ending}")
    write(table, tmp_path / f"large.{ending}")
    command = [sys.executable, "-c", MEASURE]
    files = [str(tmp_path / f"{size}.{ending}") for size in ("small", "large")]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=True)
    extra, size, dtype, n = json.loads(done.stdout)
    assert (dtype, n, size) == ("float32", N, 4 * N * M)
    read = size + 8 * N  # probabilities and labels, as they are in the file
    assert extra <= 2 * read + 16 * MIB


def test_rows_are_divided_by_their_sums_in_place():
    matrix = np.random.default_rng(0).dirichlet(np.ones(4), 1000).round(4)
    kept = arrays.probabilities(matrix, owned=True)
    assert np.shares_memory(kept, matrix)
    logits = np.zeros((5, 3))
    assert np.shares_memory(arrays.softmax(logits, owned=True), logits)
    copied = np.full((5, 2), 0.5)
    assert not np.shares_memory(arrays.probabilities(copied), copied)


def test_a_frame_is_copied_once(monkeypatch):
    seen = []
    check = arrays.probabilities

    def spy(value, **options):
        seen.append(value)
        return check(value, **options)

    monkeypatch.setattr(arrays, "probabilities", spy)
    frame = pl.DataFrame({"y": ["a", "b"], "prob_a": [0.5003, 0.25], "prob_b": [0.5, 0.75]})
    columns = {"probs": ["prob_a", "prob_b"], "classes": ["a", "b"]}
    made = [from_frame(frame), Predictions.from_frame(frame, label="y", **columns)]
    for matrix, data in zip(seen, made, strict=True):
        assert np.shares_memory(matrix, data.probs)
    assert frame["prob_a"].to_list() == [0.5003, 0.25]  # the user's own is as it was


def test_a_frame_of_one_column_is_not_written_to():
    frame = pl.DataFrame({"y": [1, 0], "p": [1.0004, 0.25]})
    assert from_frame(frame).probs[:, 1].tolist() == [1.0, 0.25]
    assert frame["p"].to_list() == [1.0004, 0.25]
    logits = pl.DataFrame({"y": [1, 0], "score": [3.0, -1.0]})
    from_frame(logits, logits=True)
    assert logits["score"].to_list() == [3.0, -1.0]


def test_importing_load_is_cheap():
    code = "import sys; from calibrant import load; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"polars", "numba", "narwhals", "pandas"} & set(run.stdout.split())


def test_polars_reads_only_the_columns_that_are_used(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    frame = pl.DataFrame({"y": [0], "prob_0": [1.0], "prob_1": [0.0], "big": ["x" * 1000]})
    frame.write_parquet(path)
    collected = []
    collect = pl.LazyFrame.collect

    def spy(lazy, *args, **options):
        found = collect(lazy, *args, **options)
        collected.extend(found.columns)
        return found

    monkeypatch.setattr(pl.LazyFrame, "collect", spy)
    load(path)
    assert set(collected) == {"prob_0", "prob_1", "y"}
