"""Sizes, biases and their limits: against plain loops, by laws, and against known truths."""

import numpy as np
import pytest
from chance import fewest, most, outcomes
from places import IN_FULL
from scipy.stats import binom

from calibrant import Predictions
from calibrant.lenses import TopLabel
from calibrant.sizes import bias_of, compare, size_of
from calibrant.sizes.cross_fit import FOLDS, CrossFit, sample_of
from calibrant.sizes.limits import at_least, at_most, confidence, tails, whole_bin
from calibrant.sizes.samples import combination

SETS = 300 if IN_FULL else 60


def tempered(probs, power):
    found = probs**power
    return found / found.sum(axis=1, keepdims=True)


def two(p):
    return np.stack((1 - p, p), axis=1)


def draw(rng, n, m, power=1.0):
    probs = rng.dirichlet(np.full(m, 0.5), n)
    return Predictions(probs, outcomes(rng, tempered(probs, power)))


def size(data, seed=0):
    return size_of(CrossFit(data, seed))


def test_gains_and_variances_are_those_of_plain_loops():
    rng = np.random.default_rng(0)
    fit = CrossFit(draw(rng, 60, 3), seed=1)
    shares = [np.array([0.4, 0.3, 0.2, 0.1])] * FOLDS
    rows = fit.rows(shares)
    spread = {0.0: 0.0, 0.3: 0.0}
    for numbers, some, directions in fit.directions(shares):
        for i, p, y, h in zip(numbers, some.probs, some.labels, directions, strict=True):
            assert rows.gains[i] == pytest.approx(h[y] - p @ h)
            assert rows.lengths[i] == pytest.approx(h @ h)
            for t in spread:
                r = p + t * h
                spread[t] += r @ h**2 - (r @ h) ** 2
    for t, wanted in spread.items():
        assert rows.spread @ [1.0, t, t * t] == pytest.approx(wanted, rel=1e-9)


def by_row(fit, shares):
    out = np.empty(fit.sample.probs.shape)
    for rows, _, found in fit.directions(shares):
        out[rows] = found
    return out


def test_no_row_tells_its_own_direction():
    """Another outcome of a row changes the direction of no row of its fold."""
    rng = np.random.default_rng(1)
    data = draw(rng, 80, 4)
    shares = [np.full(4, 0.25)] * FOLDS
    fit = CrossFit(data, seed=2)
    before = {
        i: h for rows, _, found in fit.directions(shares) for i, h in zip(rows, found, strict=True)
    }
    labels = data.labels.copy()
    labels[7] = (labels[7] + 1) % 4
    other = CrossFit(Predictions(data.probs, labels), seed=2, like=fit)
    after = {
        i: h
        for rows, _, found in other.directions(shares)
        for i, h in zip(rows, found, strict=True)
    }
    mine = fit.folds == fit.folds[7]
    assert all(np.array_equal(before[i], after[i]) for i in np.flatnonzero(mine))
    assert not all(np.array_equal(before[i], after[i]) for i in np.flatnonzero(~mine))


def test_combination_is_the_least_of_a_grid():
    rng = np.random.default_rng(3)
    basis = rng.standard_normal((2, 5))
    products, gains = basis @ basis.T, np.array([1.0, 0.7])
    matrix = products + 0.1 * np.diag(np.diag(products))
    grid = np.stack(np.meshgrid(*[np.linspace(0, 2, 401)] * 2), axis=-1).reshape(-1, 2)
    values = 0.5 * np.einsum("ij,jk,ik->i", grid, matrix, grid) - grid @ gains
    best = grid[values.argmin()]
    assert combination(gains, products) == pytest.approx(best / best.sum(), abs=0.02)
    assert combination(-gains, products).tolist() == [0.5, 0.5]


def test_tails_are_those_of_a_binomial():
    data = Predictions(np.full(40, 0.3), np.arange(40) < 9)
    whole = whole_bin(sample_of(data)[0], 1.0)
    constants = np.array([-1.0, 0.0, 0.5])
    below, above = tails(whole, constants)
    q = 1 / (1 + np.exp(-(np.log(0.3 / 0.7) + constants)))
    assert below == pytest.approx(binom.cdf(9, 40, q), abs=1e-12)
    assert above == pytest.approx(binom.sf(8, 40, q), abs=1e-12)


def test_limits_without_an_event_are_those_of_clopper_and_pearson():
    data = Predictions(np.full(200, 0.99), np.ones(200, int))
    found = bias_of(data)
    assert found.value == pytest.approx(-0.01)
    assert found.low <= -0.01
    assert found.high == pytest.approx(0.99 - 0.025 ** (1 / 200), abs=1e-4)
    constants, lower, _ = confidence(whole_bin(sample_of(data)[0], 1.0))
    assert (np.diff(constants) > 0).all()
    assert (np.diff(lower) >= 0).all()


@pytest.mark.parametrize("m", [2, 3])
def test_the_unit_of_weights_is_no_matter(m):
    rng = np.random.default_rng(4)
    data = draw(rng, 300, m, 0.6)
    weights = rng.lognormal(0, 1, 300)
    one, other = (
        size_of(CrossFit(Predictions(data.probs, data.labels, weights=scale * weights), 0))
        for scale in (1.0, 100.0)
    )
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.low == pytest.approx(other.low, rel=1e-12)
    if m == 2:
        assert one.high == pytest.approx(other.high, rel=1e-12)


def test_an_event_and_its_complement_have_one_size_and_opposite_biases():
    rng = np.random.default_rng(5)
    p = rng.random(400)
    occurred = rng.random(400) < p**2
    mine, other = Predictions(p, occurred), Predictions(1 - p, ~occurred)
    a, b = bias_of(mine), bias_of(other)
    assert (a.value, a.low, a.high) == pytest.approx((-b.value, -b.high, -b.low), abs=1e-4)
    assert size(mine).value == pytest.approx(size(other).value, rel=0.02)


@pytest.mark.parametrize(("m", "n"), [(2, 300), (3, 100), (10, 300)])
def test_the_lower_limit_is_above_nothing_in_few_calibrated_sets(m, n):
    rng = np.random.default_rng(m)
    wrong = sum(at_least(CrossFit(draw(rng, n, m), seed), 1.96).low > 0 for seed in range(SETS))
    assert wrong <= most(SETS, 0.035)


def test_a_limit_without_the_noise_of_pairs_would_be_above_too_often():
    """The wrong twin: one standard error as if directions were given, at half the z."""
    rng = np.random.default_rng(8)
    wrong = sum(at_least(CrossFit(draw(rng, 100, 3), seed), 0.7).low > 0 for seed in range(SETS))
    assert wrong > most(SETS, 0.035)


CASES = {
    "rare errors": (200, lambda _, n: np.full(n, 0.99), lambda p: p),
    "more errors": (200, lambda _, n: np.full(n, 0.99), lambda p: p - 0.02),
    "rare events": (500, lambda _, n: np.full(n, 0.002), lambda p: p),
    "any": (300, lambda rng, n: rng.random(n), lambda p: p),
    "overconfident": (300, lambda rng, n: rng.random(n), lambda p: tempered(two(p), 0.67)[:, 1]),
    "underconfident": (1000, lambda rng, n: rng.random(n), lambda p: tempered(two(p), 1.5)[:, 1]),
    "sure and wrong": (
        300,
        lambda rng, n: 1 / (1 + np.exp(-6 * rng.standard_normal(n))),
        lambda p: tempered(two(p), 0.3)[:, 1],
    ),
    "both ends": (
        60,
        lambda _, n: np.where(np.arange(n) % 2, 0.05, 0.95),
        lambda p: np.where(p < 0.5, 0.15, 0.85),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_intervals_of_two_outcomes_cover(case):
    n, predict, law = CASES[case]
    rng = np.random.default_rng(9)
    covered = biases = 0
    for seed in range(SETS):
        p = predict(rng, n)
        r = law(p)
        data = Predictions(p, rng.random(n) < r)
        truth = np.sqrt(((r - p) ** 2).mean())
        found = size(data, seed)
        covered += found.low <= truth + 1e-12 and found.high >= truth - 1e-12
        bias = bias_of(data)
        biases += bias.low <= (p - r).mean() + 1e-12 <= bias.high + 2e-12
    assert covered >= fewest(SETS, 0.92)
    assert biases >= fewest(SETS, 0.92)


def test_sizes_are_never_below_what_the_predicted_class_implies():
    rng = np.random.default_rng(13)
    data = draw(rng, 300, 5, 0.5)
    fit, top = CrossFit(data, 0), CrossFit(TopLabel()(data), 0)
    whole, part = size_of(fit, top), at_least(top, 2.24)
    share = np.sqrt(5 / 4 / 2)
    assert whole.value >= share * part.size
    assert whole.low >= share * part.low > 0
    assert whole.high is None
    assert whole.low < size_of(fit).low  # it is the larger of two, each of which is surer


def test_the_larger_of_two_limits_is_above_nothing_in_few_calibrated_sets():
    rng = np.random.default_rng(15)
    wrong = 0
    for seed in range(SETS):
        probs = rng.dirichlet(np.full(4, 0.3), 300)
        data = Predictions(probs, outcomes(rng, probs))
        wrong += size_of(CrossFit(data, seed), CrossFit(TopLabel()(data), seed)).low > 0
    assert wrong <= most(SETS, 0.035)


def test_what_all_rows_learned_is_a_jackknife_over_folds():
    """Against plain loops: means over the other folds, learned with and without each fold."""
    rng = np.random.default_rng(16)
    fit = CrossFit(draw(rng, 60, 3, 0.6), seed=1)
    shares = [np.array([0.4, 0.3, 0.2, 0.1])] * FOLDS
    rows = fit.rows(shares)
    changes = []
    for left_out in range(FOLDS):
        total = count = 0
        for column, i in enumerate(rows.learned):
            fold = int(fit.folds[i])
            if fold != left_out:
                place = [k for k in range(FOLDS) if k != fold].index(left_out)
                gain = rows.gains_without[place, column] - rows.lengths_without[place, column] / 2
                total += gain - (rows.gains[i] - rows.lengths[i] / 2)
                count += 1
        changes.append(total / count)
    wanted = (FOLDS - 1) / FOLDS * sum((each - np.mean(changes)) ** 2 for each in changes)
    assert rows.learning() == pytest.approx(wanted)
    assert wanted > 0


def test_the_error_of_a_difference_counts_what_all_rows_learned():
    rng = np.random.default_rng(17)
    data = draw(rng, 80, 4, 0.6)
    one = CrossFit(data, seed=0)
    other = CrossFit(data.with_probs(tempered(data.probs, 1.5)), seed=0, like=one)
    assert compare(one, other, paired=True).standard_error > 0
    shares = [combination(*evidence) for evidence in one.learned.evidence()]
    alone = compare(one, one, paired=False).standard_error ** 2 / 2
    rows = one.rows([combination(2 * a, 2 * b) for a, b in one.learned.evidence()])
    assert rows.brier == pytest.approx(one.rows(shares).brier)
    gaps = rows.brier_gains - rows.brier
    assert alone >= (gaps**2).sum() / gaps.size**2 + rows.learning()


def test_models_on_either_side_of_one_half_are_compared_along_the_same_event():
    rng = np.random.default_rng(14)
    q = rng.uniform(0.3, 0.7, 400)
    labels = rng.random(400) < q
    low, high = (Predictions(q + gap, labels) for gap in (-0.1, 0.1))
    one = CrossFit(low, 0)
    other = CrossFit(high, 0, like=one)
    there, back = compare(one, other, paired=True), compare(other, one, paired=True)
    assert there.value == pytest.approx(-back.value)
    assert there.standard_error == pytest.approx(back.standard_error)
    alone = compare(one, CrossFit(high, 0), paired=False)
    assert alone.standard_error > 0


def test_no_bias_is_claimed_where_there_is_none():
    rng = np.random.default_rng(10)
    p = np.where(np.arange(60) % 2, 0.05, 0.95)
    r = np.where(p < 0.5, 0.15, 0.85)
    claims = sum(
        bias_of(Predictions(p, rng.random(60) < r)).direction is not None for _ in range(SETS)
    )
    assert claims <= most(SETS, 0.06)


def test_equal_models_are_seldom_told_apart():
    rng = np.random.default_rng(11)
    named = 0
    for seed in range(SETS):
        q = rng.uniform(0.1, 0.9, 300)
        labels = rng.random(300) < q
        one = CrossFit(Predictions(two(q + 0.06), labels), seed)
        other = CrossFit(Predictions(two(q - 0.06), labels), seed, like=one)
        found = compare(one, other, paired=True)
        named += abs(found.value) > 2.24 * found.standard_error
    assert named <= most(SETS, 0.05)


def test_the_further_model_is_found():
    rng = np.random.default_rng(12)
    q = rng.uniform(0.1, 0.9, 2000)
    labels = rng.random(2000) < q
    near = CrossFit(Predictions(two(q), labels), 0)
    far = CrossFit(Predictions(two(np.clip(q + 0.09, 0, 1)), labels), 0, like=near)
    found = compare(far, near, paired=True)
    assert found.value > 2.24 * found.standard_error
    assert compare(far, near, paired=False).value == pytest.approx(found.value)


def test_the_upper_limit_falls_with_the_rows():
    limits = [
        at_most(sample_of(Predictions(np.full(n, 0.5), np.arange(n) % 2))[0], 1.96)
        for n in (50, 500, 5000)
    ]
    assert limits == sorted(limits, reverse=True)
    assert limits[-1] < 0.02


def test_no_upper_limit_is_below_what_directions_see():
    """Predictions near 0 and 1 share bins, in which they are not off by a constant."""
    rng = np.random.default_rng(1)
    x = rng.normal(0, 2, 5000)
    truth, p = (1 / (1 + np.exp(-slope * x)) for slope in (1, 6))
    fit = CrossFit(Predictions(p, rng.random(5000) < truth), 0)
    found, seen = size_of(fit), at_least(fit, 1.96)
    assert found.high >= seen.reach > seen.size
    assert found.low < np.sqrt(((truth - p) ** 2).mean()) < found.high
