"""Excel, Stata, SPSS, bzip2 and zstd, written by the usual packages and read as they are."""

import bz2
import subprocess
import sys

import pandas as pd
import pyreadstat
import pytest
import zstandard

import calibrant as cal

FRAME = pd.DataFrame({"y": [1, 0, 1, 0], "prob": [0.7, 0.25, None, 0.5], "site": list("abab")})


@pytest.fixture(params=["x.xlsx", "x.dta", "x.sav", "x.csv.bz2", "x.csv.zst", "x.jsonl.zst"])
def path(request, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".xlsx":
        FRAME.to_excel(path, index=False)
    elif path.suffix == ".dta":
        FRAME.to_stata(path, write_index=False)
    elif path.suffix == ".sav":
        pyreadstat.write_sav(FRAME, str(path))
    elif path.suffix == ".bz2":
        path.write_bytes(bz2.compress(FRAME.to_csv(index=False).encode()))
    elif "jsonl" in path.name:
        text = FRAME.to_json(orient="records", lines=True)
        path.write_bytes(zstandard.compress(text.encode()))
    else:
        path.write_bytes(zstandard.compress(FRAME.to_csv(index=False).encode()))
    return path


def test_they_are_read(path):
    with pytest.raises(ValueError, match="`drop_missing=True`"):
        cal.load(path)
    data = cal.load(path, drop_missing=True, keep="site")
    assert data.probs[:, 1].tolist() == [0.7, 0.25, 0.5]
    assert data.labels.tolist() == [1, 0, 0]
    assert data.reading.dropped == 1


@pytest.mark.parametrize("package", ["fastexcel", "pyreadstat", "zstandard"])
def test_a_sentence_says_what_to_install(tmp_path, package):
    endings = {"fastexcel": "xlsx", "pyreadstat": "sav", "zstandard": "csv.zst"}
    path = tmp_path / f"x.{endings[package]}"
    path.write_bytes(zstandard.compress(b"y,prob\n1,0.5\n"))
    code = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        f"u.find_spec = lambda n, *a: None if n == {package!r} else find(n, *a)\n"
        f"import calibrant as cal; cal.load({str(path)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert f"needs {package}, which is not installed: pip install 'calibrant[files]'." in last


@pytest.mark.parametrize(
    ("door", "package"),
    [
        ("sklearn", "sklearn"),
        ("torch", "torchmetrics"),
        ("lightning", "lightning"),
        ("transformers", "transformers"),
    ],
)
def test_doors_say_what_to_install(door, package):
    code = (
        "import importlib.util as u; find = u.find_spec\n"
        f"u.find_spec = lambda n, *a: None if n == {package!r} else find(n, *a)\n"
        f"import calibrant.{door}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last == (
        f"ImportError: calibrant.{door} needs {package}, which is not installed:"
        f" pip install 'calibrant[{door}]'."
    )
