"""A few hundred odd calls of public functions, the same in every run; and those that were found."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import odd_calls
import pytest

from calibrant import (
    Predictions,
    calibration_function,
    calibration_test,
    estimate,
    evaluate,
    log_score,
    recalibrate,
    score_plane,
)
from calibrant.distances import measure
from calibrant.lenses import Groups, Induced, TopLabel
from calibrant.recalibration import load_map
from calibrant.resampling import Bootstrap
from calibrant.statistics import KernelMiscalibration, Statistic

DATA = Predictions([0.25, 0.5, 0.75], [0, 1, 1])


def test_odd_calls_give_a_result_or_a_sentence():
    """In a process of its own, which an abort or a hang would end."""
    words = [sys.executable, "-W", "ignore", str(Path(odd_calls.__file__)), "1", "250"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    last = [line for line in done.stderr.splitlines() if line.startswith("call ")][-1]
    assert done.returncode in (0, 1), f"ended with {done.returncode} at {last}"
    assert json.loads(done.stdout) == []


def test_what_is_no_sentence_is_noticed():
    assert "raises" in odd_calls.verdict(lambda: None.missing, {})
    assert "says" in odd_calls.verdict(float, {"x": 1})
    assert odd_calls.verdict(log_score, {"data": DATA}) == ""
    assert odd_calls.verdict(log_score, {"data": 3}) == ""


@pytest.mark.parametrize("verb", [log_score, lambda data: calibration_function(data, "width:2")])
@pytest.mark.parametrize("data", [3, None, {}, [0.5], "x"])
def test_scores_and_functions_need_predictions(verb, data):
    with pytest.raises(TypeError, match=r"`data` must be Predictions; found"):
        verb(data)


@pytest.mark.parametrize("groups", [3, None, [1, 2], len])
def test_groups_must_be_lists(groups):
    with pytest.raises(TypeError, match=r"`groups` must be a list of the classes of each group"):
        Groups(groups)


@pytest.mark.parametrize(
    ("verb", "name"), [(evaluate, "lenses"), (evaluate, "statistics"), (recalibrate, "methods")]
)
def test_an_array_without_a_dimension_is_no_list(verb, name):
    with pytest.raises(TypeError, match=f"`{name}` must be a list"):
        verb(DATA, **{name: np.array(3)})


def test_models_may_have_numbers_for_names_that_differ_as_text():
    assert "1" in str(score_plane({1: DATA, 2: DATA}, n_resamples=19, rng=0).table())
    with pytest.raises(ValueError, match=r"`data` must have names that differ as text"):
        score_plane({1: DATA, "1": DATA}, n_resamples=19, rng=0)


def test_what_psi_returns_must_be_outcomes():
    with pytest.raises(TypeError, match=r"`outcomes` must be the values that `psi` may return"):
        Induced(max, 0.5)
    with pytest.raises(ValueError, match=r"`outcomes` must be at most 1,000,000"):
        Induced(max, 10**12)
    for value in ([1], np.zeros(2), {}):
        with pytest.raises(ValueError, match=r"`psi` must return one of the outcomes 0, 1; for"):
            Induced(lambda *_, value=value: value, 2)(DATA)
    with pytest.raises(ValueError, match=r"for each of the 3 rows; it returned 0\.5"):
        Induced(lambda *_: 0.5, 2, vectorized=True)(DATA)


@pytest.mark.parametrize(("found", "kind"), [(1j, "complex128"), ("x", "<U1"), (None, "object")])
def test_a_distance_must_be_a_number(found, kind):
    """A complex one would have lost its imaginary part with a warning only."""
    with pytest.raises(TypeError, match=rf"`distance` must return numbers; it returned {kind}"):
        measure(lambda p, _: np.full(p.shape[:-1], found), np.eye(2), np.eye(2))


class Given(Statistic):
    """Gives what it is told for each replicate."""

    def __init__(self, value):
        self.value = value

    def prepare(self, shared):  # noqa: ARG002
        return lambda block: np.full(block.size, self.value)


@pytest.mark.parametrize(
    ("value", "error"), [(np.nan, ValueError), (1j, TypeError), ("x", TypeError)]
)
def test_a_statistic_must_give_numbers(value, error):
    with pytest.raises(error, match=r"`statistic` must give numbers; it gave"):
        calibration_test(DATA, Given(value), lens=TopLabel(), n_resamples=9, rng=0)
    with pytest.raises(error, match=r"`statistic` must give numbers; it gave"):
        estimate(DATA, Given(value), resampler=Bootstrap(refit=True), n_resamples=9, rng=0)


@pytest.mark.parametrize("value", [{}, [], np.zeros(2), 3])
def test_a_kernel_must_be_named(value):
    with pytest.raises((TypeError, ValueError), match=r"`kernel` must be"):
        KernelMiscalibration(kernel=value)


@pytest.mark.parametrize("path", [None, 3, b"x", ["x"]])
def test_a_map_needs_a_path(path):
    with pytest.raises(TypeError, match=r"`path` must be the path of a file; found"):
        load_map(path)


def test_no_sentence_is_without_end():
    with pytest.raises(TypeError, match=r"`rng` must be a whole number") as caught:
        calibration_test(DATA, rng="é" * 5000)
    assert len(str(caught.value)) < 400
    with pytest.raises(TypeError, match=r"`rng` must be a whole number"):
        calibration_test(DATA, rng=np.timedelta64(1, "s"))
