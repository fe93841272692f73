"""Every format gives back what was written, and files that look odd but are fine."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

from calibrant import Predictions, load
from calibrant.loading import from_frame

NAMES = ("cat", "dog", "car")
PROBS = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.0, 0.0, 1.0], [0.25, 0.5, 0.25]])
LABELS = [1, 1, 2, 0]


def frame(dtype=np.float64, labels=tuple(NAMES[j] for j in LABELS), prefix="prob_"):
    columns = {prefix + name: PROBS[:, j].astype(dtype) for j, name in enumerate(NAMES)}
    return pl.DataFrame({"id": [7, 8, 9, 10], **columns, "label": list(labels)})


def write_gzip(table, path):
    path.write_bytes(gzip.compress(table.write_csv().encode()))


def write_npz(table, path):
    columns = [name for name in table.columns if name.startswith("prob_")]
    np.savez_compressed(
        path,
        probs=table.select(columns).to_numpy(),
        labels=np.array(table["label"].to_list()),
        classes=np.array([name.removeprefix("prob_") for name in columns]),
    )


def write_lines(table, path):
    table.write_ndjson(path)


def write_lines_gzip(table, path):
    path.write_bytes(gzip.compress(table.write_ndjson().encode()))


TEXT = {
    "x.csv": lambda table, path: table.write_csv(path),
    "x.CSV": lambda table, path: table.write_csv(path),
    "x.csv.gz": write_gzip,
    "x.tsv": lambda table, path: table.write_csv(path, separator="\t"),
    "x.tab": lambda table, path: table.write_csv(path, separator="\t"),
    "semicolons.csv": lambda table, path: table.write_csv(path, separator=";"),
    "x.jsonl": write_lines,
    "x.ndjson": write_lines,
    "x.jsonl.gz": write_lines_gzip,
}
BINARY = {
    "x.parquet": lambda table, path: table.write_parquet(path),
    "x.pq": lambda table, path: table.write_parquet(path),
    "x.arrow": lambda table, path: table.write_ipc(path),
    "x.ipc": lambda table, path: table.write_ipc(path, compression="zstd"),
    "stream.arrow": lambda table, path: table.write_ipc_stream(path),
    "x.feather": lambda table, path: pyarrow.feather.write_feather(table.to_arrow(), path),
    "x.npz": write_npz,
}


def same(data, dtype=np.float64, classes=NAMES, labels=tuple(LABELS)):
    assert data.probs.dtype == dtype
    np.testing.assert_array_equal(data.probs, PROBS)
    assert data.labels.tolist() == list(labels)
    assert data.labels.dtype == np.int32
    assert data.classes == classes
    assert data.event is None
    assert not data.weighted
    assert not data.probs.flags.writeable


@pytest.mark.parametrize("labels", [LABELS, [NAMES[j] for j in LABELS], [float(j) for j in LABELS]])
@pytest.mark.parametrize("name", [*TEXT, *BINARY])
def test_every_format_with_names_and_numbers(tmp_path, name, labels):
    path = tmp_path / name
    {**TEXT, **BINARY}[name](frame(labels=labels), path)
    same(load(path))
    same(load(str(path)))


@pytest.mark.parametrize("name", BINARY)
def test_float32_stays_float32(tmp_path, name):
    BINARY[name](frame(np.float32), tmp_path / name)
    same(load(tmp_path / name), np.float32)


@pytest.mark.parametrize("name", [*TEXT, *BINARY])
def test_equals_the_constructor(tmp_path, name):
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(4), 300).round(4)  # rows do not quite sum to 1
    table = pl.DataFrame({f"prob_{j}": probs[:, j] for j in range(4)} | {"label": [3, 1, 2] * 100})
    {**TEXT, **BINARY}[name](table, tmp_path / name)
    expected = Predictions(probs, table["label"].to_numpy())
    np.testing.assert_array_equal(load(tmp_path / name).probs, expected.probs)


def test_frames_follow_the_same_rules():
    table = frame()
    same(from_frame(table))
    same(from_frame(table.to_pandas()))
    same(from_frame(table.to_arrow()))


def test_frames_are_refused_in_words():
    with pytest.raises(TypeError, match=r"`frame` must be a data frame; found dict\."):
        from_frame({"label": [1]})
    with pytest.raises(ValueError, match=r"`frame`: one column must hold the labels"):
        from_frame(pl.DataFrame({"prob_a": [1.0], "prob_b": [0.0]}))
    gap = pl.DataFrame({"y": [0, 1], "prob_0": [0.5, None], "prob_1": [0.5, 0.5]})
    with pytest.raises(ValueError, match=r"`frame`: every row must .*; row 1 has none in column"):
        from_frame(gap)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(NAMES), pl.Binary])
def test_types_of_labels_in_parquet(tmp_path, kind):
    frame().with_columns(pl.col("label").cast(kind)).write_parquet(tmp_path / "x.parquet")
    same(load(tmp_path / "x.parquet"))


@pytest.mark.parametrize("kind", [pl.UInt8, pl.Int64, pl.Float32])
def test_numbers_of_labels_in_parquet(tmp_path, kind):
    table = frame(labels=LABELS).with_columns(pl.col("label").cast(kind))
    table.write_parquet(tmp_path / "x.parquet")
    same(load(tmp_path / "x.parquet"))


def test_mixed_types_of_probabilities(tmp_path):
    table = frame().with_columns(
        pl.col("prob_cat").cast(pl.Float32), pl.col("prob_dog").cast(pl.Decimal(10, 4))
    )
    table.write_parquet(tmp_path / "x.parquet")
    same(load(tmp_path / "x.parquet"))


def test_pandas_writes_its_index(tmp_path):
    frame().to_pandas().to_csv(tmp_path / "x.csv")
    same(load(tmp_path / "x.csv"))
    frame().to_pandas().set_index("id").to_parquet(tmp_path / "x.parquet")
    same(load(tmp_path / "x.parquet"))


GOOD = "label,prob_cat,prob_dog\ncat,0.75,0.25\ndog,0.25,0.75\n"


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip("\n"),
        "\n\n" + GOOD,
        GOOD + "\n\n",
        GOOD + ",,\n,,\n",
        GOOD.replace(",", " , "),
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.replace(",", "|"),
        GOOD.replace("label", " Label ").replace("prob_cat", "PROB_cat"),
        GOOD.replace("0.75", '"0.75"').replace("cat", '"cat"').replace('prob_"cat"', "prob_cat"),
        GOOD.replace("0.75", "7.5e-1"),
        GOOD.replace("0.75", "+.75"),
        'note,label,prob_cat,prob_dog\n"two\nlines, one cell",cat,0.75,0.25\n"",dog,0.25,0.75\n',
        'label,prob_cat,prob_dog,note\ncat,0.75,0.25,""\ndog,0.25,0.75\n',  # the end is missing
    ],
)
def test_odd_csv_that_is_fine(tmp_path, content):
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode())
    data = load(path)
    assert data.probs.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert data.labels.tolist() == [0, 1]
    assert data.classes == ("cat", "dog")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_odd_json_lines_that_are_fine(tmp_path, start, end):
    lines = ['{"y": 0, "p": 0.25, "note": [1]}', '{"p": 1, "y": 1, "other": {"a": 2}}']
    path = tmp_path / "x.jsonl"
    path.write_bytes((start + end.join(lines)).encode())
    packed = tmp_path / "x.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for data in (load(path), load(packed)):
        assert data.probs.tolist() == [[0.75, 0.25], [0.0, 1.0]]
        assert data.labels.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["[1].csv", "[1].jsonl", "*.arrow", "?.parquet", "a=1.parquet"])
def test_names_of_files_are_no_patterns(tmp_path, name):
    others = pl.DataFrame({"label": [0], "prob_0": [1.0], "prob_1": [0.0]})
    ending = name.split(".")[-1]
    write = {**TEXT, **BINARY}[f"x.{ending}"]
    write(others, tmp_path / f"1.{ending}")
    write(frame(), tmp_path / name)
    same(load(tmp_path / name))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_names_of_columns_are_no_patterns(tmp_path, ending):
    names = ["^.*$", "*", "ä🐶 中文", "a" * 500, "0", "col,umn", 'quo"te', "</script>"]
    probs = np.eye(len(names)) / 2 + 0.0625
    table = pl.DataFrame({name: probs[:, j] for j, name in enumerate(names)} | {"y": names[::-1]})
    {**TEXT, **BINARY}[f"x.{ending}"](table, tmp_path / f"x.{ending}")
    data = load(tmp_path / f"x.{ending}")
    assert data.classes == tuple(names)
    assert data.labels.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    turned = load(tmp_path / f"x.{ending}", probs=names[::-1])
    assert turned.classes == tuple(names[::-1])
    assert turned.labels.tolist() == list(range(8))


def test_a_thousand_classes(tmp_path):
    n, m = 50, 1000
    probs = np.random.default_rng(0).dirichlet(np.ones(m), n).astype(np.float32)
    table = pl.DataFrame({f"prob_{j}": probs[:, j] for j in range(m)} | {"y": list(range(n))})
    for ending in ("csv", "parquet", "jsonl"):
        {**TEXT, **BINARY}[f"x.{ending}"](table, tmp_path / f"x.{ending}")
        data = load(tmp_path / f"x.{ending}")
        assert (data.n, data.m, data.classes[-1]) == (n, m, "999")
        np.testing.assert_allclose(data.probs, probs, rtol=1e-6)
        assert data.labels.tolist() == list(range(n))


def test_many_rows_cross_the_blocks(tmp_path):
    n = 200_000
    table = pl.DataFrame({"y": ["no", "no", "yes", "no"] * (n // 4), "prob_yes": [0.25] * n})
    table.write_csv(tmp_path / "x.csv")
    table.write_parquet(tmp_path / "x.parquet", row_group_size=7_000)
    for ending in ("csv", "parquet"):
        data = load(tmp_path / f"x.{ending}")
        assert data.classes == ("no", "yes")
        assert data.labels.tolist() == [0, 0, 1, 0] * (n // 4)


def test_npz_with_every_key(tmp_path):
    path = tmp_path / "x.npz"
    names = np.array(["no", "yes"])
    np.savez(path, probs=[0.25, 1.0], labels=names, classes=names, weights=[1, 2])
    data = load(path)
    assert data.probs.tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert data.labels.tolist() == [0, 1]
    assert data.weights.tolist() == [1.0, 2.0]
    assert load(path, classes=["a", "b"]).classes == ("a", "b")
    np.savez(path, a=np.array([[0.0, 0.0]]), b=[1], c=[3.0], probs=[9.0])
    data = load(path, probs="a", label="b", weight="c", values="logits")
    assert data.probs.tolist() == [[0.5, 0.5]]
    assert data.weights.tolist() == [3.0]
    np.savez(path, logits=np.asfortranarray([[0.0, 0.0], [-np.inf, 0.0]]), labels=np.eye(2))
    assert load(path, values="logits").probs.tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_frames_of_pandas_with_names_that_are_numbers():
    table = pd.DataFrame({"y": [3, 5], "prob_3": [0.5, 0.5], "prob_5": [0.5, 0.5]})
    data = from_frame(table)
    assert data.classes == ("3", "5")
    assert data.labels.tolist() == [0, 1]
    batch = pa.RecordBatch.from_pandas(table)
    assert from_frame(batch).labels.tolist() == [0, 1]
