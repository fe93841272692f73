"""The test as a user calls it: its result, and one sentence for every bad setting."""

import json

import numpy as np
import pytest

from calibrant import (
    Predictions,
    binwise,
    calibration_test,
    classwise,
    compare,
    estimate,
    evaluate,
    log_score,
    words,
)
from calibrant.inference import CalibrationTest
from calibrant.inference.testing.families import pvalue
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Bootstrap, Exact
from calibrant.statistics import ExpectedMiscalibration

RNG = np.random.default_rng(0)
DATA = Predictions(RNG.dirichlet(np.ones(3), 60), RNG.integers(0, 3, 60))
ETA = ExpectedMiscalibration(EqualWidth(4))
CALLS = {
    "calibration_test": lambda **s: calibration_test(DATA, ETA, **s),
    "estimate": lambda **s: estimate(DATA, ETA, **s),
    "evaluate": lambda **s: evaluate(DATA, **s),
    "compare": lambda **s: compare({"a": DATA, "b": DATA}, **s),
    "binwise": lambda **s: binwise(DATA, EqualWidth(2), **s),
    "classwise": lambda **s: classwise(DATA, **s),
}


def test_the_result():
    found = calibration_test(DATA, ETA, lens=TopLabel(), n_resamples=99, rng=0)
    assert found.statistic == ETA(TopLabel()(DATA))
    assert found.null.shape == (99,)
    assert found.pvalue == (1 + np.sum(found.null >= found.statistic)) / 100
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["settings"] == dict(found.settings)
    assert plain["null"] == found.null.tolist()
    assert plain["pvalue"] == found.pvalue
    assert plain["null_mean"] == found.null.mean()
    assert plain["n_resamples"] == 99
    text = str(CalibrationTest(0.25, np.array([0.125, 0.375]), True, {}))
    assert text == "0.25 against 0.25 ± 0.12 if calibrated: p = 0.667 (2 resamples)"
    assert len(repr(found)) < 100
    assert repr(found) == f"<test: {found}>"


def test_results_say_what_they_were_made_with():
    found = calibration_test(DATA, ETA, lens=TopLabel(), n_resamples=9, rng=7)
    assert dict(found.settings) == {
        "statistic": "expected total variation on 4 equal widths",
        "lens": "top label",
        "resampler": str(Exact()),
        "n_resamples": 9,
        "seed": 7,
    }
    for run in CALLS.values():
        one = run(n_resamples=3, rng=7)
        settings = json.loads(json.dumps(dict(one.settings)))
        assert settings["seed"] == 7
        assert settings["n_resamples"] == 3
        assert len(repr(one)) < 200


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("rng", [None, "generator"])
def test_the_seed_that_is_written_down_makes_the_result_again(name, rng):
    given = np.random.default_rng(4) if rng == "generator" else None
    one = CALLS[name](n_resamples=5, rng=given)
    again = CALLS[name](n_resamples=5, rng=one.settings["seed"])
    assert again.to_dict() == one.to_dict()
    assert CALLS[name](n_resamples=5, rng=given).to_dict() != one.to_dict()


def test_another_hypothesis_is_not_called_calibration():
    found = calibration_test(DATA, ETA, resampler=Exact(lambda g: g[:, ::-1]), n_resamples=9)
    assert " under the hypothesis: p " in str(found)
    assert " if calibrated: p " in str(calibration_test(DATA, ETA, n_resamples=9))


def test_an_infinite_statistic():
    """A class that was given probability 0 occurs: no replicate can be as bad."""
    data = Predictions([[0.5, 0.5, 0.0]] * 4, [2, 0, 1, 0])
    assert calibration_test(data, log_score, n_resamples=19, rng=0).pvalue == 0.05


def test_one_resample():
    assert calibration_test(DATA, ETA, n_resamples=1, rng=0).pvalue in (0.5, 1.0)


def test_a_single_row():
    found = calibration_test(Predictions([0.25], [1]), ETA, n_resamples=999, rng=0)
    assert found.statistic == 0.75
    assert set(found.null.tolist()) == {0.25, 0.75}


@pytest.mark.parametrize(
    ("null", "expected"),
    [([0.1, 0.2], 1 / 3), ([0.3, 0.3], 1.0), ([0.1, 0.3], 2 / 3), ([0.4, 0.2], 2 / 3)],
)
def test_pvalue_by_hand(null, expected):
    assert pvalue(0.3, np.array(null)) == expected


def test_rounding_makes_no_difference_and_more_does():
    for h in (1e-12, 0.3, 7.0, 1e9):
        step = np.spacing(h)
        assert pvalue(h, np.array([h - 65_535 * step])) == 1
        assert pvalue(h, np.array([h - 65_538 * step])) == 0.5
    assert pvalue(0.0, np.array([0.0, 1.0])) == 1
    assert pvalue(np.inf, np.array([1.0, 2.0])) == 1 / 3
    assert pvalue(np.inf, np.array([1.0, np.inf])) == 2 / 3
    assert pvalue([0.1, 0.9], np.array([[0.5, 0.5], [0.5, 0.5]])).tolist() == [1, 1 / 3]


def test_how_a_pvalue_is_written():
    assert words.pvalue(0.0314, 999, " ") == "p = 0.031"
    assert words.pvalue(0.00001, 999_999, " ") == "p = 1e-05"
    assert words.pvalue(1 / 20, 19, " ") == "p ≤ 0.050"
    assert words.pvalue(2 / 20, 19, " ") == "p = 0.100"
    assert words.pvalue(1 / 10_000, 9_999, " ") == "p ≤ 0.0001"


@pytest.mark.parametrize("name", CALLS)
def test_resamples_are_whole_numbers(name):
    least = 0 if name == "classwise" else 1
    with pytest.raises(
        ValueError, match=rf"`n_resamples` must be a whole number from {least}; found -1\."
    ):
        CALLS[name](n_resamples=-1)
    with pytest.raises(
        ValueError, match=r"`n_resamples` must be a whole number from .; found True"
    ):
        CALLS[name](n_resamples=True)
    for wrong in (99.0, "99", None):
        with pytest.raises(
            TypeError, match=rf"`n_resamples` must be a whole number; found {wrong!r} \("
        ):
            CALLS[name](n_resamples=wrong)
    if least:
        with pytest.raises(
            ValueError, match=r"`n_resamples` must be a whole number from 1; found 0"
        ):
            CALLS[name](n_resamples=0)


@pytest.mark.parametrize("name", CALLS)
def test_bad_seeds_are_refused(name):
    with pytest.raises(TypeError, match=r"`rng` must be a whole number, a numpy\.random\.Gen"):
        CALLS[name](rng="seed", n_resamples=1)
    with pytest.raises(ValueError, match=r"`rng` must be a whole number from 0; found -3\."):
        CALLS[name](rng=-3, n_resamples=1)


@pytest.mark.parametrize("name", ["calibration_test", "evaluate", "binwise"])
def test_the_bootstrap_is_no_hypothesis(name):
    with pytest.raises(
        ValueError,
        match=r"`resampler` must draw labels under the hypothesis, as Exact does; Bootstrap "
        r"keeps those that were observed\. Use it in estimate\(\)\.",
    ):
        CALLS[name](resampler=Bootstrap(), n_resamples=1)


@pytest.mark.parametrize("run", [calibration_test, estimate])
def test_statistics_must_return_numbers(run):
    with pytest.raises(TypeError, match=r"`statistic` must be a function; found 3\."):
        run(DATA, 3)
    with pytest.raises(TypeError, match=r"`statistic` must return a number; for a data set it re"):
        run(DATA, lambda _: None)
    with pytest.raises(TypeError, match=r"`statistic` must return a number; for a data set it re"):
        run(DATA, lambda data: data.probs)
    with pytest.raises(
        ValueError, match=r"`statistic` must return a number; for a data set it returned nan\."
    ):
        run(DATA, lambda _: float("nan"))
    calls = iter([0.5, 0.5, 0.5, float("nan")])
    with pytest.raises(
        ValueError, match=r"`statistic` must return a number; for a data set it returned nan\."
    ):
        run(DATA, lambda _: next(calls), n_resamples=9)


def test_a_distance_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match=r"`distance` must be a number from 0 up; it returned nan"):
        calibration_test(
            DATA, ExpectedMiscalibration(EqualWidth(2), lambda p, _: p[..., 0] * np.nan)
        )


def test_an_empty_restriction_is_refused():
    with pytest.raises(ValueError, match=r"`where` must keep at least one row; it keeps none\."):
        DATA.restrict(lambda probs: probs[:, 0] > 2)


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, float("nan")])
def test_levels_are_between_0_and_1(level):
    message = rf"`level` must be (between 0 and 1|finite); found {level}"
    found = estimate(DATA, ETA, n_resamples=9, rng=0)
    for call in (
        found.interval,
        lambda q: binwise(DATA, EqualWidth(2), level=q, n_resamples=9),
        binwise(DATA, EqualWidth(2), n_resamples=9, rng=0).simultaneous,
    ):
        with pytest.raises(ValueError, match=message):
            call(level)
    with pytest.raises(TypeError, match=r"`level` must be a number; found 'high'\."):
        found.interval("high")


def test_threads_are_counted_from_one(monkeypatch):
    monkeypatch.setenv("CALIBRANT_THREADS", "0")
    with pytest.raises(ValueError, match=r"`CALIBRANT_THREADS` must be a whole number from 1"):
        calibration_test(DATA, ETA, n_resamples=9)


def test_what_is_not_a_number_never_makes_a_pvalue_small():
    assert pvalue(0.5, np.array([np.nan, 0.1, 0.2])) == 0.5
    assert pvalue(np.nan, np.array([0.1, 0.2])) == 1
