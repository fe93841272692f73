"""The same seed draws the same labels for all: every way to a null distribution has its bits."""

from itertools import permutations

import numpy as np
import pytest

from calibrant import (
    Predictions,
    binwise,
    calibration_test,
    classwise,
    compare,
    estimate,
    evaluate,
)
from calibrant.calibration import calibration_function
from calibrant.checks.parameters import make_key
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.inference.replicates.problem import Plan
from calibrant.inference.testing.binwise import frequencies
from calibrant.lenses import Canonical, Groups, Induced, Marginal, Pooled, TopK, TopLabel
from calibrant.partitions import EqualWidth, SimplexBins, VarianceTree
from calibrant.resampling import Consistency, Exact
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration, grid

SEED, B = 9, 40
RNG = np.random.default_rng(0)
N = 100


def make(m, weights=None, dtype=np.float64):
    probs = RNG.dirichlet(np.full(m, 0.6), N).astype(dtype)
    return Predictions(probs, RNG.integers(0, m, N), weights=weights)


PROBLEMS = {
    "two": make(2),
    "five": make(5),
    "float32": make(5, dtype=np.float32),
    "thirty-two": make(32),
    "weights": make(5, RNG.random(N)),
    "two, weights": make(2, RNG.integers(0, 3, N)),
}
LENSES = [
    Canonical(),
    TopLabel(),
    Marginal(1),
    Groups([[0], [1]]),
    Pooled(),
    TopK(2),
    Groups([[0, 2], [1], [3, 4]]),
    Induced(lambda y, mu: int(mu[y] > 0.2), 2),
    Groups([[0, 2], [1], [3, 4]]) >> TopLabel(),
]


def cases(*, weights=True):
    """Yield data and the lenses that fit them."""
    for name, data in PROBLEMS.items():
        for lens in LENSES if weights or not data.weighted else ():
            try:
                lens(data)
            except ValueError:
                continue
            yield pytest.param(data, lens, id=f"{name}, {lens}")


def own(p, q):
    return np.abs(p - q).max(axis=-1)


STATISTICS = [
    ExpectedMiscalibration(EqualWidth(4)),
    ExpectedMiscalibration(VarianceTree(20), euclidean),
    WorstMiscalibration(EqualWidth(3), squared_euclidean),
    ExpectedMiscalibration(EqualWidth(4), own),
]


def null_of(data, statistic, lens=Canonical(), **how):
    settings = {"n_resamples": B, "rng": SEED} | how
    return calibration_test(data, statistic, lens=lens, **settings).null


@pytest.mark.parametrize(("data", "lens"), list(cases()))
def test_a_statistic_and_the_function_that_calls_it(data, lens):
    for statistic in STATISTICS:
        for resampler in (Exact(), Consistency()):
            how = {"resampler": resampler, "n_resamples": 12}
            found = null_of(data, statistic, lens, **how)
            called = null_of(data, lambda seen, s=statistic: s(seen), lens, **how)
            np.testing.assert_array_equal(found, called)


@pytest.mark.parametrize(("data", "lens"), list(cases(weights=False)))
def test_weights_of_one_and_no_weights(data, lens):
    ones = Predictions(data.probs, data.labels, weights=np.ones(data.n))
    for statistic in STATISTICS:
        a, b = (
            calibration_test(some, statistic, lens=lens, n_resamples=B, rng=SEED)
            for some in (data, ones)
        )
        assert a.statistic == b.statistic
        np.testing.assert_array_equal(a.null, b.null)
        c, d = (
            estimate(some, statistic, lens=lens, n_resamples=9, rng=SEED) for some in (data, ones)
        )
        np.testing.assert_array_equal(c.replicates, d.replicates)


@pytest.mark.parametrize("data", PROBLEMS.values(), ids=PROBLEMS)
def test_any_order_of_statistics_in_an_evaluation(data):
    lenses = [Canonical(), TopLabel(), Pooled()]
    partitions = [EqualWidth(4), VarianceTree(20)]
    distances = [total_variation, euclidean, squared_euclidean]

    def rows_of(**order):
        chosen = grid(order["partitions"], order["distances"])
        found = evaluate(
            data, lenses=order["lenses"], statistics=chosen, n_resamples=B, rng=SEED
        ).rows
        return {(str(row.lens), str(row.partition), row.distance.__name__): row for row in found}

    whole = rows_of(lenses=lenses, partitions=partitions, distances=distances)
    others = [
        rows_of(lenses=lenses[::-1], partitions=partitions[::-1], distances=order)
        for order in list(permutations(distances))[1::2]
    ]
    others += [
        rows_of(lenses=[lens], partitions=partitions, distances=distances) for lens in lenses
    ]
    others += [rows_of(lenses=lenses, partitions=partitions, distances=[d]) for d in distances]
    others += [rows_of(lenses=lenses, partitions=partitions, distances=[own, *distances])]
    for found in others:
        for key in whole.keys() & found.keys():
            assert whole[key].value == found[key].value
            np.testing.assert_array_equal(whole[key].null, found[key].null)
    for (_, _, name), row in whole.items():
        statistic = ExpectedMiscalibration(row.partition, row.distance)
        assert name == row.distance.__name__
        np.testing.assert_array_equal(row.null, null_of(data, statistic, row.lens))


@pytest.mark.parametrize("partition", [EqualWidth(7), VarianceTree(20), SimplexBins(3)], ids=str)
@pytest.mark.parametrize("data", PROBLEMS.values(), ids=PROBLEMS)
def test_every_class_and_its_marginal(data, partition):
    for distance in (total_variation, euclidean, squared_euclidean, own):
        found = classwise(data, partition, distance, n_resamples=B, rng=SEED)
        statistic = ExpectedMiscalibration(partition, distance)
        for j in range(data.m):
            alone = calibration_test(data, statistic, lens=Marginal(j), n_resamples=B, rng=SEED)
            assert found.values[j] == alone.statistic
            np.testing.assert_array_equal(found.null[j], alone.null)


@pytest.mark.parametrize(("data", "lens"), list(cases()))
def test_the_labels_of_cells(data, lens):
    """Outcome frequencies of every replicate are those of the labels that are drawn."""
    partition = EqualWidth(3)
    plan = Plan(Exact(), B, SEED)
    problem = plan.look(data, lens)
    cells = problem.view.cells(partition)
    found = np.concatenate([some for _, _, some in frequencies(problem, cells, plan)], axis=1)
    for b in range(B):
        drawn = lens(Exact().draw(data, make_key(SEED), b))
        function = calibration_function(drawn, partition)
        np.testing.assert_array_equal(found[b], function.observed)


@pytest.mark.parametrize("data", PROBLEMS.values(), ids=PROBLEMS)
def test_the_largest_deviation_of_any_cell(data):
    """With one cell its standardised deviation says which labels were drawn."""
    found = binwise(data, EqualWidth(1), n_resamples=B, rng=SEED)
    again = []
    for b in range(B):
        drawn = Exact().draw(data, make_key(SEED), b)
        one = binwise(drawn, EqualWidth(1), n_resamples=1, rng=0)
        again.append(float(one.standardised.max()))
    np.testing.assert_array_equal(found.largest, again)


def test_models_that_are_compared():
    a, b = PROBLEMS["five"], Predictions(make(5).probs, PROBLEMS["five"].labels)
    chosen = {"statistics": grid([EqualWidth(4)]), "n_resamples": B, "rng": SEED}
    found = compare({"a": a, "b": b}, **chosen)
    for name, data in (("a", a), ("b", b)):
        alone = evaluate(data, **chosen)
        for one, other in zip(found.evaluations[name].rows, alone.rows, strict=True):
            np.testing.assert_array_equal(one.null, other.null)
            assert one.value == other.value


def test_another_seed_draws_other_labels():
    for data in PROBLEMS.values():
        statistic = STATISTICS[0]
        other = calibration_test(data, statistic, n_resamples=B, rng=SEED + 1).null
        assert not np.array_equal(null_of(data, statistic), other)
