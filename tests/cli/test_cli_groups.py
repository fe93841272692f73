"""Groups, clusters and power, from the command line."""

import json

import numpy as np
import polars as pl
import pytest
from command import run

from calibrant import Predictions, evaluate, load, power, slices
from calibrant.resampling import Tempered


@pytest.fixture(scope="module")
def wards(tmp_path_factory):
    rng = np.random.default_rng(2)
    p = rng.random(900)
    sex = rng.choice(["female", "male"], 900)
    y = rng.random(900) < np.where(sex == "female", p**3, p)
    path = tmp_path_factory.mktemp("wards") / "wards.csv"
    frame = {"y": y.astype(int), "prob": p, "sex": sex, "patient": np.arange(900) // 3}
    pl.DataFrame(frame | {"ward": rng.choice(list("ABC"), 900)}).write_csv(path)
    return path


def test_groups(wards):
    result = run("evaluate", wards, "--by", "sex,ward", "--resamples", "199")
    assert result.exit_code == 0
    assert "of 5 groups are miscalibrated at 5 %" in " ".join(result.stdout.split())
    assert "groups from 'sex' and 'ward'" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
    body = json.loads(
        run("evaluate", wards, "--by", "sex,ward", "--json", "--resamples", "199").stdout
    )
    data = load(wards, keep=["sex", "ward"])
    expected = slices(data, ["sex", "ward"], n_resamples=199, rng=0)
    assert body["slices"] == json.loads(json.dumps(expected.to_dict()["rows"]))
    assert [row["group"] for row in body["slices"]] == ["female", "male", "A", "B", "C"]
    assert body["slices"][0]["rejected"]
    assert body["reading"]["kept"] == ["sex", "ward"]


def test_kept_columns_follow_their_rows(wards):
    data = load(wards, keep="sex")
    some = data.restrict(lambda probs: probs[:, 1] > 0.5)
    frame = pl.read_csv(wards).filter(pl.col("prob") > 0.5)
    assert some.columns["sex"].tolist() == frame["sex"].to_list()
    by_hand = slices(some, {"sex": frame["sex"].to_list()}, n_resamples=39, rng=0)
    assert slices(some, "sex", n_resamples=39, rng=0).to_dict() == by_hand.to_dict()
    with pytest.raises(ValueError, match="'ward' not among 'sex'"):
        slices(data, "ward")


def test_clusters(wards):
    body = json.loads(
        run("evaluate", wards, "--cluster", "patient", "--json", "--resamples", "99").stdout
    )
    frame = pl.read_csv(wards)
    data = Predictions(frame["prob"], frame["y"], clusters=frame["patient"])
    expected = evaluate(data, n_resamples=99, rng=0)
    assert body["rows"] == [row.to_dict() for row in expected.rows]
    assert body["reading"]["cluster"] == "patient"
    missing = run("evaluate", wards, "--cluster", "person")
    assert missing.exit_code == 1
    assert "--cluster must name columns; 'person' not among" in missing.stderr


def test_power(wards):
    result = run("power", wards, "--resamples", "99")
    assert result.exit_code == 0
    first = result.stdout.replace("\N{NO-BREAK SPACE}", " ")
    assert first.startswith("900 rows would show, in 80 % of data sets, a model that is overconfid")
    words = ("--temperature", "1.5", "--resamples", "99", "--json")
    body = json.loads(run("power", wards, *words).stdout)
    expected = power(load(wards), {"x": Tempered(1.5)}, n_resamples=99, rng=0).rows[0]
    assert (body["target"], body["rows"][0]["n_data_sets"]) == (None, 20)
    assert body["rows"][0]["power"] == expected.power
    assert body["rows"][0]["truth"] == "temperature 1.5"
    refused = run("power", wards, "--temperature", "-1")
    assert refused.exit_code == 1
    assert "must be a number above 0" in refused.stderr


def test_groups_of_a_report(wards, tmp_path):
    page = tmp_path / "r.html"
    options = ("--by", "sex,ward", "--resamples", "39")
    assert run("report", wards, "-o", page, *options).exit_code == 0
    text = page.read_text("utf-8")
    assert "Groups of rows" in text
    assert text.count('class="mark') > 5
    assert '"by": [' in text or "&#34;by&#34;: [" in text
    plain = tmp_path / "plain.html"
    run("report", wards, "-o", plain, "--resamples", "39")
    assert "Groups of rows" not in plain.read_text("utf-8")
