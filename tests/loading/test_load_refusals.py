"""Every way a file can be wrong has its own sentence with the place of the fault."""

import gzip
import io
import os
import re
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from calibrant import load, load_models

CSV = "label,prob_a,prob_b\na,0.75,0.25\nb,0.25,0.75\n"
LINES = '{"label": "a", "prob_a": 0.75, "prob_b": 0.25}\n' * 2
FRAME = pl.DataFrame({"label": ["a", "b"], "prob_a": [0.75, 0.25], "prob_b": [0.25, 0.75]})
PROBS = np.array([[0.75, 0.25], [0.25, 0.75]])


def refused(tmp_path, name, content, sentence, error=ValueError, **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(error, match=sentence) as caught:
        load(path, **options)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    assert len(said) < 500 + len(str(tmp_path))
    assert type(caught.value) is error


def written(method, frame=FRAME, **options):
    file = io.BytesIO()
    getattr(frame, method)(file, **options)
    return file.getvalue()


def arrays(**named):
    file = io.BytesIO()
    np.savez(file, **named)
    return file.getvalue()


def test_paths(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"`path` must be a file; '.*none\.csv' does not ex"
    ):
        load(tmp_path / "none.csv")
    with pytest.raises(ValueError, match=r"`path` must be a file; '.*' is a folder\."):
        load(tmp_path)
    with pytest.raises(TypeError, match=r"`path` must be the path of a file; found None\."):
        load(None)
    with pytest.raises(FileNotFoundError, match=r"'s3://bucket/x.parquet' does not exist"):
        load("s3://bucket/x.parquet")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match=r"`path` must be a plain file"):
        load(tmp_path / "pipe.csv")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "x.csv").write_text(CSV)
    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(ValueError, match=r"x\.csv: the file must be readable; Permission denied\."):
        load(tmp_path / "x.csv")


@pytest.mark.parametrize("ending", ["ods", "npy", "pickle", "gz", "parquet.gz"])
def test_endings(tmp_path, ending):
    refused(
        tmp_path,
        f"x.{ending}",
        CSV,
        rf"ending must say .*\.csv, .*; found '\.{ending.split('.')[-1]}'\.",
    )


def test_no_ending(tmp_path):
    refused(tmp_path, "x", CSV, r"ending must say .*; found none\.")


WRONG_FORMAT = [
    ("x.parquet", CSV, r"\.parquet files do not start with 'label,pr'. Is it a text file\?"),
    ("x.arrow", CSV, r"\.arrow files do not start with 'label,pr'"),
    ("x.npz", CSV, r"\.npz files do not start with 'label,pr'"),
    ("x.csv.gz", CSV, r"\.gz files do not start with 'label,pr'"),
    ("x.csv", written("write_parquet"), r"this is a Parquet file\. Rename it to \.parquet\."),
    ("x.jsonl", written("write_ipc"), r"this is an Arrow file\. Rename it to \.arrow\."),
    ("x.parquet", written("write_ipc_stream"), r"this is a stream of Arrow batches"),
    ("x.csv", arrays(probs=PROBS), r"this is a ZIP archive\. Rename it to \.npz, or to \.xlsx"),
    ("x.csv", gzip.compress(CSV.encode(), mtime=0), r"this is compressed with gzip"),
    ("x.feather", b"FEA1" + bytes(40), r"this is a Feather file of version 1"),
    ("x.npz", b"\x93NUMPY" + bytes(40), r"this is a single NumPy array"),
    ("x.csv", b"\x89HDF\r\n\x1a\n", r"this is an HDF5 file"),
]


@pytest.mark.parametrize(
    ("name", "content", "sentence"), WRONG_FORMAT, ids=range(len(WRONG_FORMAT))
)
def test_wrong_first_bytes(tmp_path, name, content, sentence):
    refused(tmp_path, name, content, r"ending must fit what is in the file; " + sentence)


def damaged(content, at):
    content = bytearray(content)
    content[at : at + 40] = b"\xff" * 40
    return bytes(content)


DAMAGED = [
    ("cut.parquet", written("write_parquet")[:-30]),
    ("head.parquet", b"PAR1"),
    ("inside.parquet", damaged(written("write_parquet"), 20)),
    ("cut.arrow", written("write_ipc")[:-30]),
    ("head.arrow", b"ARROW1\0\0"),
    ("inside.arrow", damaged(written("write_ipc"), 200)),
    ("cut.ipc", written("write_ipc_stream")[:-8]),
    ("inside.feather", damaged(written("write_ipc_stream"), 60)),
    ("cut.npz", arrays(probs=PROBS, labels=[0, 1])[:-40]),
    ("inside.npz", damaged(arrays(probs=PROBS, labels=[0, 1]), 180)),
    ("cut.csv.gz", gzip.compress(CSV.encode() * 500, mtime=0)[:-40]),
    ("inside.csv.gz", damaged(gzip.compress(CSV.encode() * 500, mtime=0), 20)),
    ("cut.jsonl.gz", gzip.compress(LINES.encode() * 500, mtime=0)[:-40]),
]


@pytest.mark.parametrize(("name", "content"), DAMAGED, ids=[name for name, _ in DAMAGED])
def test_damaged_files(tmp_path, name, content):
    refused(tmp_path, name, content, r"must be whole and readable; it is damaged or cut short \(")


@pytest.mark.parametrize("ending", ["parquet", "arrow", "ipc", "npz", "csv", "jsonl", "csv.gz"])
def test_every_cut_is_refused_or_harmless(tmp_path, ending):
    """No crash and no foreign error at any length; what loads has the first rows unchanged."""
    whole = {
        "parquet": written("write_parquet"),
        "arrow": written("write_ipc"),
        "ipc": written("write_ipc_stream"),
        "npz": arrays(probs=PROBS, labels=[0, 1]),
        "csv": CSV.encode(),
        "jsonl": LINES.encode(),
        "csv.gz": gzip.compress(CSV.encode(), mtime=0),
    }[ending]
    path = tmp_path / f"x.{ending}"
    loaded = 0
    for length in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:length])
        try:
            data = load(path)
        except (ValueError, TypeError):
            continue
        loaded += 1
        assert data.probs[0].tolist() == [0.75, 0.25]
    assert loaded == 0 or ending in ("csv", "jsonl")  # text has no end that could be missing


def test_binary_noise_never_crashes(tmp_path):
    rng = np.random.default_rng(5)
    whole = {
        "parquet": written("write_parquet"),
        "arrow": written("write_ipc"),
        "npz": arrays(probs=PROBS, labels=[0, 1]),
        "csv": CSV.encode(),
        "jsonl": LINES.encode(),
    }
    for ending, content in whole.items():
        for _ in range(40):
            noisy = bytearray(content)
            for at in rng.integers(8, len(noisy), 3):
                noisy[at] = rng.integers(256)
            path = tmp_path / f"x.{ending}"
            path.write_bytes(noisy)
            with suppress(ValueError, TypeError):
                load(path)


BAD_CSV = [
    ("", r"must have a header and rows; it is empty\."),
    ("\n\n", r"must have a header and rows; it is empty\."),
    ("label,prob_a,prob_b\n", r"at least one row; found only the names of columns\."),
    ("label,prob_a,prob_b\n\n,,\n", r"at least one row; found only the names of columns\."),
    (CSV + "a,0.5,0.5,1\n", r"as many cells as the header, 3; row 2 \(line 4\) has 4\. Put names"),
    ("label,p_a,p_b\na,0,75,0,25\n", r"cells as the header, 3; row 0 \(line 2\) has 5"),
    ("y,p\n1,0.5\n1,0,5\n", r"cells as the header, 2; row 1 \(line 3\) has 3"),
    ("a,b,y,p\n1,2,1,0.5\n1,2,3,1,0.5\n", r"cells as the header, 4; row 1 \(line 3\) has 5"),
    ("label,prob_a,prob_b\na,0.5\n", r"as the header, 3; row 0 \(line 2\) has 2\."),
    (CSV + "a,0.5\n", r"every row must have a value .*; row 2 \(line 4\) has none in .*'prob_b'\."),
    (CSV.replace("\nb", "\n\nb"), r"every row must have a value .*; row 1 \(line 3\) has none in"),
    (
        "label,prob_a,prob_b\n\na,1,0\n",
        r"every (line|row) must .*; row 0 \(line 2\) (is empty|has none)",
    ),
    (CSV + ',"\n",1\n' + "a,,\n", r"row 2 \(line 4\) has none in column 'prob_a' \(and 1 more\)"),
    (CSV + "a,abc,0.5\n", r"written like 0\.25; row 2 \(line 4\) has 'abc' in column 'prob_a'\.$"),
    (CSV + "a,NA,0.5\na,NA,1\n", r"'NA' in column 'prob_a' \(and 1 more\)\. A missing value"),
    (CSV + "a,0.5,50%\n", r"'50%' in column 'prob_b'\. Write 0\.25, or say .* `percent=True`"),
    (
        CSV + 'a,"0,5","0,5"\n',
        r"has '0,5' in column 'prob_a'\. Write decimal points, or say .* `decimal_comma=True`",
    ),
    ("y;p_a;p_b\na;0,5;0,5\n", r"row 0 \(line 2\) has '0,5' in column 'p_a'\. Write decimal"),
    (CSV + "a,0x1,0.5\n", r"has '0x1' in column 'prob_a'"),
    (
        CSV + "a,,0.5\n",
        r"every row must have a value .* row 2 \(line 4\) has none in column 'prob_a'",
    ),
    (CSV + ",0.5,0.5\n", r"row 2 \(line 4\) has none in column 'label'"),
    (CSV + "a,nan,0.5\n", r"must be finite; row 2 \(line 4\) has nan in column 'prob_a'"),
    (CSV + "a,0.5,inf\n", r"must be finite; row 2 \(line 4\) has inf in column 'prob_b'"),
    (CSV + "a,1e999,0\n", r"must be finite; row 2 \(line 4\) has inf in column 'prob_a'"),
    (CSV + "a,-0.5,1.5\n", r"not be negative; row 2 \(line 4\) has -0\.5 in column 'prob_a'"),
    (
        CSV + "a,0.5,0.75\n",
        r"the probabilities must sum to 1 in each row; row 2 \(line 4\) sums to 1\.25\. The col",
    ),
    ("y,p\n1,1.5\n", r"between 0 and 1; row 0 \(line 2\) is 1\.5\. Are these logits\?"),
    (
        "y,a,b,age\na,0.5,0.5,3.5\nb,1,0,2\n",
        r"sum to 1 in .*'a', 'b', 'age' were taken; others can",
    ),
    ("label,prob_a,prob_a\na,1,0\n", r"columns must have different names; found 'prob_a' twice\."),
    ("label,prob_a, prob_a\na,1,0\n", r"columns must have different names; found 'prob_a' twice\."),
    ("1,0.5,0.5\n0,0.5,0.5\n", r"first line must name the columns; it holds numbers \('1', '0\.5'"),
    ("id,prob_a,prob_b\n1,1,0\n", r"one column must hold the labels, and be called label, .*'id'"),
    ("id,prob_a,prob_b\n1,1,0\n", r"'prob_a', 'prob_b'\. Name it with `label`\."),
    ("died,pce\n1,0.5\n", r"'pce'\. Name it with `label`, and the probabilities with `probs`, un"),
    ("y,prob,patient_id\n1,0.5,7\n0,0.5,7\n", r"'patient_id' has '7' more .* with `cluster`"),
    ("label,y,prob_a,prob_b\na,a,1,0\n", r"the labels; 'label', 'y' could each be it\. Choose"),
    ("y,x,z\na,u,v\n", r"columns of probabilities must be called prob_<class>, .*found 'x', 'z'"),
    ("y,id\n1,3\n0,4\n", r"columns of probabilities must be called prob_<class>"),
    (
        "y,logit_a,logit_b\na,0,1\n",
        r"Are 'logit_a', 'logit_b' meant\? Then say so with `values='logits'`\.",
    ),
    ("y,prob_a,prob_b,p_a,p_b\na,1,0,1,0\n", r"must have one prefix; found those of prob_ and p_"),
    ("y,prob,score\n1,0.5,0.5\n", r"probability of class 1; 'prob', 'score' could each be it"),
    (
        "y,p\nsick,0.5\nwell,0.5\n",
        r"must be 0 and 1, or `classes` must name .*found 'sick', 'well'",
    ),
    ("y,p\n-1,0.5\n1,0.5\n", r"must be 0 and 1, or `classes` must name .*found '-1', '1'"),
    ("y,prob_a\na,0.5\nb,0.5\nc,0.5\n", r"must be 0 and 1, or `classes`.*found 'a', 'b', 'c'"),
    (
        CSV + "c,0.5,0.5\n",
        r"among the classes 'a', 'b' or 0 to 1; row 2 \(line 4\) has 'c' in column",
    ),
    ("y,prob_a,prob_b\n0,1,0\n2,1,0\n", r"or 0 to 1; row 1 \(line 3\) has '2' in column 'y'"),
    (
        "y,prob_0,prob_1\n0,1,0\n-1,1,0\n",
        r"the labels must be among the classes '0', '1'; row 1 \(line 3\) has '-1'",
    ),
    ("y,prob_1,prob_2\n0,1,0\n1,1,0\n", r"among the classes '1', '2'; row 0 \(line 2\) has '0'"),
    ("y,prob_0,prob_1\n0.5,1,0\n", r"among the classes '0', '1'; row 0 \(line 2\) has '0\.5'"),
    ("y,prob_0,prob_1\n" + "9" * 400 + ",1,0\n", r"row 0 \(line 2\) has '999"),
    (CSV.encode() + b"\xe4,0.5,0.5\n", r"must be UTF-8; line 4 has the byte 0xe4\. Save it as"),
    (CSV.encode("utf-16"), r"must be UTF-8; this is UTF-16\. Save it as UTF-8\."),
    (CSV.replace("\n", "\r"), r"lines must end with \\n or \\r\\n; found \\r alone\."),
    (CSV + '"a,0.5,0.5\nb,0.5,0.5\n', r"a quote that is opened must be closed; look at line 4"),
    (
        'y,p,note\n1,0.5,x\n0,0.5,6" pipe\n',
        r"a cell with a quote in it .*; row 1 \(line 3\) has '6\" pipe'\.",
    ),
    ('n,y,p\n"a\nb",1,0.5\n\n"c\nd",1,x\n', r"row 2 \(line 5\) has 'x' in column 'p'"),
]


@pytest.mark.parametrize(("content", "sentence"), BAD_CSV, ids=range(len(BAD_CSV)))
def test_bad_csv(tmp_path, content, sentence):
    refused(tmp_path, "x.csv", content, sentence)


BAD_LINES = [
    ("\n\n", r"must have at least one line; it is empty\."),
    ("{}\n", r"a JSON object with keys; line 1 has none\."),
    (
        LINES + "\n{\n",
        r"must be a JSON object; line 4 is broken at character 3 \(Expecting property",
    ),
    (LINES + LINES[:-10], r"must be a JSON object; line 4 is broken at character"),
    ("[1, 2]\n", r"must be a JSON object; line 1 is '\[1, 2\]'\."),
    ("[" * 100_000 + "\n", r"must be a JSON object; line 1 is too deep\."),
    (LINES + '{"label": "a", "prob_a": 1}\n', r"row 2 \(line 3\) has none in column 'prob_b'"),
    (LINES + '\n{"prob_a": 1, "prob_b": 0}\n', r"row 2 \(line 4\) has none in column 'label'"),
    (LINES.replace("0.25", "null"), r"row 0 \(line 1\) has none in column 'prob_b' \(and 1 more\)"),
    (
        LINES + LINES.replace("0.25", '"0.25"'),
        r"'prob_b' must be a number; row 2 \(line 3\) has \"0",
    ),
    (
        LINES + LINES.replace("0.25", "true"),
        r"'prob_b' must be a number; row 2 \(line 3\) has true",
    ),
    (
        LINES + LINES.replace("0.25", "[1]"),
        r"'prob_b' must be a number; row 2 \(line 3\) has \[1\]",
    ),
    (LINES + LINES.replace("0.25", "NaN"), r"'prob_b' must be finite; row 2 \(line 3\) has nan"),
    (LINES + LINES.replace("0.25", "1e999"), r"'prob_b' must be finite; row 2 \(line 3\) has inf"),
    (LINES + LINES.replace("0.25", "0.5"), r"sum to 1 in each row; row 2 \(line 3\) sums to 1\.25"),
    ('{"y": 1, "y": 0, "p": 1}\n', r"keys must differ from one another; line 1 has 'y' twice"),
    (b'{"label": "\xe4"}\n', r"must be UTF-8; line 1 has the byte 0xe4"),
]


@pytest.mark.parametrize(("content", "sentence"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_bad_json_lines(tmp_path, content, sentence):
    refused(tmp_path, "x.jsonl", content, sentence)


BAD_COLUMNS = [
    (
        pl.Series("prob_a", [0.5, None]),
        ValueError,
        r"every row .*; row 1 has none in column 'prob_a'",
    ),
    (
        pl.Series("prob_a", ["x", "y"]),
        TypeError,
        r"column 'prob_a' must hold numbers; found String",
    ),
    (pl.Series("prob_a", [True, False]), TypeError, r"'prob_a' must hold numbers; found Boolean"),
    (pl.Series("prob_a", [0.75, np.nan]), ValueError, r"finite; row 1 has nan in column 'prob_a'"),
    (pl.Series("label", [[1], [2]]), TypeError, r"whole numbers or names; found List\(Int64\)"),
    (
        pl.Series("label", ["a", None]),
        ValueError,
        r"every row .*; row 1 has none in column 'label'",
    ),
    (pl.Series("label", [0.0, np.nan]), ValueError, r"row 1 has nan in column 'label'"),
    (pl.Series("label", [2**63 - 1, 0]), ValueError, r"row 0 has 9223372036854775807 in column"),
    (
        pl.Series("label ", [1, 2]),
        ValueError,
        r"columns must have different names; found 'label' tw",
    ),
    (pl.Series("Label", [1, 2]), ValueError, r"the labels; 'label', 'Label' could each be it"),
]


@pytest.mark.parametrize("method", ["write_parquet", "write_ipc"])
@pytest.mark.parametrize(("column", "error", "sentence"), BAD_COLUMNS, ids=range(len(BAD_COLUMNS)))
def test_bad_columns(tmp_path, method, column, error, sentence):
    content = written(method, FRAME.with_columns(column))
    refused(tmp_path, "x.parquet" if "pa" in method else "x.arrow", content, sentence, error)


def test_no_rows(tmp_path):
    content = written("write_parquet", FRAME.head(0))
    refused(tmp_path, "x.parquet", content, r"at least one row; found only the names of columns")


BAD_OPTIONS = [
    ({"label": "z"}, ValueError, r"`label` must name columns; 'z' not among 'label', 'prob_a'"),
    ({"weight": "w"}, ValueError, r"`weight` must name columns; 'w' not among"),
    ({"probs": ["prob_a", "z"]}, ValueError, r"`probs` must name columns; 'z' not among"),
    ({"probs": []}, ValueError, r"`probs` must name at least one column; found none\."),
    ({"probs": ["prob_a"] * 2}, ValueError, r"`probs` must name different columns; found 'prob_a'"),
    ({"probs": ["label", "prob_a"]}, ValueError, r"one thing only: .*found 'label' twice"),
    ({"weight": "prob_a"}, ValueError, r"one thing only: .*found 'prob_a' twice"),
    ({"weight": "label"}, ValueError, r"one thing only: .*found 'label' twice"),
    ({"classes": ["x"]}, ValueError, r"`classes` must name the 2 classes; found 1\."),
    ({"classes": []}, ValueError, r"`classes` must name the 2 classes; found 0\."),
    (
        {"classes": ["x", "x"]},
        ValueError,
        r"`classes` must differ from one another; found 'x' twice",
    ),
    ({"classes": "ab"}, TypeError, r"`classes` must be a list of names; found the string 'ab'\."),
    ({"classes": 3}, TypeError, r"`classes` must be a list of names; found 3\."),
    (
        {"values": "logits"},
        ValueError,
        r"columns of logits must .* Then leave out `values='logits'`\.",
    ),
]


@pytest.mark.parametrize(("options", "error", "sentence"), BAD_OPTIONS, ids=range(len(BAD_OPTIONS)))
def test_bad_options(tmp_path, options, error, sentence):
    content = CSV.replace("\n", ",1\n").replace("prob_b,1", "prob_b,extra")
    refused(tmp_path, "x.csv", content, sentence, error, **options)


def test_options_of_a_wrong_type(tmp_path):
    for options, sentence in (
        ({"label": 3}, r"`label` must be the name of a column; found 3\."),
        ({"weight": ["w"]}, r"`weight` must be the name of a column; found \['w'\]\."),
        ({"probs": 3}, r"`probs` must be names of columns; found 3\."),
        ({"probs": [1, 2]}, r"`probs` must be names of columns; found \[1, 2\]\."),
    ):
        with pytest.raises(TypeError, match=sentence):
            load(tmp_path / "x.csv", **options)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ("-1", r"`weights` must be finite and not negative; row 0 \(line 2\) has -1\.0\."),
        ("inf", r"`weights` must be finite and not negative; row 0 \(line 2\) has inf\."),
        ("0", r"`weights` must not all be zero"),
        ("x", r"written like 0\.25; row 0 \(line 2\) has 'x' in column 'w'"),
        ("", r"every row must have a value .*; row 0 \(line 2\) has none in column 'w'"),
    ],
)
def test_bad_weights(tmp_path, weight, sentence):
    content = f"y,prob_a,prob_b,w\na,1,0,{weight}\n"
    refused(tmp_path, "x.csv", content, sentence, weight="w")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [([], "there must be at least one row"), ([None], "row 0 has none in column 'prob_a'")],
)
def test_columns_without_a_type(tmp_path, values, sentence):
    frame = pl.DataFrame(dict.fromkeys(("label", "prob_a", "prob_b"), values))
    assert frame.schema["prob_a"] == pl.Null
    refused(tmp_path, "x.parquet", written("write_parquet", frame), sentence)


def test_bad_logits(tmp_path):
    content = "y,logit_a,logit_b\na,1,0\na,inf,0\n"
    sentence = r"the logits must be finite, or -inf .*; row 1 \(line 3\) is \[inf, 0\.0\]\."
    refused(tmp_path, "x.csv", content, sentence, values="logits")


GOOD = {"probs": PROBS, "labels": [0, 1]}
BAD_ARRAYS = [
    ({"labels": [0, 1], "x": PROBS}, {}, r"must hold an array 'probs'; found 'labels', 'x'\. Name"),
    ({"probs": PROBS}, {}, r"must hold an array 'labels'; found 'probs'\. Name it with `label`\."),
    (
        {"logits": PROBS, "labels": [0, 1]},
        {},
        r"Are there logits\? Say so with `values='logits'`\.",
    ),
    (
        GOOD,
        {"values": "logits"},
        r"must hold an array 'logits'; .* Then leave out `values='logits'`\?",
    ),
    (GOOD | {"prob": PROBS}, {}, r"one array must be 'probs'; found 'probs', 'prob'\. Choose with"),
    (GOOD, {"probs": "z"}, r"`probs` must name an array; 'z' not among 'probs', 'labels'\."),
    (GOOD, {"probs": ["a", "b"]}, r"`probs` must name one array of an NPZ file; found 'a', 'b'\."),
    (GOOD, {"weight": "z"}, r"`weight` must name an array; 'z' not among"),
    (
        GOOD | {"labels": [0]},
        {},
        r"the array 'labels' must be one for each of the 2 rows; found 1\.",
    ),
    (
        GOOD | {"labels": [0, 2]},
        {},
        r"the array 'labels' must be whole numbers from 0 to 1; row 1 has 2\.",
    ),
    (GOOD | {"labels": ["a", "b"]}, {}, r"row 0 has 'a' .* name the classes in order"),
    (
        GOOD | {"probs": PROBS[None]},
        {},
        r"the array 'probs' must be of shape \(n, m\) or \(n,\); found \(1, 2",
    ),
    (
        GOOD | {"probs": 0.5},
        {},
        r"the array 'probs' must be of shape \(n, m\) or \(n,\); found \(\)",
    ),
    (GOOD | {"probs": PROBS[:0]}, {}, r"`probs` must have at least one row; found none\."),
    (
        GOOD | {"probs": PROBS * 2},
        {},
        r"sum to 1 in each row; row 0 sums to 2 .* Then say so with `values='logits'`\.",
    ),
    (GOOD | {"classes": ["a"]}, {}, r"`classes` must name the 2 classes; found 1\."),
    (
        GOOD | {"classes": [["a", "b"]]},
        {},
        r"`classes` must be of one dimension; found shape \(1, 2",
    ),
    (GOOD | {"weights": [-1, 1]}, {}, r"`weights` must be finite and not negative; row 0 has -1"),
    (GOOD | {"weights": PROBS}, {}, r"the array 'weights' must be of shape \(2,\); found \(2, 2\)"),
    (
        GOOD | {"labels": np.array([0, "x"], object)},
        {},
        r"'labels' must .* it holds Python objects",
    ),
]


@pytest.mark.parametrize(("named", "options", "sentence"), BAD_ARRAYS, ids=range(len(BAD_ARRAYS)))
def test_bad_arrays(tmp_path, named, options, sentence):
    refused(tmp_path, "x.npz", arrays(**named), sentence, **options)


def test_arrays_of_a_wrong_type(tmp_path):
    content = arrays(probs=PROBS.astype(complex), labels=[0, 1])
    refused(
        tmp_path,
        "x.npz",
        content,
        r"the array 'probs' must be numbers; found complex128",
        TypeError,
    )


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("exploded",))


def test_nothing_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = arrays(probs=PROBS, labels=np.array([Bomb(), 1], object))
    refused(tmp_path, "x.npz", content, r"which are not unpickled\. Save it with a plain type")
    assert not Path("exploded").exists()


def archive(header, rest=b"\0" * 100):
    file, start = io.BytesIO(), io.BytesIO()
    if isinstance(header, dict):
        np.lib.format.write_array_header_1_0(start, header)
    else:
        start.write(header)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("probs.npy", start.getvalue() + rest)
        zipped.writestr("labels.npy", b"junk")
    return file.getvalue()


def test_absurd_arrays(tmp_path):
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)}
    refused(tmp_path, "x.npz", archive(header), r"must be whole; its shape .* holds 100\.$")
    refused(tmp_path, "x.npz", archive(b"junk"), r"must be in NumPy's format")
    refused(
        tmp_path, "x.npz", archive(header | {"shape": (-2, -2)}, bytes(32)), r"shape \(-2, -2\)"
    )
    refused(
        tmp_path, "x.npz", archive(b"\x93NUMPY\x01\x00\x40\x00{'descr': '<f8'"), "NumPy's format"
    )


def test_more_than_forty_different_sentences():
    tables = [BAD_CSV, BAD_LINES, WRONG_FORMAT, DAMAGED]
    assert sum(map(len, tables)) + len(BAD_COLUMNS) + len(BAD_OPTIONS) + len(BAD_ARRAYS) >= 40
    assert len({sentence for _, sentence in BAD_CSV}) >= 40


def test_no_warning_and_no_open_file(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(CSV + "c,0.5,0.5\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(50):
            with pytest.raises(ValueError, match=re.escape("has 'c'")):
                load(path)


def test_only_empty_lines_at_the_end_are_left_out(tmp_path):
    path = tmp_path / "x.csv"
    rows = "id,label,prob_a,prob_b\n1,a,0.75,0.25\n2,b,0.25,0.75\n"
    path.write_text(rows + ",,,\n,,,\n")
    assert load(path).n == 2
    refused(tmp_path, "y.csv", rows + "3,,,\n", r"row 2 \(line 4\) has none in column 'prob_a'")


@pytest.mark.parametrize("cells", [1_006, 100_000])
def test_a_line_that_is_far_too_long_is_refused_at_sight(tmp_path, cells):
    """Some MB of commas would become some GB if other things were made of them first."""
    line = ",".join(["0.5"] * cells)
    match = rf"as the header, 3; row 1 \(line 3\) has {cells}\. Put names"
    refused(tmp_path, "x.csv", f"label,prob_a,prob_b\na,0.5,0.5\n{line}\n", match)


def test_a_name_without_end_is_cut_in_every_part_of_a_sentence(tmp_path):
    name = "x" * 100_000
    refused(tmp_path, "x.csv", f"label,{name}\n1,0.25\n0,0.5\n", r"Is it 'x+…\?")


def test_a_loop_of_links_is_a_sentence(tmp_path):
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    for read in (load, load_models):
        with pytest.raises(FileNotFoundError, match=r"cannot be one \(Too many levels of symbolic"):
            read(tmp_path / "a.csv")


@pytest.mark.parametrize("paths", [10**30, None, 0.5, {1: 2}])
def test_models_need_paths(paths):
    with pytest.raises(TypeError, match=r"`paths` must be a path, or a list of paths; found"):
        load_models(paths)


def test_models_need_at_least_one_path():
    with pytest.raises(ValueError, match=r"`paths` must name at least one file; found none"):
        load_models([])


ARRAYS = {
    "not finite": ({"P": [[0.5, np.nan]], "Y": [0]}, r"the array 'P' must be finite; row 0"),
    "three dimensions": ({"P": np.zeros((2, 2, 2)), "Y": [0, 1]}, r"the array 'P' must be of sh"),
    "texts": ({"P": ["a", "b"], "Y": [0, 1]}, r"the array 'P' must be numbers; found <U1"),
    "another length": ({"P": [0.5, 0.25], "Y": [0]}, r"the array 'Y' must be one for each of"),
    "a label": ({"P": [0.5, 0.25], "Y": [0, 7]}, r"the array 'Y' must be whole numbers from 0"),
    "weights": ({"P": [0.5], "Y": [0], "W": [1, 2]}, r"the array 'W' must be of shape \(1,\)"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_sentences_about_npz_files_name_the_array(tmp_path, name):
    arrays, sentence = ARRAYS[name]
    np.savez(tmp_path / "x.npz", **{key: np.array(value) for key, value in arrays.items()})
    weight = {"weight": "W"} if "W" in arrays else {}
    with pytest.raises((ValueError, TypeError), match=sentence):
        load(tmp_path / "x.npz", probs="P", label="Y", **weight)


def test_groups_of_the_labels_themselves_are_refused(tmp_path):
    (tmp_path / "x.csv").write_text("label,p\n0,0.5\n1,0.25\n")
    with pytest.raises(ValueError, match=r"`keep` must name other columns than that of the labels"):
        load(tmp_path / "x.csv", keep="label")
    with pytest.raises(ValueError, match=r"found nothing beside the labels"):
        load(tmp_path / "x.csv", keep="p")


def test_confidences_beside_true_classes_ask_who_was_right(tmp_path):
    (tmp_path / "x.csv").write_text("true_class,pred_class,confidence\n3,3,0.5\n1,2,0.25\n7,7,1\n")
    with pytest.raises(ValueError, match="say whether the prediction was right, 1 or 0; found"):
        load(tmp_path / "x.csv", label="true_class")
