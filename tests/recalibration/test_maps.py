"""What a map is: a function of rows, of Predictions, of another map; and what it refuses."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from fits import methods_of, overconfident

from calibrant import Predictions, calibration_test, lenses, partitions, statistics
from calibrant.recalibration import (
    Beta,
    Chain,
    Curve,
    Dirichlet,
    Histogram,
    HistogramMap,
    Isotonic,
    IsotonicMap,
    LogLinearMap,
    Temperature,
    TemperatureMap,
    Vector,
)
from calibrant.resampling import Exact

HALF = TemperatureMap(("no", "yes"), 0.5)


@pytest.mark.parametrize("method", methods_of(3), ids=repr)
def test_predictions_keep_all_but_their_probabilities(method):
    data = overconfident(weights=True)
    found = method.fit(data)(data)
    assert isinstance(found, Predictions)
    assert found.probs.dtype == np.float64
    assert found.classes == data.classes
    assert found.event == data.event
    np.testing.assert_array_equal(found.labels, data.labels)
    np.testing.assert_array_equal(found.weights, data.weights)
    np.testing.assert_array_equal(found.probs, method.fit(data)(data.probs))


def test_without_weights_there_are_none_afterwards():
    data = overconfident()
    assert not Temperature().fit(data)(data).weighted


@pytest.mark.parametrize("method", methods_of(2), ids=repr)
def test_what_a_lens_shows_can_be_recalibrated(method):
    seen = lenses.TopLabel()(overconfident())
    found = method.fit(seen)(seen)
    assert found.event == 0
    assert found.classes == ("predicted class", "other")


def test_one_dimension_is_the_probability_of_class_1():
    np.testing.assert_array_equal(HALF([0.25, 0.5]), HALF([[0.75, 0.25], [0.5, 0.5]]))


@pytest.mark.parametrize("method", methods_of(3), ids=repr)
def test_a_map_can_be_the_hypothesis_of_a_test(method):
    data = overconfident(weights=True)
    statistic = statistics.ExpectedMiscalibration(partitions.EqualWidth(5))
    fitted = method.fit(data)
    test = calibration_test(data, statistic, resampler=Exact(rho=fitted), n_resamples=19, rng=0)
    plain = calibration_test(data, statistic, n_resamples=19, rng=0)
    assert (test.null != plain.null).any()
    assert test.null.mean() > plain.null.mean()  # the hypothesis says that the model is off


def test_maps_are_applied_one_after_the_other():
    data = overconfident()
    first, second = Temperature().fit(data), Vector().fit(data)
    third = Isotonic().fit(data)
    expected = third(second(first(data.probs)))
    for chain in (first >> second >> third, first >> (second >> third)):
        assert isinstance(chain, Chain)
        assert chain.maps == (first, second, third)
        np.testing.assert_array_equal(chain(data.probs), expected)
    assert str(first >> second).count(" >> ") == 1


def test_maps_of_other_classes_do_not_compose():
    with pytest.raises(ValueError, match="must be of the same classes; found 'no', 'yes' and 'a'"):
        HALF >> TemperatureMap(("a", "b"), 1.0)


def test_a_map_composes_with_maps_alone():
    with pytest.raises(TypeError, match="unsupported operand"):
        HALF >> np.sqrt


def test_other_classes_are_refused():
    with pytest.raises(ValueError, match="the classes that the map was fitted to, 'no', 'yes'"):
        HALF(Predictions([0.5], [1]))
    with pytest.raises(ValueError, match=r"a column for each of the 2 classes .* found 3"):
        HALF([[0.5, 0.25, 0.25]])


def test_rows_are_checked():
    with pytest.raises(ValueError, match=r"`probs` must sum to 1 in each row; row 0 sums to 0\.5"):
        HALF([[0.25, 0.25]])
    with pytest.raises(ValueError, match="`probs` must be finite"):
        HALF([[np.nan, 0.25]])


@pytest.mark.parametrize("method", methods_of(2), ids=repr)
def test_maps_are_frozen_and_can_be_pickled(method):
    data = overconfident(m=2)
    fitted = method.fit(data)
    with pytest.raises(FrozenInstanceError):
        fitted.classes = ("a", "b")
    for name in fitted.__slots__:
        value = getattr(fitted, name)
        assert not isinstance(value, np.ndarray) or not value.flags.writeable
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again(data.probs), fitted(data.probs))


def test_methods_are_values():
    assert Dirichlet(0.5) == Dirichlet(off_diagonal=0.5, intercept=0.01)
    assert Histogram(partitions.EqualWidth(5)) == Histogram(partitions.EqualWidth(5))
    assert len({Temperature(), Temperature(), Vector()}) == 2


def test_words():
    data = overconfident(m=2)
    assert str(TemperatureMap(("a", "b"), 1.25)) == "temperature 1.25"
    assert repr(HALF) == "<temperature 0.5>"
    assert [str(method) for method in methods_of(2)][-2:] == [
        "beta",
        "histogram on 7 equal masses",
    ]
    for method in methods_of(2):
        assert str(method.fit(data))


@pytest.mark.parametrize("method", methods_of(2), ids=repr)
def test_methods_refuse_what_is_no_predictions(method):
    with pytest.raises(TypeError, match="`data` must be Predictions; found list"):
        method.fit([[0.5, 0.5]])


@pytest.mark.parametrize("method", methods_of(2), ids=repr)
def test_one_class_alone_is_refused(method):
    names = ["no", "yes"]
    with pytest.raises(ValueError, match="at least two classes; all of them are 'yes'"):
        method.fit(Predictions([0.5, 0.75], [1, 1], names))
    with pytest.raises(ValueError, match="at least two classes; all of them are 'no'"):
        method.fit(Predictions([0.5, 0.75], [0, 1], names, weights=[1, 0]))


def test_beta_is_for_two_classes():
    with pytest.raises(ValueError, match=r"`Beta\(\)` needs a problem with two classes; found 3"):
        Beta().fit(overconfident())


def test_temperature_needs_an_outcome_that_was_possible():
    with pytest.raises(ValueError, match="an outcome that was given a probability above 0"):
        Temperature().fit(Predictions([0.0, 1.0], [1, 0]))


@pytest.mark.parametrize("name", ["off_diagonal", "intercept"])
def test_penalties_are_not_negative(name):
    with pytest.raises(ValueError, match=f"`{name}` must be at least 0; found -1.0"):
        Dirichlet(**{name: -1})
    with pytest.raises(ValueError, match=f"`{name}` must be finite"):
        Dirichlet(**{name: np.inf})


def test_histogram_needs_a_partition():
    with pytest.raises(TypeError, match="`partition` must be one such as EqualWidth"):
        Histogram(10)


def test_parameters_of_maps_are_checked():
    two = ("no", "yes")
    with pytest.raises(ValueError, match="`temperature` must be a number above 0; found 0"):
        TemperatureMap(two, 0)
    with pytest.raises(ValueError, match="`classes` must be the names of at least two; found"):
        TemperatureMap(("no",), 1.0)
    with pytest.raises(ValueError, match=r"`weights` must be of shape \(2\) or \(2, 2\); found"):
        LogLinearMap(two, [1.0], [0.0, 0.0], 0.1)
    with pytest.raises(ValueError, match="`bias` must be finite; found inf"):
        LogLinearMap(two, [1.0, 1.0], [np.inf, 0.0], 0.1)
    with pytest.raises(ValueError, match="`x` must rise; found"):
        Curve(0, [0.5, 0.5], [0.0, 1.0])
    with pytest.raises(ValueError, match="`y` must be between 0 and 1 and not fall; found"):
        Curve(0, [0.25, 0.5], [1.0, 0.0])
    curve = Curve(0, [0.25], [1.0])
    with pytest.raises(ValueError, match=r"`curves` must be one for each of the 3 .* \[0\]"):
        IsotonicMap(("a", "b", "c"), (curve,))
    partition = partitions.EqualWidth(2)
    cells = partition.fit(Predictions([0.5], [1]))
    with pytest.raises(ValueError, match="`observed` must not be negative and sum to 1; found"):
        HistogramMap(two, partition, cells, [[0.5, 0.25]])
