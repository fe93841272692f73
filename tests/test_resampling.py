"""Resampled data sets: what stays, what is drawn again, and what is refused."""

import numpy as np
import pytest
from chance import agrees

from calibrant import Predictions
from calibrant.checks.seeds import make_key
from calibrant.lenses import TopLabel
from calibrant.resampling import Bootstrap, Consistency, Exact

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
    assert first.n == DATA.n
    for other in (resampler.draw(DATA, KEY, 4), resampler.draw(DATA, make_key(6), 3)):
        assert not np.array_equal(other.labels, first.labels)


def test_exact_keeps_predictions_and_weights():
    drawn = Exact().draw(DATA, KEY, 0)
    assert drawn.probs is DATA.probs
    np.testing.assert_array_equal(drawn.weights, DATA.weights)
    np.testing.assert_array_equal(Exact().labels(DATA, KEY, 0, 5)[0], drawn.labels)


def test_bootstrap_keeps_rows_together():
    drawn = Bootstrap().draw(DATA, KEY, 0)
    rows = [int(np.flatnonzero((DATA.probs == p).all(axis=1))[0]) for p in drawn.probs]
    assert rows == sorted(rows)
    assert_same(drawn, DATA.take(np.array(rows)))


def test_consistency_draws_the_rows_of_the_bootstrap_and_new_labels():
    rows, labels = Bootstrap().draw(DATA, KEY, 1), Consistency().draw(DATA, KEY, 1)
    np.testing.assert_array_equal(rows.probs, labels.probs)
    np.testing.assert_array_equal(rows.weights, labels.weights)
    assert not np.array_equal(rows.labels, labels.labels)
    sure = Predictions(np.eye(3)[RNG.integers(0, 3, 30)], np.zeros(30, int))
    drawn = Consistency().draw(sure, KEY, 0)
    np.testing.assert_array_equal(drawn.labels, drawn.probs.argmax(axis=1))


@pytest.mark.parametrize("resampler", ALL, ids=repr)
def test_a_row_of_weight_zero_is_absent(resampler):
    weights = np.where(np.arange(40) % 3 == 0, 0.0, DATA.weights)
    data = Predictions(DATA.probs, DATA.labels, weights=weights)
    present = data.take(np.flatnonzero(weights > 0))
    for b in range(20):
        drawn = resampler.draw(data, KEY, b)
        assert drawn.weights.sum() > 0
        if not isinstance(resampler, Exact):
            assert drawn.n == present.n
            assert drawn.weights.all()
    if isinstance(resampler, Bootstrap):
        assert_same(resampler.draw(data, KEY, 2), resampler.draw(present, KEY, 2))


def test_a_single_row_of_weight_is_drawn_every_time():
    data = Predictions([0.3, 0.6, 0.7], [0, 1, 1], weights=[0, 2, 0])
    for b in range(10):
        drawn = Bootstrap().draw(data, KEY, b)
        assert (drawn.probs[:, 1].tolist(), drawn.weights.tolist()) == ([0.6], [2.0])


def test_the_identity_as_a_hypothesis_draws_the_same_labels():
    for make in (Exact, Consistency):
        assert_same(make(lambda probs: probs).draw(DATA, KEY, 0), make().draw(DATA, KEY, 0))


def test_a_hypothesis_is_where_labels_come_from():
    def always_b(probs):
        return np.tile([0.0, 1.0, 0.0], (len(probs), 1))

    for make in (Exact, Consistency):
        assert set(make(always_b).draw(DATA, KEY, 0).labels.tolist()) == {1}
    law = Exact(always_b).law(DATA)
    assert not law.flags.writeable


def test_a_hypothesis_is_divided_by_its_sums():
    law = Exact(lambda probs: probs * 1.0005).law(DATA)
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
