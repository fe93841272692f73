"""Calibrators by region: shifts by hand, files, columns, and what is recommended."""

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant.cross_fitting.by_region import ByRegion, beside
from calibrant.recalibration import load_map
from calibrant.recalibration.regional import RegionMap, Shift, shift_odds

RNG = np.random.default_rng(3)
N = 2000
P = RNG.beta(2, 3, N)
SITE = np.where(RNG.random(N) < 0.02, None, RNG.choice(["A", "B", "C"], N))
AGE = RNG.integers(20, 80, N)
COLUMNS = {"site": SITE, "age": AGE, "day": np.datetime64("2026-01-01") + RNG.integers(0, 99, N)}
OFF = SITE == "B"
DATA = cal.Predictions(P, RNG.random(N) < np.where(OFF, P**2, P))


@pytest.fixture(scope="module")
def fitted():
    return ByRegion(n_resamples=99).fit(beside(DATA, COLUMNS))


def test_a_shift_by_hand():
    found = shift_odds(np.array([[0.25, 0.5, 0.25], [0.0, 1.0, 0.0]]), 1, np.log(3.0))
    np.testing.assert_allclose(found, [[0.125, 0.75, 0.125], [0.0, 1.0, 0.0]], rtol=1e-15)
    found = shift_odds(np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([0, 1]), np.log(2.0))
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3], [1 / 9, 8 / 9]], rtol=1e-15)


def test_a_fit_makes_as_much_predicted_as_occurred(fitted):
    (shift,) = fitted.shifts
    assert shift.region == "site = B"
    after = fitted(beside(DATA, COLUMNS)).probs[:, 1]
    assert after[OFF].sum() == pytest.approx(DATA.labels[OFF].sum(), rel=1e-9)
    assert (after[~OFF] == P[~OFF]).all()
    odds = np.log(after / (1 - after)) - np.log(P / (1 - P))
    assert odds[OFF] == pytest.approx(shift.by, abs=1e-9)
    held = ByRegion(n_resamples=99, prior=1.0).fit(beside(DATA, COLUMNS))
    wanted = (DATA.labels[OFF].sum() + P[OFF].sum()) / 2
    assert held(beside(DATA, COLUMNS)).probs[OFF, 1].sum() == pytest.approx(wanted, rel=1e-9)


def test_nothing_found_changes_nothing():
    data = beside(cal.Predictions(P, RNG.random(N) < P), COLUMNS)
    same = ByRegion(n_resamples=99).fit(data)
    assert (str(same), same.shifts) == ("no shift in any region", ())
    assert (same(data).probs == data.probs).all()


@pytest.mark.parametrize("lens", ["two", "three"])
def test_files_give_the_same_bits(tmp_path, lens):
    """Conditions on numbers, levels, periods, weekdays and predictions are saved."""
    day = COLUMNS["day"]
    monday = (day.astype(int) + 3) % 7 == 0
    if lens == "two":
        truth = np.where(monday, P * 0.3, np.where((AGE < 40) | (P > 0.6), 0.4 + P / 2, P))
        data = cal.Predictions(P, RNG.random(N) < truth)
    else:
        probs = RNG.dirichlet(np.ones(3), N)
        labels = np.where((RNG.random(N) < 0.7) & (AGE < 40), 0, probs.argmax(axis=1))
        data = cal.Predictions(probs, labels, classes=["x", "y", "z"])
    data = beside(data, COLUMNS)
    made = ByRegion(n_resamples=99).fit(data)
    assert len(made.shifts) > 1
    made.save(tmp_path / "map.json")
    again = load_map(tmp_path / "map.json")
    assert again.to_dict() == made.to_dict()
    assert (again(data).probs == made(data).probs).all()
    np.testing.assert_allclose(made(data).probs.sum(axis=1), 1.0, rtol=1e-14)


def test_rows_and_regions_are_those_of_the_search(fitted):
    found = cal.search(beside(DATA, COLUMNS), n_resamples=99)
    rows = fitted.region(fitted.shifts[0], DATA.probs, beside(DATA, COLUMNS).columns)
    assert (rows == found[0].mask).all()


def test_columns_that_are_missing_are_refused(fitted):
    with pytest.raises(ValueError, match="must have the columns 'site' beside the predictions"):
        fitted(P)
    with pytest.raises(ValueError, match="found no 'site'"):
        fitted(beside(DATA, {"age": AGE}))
    with pytest.raises(ValueError, match="a column for each of the 2 classes"):
        fitted(np.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match="`by` must have a value for each of the 2,000 rows"):
        cal.recalibrate(DATA, by={"site": ["A"]})
    known = {**COLUMNS, "after": DATA.labels}
    with pytest.raises(ValueError, match="column 'after' all but tells which outcome occurred"):
        cal.recalibrate(DATA, by=known, n_resamples=19)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "words"}, "`kind` must be numbers or levels"),
        ({"low": "a"}, "`low` must be numbers"),
    ],
)
def test_damaged_files(fitted, tmp_path, change, message):
    body = fitted.to_dict()
    body["shifts"][0]["conditions"][0] |= change
    (tmp_path / "map.json").write_text(json.dumps(body))
    with pytest.raises(ValueError, match=message):
        load_map(tmp_path / "map.json")
    body["shifts"][0]["class"] = "cat"
    (tmp_path / "map.json").write_text(json.dumps(body))
    with pytest.raises(ValueError, match="`class` must be one of '0', '1'; found 'cat'"):
        load_map(tmp_path / "map.json")


def test_what_is_recommended():
    found = cal.recalibrate(DATA, by=COLUMNS, n_resamples=99, rng=0)
    assert found.recommended == "by region"
    assert found.searched == 0.01
    assert [row.name for row in found.rows][-1] == "by region"
    assert found.to_dict()["searched"] == 0.01
    for fold, one in enumerate(found.row().fold_maps):
        rest = found.data.take(np.flatnonzero(found.folds != fold))
        again = ByRegion(99, 0, 60 / N).fit(rest)
        assert again.to_dict() == one.to_dict()
    left = cal.recalibrate(cal.Predictions(P, RNG.random(N) < P), by=COLUMNS, n_resamples=99, rng=0)
    assert left.recommended == "as it is"
    assert "of a search of regions p = " in left.recommendation


def test_an_empty_map_needs_no_columns():
    same = RegionMap(("no", "yes"), ())
    assert same([0.25]).tolist() == [[0.75, 0.25]]
    everywhere = RegionMap(("no", "yes"), (Shift("all rows", 1, np.log(3.0), ()),))
    assert everywhere([0.25]).round(12).tolist() == [[0.5, 0.5]]
