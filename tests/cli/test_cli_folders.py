"""Folders, patterns and addresses are loaded if they are small, else read in batches."""

import json

import polars as pl
import pytest
from command import run, write

QUICK = ("--resamples", "99", "--seed", "3")
BATCHES = ("--engine", "local")


@pytest.fixture
def folder(tmp_path):
    """Return a folder of three files, and one file of the same rows."""
    whole = write(tmp_path / "whole.parquet")
    frame = pl.read_parquet(whole).with_row_index("nr")
    parts = tmp_path / "parts"
    parts.mkdir()
    for i in range(3):
        frame.slice(100 * i, 100).write_parquet(parts / f"part-{i}.parquet")
    return parts, whole


def answer(*words):
    found = run(*words, *QUICK, "--json")
    assert found.exit_code == 0, found.output
    body = json.loads(found.stdout)
    return body["rows"], body["n"]


@pytest.mark.parametrize("command", ["test", "evaluate"])
def test_a_folder_gives_what_a_file_of_its_rows_gives(folder, command):
    parts, whole = folder
    asked = (command, "--lens", "top", "--partition", "width:10", "--distance", "tv")
    expected = answer(*asked, whole)
    for path in (parts, parts / "part-*.parquet", parts.as_uri()):
        assert answer(*asked, path) == expected
    for option in (("--engine", "local"), ("--row", "nr")):
        assert answer(*asked, parts, *option) == expected
    # One file can be read in batches, too.
    assert answer(*asked, whole, "--engine", "local") == expected


def test_a_small_folder_is_loaded(folder, monkeypatch):
    parts, whole = folder
    for words in (
        ("evaluate",),
        ("test", "--fail-above", "0.9"),
        ("report", "-o", parts / "r.html"),
    ):
        found, expected = (run(*words, path, *QUICK) for path in (parts, whole))
        assert found.exit_code == expected.exit_code == 0, found.output
        assert "not worked out" not in found.output
    alone, other = (json.loads(run("evaluate", path, *QUICK, "--json").stdout) for path in folder)
    assert alone["verdicts"] == other["verdicts"]
    both = run("compare", parts, whole, *QUICK)
    assert both.exit_code == 0, both.output
    monkeypatch.setattr("calibrant.rows.scan.LOADED", 8 * 300 * 3 - 1)
    found = run("evaluate", parts, *QUICK, "--json")
    assert json.loads(found.stdout)["settings"]["statistics"] == "omnibus on bins"
    found = run("report", parts, whole, "-o", parts / "two.html", *QUICK)
    assert found.exit_code == 2
    assert "must be one folder, pattern or address" in " ".join(found.output.split())


def test_without_choices_statistics_on_cells_are_tested(folder):
    parts, _ = folder
    for command in ("test", "evaluate"):
        found = run(command, parts, *BATCHES, *QUICK)
        assert found.exit_code == 0, found.output
        assert "expected total variation on one bin" in found.output
        assert "not worked out" not in found.output
        assert "Left out: 'nr'" in " ".join(found.output.split())
    found = run("test", parts, "--distance", "euclidean", *BATCHES, *QUICK)
    assert "expected euclidean on 10 equal widths" in found.output
    gate = run("test", parts, "--fail-below", "0.5", "--lens", "top", *BATCHES, *QUICK)
    assert gate.exit_code in (0, 3)


def test_groups_and_scores_of_a_folder(folder):
    parts, whole = folder
    by = ("--by", "nr", "--lens", "top", *BATCHES)
    found = run("evaluate", parts, *by, *QUICK, "--json")
    assert found.exit_code == 0, found.output
    body = json.loads(found.stdout)
    assert [(row["column"], row["group"], row["n"]) for row in body["slices"]] == [
        ("nr", f"{75 * i} to {75 * i + 74}", 75)  # quartiles of the numbers of rows
        for i in range(4)
    ]
    in_memory = json.loads(run("evaluate", whole, *QUICK, "--json").stdout)
    assert body["scores"] == pytest.approx(in_memory["scores"], rel=1e-13)
    assert "0 of 4 groups are miscalibrated" in run("evaluate", parts, *by, *QUICK).output


def test_a_report_on_a_folder(folder, tmp_path):
    parts, whole = folder
    output = tmp_path / "report.html"
    found = run("report", parts, "-o", output, "--by", "nr", *BATCHES, *QUICK)
    assert found.exit_code == 0, found.output
    page = output.read_text("utf-8")
    assert "Recalibration was not tried, since rows were read in batches" in page
    assert "Scan(n=300, m=3" in page
    found = run("report", parts, whole, "-o", tmp_path / "two.html", *BATCHES, *QUICK)
    assert found.exit_code == 2
    assert "must be one folder, pattern or address" in " ".join(found.output.split())
    assert not (tmp_path / "two.html").exists()


def test_gates_of_a_size(folder):
    parts, _ = folder
    asked = ("test", parts, "--lens", "top", *BATCHES, *QUICK)
    for limit, closed in (("0.0001", 3), ("0.9", 0)):
        assert run(*asked, "--require-below", limit).exit_code == closed
    assert run(*asked, "--fail-above", "0.9").exit_code == 0
    found = run("test", parts, "--lens", "pooled", "--fail-above", "0.1", *BATCHES, *QUICK)
    assert found.exit_code == 2
    assert "is not worked out for scanned rows" in " ".join(found.output.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--region", "dog > 0.1"), "--region: is for single files"),
        (("--model", "label"), "--model: is for single files"),
        (("--ignore", "nr"), "--ignore: is for single files"),
        (
            ("--statistic", "cox", "--lens", "top"),
            "looks at rows, and scanned rows come in batches",
        ),
        (("--label", "nothing"), "`label` must name columns"),
        (("--engine", "carrier pigeon"), "`engine` must be"),
    ],
)
def test_refusals(folder, words, sentence):
    parts, _ = folder
    engine = () if "--engine" in words else BATCHES
    found = run("test", parts, *words, *engine, *QUICK)
    assert found.exit_code in (1, 2)
    assert sentence.replace("`", "") in " ".join(found.output.split()).replace("`", "")
