"""Resampled data sets: what stays, what is drawn again, and what is refused."""

import numpy as np
import pytest
from chance import BUDGET, agrees
from scipy.stats import binom, norm, poisson

from calibrant import Predictions, engine
from calibrant.calibration import Gathered
from calibrant.checks.parameters import make_key
from calibrant.engine.arrays import Replicates, Source
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Bootstrap, Consistency, Exact, Resampler
from calibrant.statistics import ExpectedMiscalibration

RNG = np.random.default_rng(0)
DATA = Predictions(
    RNG.dirichlet(np.ones(3), 40),
    RNG.integers(0, 3, 40),
    classes=["a", "b", "c"],
    weights=RNG.random(40),
)
KEY = make_key(5)
ALL = [Exact(), Consistency(), Bootstrap()]


def assert_same(a, b):
    np.testing.assert_array_equal(a.probs, b.probs)
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.weights, b.weights)


@pytest.mark.parametrize("resampler", ALL, ids=repr)
def test_a_replicate_depends_on_its_arguments_alone(resampler):
    first = resampler.draw(DATA, KEY, 3)
    resampler.draw(DATA, KEY, 4)
    assert_same(resampler.draw(DATA, KEY, 3), first)
    assert first.classes == DATA.classes
    assert first.event == DATA.event
    for other in (resampler.draw(DATA, KEY, 4), resampler.draw(DATA, make_key(6), 3)):
        assert not np.array_equal(other.labels, first.labels)


@pytest.mark.parametrize("resampler", ALL, ids=repr)
def test_times_say_how_often_each_row_stands(resampler):
    for b in range(30):
        times = resampler.times(DATA, KEY, b)
        drawn = resampler.draw(DATA, KEY, b)
        if times is None:
            assert drawn.probs is DATA.probs
            continue
        assert times.shape == (DATA.n,)
        np.testing.assert_array_equal(drawn.probs, np.repeat(DATA.probs, times, axis=0))
        np.testing.assert_array_equal(drawn.weights, np.repeat(DATA.weights, times))
        if isinstance(resampler, Consistency):
            assert times.sum() == DATA.n


def test_exact_keeps_predictions_and_weights():
    drawn = Exact().draw(DATA, KEY, 0)
    assert drawn.probs is DATA.probs
    np.testing.assert_array_equal(drawn.weights, DATA.weights)
    labels = engine.draws.draw_labels(Source(DATA.probs, None, KEY, 0), Replicates(0, 5))
    for b in range(5):
        np.testing.assert_array_equal(labels[b], Exact().draw(DATA, KEY, b).labels)


def test_bootstrap_keeps_rows_together():
    drawn = Bootstrap().draw(DATA, KEY, 0)
    rows = [int(np.flatnonzero((DATA.probs == p).all(axis=1))[0]) for p in drawn.probs]
    assert rows == sorted(rows)
    assert_same(drawn, DATA.take(np.array(rows)))


def test_consistency_draws_rows_and_new_labels():
    rows = DATA.take(np.repeat(np.arange(DATA.n), Consistency().times(DATA, KEY, 1)))
    labels = Consistency().draw(DATA, KEY, 1)
    np.testing.assert_array_equal(rows.probs, labels.probs)
    np.testing.assert_array_equal(rows.weights, labels.weights)
    assert not np.array_equal(rows.labels, labels.labels)
    sure = Predictions(np.eye(3)[RNG.integers(0, 3, 30)], np.zeros(30, int))
    drawn = Consistency().draw(sure, KEY, 0)
    np.testing.assert_array_equal(drawn.labels, drawn.probs.argmax(axis=1))


def counted(resampler, data, size):
    """Return how often each row stands in each replicate (size, n)."""
    return np.stack([resampler.times(data, KEY, b) for b in range(size)])


def times_follow(times, pmf):
    """Say whether numbers of times have these probabilities of 0, 1, 2, ….

    The numbers of different rows are independent, or negatively dependent.
    """
    counts = np.bincount(times.ravel(), minlength=pmf.size)[: pmf.size]
    return agrees(counts, times.size, pmf, tests=pmf.size).all()


def test_bootstrap_draws_a_poisson_number_of_every_row():
    n, size = 25, 4000
    data = Predictions(np.linspace(0.1, 0.9, n), np.zeros(n, int))
    times = counted(Bootstrap(), data, size)
    law = poisson.pmf(np.arange(7), 1)
    assert times_follow(times, law)
    assert not times_follow(times, binom.pmf(np.arange(7), n, 1 / n))  # as with replacement
    # The number of rows scatters as the sum of n Poisson numbers does, not at all as n would.
    assert agrees((times.sum(axis=1) <= n).sum(), size, poisson.cdf(n, n))
    # How often one row stands tells nothing of another: the correlation of 4,000 pairs has
    # standard deviation 0.016, and five of them is a chance of 6e-7, one for each of 300 pairs.
    correlations = np.corrcoef(times.T)[np.triu_indices(n, 1)]
    assert np.abs(correlations).max() < norm.isf(BUDGET / 2 / correlations.size) / size**0.5


def test_consistency_draws_rows_with_replacement():
    n, size = 25, 4000
    data = Predictions(np.linspace(0.1, 0.9, n), np.zeros(n, int))
    times = counted(Consistency(), data, size)
    assert (times.sum(axis=1) == n).all()
    assert agrees(times.sum(axis=0), n * size, 1 / n, tests=n).all()
    assert times_follow(times, binom.pmf(np.arange(7), n, 1 / n))
    assert not times_follow(times, poisson.pmf(np.arange(7), 1))


def test_a_replicate_without_rows_is_the_data():
    one = Predictions([0.25], [1])
    times = counted(Bootstrap(), one, 4000)
    assert times.min() == 1
    law = poisson.pmf(np.arange(7), 1)
    law[0], law[1] = 0.0, law[0] + law[1]
    assert times_follow(times, law)
    plain = [engine.resample.poisson_times(1, 0, KEY, b)[0] for b in range(100)]
    assert 0 in plain
    for b, drawn in enumerate(plain):
        assert Bootstrap().draw(one, KEY, b).n == max(drawn, 1)


def test_a_number_of_times_is_that_of_a_row_wherever_the_data_are_cut():
    whole = engine.resample.poisson_times(40, 0, KEY, 3)
    for first in (1, 17, 39):
        np.testing.assert_array_equal(
            engine.resample.poisson_times(40 - first, first, KEY, 3), whole[first:]
        )


@pytest.mark.parametrize("resampler", ALL, ids=repr)
def test_a_row_of_weight_zero_is_absent(resampler):
    weights = np.where(np.arange(40) % 3 == 0, 0.0, DATA.weights)
    data = Predictions(DATA.probs, DATA.labels, weights=weights)
    present = np.flatnonzero(weights > 0)
    for b in range(20):
        drawn = resampler.draw(data, KEY, b)
        assert drawn.weights.sum() > 0
        if isinstance(resampler, Consistency):
            assert drawn.n == present.size
            assert drawn.weights.all()
        if isinstance(resampler, Bootstrap):
            # It may stand in a replicate, where it still has no weight.
            times = resampler.times(data, KEY, b)[present]
            expected = data.take(np.repeat(present, times))
            assert_same(drawn.take(np.flatnonzero(drawn.weights)), expected)
    if isinstance(resampler, Bootstrap):
        eta = ExpectedMiscalibration(EqualWidth(3))
        assert eta(drawn) == pytest.approx(eta(expected), rel=1e-12)


def test_a_single_row_of_weight_is_drawn_every_time():
    data = Predictions([0.3, 0.6, 0.7], [0, 1, 1], weights=[0, 2, 0])
    absent = 0
    for b in range(40):
        drawn = Bootstrap().draw(data, KEY, b)
        held = drawn.take(np.flatnonzero(drawn.weights))
        assert set(held.probs[:, 1].tolist()) == {0.6}
        assert set(held.weights.tolist()) == {2.0}
        if engine.resample.poisson_times(3, 0, KEY, b)[1] == 0:
            absent += 1
            assert_same(drawn, data)
        once = Consistency().draw(data, KEY, b)
        assert (once.probs[:, 1].tolist(), once.weights.tolist()) == ([0.6], [2.0])
    assert absent > 0


@pytest.mark.parametrize("weights", [None, "any", "zeros"])
@pytest.mark.parametrize("m", [2, 3, 40])
def test_one_sweep_over_fixed_cells_is_one_data_set_after_the_other(m, weights):
    rng = np.random.default_rng(m)
    given = {None: None, "any": rng.random(60), "zeros": rng.integers(0, 2, 60)}[weights]
    data = Predictions(rng.dirichlet(np.ones(m), 60), rng.integers(0, m, 60), weights=given)
    for some in (data, data.take(np.flatnonzero(data.weights)[:1])):  # replicates without rows
        cells = Gathered(some, EqualWidth(3))
        for span in (Replicates(0, 1), Replicates(3, 20)):
            found = Bootstrap().totals(cells, KEY, span)
            expected = Resampler.totals(Bootstrap(), cells, KEY, span)
            # The share of a cell is rounded before or after it is multiplied.
            np.testing.assert_allclose(found.expected, expected.expected, rtol=1e-12)
            np.testing.assert_allclose(found.worst, expected.worst, rtol=1e-12)


def test_a_resampler_that_says_nothing_changes_nothing():
    class Same(Resampler):
        pass

    assert Same().draw(DATA, KEY, 3) is DATA
    assert Same().refit
    cells = Gathered(DATA, EqualWidth(3))
    found = Same().totals(cells, KEY, Replicates(0, 2))
    np.testing.assert_array_equal(found.expected, np.repeat(cells.totals().expected, 2, axis=1))


@pytest.mark.parametrize("wrong", ["cells", None, True, ""])
def test_there_are_two_rules_of_drawing(wrong):
    with pytest.raises(ValueError, match=rf"`draws` must be 'labels' or 'counts'; found {wrong!r}"):
        Exact(draws=wrong)
    assert Exact().draws == "labels"


def test_the_identity_as_a_hypothesis_draws_the_same_labels():
    for make in (Exact, Consistency):
        assert_same(make(lambda probs: probs).draw(DATA, KEY, 0), make().draw(DATA, KEY, 0))


def test_a_hypothesis_is_where_labels_come_from():
    def always_b(probs):
        return np.tile([0.0, 1.0, 0.0], (len(probs), 1))

    for make in (Exact, Consistency):
        assert set(make(always_b).draw(DATA, KEY, 0).labels.tolist()) == {1}
    law = Exact(always_b).distributions(DATA)
    assert not law.flags.writeable


def test_a_hypothesis_is_divided_by_its_sums():
    law = Exact(lambda probs: probs * 1.0005).distributions(DATA)
    # Two roundings of numbers up to 1.
    np.testing.assert_allclose(law, DATA.probs, rtol=0, atol=4e-16)


@pytest.mark.parametrize(
    ("rho", "message"),
    [
        (lambda p: p[:, :2], r"of shape \(40, 3\) into the same shape; it returned \(40, 2\)\."),
        (lambda p: p[:5], r"into the same shape; it returned \(5, 3\)\."),
        (lambda p: p * 2, r"`rho` must return probabilities that sum to 1; row 0 is \["),
        (lambda p: p - 0.9, r"`rho` must return probabilities that sum to 1; row 0 is \["),
        (lambda p: p * np.nan, r"must return probabilities that sum to 1; row 0 is \[nan"),
        (lambda p: np.where(p > 0, np.inf, 0), r"must return probabilities that sum to 1; row 0"),
    ],
)
@pytest.mark.parametrize("make", [Exact, Consistency])
def test_bad_hypotheses_are_refused(make, rho, message):
    with pytest.raises(ValueError, match=message):
        make(rho).draw(DATA, KEY, 0)


@pytest.mark.parametrize("make", [Exact, Consistency])
def test_a_hypothesis_must_be_a_function(make):
    with pytest.raises(TypeError, match=r"`rho` must be a function; found 0\.5\."):
        make(0.5)
    with pytest.raises(
        TypeError, match=r"`rho` must be a function of \(probs\); found one of \(\)"
    ):
        make(lambda: 1)


def test_a_hypothesis_cannot_change_the_predictions():
    def careless(probs):
        probs *= 0.5
        return probs

    with pytest.raises(ValueError, match="read-only"):
        Exact(careless).draw(DATA, KEY, 0)


def test_induced_problems_can_be_resampled():
    induced = TopLabel()(DATA)
    for resampler in ALL:
        assert resampler.draw(induced, KEY, 0).event == 0


def test_which_rows_are_drawn_does_not_tell_their_labels():
    """Two rows of 1/2: given that the first was drawn twice, its first label is still a coin."""
    data = Predictions([0.5, 0.5 + 1e-9], [0, 0])
    twice = [
        int(drawn.labels[0])
        for drawn in (Consistency().draw(data, KEY, b) for b in range(4000))
        if (drawn.probs[:, 1] == 0.5).all()
    ]
    assert agrees(len(twice), 4000, 0.25, tests=2)
    assert agrees(sum(twice), len(twice), 0.5, tests=2)
