"""calibrant recalibrate and calibrant apply, as they are used."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import run, write

import calibrant as cal
from calibrant.recalibration import Temperature, TemperatureMap, load_map

QUICK = ("--resamples", "99")


@pytest.fixture
def train(tmp_path):
    return write(tmp_path / "train.csv", n=600, power=2.0)


def test_the_table_and_the_recommendation(train):
    result = run("recalibrate", train, *QUICK)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Use temperature: on rows it has not seen, the log loss falls")
    title = lines.index(f"{train}: 600 rows, 3 classes, cross-fitted with 5 folds")
    assert [line.split("  ")[0] for line in lines[title + 3 : title + 8]] == [
        *("as it is", "temperature", "vector", "Dirichlet", "isotonic")
    ]
    assert "cross-fitted prediction" in " ".join(result.stdout.split())  # what the p-values are of
    assert lines[-1].startswith("Read labels from 'label' and probabilities from")


def test_json_is_what_the_library_says(train):
    result = run("recalibrate", train, "--json", "--seed", "3", "--folds", "4", *QUICK)
    found = json.loads(result.stdout)
    expected = cal.recalibrate(cal.load(train), folds=4, n_resamples=99, rng=3)
    assert found["recommended"] == expected.recommended
    assert found["rows"][1]["log_score"] == expected.rows[1].log_score
    assert found["settings"] == expected.settings
    assert found["map"] == expected.map().to_dict()


def test_a_saved_map_is_applied_to_a_file_without_labels(train, tmp_path):
    saved, new, out = (tmp_path / name for name in ("map.json", "new.csv", "out.csv"))
    result = run("recalibrate", train, "--save", saved, *QUICK)
    text = " ".join(result.stdout.split())
    assert (
        f"Written to {saved}: the calibrator of 'temperature', fitted to all rows (temperature"
        in text
    )
    fitted = load_map(saved)
    assert fitted.to_dict() == Temperature(prior=60 / 600).fit(cal.load(train)).to_dict()
    frame = pl.read_csv(train).drop("label").with_columns(note=pl.lit("kept, as it is"))
    frame.write_csv(new)
    result = run("apply", saved, new, "-o", out)
    text = " ".join(result.stdout.split())
    assert text.startswith(
        f"Written to {out}: 600 rows, with 'prob_cat', 'prob_dog' and 'prob_bird'"
    )
    assert text.endswith(f"recalibrated by {fitted}. All other columns are as they were.")
    found = pl.read_csv(out)
    assert found.columns == frame.columns
    assert found["note"].equals(frame["note"])
    expected = fitted(frame.drop("note").to_numpy())
    assert np.array_equal(found.drop("note").to_numpy(), expected)


def test_the_only_method_is_saved_and_of_several_the_recommended_one(tmp_path):
    fine = write(tmp_path / "fine.csv", n=600)
    saved = tmp_path / "map.json"
    run("recalibrate", fine, "--method", "vector", "--save", saved, *QUICK)
    assert load_map(saved).kind == "log_linear"
    result = run("recalibrate", fine, "--save", saved, *QUICK)
    assert "Leave it as it is" in result.stdout
    assert load_map(saved).temperature == 1.0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("matrix", "matrix"),
        ("dirichlet:0.5", "Dirichlet"),
        ("isotonic", "isotonic"),
        ("histogram:width:4", "histogram on 4 equal widths"),
    ],
)
def test_methods_have_names(train, text, name):
    found = json.loads(run("recalibrate", train, "--method", text, "--json", *QUICK).stdout)
    assert found["settings"]["methods"] == [name]


def refused(result, code, part, folder):
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert part in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    if code == 1:
        assert len(result.stderr.splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--folds", "601"], 1, "--folds must be at most the number of rows, 600; found 601."),
        (["--folds", "1"], 2, "--folds"),
        (["--method", "beta"], 2, "beta is for two; found 'beta'"),
        (["--method", "magic"], 2, "--method: must be temperature, vector,"),
        (["--method", "histogram:width"], 2, "--method: must be width:10"),
        (["--method", "vector", "--method", "vector"], 2, "mean the same"),
        (["--region", "cat > 2"], 1, "--region must keep at least one row"),
    ],
)
def test_what_cannot_be_recalibrated(train, tmp_path, words, code, part):
    folder = tmp_path / "out"
    folder.mkdir()
    result = run("recalibrate", train, "--save", folder / "map.json", *words, *QUICK)
    refused(result, code, part, folder)


def test_one_class_only_and_a_wrong_ending(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    path = tmp_path / "one.csv"
    path.write_text("label,prob_a,prob_b\n" + "a,0.5,0.5\n" * 20)
    result = run("recalibrate", path, "--save", folder / "map.json", *QUICK)
    refused(result, 1, "the file must have outcomes of at least two classes; all of", folder)
    result = run("recalibrate", path, "--save", folder / "map.csv", *QUICK)
    refused(result, 2, "--save: must end in .json; found 'map.csv'.", folder)


MAPS = {
    "cut": '{"schema": "calibrant-map/1", "kind": "temp',
    "other": "[1, 2]",
    "field": '{"schema": "calibrant-map/1", "kind": "temperature", "classes": ["a", "b"]}',
    "names": '{"schema": "calibrant-map/1", "kind": "temperature", "classes": "ab"}',
}
PARTS = {
    "cut": "must be a JSON file; it cannot be read",
    "other": "must hold a JSON object; found [1, 2].",
    "field": "'temperature' must be there; it is missing.",
    "names": "'classes' must be the names of at least two; found 'ab'.",
}


@pytest.mark.parametrize("name", MAPS)
def test_a_damaged_map_leaves_no_file(train, tmp_path, name):
    folder = tmp_path / "out"
    folder.mkdir()
    (tmp_path / "map.json").write_text(MAPS[name])
    result = run("apply", tmp_path / "map.json", train, "-o", folder / "out.csv")
    refused(result, 1, PARTS[name], folder)


@pytest.mark.parametrize(
    ("name", "output", "code", "part"),
    [
        ("in.csv.gz", "out.json.gz", 2, "must end in .csv.gz; found 'out.json.gz'"),
        ("in", "out.csv", 1, "in: the ending must say what is in the file"),
        ("-", "out.csv", 1, "-: the ending must say what is in the file"),
        ("in.csv", "out.csv", 1, "1 (line 3) has none in column 'p'. What is written again must"),
    ],
)
def test_what_apply_says_of_files_that_it_does_not_write(
    tmp_path, monkeypatch, name, output, code, part
):
    monkeypatch.chdir(tmp_path)
    TemperatureMap(("no", "yes"), 0.5).save("map.json")
    for file in ("in", "in.csv", "in.csv.gz"):
        Path(file).write_text("p,x\n0.25,1\n,2\n")
    result = run("apply", "map.json", name, "-o", output)
    assert result.exit_code == code
    assert part in " ".join(result.stderr.split())
    assert not Path(output).exists()


def test_a_map_of_other_classes_leaves_the_file_that_was_there(train, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    saved = tmp_path / "map.json"
    Temperature().fit(cal.Predictions([0.2, 0.8] * 9, [0, 1, 1] * 6)).save(saved)
    result = run("apply", saved, train, "-o", folder / "out.csv")
    refused(result, 1, "fitted to, '0', '1'; found 'cat', 'dog', 'bird'", folder)
    result = run("apply", tmp_path / "none.json", train, "-o", folder / "out.csv")
    refused(result, 1, "MAP must be a file", folder)
    result = run("apply", saved, train, "-o", folder / "out.parquet")
    refused(result, 2, "must end in .csv", folder)
    (folder / "out.csv").write_text("here before")
    assert run("apply", saved, train, "-o", folder / "out.csv").exit_code == 1
    assert (folder / "out.csv").read_text() == "here before"


def test_by_region(tmp_path):
    """A calibrator of regions is found, saved and applied; its columns must be there."""
    rng = np.random.default_rng(0)
    p, site = rng.beta(2, 3, 2000), rng.choice(["A", "B", "C"], 2000)
    y = (rng.random(2000) < np.where(site == "B", p**2, p)).astype(int)
    frame = pl.DataFrame({"label": y, "prob": p, "site": site, "age": rng.integers(20, 80, 2000)})
    old, new, fitted = (tmp_path / name for name in ("old.csv", "new.csv", "map.json"))
    frame.write_csv(old)
    words = ["--by", "site,age", "--resamples", "99", "--save", fitted, "--json"]
    body = json.loads(run("recalibrate", old, *words).stdout)
    assert body["recommended"] == "by region"
    result = run("apply", fitted, old, "-o", new)
    assert result.exit_code == 0
    after = pl.read_csv(new)
    changed = (after["prob"] != frame["prob"]).to_numpy()
    assert (changed == (site == "B")).all()
    data = cal.load(old, keep=["site", "age"])
    expected = cal.recalibration.load_map(fitted)(data).probs[:, 1]
    assert (after["prob"].to_numpy() == expected).all()
    frame.drop("site").write_csv(old)
    result = run("apply", fitted, old, "-o", tmp_path / "other.csv")
    assert result.exit_code != 0
    assert "found no 'site'" in " ".join((result.stdout + result.stderr).split())
