"""Few rows: every label vector is listed, so null distribution and p-value are known exactly."""

from itertools import product
from math import prod

import numpy as np
import oracles
import pytest
from chance import agrees

from calibrant import Predictions, calibration_test
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.lenses import Canonical, Pooled
from calibrant.partitions import EqualMass, EqualWidth, FromFunction, VarianceTree
from calibrant.resampling import Exact
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration

B = 99_999
BINARY = [0.1, 0.3, 0.3, 0.5, 0.55, 0.7, 0.95, 1.0]
BINARY_LABELS = [0, 1, 0, 1, 1, 0, 1, 1]
THREE = [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]

# Labels differ in a whole cell at least, so two values of a statistic that are not equal
# differ by far more than this, and equal ones by far less: sums of eight numbers below 1.
SAME = 1e-9


def by_loops(make, distance):
    """Return the plain-loop form of a statistic."""
    oracle = {
        ExpectedMiscalibration: oracles.expected_miscalibration,
        WorstMiscalibration: oracles.worst_miscalibration,
    }[make]
    return lambda data, cells: oracle(data, cells, oracles.DISTANCES[distance.__name__])


def exact_law(data, value):
    """Return the values and probabilities of value(labels) for labels drawn from the predictions.

    Equal values are one atom.
    """
    law = data.probs.astype(float)
    law /= law.sum(axis=1, keepdims=True)
    values, weights = [], []
    for labels in product(range(data.m), repeat=data.n):
        p = prod(law[i, y] for i, y in enumerate(labels))
        if p > 0:
            values.append(value(labels))
            weights.append(p)
    order = np.argsort(values)
    values, weights = np.array(values)[order], np.array(weights)[order]
    first = np.flatnonzero(np.diff(values, prepend=-np.inf) > SAME)
    return values[first], np.add.reduceat(weights, first)


def tails_agree(null, atoms, weights):
    """Say whether the counts of values at least as large as each atom are those of the law."""
    counts = np.array([(null >= atom - SAME).sum() for atom in atoms])
    tails = np.minimum(np.cumsum(weights[::-1])[::-1], 1.0)
    return bool(agrees(counts, null.size, tails, tests=atoms.size).all())


def largest(probs):
    return probs.max(axis=1) > 0.6


PARTITIONS = [EqualWidth(1), EqualWidth(3), VarianceTree(3), EqualMass(3), FromFunction(largest)]
STATISTICS = [
    (ExpectedMiscalibration, total_variation),
    (ExpectedMiscalibration, euclidean),
    (ExpectedMiscalibration, squared_euclidean),
    (WorstMiscalibration, total_variation),
    (WorstMiscalibration, squared_euclidean),
]


def binary(weights=None, dtype=np.float64):
    return Predictions(np.array(BINARY, dtype), BINARY_LABELS, weights=weights)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("draws", ["counts", "labels"])
@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_binary_null_distribution_and_pvalue(partition, draws, dtype):
    data = binary(None if draws == "counts" else np.ones(8), dtype)
    resampler = Exact(draws=draws)
    cells = partition.locate(data)[1].tolist()
    for make, distance in STATISTICS:
        value = by_loops(make, distance)
        atoms, weights = exact_law(
            data, lambda labels, value=value: value(data.with_labels(np.array(labels)), cells)
        )
        statistic = make(partition, distance)
        found = calibration_test(data, statistic, resampler=resampler, n_resamples=B, rng=1)
        near = np.abs(found.null[:, None] - atoms).min(axis=1) if atoms.size < 60 else 0.0
        assert np.max(near) < SAME
        assert tails_agree(found.null, atoms, weights), (make, distance)
        exact = weights[atoms >= value(data, cells) - SAME].sum()
        assert agrees(found.pvalue * (B + 1) - 1, B, min(exact, 1.0), tests=10)


def test_a_slightly_different_law_is_seen():
    """The comparison can fail: one probability of eight is off by 0.1."""
    data = binary()
    partition = EqualWidth(3)
    cells = partition.locate(data)[1].tolist()
    value = by_loops(ExpectedMiscalibration, total_variation)
    atoms, weights = exact_law(data, lambda y: value(data.with_labels(np.array(y)), cells))

    def off(probs):
        law = probs.copy()
        law[3] = [0.6, 0.4]
        return law

    statistic = ExpectedMiscalibration(partition)
    right, wrong = (
        calibration_test(data, statistic, resampler=Exact(rho), n_resamples=B, rng=2).null
        for rho in (None, off)
    )
    assert tails_agree(right, atoms, weights)
    assert not tails_agree(wrong, atoms, weights)
    # Nor would atoms agree if those that are equal were counted as larger.
    strict = np.array([(right > atom + SAME).sum() for atom in atoms])
    tails = np.cumsum(weights[::-1])[::-1].clip(max=1.0)
    assert not agrees(strict, B, tails, tests=atoms.size).all()


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 1.0, 3.0]])
@pytest.mark.parametrize("partition", [EqualWidth(2), VarianceTree(2)], ids=str)
def test_three_classes(partition, weights):
    data = Predictions(THREE, [2, 1, 0, 0, 2], weights=weights)
    cells = partition.locate(data)[1].tolist()
    for make, distance in STATISTICS:
        value = by_loops(make, distance)
        atoms, law = exact_law(
            data, lambda labels, value=value: value(data.with_labels(np.array(labels)), cells)
        )
        found = calibration_test(data, make(partition, distance), n_resamples=B, rng=3)
        assert tails_agree(found.null, atoms, law), (make, distance)


def test_pooled_pairs_keep_one_event_per_row():
    data = Predictions(THREE[1:], [1, 0, 0, 2])
    lens, partition = Pooled(), EqualWidth(2)
    pairs = lens(data)
    cells = partition.locate(pairs)[1].tolist()
    value = by_loops(ExpectedMiscalibration, total_variation)
    atoms, weights = exact_law(data, lambda y: value(lens(data.with_labels(np.array(y))), cells))
    statistic = ExpectedMiscalibration(partition)
    right = calibration_test(data, statistic, lens=lens, n_resamples=9999, rng=4).null
    assert tails_agree(right, atoms, weights)
    apart = calibration_test(pairs, statistic, lens=Canonical(), n_resamples=9999, rng=4).null
    assert not tails_agree(apart, atoms, weights)


def test_every_outcome_of_few_rows_has_its_exact_pvalue():
    """The p-value of each label vector, not only of one."""
    p = [0.2, 0.4, 0.4, 0.9]
    partition = EqualWidth(2)
    statistic = ExpectedMiscalibration(partition)
    value = by_loops(ExpectedMiscalibration, total_variation)
    first = Predictions(p, [0] * 4)
    cells = partition.locate(first)[1].tolist()
    atoms, weights = exact_law(first, lambda y: value(first.with_labels(np.array(y)), cells))
    for labels in product(range(2), repeat=4):
        data = Predictions(p, labels)
        found = calibration_test(data, statistic, n_resamples=B, rng=5)
        exact = min(weights[atoms >= value(data, cells) - SAME].sum(), 1.0)
        assert agrees(found.pvalue * (B + 1) - 1, B, exact, tests=16)


@pytest.mark.parametrize("distance", [total_variation, euclidean, squared_euclidean])
@pytest.mark.parametrize("m", [32, 33, 300, 1000, 5000])
def test_a_replicate_with_the_labels_of_the_data_ties_however_many_classes(m, distance):
    # A long tail of equal probabilities makes rounding errors add up in one direction. All
    # labels are the likeliest class, so no data set has a smaller statistic.
    for n, top in ((1, 0.999), (3, 0.99), (3, 0.999), (20, 0.9995)):
        probs = np.full((n, m), (1 - top) / (m - 1))
        probs[:, 0] = top
        data = Predictions(probs, np.zeros(n, int))
        for form in (ExpectedMiscalibration, WorstMiscalibration):
            test = calibration_test(data, form(EqualWidth(10), distance), n_resamples=99, rng=0)
            assert test.pvalue == 1
