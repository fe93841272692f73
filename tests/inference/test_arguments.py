"""What is no data, or no lens, is refused in a sentence by every function that takes one."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import lenses, partitions, statistics
from calibrant.inference.evaluation import part

DATA = cal.Predictions([0.2, 0.7, 0.9], [0, 1, 1])
ETA = statistics.ExpectedMiscalibration(partitions.EqualWidth(2))
CALLS = {
    "calibration_test": lambda data, **more: cal.calibration_test(data, ETA, **more),
    "estimate": lambda data, **more: cal.estimate(data, ETA, **more),
    "cellwise": lambda data, **more: cal.cellwise(data, partitions.EqualWidth(2), **more),
    "evaluate": lambda data, lens=None: cal.evaluate(data, lenses=None if lens is None else [lens]),
    "classwise": cal.classwise,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_refuses_data_that_are_no_predictions(call):
    with pytest.raises(TypeError, match=r"`data` must be Predictions; found ndarray\. Make them"):
        call(np.eye(3))


@pytest.mark.parametrize("name", ["calibration_test", "estimate", "cellwise", "evaluate"])
def test_refuses_what_is_no_lens(name):
    with pytest.raises(TypeError, match=r"`lens` must be an object: TopLabel\(…\), not the class"):
        CALLS[name](DATA, lens=lenses.TopLabel)
    with pytest.raises(TypeError, match=r"`lens` must be a lens, such as .* found 'top'\."):
        CALLS[name](DATA, lens="top")


def test_progress_of_parts_is_progress_of_the_whole():
    seen = []
    for number in range(3):
        tell = part(lambda done, total: seen.append((done, total)), number, 3)
        for done in (1, 7):
            tell(done, 7)
    assert seen == sorted(seen)
    assert seen[-1] == (3000, 3000)
    assert part(None, 0, 3) is None
