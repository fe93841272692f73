"""Laws that hold for every method."""

import numpy as np
import pytest
from fits import MONOTONE_OF_TWO, methods_of, overconfident, same_probs
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from calibrant import Predictions, accuracy, log_score
from calibrant.partitions import EqualWidth
from calibrant.recalibration import Beta, Histogram, Isotonic, Matrix, Temperature, Vector

few = settings(max_examples=20)
TOLERANCE = 1e-7  # of probabilities, where gradients vanish to 1e-9

ALL = [(method, m) for m in (2, 3) for method in methods_of(m)]
EXACT = (Temperature(), Vector(), Matrix(), Beta(), Isotonic(), Histogram(EqualWidth(5)))
every_method = pytest.mark.parametrize(("method", "m"), ALL, ids=repr)


def refit(method, data):
    return method.fit(data)(overconfident(100, data.m, seed=5).probs)


@few
@given(problems(max_n=10), st.data())
def test_outputs_are_probabilities(data, draw):
    """Also of zeros, vertices, ties, one ulp from an edge; separable or not."""
    if np.unique(data.labels[data.weights > 0]).size < 2:
        return
    method = draw.draw(st.sampled_from(methods_of(data.m)))
    own = data.probs[np.arange(data.n), data.labels][data.weights > 0]
    if isinstance(method, Temperature) and not own.any():
        return
    fitted = method.fit(data)
    for probs in (data.probs, np.eye(data.m), overconfident(20, data.m).probs):
        found = fitted(probs)
        assert found.dtype == np.float64
        assert (found >= 0).all()
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
        Predictions(found, np.zeros(len(found), int))


@every_method
def test_a_weight_is_a_number_of_copies(method, m):
    data = overconfident(m=m, weights=True)
    rows = np.repeat(np.arange(data.n), data.weights.astype(int))
    copies = Predictions(data.probs[rows], data.labels[rows])
    same_probs(refit(method, data), refit(method, copies), TOLERANCE)


@every_method
def test_a_row_of_weight_zero_is_absent(method, m):
    data = overconfident(m=m)
    weights = np.ones(data.n)
    weights[::3] = 0
    light = Predictions(data.probs, data.labels, weights=weights)
    kept = Predictions(data.probs[weights > 0], data.labels[weights > 0])
    same_probs(refit(method, light), refit(method, kept), TOLERANCE)


@every_method
def test_the_unit_of_weights_does_not_matter(method, m):
    data = overconfident(m=m, weights=True)
    if isinstance(method, Histogram):
        return  # a tree counts weight
    heavy = Predictions(data.probs, data.labels, weights=data.weights * 1e50)
    same_probs(refit(method, data), refit(method, heavy), TOLERANCE)


@every_method
def test_the_order_of_rows_does_not_matter(method, m):
    data = overconfident(m=m, weights=True)
    order = np.random.default_rng(1).permutation(data.n)
    same_probs(refit(method, data), refit(method, data.take(order)), TOLERANCE)


@every_method
def test_float32_is_fitted_as_the_same_numbers(method, m):
    narrow = overconfident(m=m, dtype=np.float32)
    wide = Predictions.trusted(
        narrow.probs.astype(np.float64), narrow.labels, narrow.classes, event=narrow.event
    )
    same_probs(refit(method, narrow), refit(method, wide), TOLERANCE)


@pytest.mark.parametrize(
    ("method", "m"),
    [(method, m) for method, m in ALL if not isinstance(method, Histogram)],
    ids=repr,
)
def test_relabelling_classes_relabels_the_answer(method, m):
    """Not of grids, which leave out the last class."""
    data = overconfident(m=m)
    order = np.roll(np.arange(m), 1)
    moved = Predictions(data.probs[:, order], np.argsort(order)[data.labels])
    fresh = overconfident(100, m, seed=5).probs
    same_probs(method.fit(moved)(fresh[:, order]), method.fit(data)(fresh)[:, order], TOLERANCE)


@every_method
def test_the_log_loss_does_not_rise(method, m):
    """In sample; but a histogram is not among functions that could leave all as it is."""
    data = overconfident(m=m)
    if not isinstance(method, Histogram):
        assert log_score(method.fit(data)(data)) <= log_score(data)


@pytest.mark.parametrize("method", MONOTONE_OF_TWO, ids=str)
@given(data=problems(m=2, max_n=12))
@few
def test_monotone_maps_keep_the_order_of_scores(method, data):
    own = data.probs[np.arange(data.n), data.labels][data.weights > 0]
    if np.unique(data.labels[data.weights > 0]).size < 2 or not own.any():
        return
    p = np.sort(np.concatenate((data.probs[:, 1], [0.0, 1.0], np.linspace(0, 1, 53))))
    found = method.fit(data)(p)[:, 1]
    # Logarithms and exponentials of neighbours may be rounded out of order; straight lines not.
    slack = 0.0 if isinstance(method, Isotonic) else 1e-15
    assert (np.diff(found) >= -slack).all()


@pytest.mark.parametrize("seed", range(3))
def test_temperature_keeps_the_order_of_classes(seed):
    data = overconfident(m=6, seed=seed)
    fitted = Temperature().fit(data)
    found = fitted(data)
    np.testing.assert_array_equal(found.probs.argsort(axis=1), data.probs.argsort(axis=1))
    assert accuracy(found) == accuracy(data)


@pytest.mark.parametrize("method", [Temperature(), Vector(), Beta()], ids=str)
def test_calibrated_predictions_stay_nearly_what_they_are(method):
    rng = np.random.default_rng(7)
    p = rng.beta(1, 1, 20000) * 0.96 + 0.02
    data = Predictions(p, (rng.random(20000) < p).astype(int))
    assert np.abs(method.fit(data)(data).probs - data.probs).max() < 0.02


@pytest.mark.parametrize("method", EXACT, ids=str)
def test_frequencies_that_equal_the_predictions_are_left_alone(method):
    """Every p comes true exactly as often as it says: the identity is the optimum."""
    tenths = (1, 3, 5, 7, 9)
    labels = np.concatenate([np.arange(10) < tenth for tenth in tenths]).astype(int)
    data = Predictions(np.repeat(tenths, 10) / 10, labels)
    same_probs(method.fit(data)(data).probs, data.probs, 1e-9)


@pytest.mark.parametrize("count", ["1", "2"])
def test_the_number_of_threads_changes_no_bit(monkeypatch, count):
    monkeypatch.setattr("calibrant.engine.threads.ENTRIES", 256)  # many blocks
    data = overconfident(m=3)
    expected = [method.fit(data)(data.probs) for method in methods_of(3)]
    monkeypatch.setenv("CALIBRANT_THREADS", count)
    for method, probs in zip(methods_of(3), expected, strict=True):
        np.testing.assert_array_equal(method.fit(data)(data.probs), probs)
