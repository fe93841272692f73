"""Files that were made to take memory are refused, or take as much as they hold."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from calibrant import load, load_models

SIZE = 6_000_000  # bytes of a file
HERE = str(Path(__file__).parent)
MEASURE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from memory import Peak
from calibrant import load
load(sys.argv[2])
peak = Peak()
try:
    load(sys.argv[3])
    said = "loaded"
except ValueError as error:
    said = str(error)
print(json.dumps([peak.grown(), said]))
"""

# Text, what is said of it, and how many times its size it may take.
HOSTILE = {
    "a long list in a row": (
        "jsonl",
        '{"y": 1, "probs": [' + "0," * (SIZE // 2) + "0]}\n",
        "at most 1,000,000 entries; found 3,000,001",
    ),
    "a list of numbers": ("json", "[" + "0," * (SIZE // 2) + "0]", "row 0 is 0"),
    "a list of nothing": ("json", "[" + "{}," * (SIZE // 3) + "{}]", "row 0 has none"),
    "rows of one key": ("json", "[" + '{"p":1},' * (SIZE // 8) + '{"p":1}]', "hold the labels"),
    "empty lines at the end": ("csv", "y,p\n1,0.5\n0,0.5\n" + "\n" * SIZE, "loaded"),
    "empty lines of Windows": ("csv", "y,p\r\n1,0.5\r\n0,0.5\r\n" + "\r\n" * (SIZE // 2), "loaded"),
    "empty lines": ("csv", "y,p\n1,0.5\n" + "\n" * SIZE + "0,0.5\n", r"row 1 (line 3) is empty"),
    "empty lines among quotes": (
        "csv",
        'y,p,n\n1,0.5,"a"\n' + "\n" * SIZE + '0,0.5,""\n',
        r"row 1 (line 3) is empty",
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is looked up in /proc")
@pytest.mark.parametrize("name", HOSTILE)
def test_memory_is_a_few_times_the_text(tmp_path, name):
    ending, text, said = HOSTILE[name]
    (tmp_path / f"small.{ending}").write_text(SMALL[ending])
    (tmp_path / f"x.{ending}").write_text(text)
    files = [str(tmp_path / f"{which}.{ending}") for which in ("small", "x")]
    words = [sys.executable, "-c", MEASURE, HERE, *files]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    grown, found = json.loads(done.stdout)
    assert said in found
    assert grown < 8 * len(text) + (8 << 20)


SMALL = {
    "csv": "y,p\n1,0.5\n0,0.25\n",
    "jsonl": '{"y": 1, "p": 0.5}\n{"y": 0, "p": 0.25}\n',
    "json": '[{"y": 1, "p": 0.5}, {"y": 0, "p": 0.25}]',
}


def test_empty_lines_between_quotes_are_part_of_a_cell(tmp_path):
    text = 'y,p,n\n1,0.5,"' + "\n" * 5000 + '"\n0,0.25,\n' + "\n" * 5000
    (tmp_path / "x.csv").write_text(text)
    data = load(tmp_path / "x.csv")
    assert data.probs[:, 1].tolist() == [0.5, 0.25]


def test_rows_must_have_keys_in_common(tmp_path):
    rows = [{f"k{i}": 1} for i in range(2000)]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    with pytest.raises(ValueError, match=r"must have keys in common; 1,0\d\d rows have 1,0\d\d"):
        load(tmp_path / "x.json")


def test_runs_of_one_value_are_counted_as_they_unpack(tmp_path, monkeypatch):
    """A column of one value takes a few bytes in Parquet, however many rows it has."""
    rows = pl.DataFrame({"y": [0, 1], "p": [0.5, 0.5]})
    frame = pl.concat([rows.head(1).select(pl.all().repeat_by(2_000_000).explode()), rows])
    frame.write_parquet(tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 100_000
    assert load(tmp_path / "x.parquet").n == 2_000_002
    monkeypatch.setattr("calibrant.loading.plain_files.LEAST", 1 << 24)
    with pytest.raises(ValueError, match=r"must not unpack to more than 16,777,216 bytes"):
        load(tmp_path / "x.parquet")


def test_a_header_has_an_end(tmp_path):
    (tmp_path / "x.csv").write_text("y" + ",p" * 1_000_001 + "\n1\n")
    with pytest.raises(ValueError, match=r"at most 1,000,000 entries; found 1,000,002"):
        load(tmp_path / "x.csv")


LATE = [
    {"y": 1, "p": 0.5},
    {"y": 0, "p": 0.25, "weight": 2.0, "model": "a", "id": 1},
]


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
@pytest.mark.parametrize("key", ["weight", "model", "id"])
def test_a_key_that_comes_later_is_a_column_with_gaps(tmp_path, ending, key):
    """As an empty cell of a CSV file is, and with the same sentence."""
    path = tmp_path / f"x.{ending}"
    rows = [{name: row.get(name) for name in ("y", "p", key) if name in row} for row in LATE]
    if ending == "csv":
        pl.DataFrame(rows).write_csv(path)
    else:
        texts = [json.dumps(row) for row in rows]
        path.write_text(f"[{','.join(texts)}]" if ending == "json" else "\n".join(texts))
    choice = {"model": {"model": "model"}, "id": {"id": "id"}}.get(key, {})
    with pytest.raises(ValueError, match=rf"row 0.* has none in column '{key}'"):
        load_models(path, **choice)
