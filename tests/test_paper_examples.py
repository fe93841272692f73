"""What the paper says of its own examples, from their tables and without sampling if possible.

A table becomes data without chance: each prediction stands once for every class y, with
weight P[Y = y | g(X)]. In tenths the weights are whole numbers.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

from calibrant import Predictions, calibration_function
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.lenses import Canonical, Groups, Marginal, TopK, TopLabel
from calibrant.partitions import EqualWidth, FromFunction, VarianceTree
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration

# Predictions are tenths, which no binary number equals; means of a few of them err by an ulp.
ULPS = 1e-15


def by_prediction(probs):
    """Name a cell after the prediction itself, so that every prediction has its own."""
    return np.array([np.round(p, 6).tobytes().hex() for p in probs])


OWN_CELL = FromFunction(by_prediction)


def from_table(predictions, conditionals):
    """Return data in which class y follows prediction g with frequency P[y | g]."""
    m = len(predictions[0])
    tenths = np.rint(10 * np.array(conditionals))
    return Predictions(
        np.repeat(predictions, m, axis=0),
        np.tile(np.arange(m), len(predictions)),
        weights=tenths.reshape(-1),
    )


SIX = [
    [0.1, 0.3, 0.6],
    [0.1, 0.6, 0.3],
    [0.3, 0.1, 0.6],
    [0.3, 0.6, 0.1],
    [0.6, 0.1, 0.3],
    [0.6, 0.3, 0.1],
]
TRUTH = [
    [0.2, 0.2, 0.6],
    [0.0, 0.7, 0.3],
    [0.2, 0.2, 0.6],
    [0.4, 0.5, 0.1],
    [0.7, 0.0, 0.3],
    [0.5, 0.4, 0.1],
]
TABLE_1 = from_table(SIX, TRUTH)
TABLE_2 = from_table([[0.6, 0.1, 0.3], [0.4, 0.6, 0.0]], [[0.7, 0.2, 0.1], [0.3, 0.5, 0.2]])


def eta(data, lens=None, partition=OWN_CELL, distance=total_variation):
    return ExpectedMiscalibration(partition, distance)((lens or Canonical())(data))


@pytest.mark.parametrize("partition", [OWN_CELL, EqualWidth(10), VarianceTree(1)])
def test_example_1_is_calibrated_for_the_top_label_and_all_marginals_but_not(partition):
    assert eta(TABLE_1, partition=partition) == pytest.approx(0.1, abs=ULPS)
    assert eta(TABLE_1, TopLabel(), partition) <= ULPS
    for j in range(3):
        assert eta(TABLE_1, Marginal(j), partition) <= ULPS


def test_example_1_in_other_distances():
    # Every deviation is (0.1, -0.1, 0) in some order.
    assert eta(TABLE_1, distance=euclidean) == pytest.approx(0.1 * 2**0.5, abs=ULPS)
    assert eta(TABLE_1, distance=squared_euclidean) == pytest.approx(0.02, abs=ULPS)
    assert WorstMiscalibration(OWN_CELL)(TABLE_1) == pytest.approx(0.1, abs=ULPS)


def test_example_1_is_calibrated_for_the_two_largest_predictions_too():
    # All induced predictions are (0.6, 0.3, 0.1). The first class occurs with 0.6, 0.7, 0.6,
    # 0.5, 0.7, 0.5, on average 0.6; the second with 0.2, 0.3, 0.2, 0.4, 0.3, 0.4: on average 0.3.
    assert eta(TABLE_1, TopK(2)) <= ULPS
    # Two groups of three classes are a marginal.
    assert eta(TABLE_1, Groups([[0, 1], [2]])) <= ULPS


def test_example_1_fails_when_a_number_of_the_table_is_wrong():
    data = from_table(SIX, [*TRUTH[:5], [0.4, 0.5, 0.1]])
    assert eta(data, TopLabel()) > 0.01
    assert eta(data, Marginal(1)) > 0.01


def test_example_3_is_calibrated_for_the_top_label_only():
    assert eta(TABLE_2, TopLabel()) <= ULPS
    assert eta(TABLE_2, Marginal(0)) == pytest.approx(0.1, abs=ULPS)
    assert eta(TABLE_2, Marginal(1)) == pytest.approx(0.1, abs=ULPS)
    assert eta(TABLE_2, Marginal(2)) == pytest.approx(0.2, abs=ULPS)
    assert eta(TABLE_2) == pytest.approx(0.2, abs=ULPS)


def test_example_5_two_calibrated_models_with_different_biases():
    one_bin = EqualWidth(1)
    perfect = [eta(Predictions(np.eye(2)[[y]], [y]), partition=one_bin) for y in (0, 1)]
    constant = [eta(Predictions([[0.5, 0.5]], [y]), partition=one_bin) for y in (0, 1)]
    assert np.mean(perfect) == 0
    assert np.mean(constant) == 0.5


# Proposition 1: g(X) = P[Y | h(X)] is calibrated, whatever h is.

POINTS, CLASSES = 24, 4


def world(seed):
    """Return P[X = x] (POINTS,) and P[Y | X = x] (POINTS, CLASSES)."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(POINTS)), rng.dirichlet(np.full(CLASSES, 0.5), POINTS)


def given_h(h, at, conditional):
    """Return g(x) = P[Y | h(X) = h(x)] for every x."""
    g = np.empty_like(conditional)
    for z in set(h):
        g[h == z] = np.average(conditional[h == z], axis=0, weights=at[h == z])
    return g


def all_pairs(g, at, conditional):
    """Return every (x, y) with its probability as weight."""
    return Predictions(
        np.repeat(g, CLASSES, axis=0),
        np.tile(np.arange(CLASSES), POINTS),
        weights=(at[:, None] * conditional).reshape(-1),
    )


@pytest.mark.parametrize("size", [1, 2, 5, 24])
@pytest.mark.parametrize("seed", range(5))
def test_proposition_1_exactly(seed, size):
    at, conditional = world(seed)
    h = np.random.default_rng(100 + seed).integers(0, size, POINTS)
    calibrated = all_pairs(given_h(h, at, conditional), at, conditional)
    # Averages of 24 numbers that themselves are averages, and weights that were rounded.
    rounded = np.abs(calibrated.weights - (at[:, None] * conditional).reshape(-1)).sum()
    close = 1e-14 + rounded
    assert close < 1e-13
    for lens in (Canonical(), TopLabel(), TopK(2), Marginal(3), Groups([[0, 2], [1, 3]])):
        assert eta(calibrated, lens) <= close
        assert eta(calibrated, lens, EqualWidth(5)) <= close
    sharper = given_h(h, at, conditional) ** 2
    wrong = all_pairs(sharper / sharper.sum(axis=1, keepdims=True), at, conditional)
    assert eta(wrong) > 0.01


def worst_tail(data):
    """Return the smallest two-sided binomial tail of any cell and class, times their number.

    If the model is calibrated and every prediction has a cell of its own, the count of class y
    in a cell of n rows is binomial (n, g_y). By the union bound the returned number is below a
    with probability at most a.
    """
    fn = calibration_function(data, OWN_CELL)
    n = fn.counts[:, None]
    hits = np.rint(fn.observed * n)
    low, high = binom.cdf(hits, n, fn.predicted), binom.sf(hits - 1, n, fn.predicted)
    return 2 * np.minimum(low, high).min() * hits.size


@pytest.mark.parametrize("size", [1, 2, 5, 24])
def test_proposition_1_by_simulation(size):
    at, conditional = world(7)
    rng = np.random.default_rng(size)
    h = rng.integers(0, size, POINTS)
    x = rng.choice(POINTS, 20_000, p=at)
    y = (rng.random(20_000)[:, None] > conditional[x].cumsum(axis=1)[:, :-1]).sum(axis=1)
    g = given_h(h, at, conditional)
    assert worst_tail(Predictions(g[x], y)) > 1e-6
    # Deliberately wrong: the same model with a twentieth of its mass moved to class 0.
    shifted = 0.95 * g + 0.05 * np.eye(CLASSES)[0]
    assert worst_tail(Predictions(shifted[x], y)) < 1e-6


# Theorem 2 on the Gaussian mixture of §5.1 with beta_0 = beta_1 = 1.


def g_1(x):
    return 1 / (1 + np.exp(-(1 + x)))


def r_1(x):
    return 1 / (1 + np.exp(2 * x))


def gap(x):
    return r_1(x) - g_1(x)


def density(x):
    return 0.5 * norm.pdf(x, -1) + 0.5 * norm.pdf(x, 1)


def integral(f, low, high):
    """Integrate f against the density of X, piece by piece, with an error far below 1e-9."""
    marks = np.linspace(low, high, 13)
    pieces = [quad(lambda x: f(x) * density(x), a, b) for a, b in pairwise(marks)]
    assert sum(error for _, error in pieces) < 1e-10
    return sum(value for value, _ in pieces)


def true_eta():
    zero = -1 / 3  # where 1 + x = -2 x, r - g changes its sign
    return integral(gap, -12, zero) - integral(gap, zero, 12)


def limit(k):
    """Return the limit of the estimate with k fixed bins of equal width."""
    inner = np.arange(1, k) / k
    cuts = np.clip([-np.inf, *(np.log(inner / (1 - inner)) - 1), np.inf], -12, 12)
    return sum(abs(integral(gap, a, b)) for a, b in pairwise(cuts))


def sample(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)  # 1 is the class with mean -1
    p = g_1(rng.normal(1 - 2 * y, 1))
    return Predictions(p, y)


def bound(n, k):
    """Return how far the estimate may be from its limit, but for a probability of 1e-6.

    Replacing one pair moves the estimate by at most 2/n, so by McDiarmid's inequality it is
    within sqrt(2 log(2e6) / n) of its mean. Its mean is above the limit by at most the sum of
    the cells' standard errors, which is at most sqrt(k / n).
    """
    return (2 * np.log(2e6) / n) ** 0.5 + (k / n) ** 0.5


def test_the_known_value_of_eta():
    assert true_eta() == pytest.approx(0.563751, abs=5e-7)  # six digits are known


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_theorem_2_the_limit_is_not_above_eta(k):
    assert limit(k) <= true_eta() + 1e-9
    # The deviation changes its sign inside a bin, so the inequality is strict.
    assert limit(k) < true_eta() - 1e-7


@pytest.mark.parametrize("k", [1, 2, 10])
@pytest.mark.parametrize("n", [1_000, 30_000, 1_000_000])
def test_theorem_2_the_estimate_tends_to_the_limit(n, k):
    found = ExpectedMiscalibration(EqualWidth(k))(sample(n, seed=n + k))
    assert abs(found - limit(k)) <= bound(n, k)


def test_theorem_2_a_wrong_limit_is_noticed():
    found = ExpectedMiscalibration(EqualWidth(1))(sample(1_000_000, seed=1))
    assert abs(found - true_eta()) > bound(1_000_000, 1)
    found = ExpectedMiscalibration(EqualWidth(10))(sample(1_000_000, seed=2))
    assert abs(found - limit(1)) > bound(1_000_000, 10)
