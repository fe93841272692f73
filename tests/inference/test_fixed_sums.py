"""Sums of fixed shape give the test of a tally, and add up."""

import numpy as np
import pytest

from calibrant import Predictions, Tally, calibration_test
from calibrant.inference.testing.fixed_sums import LEVELS, FixedSums
from calibrant.lenses import Canonical, Marginal, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Exact
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration

BINS = 15
SETTINGS = {"resampler": Exact(draws="counts"), "n_resamples": 199, "rng": 3}


def rows(n, m, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(m, 0.6), n).astype(np.float32)
    return probs, (probs.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(0, m - 1)


def added(statistic, lens, probs, labels, cuts):
    """Add up the sums of batches, and return what follows."""
    total, tally = FixedSums.zero(BINS), None
    for some in np.split(np.arange(len(labels)), cuts):
        tally = Tally(statistic, lens=lens, **SETTINGS)
        tally.update(probs[some], labels[some])
        (state,) = tally.states
        total = FixedSums(*map(np.add, total, FixedSums.of(state, BINS)))
    n = int(total.rows[:, 0].sum())
    return total, tally.holding([total.state(tally.states[0])], n)


@pytest.mark.parametrize("lens", [TopLabel(), Marginal(1)], ids=str)
@pytest.mark.parametrize("n", [3, 40, 3000, 60_000])
def test_the_test_is_that_of_all_rows(n, lens):
    statistic = ExpectedMiscalibration(EqualWidth(BINS))
    probs, labels = rows(n, 5)
    expected = calibration_test(Predictions(probs, labels), statistic, lens=lens, **SETTINGS)
    for cuts in ([], [n // 3], list(range(1, min(n, 50)))):
        total, found = added(statistic, lens, probs, labels, cuts)
        assert found.to_dict() == expected.to_dict()
        assert {name: one.shape for name, one in total._asdict().items()} == {
            name: one.shape for name, one in FixedSums.zero(BINS)._asdict().items()
        }


def test_rows_of_one_level_count_as_their_mean():
    """Rows that differ by less than a level: the same estimate, and nearly the same null."""
    rng = np.random.default_rng(0)
    probs = np.clip(0.5 + rng.random(400) / (2 * LEVELS * BINS), 0, 1)
    labels = (rng.random(400) < 0.6).astype(int)
    for statistic in (
        ExpectedMiscalibration(EqualWidth(BINS)),
        WorstMiscalibration(EqualWidth(BINS)),
    ):
        expected = calibration_test(Predictions(probs, labels), statistic, **SETTINGS)
        _, found = added(statistic, Canonical(), probs, labels, [7, 100])
        assert found.statistic == expected.statistic
        changed = np.mean(found.null != expected.null)
        assert changed <= 0.01  # a draw that lies between the two distribution functions


def test_a_wrong_level_would_be_seen():
    """The twin: sums whose levels were lost have another null."""
    probs, labels = rows(300, 3)
    statistic = ExpectedMiscalibration(EqualWidth(BINS))
    total, found = added(statistic, TopLabel(), probs, labels, [100])
    tally = Tally(statistic, lens=TopLabel(), **SETTINGS)
    tally.update(probs, labels)
    lost = total._replace(levels=np.zeros_like(total.levels))
    other = tally.holding([lost.state(tally.states[0])], 300)
    assert other.statistic == found.statistic
    assert np.mean(other.null != found.null) > 0.5
