"""Figures 8, 11 and 14: diagrams of the Gaussian mixture of §5.1, whose truth is known.

X given Y = y is N(y, 1) for y = -1 and y = 1, and g_1(x) = 1 / (1 + exp(-(b0 + b1 x))) is the
predicted probability of y = -1. P(Y = 1 | X = x) = 1 / (1 + exp(-2 x)), and x follows from
the prediction, so the calibration function is known. In a cell the estimate is compared with
the mean of the true deviation over the predictions of that cell.
"""

import numpy as np
import pytest
from chance import BUDGET, most
from scipy.special import expit, logit

from calibrant import Predictions, partitions
from calibrant import reliability_diagram as diagram_of

PERFECT, CONSTANT, UNCALIBRATED = (0, -2), (0, 0), (1, 1)
PARTITIONS = (partitions.EqualWidth(10), partitions.VarianceTree(1000))
ROWS = 10_000
REPEATS = 150


def mixture(beta, seed):
    """Return predictions of one model and P(Y = 1 | prediction) of each row (n,)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, ROWS)
    x = rng.normal(2 * y - 1, 1)
    event = expit(-(beta[0] + beta[1] * x))  # g_2, of y = 1
    return Predictions(event, y, ["y = -1", "y = 1"]), truth(beta, event)


def truth(beta, event):
    """Return P(Y = 1 | g_2 = event)."""
    if beta[1] == 0:
        return np.full_like(event, 0.5)
    return expit(2 * (logit(1 - event) - beta[0]) / beta[1])


def expected(series, data, true):
    """Return the mean (cells,) of the true deviation over the predictions of each cell."""
    cells = series.function.fitted.assign(data.probs)
    deviation = true - data.probs[:, 1]
    return np.bincount(cells, deviation) / np.bincount(cells)


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
@pytest.mark.parametrize("beta", [PERFECT, CONSTANT])
def test_the_true_deviation_of_calibrated_models_is_within_the_limits(beta, partition):
    data, true = mixture(beta, 0)
    (series,) = diagram_of(data, partition=partition, rng=0).series
    wanted = expected(series, data, true)
    np.testing.assert_allclose(wanted, 0, atol=1e-12)
    low, high = (limit[:, 1] for limit in series.cells.simultaneous(0.9))
    assert (low < wanted).all()
    assert (wanted < high).all()
    assert not series.significant(0.05).any()


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_the_true_deviation_of_the_uncalibrated_model_is_far_outside(partition):
    data, true = mixture(UNCALIBRATED, 0)
    (series,) = diagram_of(data, partition=partition, rng=0).series
    wanted = expected(series, data, true)
    low, high = (limit[:, 1] for limit in series.cells.simultaneous(0.9))
    outside = (wanted < low) | (high < wanted)
    assert outside.sum() >= series.function.n_cells - 1  # the curve crosses zero once
    assert (series.significant(0.05) == outside).mean() > 0.8


def close(series, wanted):
    """Say whether estimates are within Hoeffding's bound of what is expected, in all cells.

    It holds for every law of a count; cells and both sides share the budget.
    """
    fn = series.function
    reach = np.sqrt(np.log(2 * fn.n_cells / BUDGET) / (2 * fn.mass))
    return (np.abs(fn.deviations[:, 1] - wanted) <= reach).all()


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
@pytest.mark.parametrize("beta", [PERFECT, CONSTANT, UNCALIBRATED])
def test_estimates_match_the_true_deviation(beta, partition):
    data, true = mixture(beta, 1)
    (series,) = diagram_of(data, partition=partition, n_resamples=19, rng=0).series
    assert close(series, expected(series, data, true))


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda event: 1 - truth(UNCALIBRATED, event),  # about the other class
        lambda event: truth((1, -1), event),  # a slope of the wrong sign
        lambda event: event,  # calibrated
    ],
    ids=["other class", "other sign", "calibrated"],
)
def test_estimates_do_not_match_a_wrong_truth(wrong, partition):
    data, _ = mixture(UNCALIBRATED, 1)
    (series,) = diagram_of(data, partition=partition, n_resamples=19, rng=0).series
    assert not close(series, expected(series, data, wrong(data.probs[:, 1])))


def leaves(beta, partition, limits):
    """Count data sets of which some cell's estimate is outside of its limits."""
    count = 0
    for seed in range(REPEATS):
        data, _ = mixture(beta, 1000 + seed)
        (series,) = diagram_of(data, partition=partition, n_resamples=99, rng=seed).series
        low, high = limits(series.cells)
        estimate = series.function.deviations[:, 1]
        count += bool(((estimate < low[:, 1]) | (high[:, 1] < estimate)).any())
    return count


def simultaneous(cells):
    return cells.simultaneous(0.9)


def pointwise(cells):
    return cells.lower, cells.upper


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
@pytest.mark.parametrize("beta", [PERFECT, CONSTANT])
def test_simultaneous_limits_hold_all_estimates_of_calibrated_models(beta, partition):
    assert leaves(beta, partition, simultaneous) <= most(REPEATS, 0.1)


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_pointwise_limits_do_not(partition):
    assert leaves(PERFECT, partition, pointwise) > most(REPEATS, 0.1)


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_simultaneous_limits_do_not_hold_those_of_the_uncalibrated_model(partition):
    assert leaves(UNCALIBRATED, partition, simultaneous) == REPEATS
