"""A gate for tests of models: what passes, what fails, and what the message says."""

import numpy as np
import pytest
from chance import most

import calibrant as cal
from calibrant import assert_calibrated, datasets

GOOD = datasets.dirichlet(6000, 3, temperature=1, rng=1)
SURE = datasets.dirichlet(6000, 3, temperature=0.5, rng=1)


def test_what_is_shown_to_be_below_passes():
    found = assert_calibrated(GOOD.probs, GOOD.labels, below=0.05)
    assert str(found.lens) == "top label"
    assert found.interval[1] < 0.05
    assert found.to_dict() == cal.evaluate(GOOD, lenses="top", rng=0).verdicts[0].to_dict()
    two = cal.lenses.Marginal(1)(GOOD)
    assert str(assert_calibrated(two, below=0.05).lens) == "canonical"


def test_the_message_says_that_it_is_off_or_that_rows_are_too_few():
    with pytest.raises(AssertionError, match=r"Not calibrated within 2\.0 points: shown to be off"):
        assert_calibrated(SURE, below=0.02)
    with pytest.raises(AssertionError, match=r"recalibrate\(data\) says which calibrator"):
        assert_calibrated(SURE, below=0.02)
    few = GOOD.restrict(np.arange(6000) < 200)
    with pytest.raises(AssertionError, match=r"Not shown to be .* with 200 rows, they may be off"):
        assert_calibrated(few, below=0.02)
    with pytest.raises(AssertionError, match="No evidence that the probabilities of the predicted"):
        assert_calibrated(few, below=0.02)
    five = GOOD.restrict(np.arange(6000) < 5)
    with pytest.raises(AssertionError, match="5 rows, too few rows to say how far off they are"):
        assert_calibrated(five, below=0.02)


def test_a_lens_without_an_upper_limit_is_refused_with_one_that_has():
    with pytest.raises(ValueError, match=r"no upper bound; use a lens of two, such as `TopLabel"):
        assert_calibrated(GOOD, below=0.05, lens="canonical")
    with pytest.raises(ValueError, match="`below` must be"):
        assert_calibrated(GOOD, below=2)


def truly_off(n, seed):
    """Return rows of two outcomes that are off by 5 points, one way or the other."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.3, 0.7], n)
    return cal.Predictions(p, (rng.random(n) < p + np.where(p < 0.5, 0.05, -0.05)).astype(int))


@pytest.mark.parametrize(("below", "wrong"), [(0.05, False), (0.075, True)])
def test_a_model_that_is_off_by_the_limit_passes_rarely(below, wrong):
    """The chance is at most 2.5 %, one end of the interval; a laxer limit is its twin."""
    passed = 0
    for seed in range(100):
        try:
            assert_calibrated(truly_off(2000, seed), below=below, n_resamples=19)
            passed += 1
        except AssertionError:
            pass
    assert (passed > most(100, 0.025)) == wrong
