"""Groups of rows: shared draws, exact adjustment, and small groups together."""

import json

import numpy as np
import pytest
from chance import models, most

from calibrant import Predictions, slices
from calibrant.calibration import View
from calibrant.checks.parameters import make_key
from calibrant.inference.testing.families import adjust, omnibus
from calibrant.lenses import Marginal, TopLabel
from calibrant.resampling import Exact

RNG = np.random.default_rng(0)
P = RNG.uniform(0.05, 0.95, 900)
SEX = np.where(np.arange(900) % 3 == 0, "female", "male")
TRUTH = np.where(SEX == "female", P**3, P)
DATA = Predictions(P, RNG.random(900) < TRUTH)
THREE = Predictions(RNG.dirichlet(np.ones(3), 120), RNG.integers(0, 3, 120))


def test_the_group_that_is_off_is_found():
    female, male = slices(DATA, {"sex": SEX}, n_resamples=199, rng=0).rows
    assert (female.group, female.n, male.group, male.n) == ("female", 300, "male", 600)
    assert female.verdict.rejected
    assert female.verdict.direction == "high"
    assert not male.verdict.rejected
    rows = SEX == "female"
    bias = P[rows].mean() - DATA.labels[rows].mean()
    assert female.verdict.bias == pytest.approx(bias, rel=1e-12)


@pytest.mark.parametrize("lens", [TopLabel(), Marginal(1)], ids=str)
def test_the_plain_definition(lens):
    """The statistics of each group, in data sets that all groups share."""
    halves = np.arange(120) < 60
    thirds = np.arange(120) % 3
    masks = [halves == value for value in (False, True)] + [thirds == k for k in range(3)]
    found = slices(
        THREE, {"half": halves, "third": thirds}, lens=lens, least=5, n_resamples=19, rng=4
    )
    assert [row.n for row in found.rows] == [60, 60, 40, 40, 40]
    drawn = [THREE, *(Exact().draw(THREE, make_key(4), b) for b in range(19))]
    table = np.array(
        [
            [statistic(lens(data.weighted_by(mask))) for data in drawn]
            for mask in masks
            for statistic in omnibus(View.of(lens(THREE)))
        ]
    )
    expected = adjust(table[:, 0], table[:, 1:]).reshape(len(masks), -1).min(axis=1)
    assert [row.verdict.pvalue for row in found.rows] == expected.tolist()


def test_the_value_of_a_group_is_that_of_its_rows():
    alone = DATA.take(np.flatnonzero(SEX == "male"))
    for statistic in omnibus(View.of(DATA)):
        assert statistic(DATA.weighted_by(SEX == "male")) == pytest.approx(
            statistic(alone), rel=1e-9
        )


def test_small_groups_are_gathered():
    names = np.repeat(["a", "b", "c", "d"], [60, 30, 20, 10])
    found = slices(THREE, {"hospital": names}, least=50, n_resamples=9, rng=0)
    assert [(row.group, row.n) for row in found.rows] == [("a", 60), ("others", 60)]


def test_calibrated_groups_are_left_alone():
    trials, wrong = 200, 0
    for number, data in enumerate(models(3, 90, 2, trials=trials)):
        by = {"x": np.arange(90) % 3, "y": np.arange(90) < 45}
        found = slices(data, by, least=10, n_resamples=199, rng=number)
        wrong += any(row.verdict.rejected for row in found.rows)
    assert wrong <= most(trials, 0.05)


def test_tables_and_plain_numbers():
    found = slices(DATA, {"sex": SEX}, n_resamples=39, rng=0)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["rows"][0]["group"] == "female"
    assert found.table().splitlines()[0].split()[:3] == ["column", "group", "rows"]
    assert list(found.to_frame("polars")["n"]) == [300, 600]
    assert str(found).endswith("of 2 groups are miscalibrated at 5 % (adjusted)")
    assert len(repr(found)) < 500
    assert len(repr(found.rows[0])) < 500
    assert "<table" in found._repr_html_()


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({}, "`by` must be a dict of columns"),
        (SEX, "`by` must be a dict of columns"),
        ({"sex": SEX[:10]}, "must have a value for each of the 900 rows; column 'sex' has 10"),
    ],
    ids=["none", "array", "short"],
)
def test_bad_columns(by, message):
    with pytest.raises((TypeError, ValueError), match=message):
        slices(DATA, by)
