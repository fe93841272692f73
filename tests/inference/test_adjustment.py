"""Step-down adjustment on shared draws: by hand, by plain loops, and its family-wise error."""

from itertools import combinations

import numpy as np
import pytest
from chance import models, most

from calibrant import Predictions, classwise, evaluate
from calibrant.distances import euclidean, total_variation
from calibrant.inference.testing.families import (
    adjust,
    combined,
    holm,
    max_t,
    min_p,
    pvalue,
    together,
)
from calibrant.partitions import EqualWidth
from calibrant.statistics import grid

RNG = np.random.default_rng(0)


def plain_step_down(evidence):
    """Westfall and Young, literally: column 0 is the data, larger evidence is stronger."""
    order = sorted(range(len(evidence)), key=lambda i: (-evidence[i][0], i))
    out, last = [0.0] * len(evidence), 0.0
    for step, i in enumerate(order):
        left = order[step:]
        columns = range(len(evidence[0]))
        hits = sum(max(evidence[j][b] for j in left) >= evidence[i][0] for b in columns)
        last = max(last, hits / len(evidence[0]))
        out[i] = last
    return out


def plain_pvalues(row):
    return [sum(other >= value for other in row) / len(row) for value in row]


def test_adjustment_by_hand():
    null = np.array([[0.1, 0.2, 0.3, 0.4], [4.0, 1.0, 3.0, 2.0]])
    assert min_p(np.array([0.5, 2.5]), null).tolist() == [0.4, 0.6]
    assert max_t(np.array([9.0, 2.5]), null).tolist() == [0.2, 0.6]
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == [0.03, 0.06, 0.06]


@pytest.mark.parametrize("seed", range(20))
def test_min_p_by_plain_loops(seed):
    table = np.random.default_rng(seed).integers(0, 12, (5, 40)).astype(float)
    expected = plain_step_down([[-p for p in plain_pvalues(row)] for row in table.tolist()])
    assert min_p(table[:, 0], table[:, 1:]).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_max_t_by_plain_loops(seed):
    table = np.random.default_rng(seed).random((6, 30))
    standard = (table - table.mean(axis=1, keepdims=True)) / table.std(axis=1, keepdims=True)
    assert max_t(table[:, 0], table[:, 1:]).tolist() == plain_step_down(standard.tolist())


def columns(seed, tests, size=199, values=None):
    """Return statistics of the data, and of draws that depend on each other."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 50, (tests, size + 1)) + 10.0 * rng.random(size + 1).round(1)
    return (table[:, 0] if values is None else np.asarray(values, float)), table[:, 1:]


def plain_evidence(values, null, weights):
    """Sums of weight / p, column by column."""
    table = np.column_stack((values, null)).tolist()
    shares = [plain_pvalues(row) for row in table]
    return [
        sum(w / p[b] for w, p in zip(weights, shares, strict=True)) / sum(weights)
        for b in range(len(table[0]))
    ]


def test_combined_by_hand():
    values, null = np.array([9.0, 9.0]), np.vstack((np.arange(39.0), np.arange(39.0)[::-1]))
    values[1] = 50.0
    evidence, drawn = combined(values, null, np.array([1.0, 3.0]))
    # of 40 values 31 are at least 9, among them the 9 that was drawn; none but itself is 50
    assert 10**evidence == pytest.approx((40 / 31 + 3 * 40) / 4)
    assert 10 ** drawn[0] == pytest.approx((40 / 40 + 3 * 40 / 2) / 4)
    assert 10 ** drawn[38] == pytest.approx((40 / 1 + 3 * 40 / 40) / 4)


@pytest.mark.parametrize("seed", range(20))
def test_combined_by_plain_loops(seed):
    values, null = columns(seed, 4)
    weights = np.array([1.0, 1.0, 1.0, 0.25])
    value, drawn = combined(values, null, weights)
    assert 10 ** np.array([value, *drawn]) == pytest.approx(
        np.array(plain_evidence(values, null, weights)), rel=1e-12
    )


def plain_closed_test(families, first):
    """All intersections, literally: a p-value is the largest of those that it is part of."""
    tests = range(len(families))
    rows = [plain_pvalues(plain_evidence(*family)) for family in families]
    everything = [np.concatenate(parts) for parts in zip(*families, strict=True)]
    of_all = plain_pvalues(plain_evidence(*everything))[0]

    def pvalue(some):
        if any(first[i] for i in some):
            return of_all
        least = [min(rows[i][b] for i in some) for b in range(len(rows[0]))]
        return sum(p <= least[0] for p in least) / len(least)

    subsets = [s for k in tests for s in combinations(tests, k + 1)]
    return [max(pvalue(s) for s in subsets if i in s) for i in tests]


@pytest.mark.parametrize("first", [(), (0,), (2,)])
@pytest.mark.parametrize("seed", range(10))
def test_hypotheses_together_are_a_closed_test(seed, first):
    families = []
    for i in range(4):
        values, null = columns([seed, i], 2)
        families.append((values + 10 * i, null, np.array([1.0, 0.25])))
    implies = [i in first for i in range(4)]
    found, evidence = together(families, implies)
    assert found.tolist() == plain_closed_test(families, implies)
    assert pvalue(*evidence) == found.min()


def test_many_hypotheses_are_compared_by_size():
    """One of 30 tests of 199 columns could not show 5 % by its rank."""
    rng = np.random.default_rng(0)
    families = [(rng.normal(size=2), rng.normal(size=(2, 199)), np.ones(2)) for _ in range(15)]
    families[3][0][1] = 9.0
    found, evidence = together(families, [False] * 15)
    values, null = (np.concatenate(parts) for parts in list(zip(*families, strict=True))[:2])
    assert found[3] == max_t(values, null)[7] == pvalue(*evidence) == 0.005
    assert (np.delete(found, 3) > 0.05).all()


def test_the_same_test_counts_once():
    null = RNG.random((1, 199))
    alone = min_p(np.array([0.98]), null)
    twice = min_p(np.array([0.98, 0.98 * 2**0.5]), np.vstack((null, null * 2**0.5)))
    np.testing.assert_array_equal(twice, np.repeat(alone, 2))
    data = Predictions(RNG.random(400), RNG.integers(0, 2, 400))
    one, two = (
        evaluate(data, statistics=grid([EqualWidth(8)], chosen), n_resamples=199, rng=3).rows
        for chosen in ([total_variation], [total_variation, euclidean])
    )
    assert {row.adjusted_pvalue for row in two} == {one[0].adjusted_pvalue} == {one[0].pvalue}
    values, null = columns(1, 2)
    thrice = np.append(values, values[1]), np.vstack((null, null[1])), np.ones(3)
    np.testing.assert_array_equal(combined(*thrice)[1], combined(values, null, np.ones(2))[1])


def test_adjusted_pvalues_are_at_least_the_plain_ones_and_keep_their_order():
    table = RNG.random((7, 100))
    plain = np.array([plain_pvalues(row)[0] for row in table])
    found = min_p(table[:, 0], table[:, 1:])
    assert (found >= plain - 1e-15).all()
    order = np.argsort(plain, kind="stable")
    assert (np.diff(found[order]) >= 0).all()


@pytest.mark.parametrize("row", [[np.inf, np.inf, 1.0, np.inf], [0.1 + 0.2, 0.3, 0.3, 0.1]])
def test_equal_and_infinite_values_are_ties(row):
    assert min_p(np.array(row[:1]), np.array([row[1:]])).tolist() == [0.75]


def test_a_statistic_that_does_not_vary_is_never_significant():
    assert max_t(np.array([1.0, 5.0]), np.array([[1.0] * 19, [0.0] * 19])).tolist() == [1.0, 0.05]


def test_any_class_of_a_calibrated_model_is_off_in_at_most_5_percent():
    alarms = plain = 0
    for seed, data in enumerate(models(7, 300, 20, trials=400, spread=0.3)):
        found = classwise(data, EqualWidth(5), n_resamples=99, rng=seed)
        alarms += bool((found.adjusted_pvalues <= 0.05).any())
        plain += bool((found.pvalues <= 0.05).any())
    assert alarms <= most(400, 0.05)
    assert plain > most(400, 0.05)  # without the adjustment


def test_51_classes_can_be_off_with_999_resamples():
    """By Holm's steps none of 51 p-values of at least 1/1000 could ever be below 5 %."""
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.full(51, 0.1), 2000)
    sharp = probs**2 / (probs**2).sum(axis=1, keepdims=True)
    labels = (probs.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(max=50)
    found = classwise(Predictions(sharp, labels), EqualWidth(10), n_resamples=999, rng=0)
    assert (found.adjusted_pvalues <= 0.05).sum() > 25


def test_many_tests_are_compared_by_size_so_that_evidence_can_count():
    rng = np.random.default_rng(3)
    null = rng.normal(size=(100, 99))
    values = np.where(np.arange(100) == 7, 9.0, rng.normal(size=100))
    assert adjust(values, null)[7] == max_t(values, null)[7] == 0.01
    assert min_p(values, null)[7] > 0.5
    few = values[5:7], null[5:7]
    assert adjust(*few).tolist() == min_p(*few).tolist()
