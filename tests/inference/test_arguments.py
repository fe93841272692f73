"""What is no data, or no lens, is refused in a sentence by every function that takes one."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import lenses, partitions, statistics
from calibrant.inference.replicates.problem import part

DATA = cal.Predictions([0.2, 0.7, 0.9], [0, 1, 1])
ETA = statistics.ExpectedMiscalibration(partitions.EqualWidth(2))
CALLS = {
    "calibration_test": lambda data, **more: cal.calibration_test(data, ETA, **more),
    "estimate": lambda data, **more: cal.estimate(data, ETA, **more),
    "binwise": lambda data, **more: cal.binwise(data, partitions.EqualWidth(2), **more),
    "evaluate": lambda data, lens=None, **more: cal.evaluate(
        data, lenses=None if lens is None else [lens], **more
    ),
    "classwise": cal.classwise,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_refuses_data_that_are_no_predictions(call):
    with pytest.raises(TypeError, match=r"`data` must be Predictions; found ndarray\. Make them"):
        call(np.eye(3))


@pytest.mark.parametrize("name", ["calibration_test", "estimate", "binwise", "evaluate"])
def test_refuses_what_is_no_lens(name):
    with pytest.raises(TypeError, match=r"`lens` must be an object: TopLabel\(…\), not the class"):
        CALLS[name](DATA, lens=lenses.TopLabel)
    with pytest.raises(TypeError, match=r"`lens` must be a lens, such as .* found 3\."):
        CALLS[name](DATA, lens=3)
    with pytest.raises(ValueError, match=r"`lens` must be canonical, top, .* found 'tip'\."):
        CALLS[name](DATA, lens="tip")


def test_progress_of_parts_is_progress_of_the_whole():
    seen = []
    for number in range(3):
        tell = part(lambda done, total: seen.append((done, total)), number, 3)
        for done in (1, 7):
            tell(done, 7)
    assert seen == sorted(seen)
    assert seen[-1] == (3000, 3000)
    assert part(None, 0, 3) is None


RESAMPLED = ["calibration_test", "estimate", "binwise", "evaluate", "classwise"]
WRONG = {
    "resampler, a number": (
        lambda: cal.calibration_test(DATA, ETA, resampler=1),
        r"`resampler` must be one such as Exact\(\); found 1\.",
    ),
    "resampler, a class": (
        lambda: cal.estimate(DATA, ETA, resampler=cal.resampling.Bootstrap),
        r"`resampler` must be one such as Exact\(\); found <class ",
    ),
    "partition, a number": (
        lambda: cal.binwise(DATA, 10),
        r"`partition` must be one such as EqualWidth\(10\); found 10\.",
    ),
    "partition, a class": (
        lambda: cal.classwise(DATA, partitions.EqualWidth),
        r"`partition` must be one such as EqualWidth\(10\); found <class ",
    ),
    "distance": (
        lambda: cal.classwise(DATA, partitions.EqualWidth(3), 1.0),
        r"`distance` must be a function; found 1\.0\.",
    ),
    "lenses": (
        lambda: cal.evaluate(DATA, lenses=3),
        r"`lenses` must be a list; found 3\.",
    ),
    "statistics": (
        lambda: cal.evaluate(DATA, statistics=3),
        r"`statistics` must be a list; found 3\.",
    ),
    "models": (
        lambda: cal.compare([DATA, DATA]),
        r"`models` must be a dict of names and Predictions; found list\.",
    ),
    "rho": (
        lambda: cal.calibration_test(DATA, ETA, resampler=cal.resampling.Exact(lambda _: "half")),
        r"`rho` must return an array of probabilities; it returned str\.",
    ),
    "a statistic that writes": (
        lambda: cal.calibration_test(DATA, lambda _: "0.5"),
        r"`statistic` must return a number; for a data set it returned '0\.5'\.",
    ),
    "a statistic of many numbers": (
        lambda: cal.calibration_test(DATA, lambda _: np.eye(9)),
        r"`statistic` must return a number; for a data set it returned array\(\[\[.{50,60}…\.$",
    ),
    "data of a diagram": (
        lambda: cal.reliability_diagram(np.eye(3)),
        r"`data` must be Predictions; found ndarray\.",
    ),
}


@pytest.mark.parametrize(("call", "sentence"), WRONG.values(), ids=WRONG)
def test_refuses_what_is_of_the_wrong_kind(call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call()


@pytest.mark.parametrize("name", RESAMPLED)
def test_refuses_settings_that_cannot_be(name):
    with pytest.raises(TypeError, match=r"`progress` must be a function; found 3\."):
        CALLS[name](DATA, progress=3)
    with pytest.raises(ValueError, match=r"`n_resamples` must be at most 1,000,000,000; found "):
        CALLS[name](DATA, n_resamples=10**18)
