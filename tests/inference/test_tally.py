"""A Tally of batches gives what a test of all rows gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import Predictions, Tally, calibration_test
from calibrant.lenses import Canonical, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth, SimplexBins, VarianceTree
from calibrant.resampling import Exact
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration

RNG = np.random.default_rng(0)
N = 200
PROBS = RNG.dirichlet([0.5, 0.5, 0.5], N)
LABELS = RNG.integers(0, 3, N)
ETA = ExpectedMiscalibration(EqualWidth(4))


def split(cuts):
    return np.split(np.arange(N), sorted(cuts))


@settings(max_examples=20)
@given(
    st.lists(st.integers(1, N - 1), max_size=4, unique=True),
    st.sampled_from([Canonical(), TopLabel(), Marginal(1), Pooled()]),
    st.sampled_from([ETA, WorstMiscalibration(SimplexBins(2))]),
)
def test_batches_in_their_order(cuts, lens, statistic):
    tally = Tally(statistic, lens=lens, n_resamples=9, rng=3)
    for rows in split(cuts):
        tally.update(PROBS[rows], LABELS[rows])
    expected = calibration_test(
        Predictions(PROBS, LABELS), statistic, lens=lens, n_resamples=9, rng=3
    )
    assert tally.result().to_dict() == expected.to_dict()
    assert tally.n == N


@settings(max_examples=20)
@given(st.lists(st.integers(1, N - 1), max_size=4, unique=True), st.randoms(use_true_random=False))
def test_tallies_that_are_merged_in_any_order(cuts, random):
    order = RNG.permutation(N)
    tallies = []
    for place in split(cuts):
        rows = order[place]
        tally = Tally(ETA, n_resamples=9, rng=3)
        tally.update(PROBS[rows], LABELS[rows], rows=rows)
        tallies.append(tally)
    random.shuffle(tallies)
    whole = Tally(ETA, n_resamples=9, rng=3)
    for tally in tallies:
        whole.merge(tally)
    expected = calibration_test(Predictions(PROBS, LABELS), ETA, n_resamples=9, rng=3)
    assert whole.result().to_dict() == expected.to_dict()


def test_counts_need_no_numbers():
    settings = {"lens": TopLabel(), "resampler": Exact(draws="counts"), "n_resamples": 99, "rng": 3}
    tallies = []
    for rows in split([50, 130])[::-1]:
        tallies.append(Tally(ETA, **settings))
        tallies[-1].update(PROBS[rows], LABELS[rows])
    tallies[0].merge(tallies[1])
    tallies[0].merge(tallies[2])
    expected = calibration_test(Predictions(PROBS, LABELS), ETA, **settings)
    assert tallies[0].result().to_dict() == expected.to_dict()


def test_a_result_may_be_asked_for_at_any_time():
    tally = Tally(ETA, n_resamples=9, rng=3)
    for rows in split([50]):
        tally.update(Predictions(PROBS[rows], LABELS[rows]), None)
        part = Predictions(PROBS[: rows[-1] + 1], LABELS[: rows[-1] + 1])
        expected = calibration_test(part, ETA, n_resamples=9, rng=3)
        assert tally.result().to_dict() == expected.to_dict()
    assert (
        repr(tally) == "<tally of 200 rows: expected total variation on 4 equal widths, canonical>"
    )


def test_refusals():
    with pytest.raises(ValueError, match="`update` must have been called"):
        Tally(ETA).result()
    tally = Tally(ETA, rng=1)
    tally.update(PROBS[:5], LABELS[:5])
    with pytest.raises(ValueError, match="`rows` must be given to every `update`, or to none"):
        tally.update(PROBS[:5], LABELS[:5], rows=range(5))
    with pytest.raises(ValueError, match="must have the same classes in every batch"):
        tally.update([0.5], [1])
    with pytest.raises(ValueError, match="must have no weights and no clusters"):
        tally.update(Predictions(PROBS[:2], LABELS[:2], weights=[1, 2]), None)
    other = Tally(ETA, rng=1)
    other.update(PROBS[5:9], LABELS[5:9])
    with pytest.raises(ValueError, match="both counted from 0"):
        tally.merge(other)
    with pytest.raises(ValueError, match="of the same statistic, lens, draws and seed"):
        tally.merge(Tally(ETA, rng=2))
    with pytest.raises(ValueError, match="`rows` must be a whole number for each of the 3 rows"):
        Tally(ETA).update(PROBS[:3], LABELS[:3], rows=[1.5, 2, 3])
    with pytest.raises(ValueError, match="must not depend on the rows"):
        Tally(ExpectedMiscalibration(VarianceTree(5))).update(PROBS, LABELS)
