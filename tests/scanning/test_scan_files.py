"""Which files are read, in which order, and what is said of bad ones."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import predictions, rows_of, table, write

import calibrant as cal
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth
from calibrant.rows import fragments
from calibrant.statistics import ExpectedMiscalibration

ROWS = rows_of(200, 3)
ETA = ExpectedMiscalibration(EqualWidth(4))


def run(scan):
    return cal.calibration_test(scan, ETA, lens=TopLabel(), n_resamples=9, rng=0)


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "rows", table(*ROWS), (60, 130), 25)


def test_files_are_sorted_as_text(tmp_path):
    """part-10 stands before part-2 here, and behind it elsewhere."""
    whole = table(*ROWS)
    for name, start in (("part-2", 0), ("part-10", 120)):
        pq.write_table(whole.slice(start, 120 if start == 0 else 80), tmp_path / f"{name}.parquet")
    data = predictions(*ROWS)
    expected = np.concatenate((data.probs[120:], data.probs[:120]))
    assert np.array_equal(cal.scan(tmp_path).load().probs, expected)
    listed = [str(tmp_path / "part-2.parquet"), tmp_path / "part-10.parquet"]
    assert np.array_equal(cal.scan(listed).load().probs, expected)


def test_folders_patterns_and_addresses_mean_the_same_files(tmp_path):
    whole = table(*ROWS)
    write(tmp_path / "day=1", whole.slice(0, 90), (30,))
    write(tmp_path / "day=2" / "deep", whole.slice(90), ())
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.txt").write_text("not data")
    write(tmp_path / "_temporary", whole, ())
    write(tmp_path / ".hidden", whole, ())
    expected = predictions(*ROWS).probs
    for path in (
        tmp_path,
        str(tmp_path / "day=*" / "**" / "*.parquet"),
        tmp_path.as_uri(),
        [tmp_path / "day=2", tmp_path / "day=1"],
    ):
        assert np.array_equal(cal.scan(path).load().probs, expected), path


def test_addresses_of_object_stores(tmp_path):
    """What pyarrow does not open, fsspec does; here a store that lives in memory."""
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    folder = write(tmp_path / "rows", table(*ROWS), (60, 130), 25)
    for path in sorted(folder.iterdir()):
        store.pipe(f"/bucket/rows/day=1/{path.name}", path.read_bytes())
    store.pipe("/bucket/rows/_SUCCESS", b"")
    scan = cal.scan("memory://bucket/rows")
    assert [fragment.path for fragment in scan.fragments[::4]] == [
        f"memory://bucket/rows/day=1/part-00{i}.parquet" for i in range(3)
    ]
    assert run(scan).to_dict() == run(cal.scan(folder)).to_dict()
    alone = cal.scan("memory://bucket/rows/day=1/part-001.parquet")
    assert alone.n == 70
    store.pipe("/bucket/rows/day=1/part-001.parquet", b"short")
    with pytest.raises(ValueError, match=r"part-001\.parquet must be a whole Parquet file"):
        run(scan)
    store.rm("/bucket/rows/day=1/part-001.parquet")
    with pytest.raises(ValueError, match=r"part-001\.parquet vanished"):
        run(scan)
    with pytest.raises(FileNotFoundError, match="holds none"):
        cal.scan("memory://bucket/nothing")
    with pytest.raises(ValueError, match="must be an address that pyarrow or fsspec can open"):
        cal.scan("pigeon://coop/rows")


@pytest.mark.parametrize("form", ["wide", "lists", "fixed"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_forms_of_the_probabilities(tmp_path, form, dtype):
    probs, labels, _ = rows_of(50, 3, np.float64)
    probs = probs.astype(dtype)
    scan = cal.scan(write(tmp_path, table(probs, labels, form=form), (20,)))
    expected = predictions(probs, labels)
    loaded = scan.load()
    assert loaded.probs.dtype == expected.probs.dtype
    assert np.array_equal(loaded.probs, expected.probs)


def test_names_of_classes_and_labels(tmp_path):
    whole = pa.table(
        {
            "truth": pa.array(["dog", "cat", "cat"]).dictionary_encode(),
            "p_cat": [0.25, 0.5, 0.75],
            "p_dog": [0.75, 0.5, 0.25],
        }
    )
    pq.write_table(whole, tmp_path / "a.parquet")
    scan = cal.scan(tmp_path)
    assert scan.classes == ("cat", "dog")
    assert scan.load().labels.tolist() == [1, 0, 0]
    named = cal.scan(tmp_path, label="truth", probs=["p_cat", "p_dog"], classes=["x", "y"])
    assert named.classes == ("x", "y")
    assert named.load().labels.tolist() == [1, 0, 0]


def test_one_column_for_two_classes(tmp_path):
    pq.write_table(pa.table({"y": [True, False], "prob": [0.25, 0.5]}), tmp_path / "a.parquet")
    data = cal.scan(tmp_path).load()
    assert data.probs[:, 1].tolist() == [0.25, 0.5]
    assert (data.labels.tolist(), data.event) == ([1, 0], 1)


def test_logits_and_rounded_values(tmp_path):
    logits = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.0]])
    columns = {f"logit_{j}": logits[:, j] for j in range(3)}
    pq.write_table(pa.table({"label": [0, 1], **columns}), tmp_path / "a.parquet")
    expected = cal.Predictions.from_logits(logits, [0, 1]).probs
    assert np.array_equal(cal.scan(tmp_path, values="logits").load().probs, expected)
    folder = tmp_path / "rounded"
    write(folder, table(np.array([[0.3, 0.3, 0.3]]), [0]), ())
    with pytest.raises(ValueError, match=r"sums to 0\.9\. Were they rounded"):
        cal.scan(folder).load()
    assert np.allclose(cal.scan(folder, values="rounded").load().probs, 1 / 3)


def test_a_bad_row_is_named_with_its_file_whatever_the_order(tmp_path):
    """The first of all is named, although later files are read at the same time."""
    probs, labels, _ = rows_of(400, 3)
    for row in (170, 350):
        probs[row] = 0.1
    folder = write(tmp_path, table(probs, labels), (100, 150, 300), 10)
    for threads in ("1", "4"):
        before = os.environ.get("CALIBRANT_THREADS")
        os.environ["CALIBRANT_THREADS"] = threads
        try:
            with pytest.raises(
                ValueError,
                match=r"must sum to 1 in each row; row 20 of part-002\.parquet \(row 170 of all\)"
                r" sums to 0\.3",
            ):
                run(cal.scan(folder))
        finally:
            os.environ.pop("CALIBRANT_THREADS")
            if before is not None:
                os.environ["CALIBRANT_THREADS"] = before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"probs": pa.array([[0.5, 0.5], None])}, r"row 1 of a\.parquet \(row 1 of all\) has none"),
        ({"probs": pa.array([[0.5, 0.5], [1.0]])}, "each list must have 2 probabilities"),
        ({"probs": pa.array([[0.5, 0.5], [1.0, None]])}, "must be finite; row 1 of a.parquet"),
        ({"label": pa.array([0, None])}, "the labels must be .*; row 1 of a.parquet"),
        ({"label": pa.array([0, 7])}, "the labels must be .*; row 1 of a.parquet"),
        ({"weight": pa.array([1.0, -2.0])}, "weights` must be finite and not negative; row 1 of"),
        ({"weight": pa.array([0.0, 0.0])}, "the weights must not all be zero"),
        ({"row": pa.array([4, None])}, "`row` must name every row; row 1 of"),
        ({"row": pa.array([4, -1])}, "`row` must not be negative; row 1 of"),
        ({"row": pa.array([4, 4])}, "`row` must be unique; 4 stands twice"),
    ],
)
def test_bad_values(tmp_path, change, sentence):
    good = {"label": pa.array([0, 1]), "probs": pa.array([[0.5, 0.5], [0.5, 0.5]])}
    pq.write_table(pa.table(good | change), tmp_path / "a.parquet")
    scan = cal.scan(tmp_path, row="row" if "row" in change else None)
    with pytest.raises(ValueError, match=sentence):
        scan.load()


def test_a_file_that_changes(folder):
    scan = cal.scan(folder)
    expected = run(scan).to_dict()
    assert run(scan).to_dict() == expected
    part = folder / "part-001.parquet"
    pq.write_table(table(*rows_of(75, 3)), part)
    with pytest.raises(ValueError, match=r"part-001\.parquet changed while it was read \(70 rows"):
        run(scan)
    pq.write_table(table(*rows_of(70, 3)), part, row_group_size=25)
    with pytest.raises(ValueError, match=r"part-001\.parquet changed while it was read"):
        run(scan)


def test_a_file_that_vanishes(folder):
    scan = cal.scan(folder)
    (folder / "part-002.parquet").unlink()
    with pytest.raises(ValueError, match=r"part-002\.parquet vanished"):
        run(scan)


def test_a_file_that_is_cut_short(folder):
    scan = cal.scan(folder)
    part = folder / "part-002.parquet"
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"part-002\.parquet must be a whole Parquet file"):
        run(scan)
    with pytest.raises(ValueError, match=r"part-002\.parquet must be a whole Parquet file"):
        cal.scan(folder)


def test_damage_inside_a_file(folder):
    scan = cal.scan(folder)
    part = folder / "part-000.parquet"
    status, raw = part.stat(), bytearray(part.read_bytes())
    raw[4:200] = bytes(196)
    part.write_bytes(raw)
    os.utime(part, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ValueError, match=r"part-000\.parquet cannot be read any more"):
        run(scan)


def test_files_of_other_columns(folder):
    pq.write_table(table(*rows_of(20, 3, np.float64)), folder / "part-9.parquet")
    pq.write_table(pa.table({"x": [1]}), folder / "part-8.parquet")
    with pytest.raises(
        ValueError, match=r"'part-8\.parquet', 'part-9\.parquet' have others than part-000\.parquet"
    ):
        cal.scan(folder)


def test_no_rows(tmp_path):
    pq.write_table(table(*rows_of(20, 3)).slice(0, 0), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="must hold at least one row"):
        cal.scan(tmp_path)


def test_paths_that_mean_nothing(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds none"):
        cal.scan(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        cal.scan(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="matches none"):
        cal.scan(str(tmp_path / "*.parquet"))
    with pytest.raises(FileNotFoundError, match="holds none"):
        cal.scan(tmp_path.as_uri())
    with pytest.raises(TypeError, match="must be a file, a folder, a pattern"):
        cal.scan(7)
    write(tmp_path, table(*ROWS), ())
    twice = [tmp_path, tmp_path / "part-000.parquet"]
    with pytest.raises(ValueError, match="must name each file once"):
        cal.scan(twice)


def test_columns_that_are_not_there(folder):
    with pytest.raises(ValueError, match="`probs` must name columns; 'q' not among"):
        cal.scan(folder, probs=["q", "prob_0"])
    with pytest.raises(ValueError, match="`row` must name columns"):
        cal.scan(folder, row="id")
    with pytest.raises(
        TypeError, match="`row` must hold whole numbers; column 'prob_0' holds float"
    ):
        cal.scan(folder, row="prob_0", probs=["prob_1", "prob_2"])


def test_names_of_labels_for_one_column(tmp_path):
    pq.write_table(pa.table({"y": ["a", "b"], "prob": [0.25, 0.5]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="`classes` must name class 0, then class 1"):
        cal.scan(tmp_path)
    assert cal.scan(tmp_path, classes=["a", "b"]).load().labels.tolist() == [0, 1]


def test_only_footers_are_read(folder, monkeypatch):
    """Neither are rows that a group does not need, nor columns."""
    monkeypatch.setattr(fragments.Fragment, "tables", lambda *_: pytest.fail("rows were read"))
    scan = cal.scan(folder)
    assert (scan.n, scan.m, len(scan.fragments)) == (200, 3, 9)
    assert repr(scan) == "Scan(n=200, m=3, classes=('0', '1', '2'), files=3, on=Threads())"


def test_pyarrow_is_named_where_it_is_missing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow, .* 'calibrant\[scale\]'"):
        cal.scan(folder)


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Rows of 64 MB are added up in less memory than they take."""
    rng = np.random.default_rng(0)
    probs = rng.random((100_000, 10), np.float32)
    probs /= probs.sum(axis=1, keepdims=True)
    part = table(probs, rng.integers(0, 10, len(probs)), form="fixed")
    for i in range(16):
        pq.write_table(part, tmp_path / f"{i:02d}.parquet", row_group_size=25_000)
    program = """
import resource, sys, calibrant as cal
from calibrant import lenses, partitions, resampling, statistics
eta = statistics.ExpectedMiscalibration(partitions.EqualWidth(15))
def peak(path):
    cal.calibration_test(cal.scan(path), eta, lens=lenses.TopLabel(), rng=0,
                         resampler=resampling.Exact(draws="counts"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
few = peak(sys.argv[1] + "/00.parquet")
print(peak(sys.argv[1]) - few)
"""
    run = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 32_000  # kB
