"""Regions of rows, from the command line and on the page of a report."""

import json
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest
from command import run

from calibrant import load, search


@pytest.fixture(scope="module")
def wards(tmp_path_factory):
    rng = np.random.default_rng(2)
    p, age = rng.beta(2, 2, 900), rng.integers(20, 80, 900)
    ward = rng.choice(list("ABC"), 900)
    y = rng.random(900) < np.clip(p - 0.3 * ((ward == "B") & (age < 50)), 0, 1)
    path = tmp_path_factory.mktemp("wards") / "wards.csv"
    note = [f"note {k}" for k in range(900)]
    frame = {"y": y.astype(int), "prob": p, "age": age, "ward": ward, "note": note}
    pl.DataFrame(frame).write_csv(path)
    return path


def test_all_columns_are_searched(wards):
    result = run("search", wards, "--resamples", "199")
    assert result.exit_code == 0
    assert result.stdout.startswith("age < ")
    assert "and ward = B: too high by" in " ".join(result.stdout.split())
    assert "Left out: note (text: none of its 900 values has 30 rows)." in result.stdout
    assert "if columns were known before the outcome" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_json_is_what_python_finds(wards):
    words = ["--columns", "age,ward", "--json", "--resamples", "199", "--min-rows", "60"]
    body = json.loads(run("search", wards, *words).stdout)
    found = search(load(wards, keep=["age", "ward"]), min_rows=60, n_resamples=199)
    expected = json.loads(json.dumps(found.to_dict()))
    assert {name: body[name] for name in expected} == expected
    assert body["settings"]["columns"] == ["age", "ward", "P(1)"]
    assert body["rows"][0]["rejected"]


@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_pictures(wards, tmp_path, ending):
    path = tmp_path / f"where.{ending}"
    result = run("search", wards, "--resamples", "19", "--depth", "1", "-o", path)
    assert result.exit_code == 0
    assert path.stat().st_size > 1000
    assert f"Written to {path}." in result.stdout.replace("\n", "")


def test_every_class(tmp_path):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 400)
    frame = {f"prob_{name}": probs[:, j] for j, name in enumerate(("cat", "dog", "bird"))}
    path = tmp_path / "three.csv"
    pl.DataFrame({"label": rng.choice(["cat", "dog", "bird"], 400), **frame}).write_csv(path)
    body = json.loads(
        run("search", path, "--lens", "classes", "--resamples", "19", "--json").stdout
    )
    assert body["strongest"]["subject"] in ("P(cat)", "P(dog)", "P(bird)")
    result = run("search", path, "--lens", "class:dog", "--resamples", "19")
    assert result.exit_code == 0


def test_gaps_are_a_level(wards, tmp_path):
    frame = pl.read_csv(wards).with_columns(
        pl.when(pl.col("age") < 30).then(None).otherwise(pl.col("age")).alias("age")
    )
    path = tmp_path / "gaps.csv"
    frame.write_csv(path)
    data = load(path, keep=["age"])
    assert sum(value is None for value in data.columns["age"]) == frame["age"].null_count()
    assert run("search", path, "--resamples", "19").exit_code == 0


def test_lists_and_records_are_left_out_and_said_so(wards, tmp_path):
    lists = pl.Series([[0.1, 0.2]] * pl.read_csv(wards).height)
    frame = pl.read_csv(wards).with_columns(
        lists.alias("vector"),
        pl.struct("age").alias("record"),
        lists.alias("words").cast(pl.List(pl.String)),
    )
    frame.write_parquet(tmp_path / "rows.parquet")
    words = ["--resamples", "19", "--json"]
    paths = [tmp_path / "rows.parquet"]
    if find_spec("pyarrow"):
        paths.append(tmp_path)
    for path in paths:
        found = run("search", path, *words)
        assert found.exit_code == 0, found.output
        reading = json.loads(found.stdout)["reading"]
        assert reading["left_out"] == reading["nested"] == ["vector", "record", "words"]
    found = run("search", tmp_path / "rows.parquet", "--columns", "vector")
    assert found.exit_code == 1
    assert "column 'vector' must be whole numbers or names; found List(Float64)" in found.stderr


def test_refusals(wards):
    result = run("search", wards, "--columns", "age,")
    assert result.exit_code == 2
    assert "must be names, separated by commas" in result.output
    result = run("search", wards, "--columns", "sex")
    assert result.exit_code == 1
    assert "--columns must name columns; 'sex' not among" in result.stderr
    result = run("search", wards, "--columns", "age", "-o", "where.txt")
    assert "must end in .png or .svg or .pdf or .html" in result.output


def test_the_report_says_where(wards, tmp_path):
    path = tmp_path / "report.html"
    result = run("report", wards, "--by", "age,ward", "--resamples", "99", "-o", path)
    assert result.exit_code == 0
    page = path.read_text("utf-8")
    assert ">Where</a>" in page
    assert "and ward = B: too high by" in page
    assert "adjusted for all tests of the page" in page
    text = " ".join(result.stdout.split())
    assert "Worst region, age < " in text
    assert "and ward = B: too high by" in text


def test_the_advice_knows_of_regions(tmp_path):
    """A model that is right on average, but not in two wards: gaps are no dates, either."""
    rng = np.random.default_rng(0)
    p, ward = rng.beta(2, 2, 1600), rng.choice(list("ABCD"), 1600)
    y = rng.random(1600) < np.clip(p - 0.15 * (ward == "B") + 0.15 * (ward == "C"), 0, 1)
    age = np.where(np.arange(1600) % 9 == 0, None, "50")
    frame = {"y": y.astype(int), "prob": p, "age": age.tolist(), "ward": ward}
    pl.DataFrame(frame).write_csv(tmp_path / "wards.csv")
    words = ["--by", "age,ward", "--resamples", "99", "-o", tmp_path / "report.html"]
    text = " ".join(run("report", tmp_path / "wards.csv", *words).stdout.split())
    assert "No evidence" in text
    assert "Worst region, ward = " in text
    assert "; 1 more region, see Where" in text
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("No calibrator of all rows is called for, but regions are off") == 2


def test_the_report_says_why_not(wards, tmp_path):
    frame = pl.read_csv(wards).with_columns(pl.col("y").alias("after"))
    frame.write_csv(tmp_path / "after.csv")
    path = tmp_path / "report.html"
    words = ["--by", "after", "--label", "y", "--resamples", "19", "-o", path]
    assert run("report", tmp_path / "after.csv", *words).exit_code == 0
    assert "Regions were not searched: columns must be known before" in path.read_text("utf-8")


def test_slopes_and_folders(wards, tmp_path):
    """A folder is loaded, or read in batches where somebody asks for it: the same answer."""
    pytest.importorskip("pyarrow")
    pl.read_csv(wards).write_parquet(tmp_path / "part.parquet")
    words = ["--json", "--resamples", "99", "--statistic", "slope", "--columns", "age,ward"]
    bodies = [
        json.loads(run("search", path, *words, *more).stdout)
        for path, more in ((wards, ()), (tmp_path, ()), (tmp_path, ("--engine", "local")))
    ]
    for body in bodies[1:]:
        assert body["rows"] == bodies[0]["rows"]
        assert body["strongest"] == bodies[0]["strongest"]
    assert bodies[0]["settings"]["statistic"] == "slope"
    assert " extreme" in bodies[0]["strongest"]["sentence"]
    every = run("search", tmp_path, "--resamples", "19", "--engine", "local")
    assert "Left out: note (text: none of its 900 values has 30 rows)." in every.stdout
    wrong = run("search", wards, "--statistic", "size")
    assert "must be bias or slope; found 'size'" in " ".join((wrong.stdout + wrong.stderr).split())
