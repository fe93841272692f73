"""What loading costs: one matrix beside the columns, and neither polars nor numba at import."""

import io
import json
import subprocess
import sys
from pathlib import Path

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
    uneven = 0.9995 * kept  # somebody else's
    assert not np.shares_memory(arrays.probabilities(uneven), uneven)


def test_a_frame_is_copied_once(monkeypatch):
    seen = []
    check = arrays.checked

    def spy(value, **options):
        seen.append(value)
        return check(value, **options)

    monkeypatch.setattr(arrays, "checked", spy)
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
    from_frame(logits, values="logits")
    assert logits["score"].to_list() == [3.0, -1.0]


def test_importing_load_is_cheap():
    code = "import sys; from calibrant import load; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"polars", "numba", "narwhals", "pandas"} & set(run.stdout.split())


def test_polars_reads_only_the_columns_that_are_used(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    frame = pl.DataFrame({"y": [0], "prob_0": [0.75], "prob_1": [0.25], "big": ["x" * 1000]})
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


GOOD = {
    "prefix": "label,prob_a,prob_b\na,0.75,0.25\nb,0.25,0.75\n",
    "named after the labels": "label,a,b,id\na,0.75,0.25,1\nb,0.25,0.75,2\n",
    "one column": "label,p,note\n0,0.75,a\n1,0.25,b\n",
}


@pytest.mark.parametrize("content", GOOD.values(), ids=GOOD)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_text_file_is_opened_for_a_look_and_for_the_data(tmp_path, monkeypatch, content, ending):
    path = tmp_path / f"x.{ending}"
    path.write_text(content)
    if ending == "jsonl":
        pl.read_csv(io.StringIO(content)).write_ndjson(path)
    opened = []
    for owner, name in ((Path, "open"), (pl, "scan_csv"), (pl, "scan_ndjson")):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name), opened))
    load(path)
    # also for the last line; JSON lines to tell whether they are a log, for the mark at their
    # start, and for keys that repeat
    assert len(opened) == (3 if ending == "csv" else 5)


def counted(function, calls):
    def spy(*args, **options):
        calls.append(function)
        return function(*args, **options)

    return spy


def test_columns_named_after_labels_that_come_late(tmp_path):
    """The labels of the first rows are no proof: all of them count."""
    path = tmp_path / "x.csv"
    rows = ["cat,0.75,0.25,7"] * 200
    path.write_text("\n".join(["y,cat,dog,place", *rows, "dog,0,1,8"]))
    data = load(path)
    assert data.classes == ("cat", "dog")
    assert data.labels.tolist() == [0] * 200 + [1]
    path.write_text("\n".join(["y,cat,dog,p", *rows, "bird,0,1,8"]))
    with pytest.raises(ValueError, match=r"must be 0 and 1, or `classes` must name"):
        load(path)
