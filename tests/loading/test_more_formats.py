"""Files that were refused once: each gives the numbers of the clean file, bit for bit."""

import gzip
import io
import json
import os
import sys
import time

import numpy as np
import polars as pl
import pytest

from calibrant import load, load_models
from calibrant.loading import plain_files

RNG = np.random.default_rng(7)
N = 500
PROBS = RNG.dirichlet(np.ones(3), N)
NAMES = ("cat", "dog", "car")
LABELS = RNG.integers(0, 3, N)
FRAME = pl.DataFrame(
    {f"prob_{name}": PROBS[:, j] for j, name in enumerate(NAMES)}
    | {"label": [NAMES[y] for y in LABELS], "weight": RNG.random(N)}
)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    path = tmp_path_factory.mktemp("clean") / "clean.csv"
    FRAME.write_csv(path)
    return load(path)


def same(data, clean, classes=NAMES):
    np.testing.assert_array_equal(data.probs, clean.probs)
    np.testing.assert_array_equal(data.labels, clean.labels)
    np.testing.assert_array_equal(data.weights, clean.weights)
    assert data.classes == classes


def lists():
    return FRAME.select(
        pl.concat_list([f"prob_{name}" for name in NAMES]).alias("probs"),
        pl.Series("label", LABELS),
        "weight",
    )


def binary(method, frame):
    file = io.BytesIO()
    getattr(frame, method)(file)
    return file.getvalue()


FILES = {
    "records.json": lambda: json.dumps(FRAME.to_dicts()),
    "columns.json": lambda: json.dumps(FRAME.to_dict(as_series=False)),
    "lines.json": FRAME.write_ndjson,
    "x.json.gz": lambda: gzip.compress(json.dumps(FRAME.to_dicts(), indent=1).encode()),
    "commas.txt": FRAME.write_csv,
    "tabs.txt": lambda: FRAME.write_csv(separator="\t"),
    "spaces.txt": lambda: FRAME.write_csv(separator=" "),
    "x.txt.gz": lambda: gzip.compress(FRAME.write_csv().encode()),
}
LISTS = {
    "x.parquet": lambda: binary("write_parquet", lists()),
    "x.arrow": lambda: binary("write_ipc", lists()),
    "stream.arrow": lambda: binary("write_ipc_stream", lists()),
    "array.parquet": lambda: binary(
        "write_parquet", lists().with_columns(pl.col("probs").cast(pl.Array(pl.Float64, 3)))
    ),
    "x.jsonl": lambda: lists().write_ndjson(),
    "rows.json": lambda: json.dumps(lists().to_dicts()),
    "columns.json": lambda: json.dumps(lists().to_dict(as_series=False)),
}


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", FILES)
def test_more_endings(tmp_path, clean, name):
    same(load(written(tmp_path / name, FILES[name]())), clean)


@pytest.mark.parametrize("name", LISTS)
def test_columns_of_lists(tmp_path, clean, name):
    path = written(tmp_path / name, LISTS[name]())
    same(load(path), clean, ("0", "1", "2"))
    named = load(path, classes=NAMES)
    same(named, clean)
    assert named.reading.probs == ("probs",)
    assert named.reading.lists
    same(load(path, probs="probs", label="label", classes=NAMES), clean)


def test_lists_of_float32_stay_so(tmp_path):
    path = tmp_path / "x.parquet"
    lists().with_columns(pl.col("probs").cast(pl.List(pl.Float32))).write_parquet(path)
    assert load(path).probs.dtype == np.float32


STARTS = {
    "csv": FRAME.write_csv,
    "csv.gz": lambda: gzip.compress(FRAME.write_csv().encode()),
    "json": FILES["records.json"],
    "jsonl": FRAME.write_ndjson,
    "parquet": lambda: binary("write_parquet", FRAME),
    "arrow": lambda: binary("write_ipc", FRAME),
    "stream": lambda: binary("write_ipc_stream", FRAME),
}


@pytest.mark.parametrize("kind", STARTS)
def test_standard_input(monkeypatch, tmp_path, clean, kind):
    path = written(tmp_path / "input", STARTS[kind]())
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        same(load("-"), clean)
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert list(load_models("-")) == ["standard input"]


def test_empty_standard_input(monkeypatch, tmp_path):
    with written(tmp_path / "input", b"").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        with pytest.raises(ValueError, match=r"^standard input: the file must have a header"):
            load("-")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet", "arrow"])
def test_a_name_that_is_not_utf8(tmp_path, clean, ending):
    path = os.path.join(os.fsencode(tmp_path), b"m\xfcller." + ending.encode())
    try:
        with open(path, "wb") as file:
            content = STARTS[ending]()
            file.write(content if isinstance(content, bytes) else content.encode())
    except OSError:
        pytest.skip("names of files must be UTF-8 here")
    same(load(os.fsdecode(path)), clean)


BAD_JSON = {
    "7": r"must be a list of objects, or an object of lists; it is 7\.",
    "[]": r"must be a list of objects, or an object of lists; it is \[\]\.",
    '{"a": 1}': r"an object of lists of one length; it has 'a': '1'\.",
    '{"y": [1], "p": [0.5, 0.5]}': r"lists must have one length; 'y' has 1, and 'p' has 2\.",
    '[{"y": 1, "p": 0.5}, 3]': r"every row must be an object; row 1 is 3\.",
    '[{"y": 1, "y": 0, "p": 0.5}]': r"keys must differ from one another; row 0 has 'y' twice\.",
    '[{"y": 1, "p": 0.5, "p ": 0.5}]': r"columns must have different names; found 'p' twice\.",
    '[{"y": 1, "p": 0.5}': r"must be JSON; line 1 is broken at character 20 \(Expecting",
    '[{"y": 1, "p": NaN}]': r"must be finite; row 0 is nan",
    '[{"y": 1, "p": "x"}]': r"column 'p' must hold numbers; found String\.",
    '[{"y": 1, "p": 0.5}, {"y": 0}]': r"row 1 has none in column 'p'\.",
    '[{"y": 0, "probs": [0.5, 0.5]}, {"y": 0, "probs": [1]}]': r"one length; row 1 has 1, and row",
    '[{"y": 0, "probs": [0.5, null]}]': r"must have no gaps; row 0 has one\.",
    "[" * 100_000: r"must be JSON; it is too deep\.",
    '[{"y": 1, "p": ' + "1" * 5000 + "}]": r"numbers must be finite; the file has a longer one\.",
}


@pytest.mark.parametrize("content", BAD_JSON, ids=range(len(BAD_JSON)))
def test_bad_json(tmp_path, content):
    path = written(tmp_path / "x.json", content)
    with pytest.raises((ValueError, TypeError), match=BAD_JSON[content]) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("late", [1, 150])
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_a_key_that_a_row_lacks_is_a_gap(tmp_path, ending, late):
    """Also in the first row, and where the key comes later than the lines that are looked at."""

    def save(rows):
        lines = [json.dumps(row) for row in rows]
        content = "\n".join(lines) if ending == "jsonl" else f"[{','.join(lines)}]"
        return written(tmp_path / f"x.{ending}", content)

    rows = [{"y": k % 2, "p": 0.5} for k in range(late)]
    data = load(save([*rows, {"site": "a", "p": 0.25, "y": 1}]))
    assert data.n == late + 1
    assert data.probs[-1, 1] == 0.25
    assert data.reading.left_out == ("site",)
    with pytest.raises(ValueError, match=r"row 0 (\(line 1\) )?has none in column 'weight'"):
        load(save([*rows, {"y": 1, "p": 0.25, "weight": 2}]))


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_the_time_for_many_keys_grows_with_their_number(tmp_path, ending):
    """Each key was looked for in the whole file: a thousand in 2,000 lines took a minute."""
    probs = RNG.dirichlet(np.ones(1000), 300)
    frame = pl.DataFrame({f"prob_{j}": probs[:, j] for j in range(1000)} | {"y": [0] * 300})
    path = tmp_path / f"x.{ending}"
    (frame.write_ndjson if ending == "jsonl" else frame.write_json)(path)
    start = time.process_time()
    assert load(path).m == 1000
    assert time.process_time() - start < 4  # a sixth of this is usual


@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e400", '"cut \\ud83d"'])
def test_what_python_writes_into_another_column_is_no_fault(tmp_path, ending, value):
    """Polars has no NaN in JSON lines; half a character is no UTF-8."""
    rows = ['{"y": 1, "prob": 0.25, "other": VALUE}', '{"prob": 1, "y": true, "site": 3}']
    text = (",\n" if ending == "json" else "\n").join(rows).replace("VALUE", value)
    path = tmp_path / f"x.{ending}"
    path.write_text(f"[{text}]" if ending == "json" else text)
    data = load(path, keep="site")
    assert data.probs[:, 1].tolist() == [0.25, 1.0]
    assert data.labels.tolist() == [1, 1]


def test_lists_beside_a_number_that_json_does_not_have(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"y": 1, "probs": [0, 1], "x": NaN}\n{"y": 0, "probs": [0.25, 0.75]}\n')
    assert load(path).probs.tolist() == [[0.0, 1.0], [0.25, 0.75]]


def test_bad_lists_in_lines(tmp_path):
    rows = '{"y": 0, "probs": [0.75, 0.25]}\n' * 150
    for last, sentence in (
        ("[0.5]", r"must have one length; row 150 \(line 151\) has 1, and row 0 has 2\."),
        ('[0.5, "x"]', r"'probs' must be a list of finite numbers; row 150 \(line 151\) has"),
        ("0.5", r"'probs' must be a list of finite numbers; row 150 \(line 151\) has 0\.5\."),
        ("null", r"row 150 \(line 151\) has none in column 'probs'"),
    ):
        path = written(tmp_path / "x.jsonl", f'{rows}{{"y": 0, "probs": {last}}}\n')
        with pytest.raises(ValueError, match=sentence):
            load(path)


def test_what_is_expanded_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_files, "LEAST", 1 << 20)
    bomb = gzip.compress(b"label,prob_a,prob_b\n" + b"0" * (1 << 22))
    path = written(tmp_path / "bomb.csv.gz", bomb)
    with pytest.raises(
        ValueError, match=r"must not unpack to more than 1,048,576 bytes; .* set CAL"
    ):
        load(path)
    monkeypatch.setenv("CALIBRANT_MAX_UNPACKED", "1e8")
    with pytest.raises(ValueError, match=r"as many cells as the header, 3"):
        load(path)
    monkeypatch.setenv("CALIBRANT_MAX_UNPACKED", "much")
    with pytest.raises(
        ValueError, match=r"CALIBRANT_MAX_UNPACKED must be a number of bytes; found"
    ):
        load(path)
    monkeypatch.delenv("CALIBRANT_MAX_UNPACKED")
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, probs=np.full((1 << 18, 2), 0.5), labels=np.zeros(1 << 18, int))
    assert path.stat().st_size < 10_000
    with pytest.raises(ValueError, match=r"must not unpack to more than 1,048,576 bytes; it would"):
        load(path)
    monkeypatch.setenv("CALIBRANT_MAX_UNPACKED", str(1 << 24))
    assert load(path).n == 1 << 18
