"""Fast ways to make replicates: the numbers of the plain definition, ties, bits and memory."""

import hashlib
import os
import subprocess
import sys
import threading
import tracemalloc
from functools import partial

import numpy as np
import pytest

from calibrant import Predictions, binwise, calibration_test, classwise, estimate, evaluate
from calibrant.checks.parameters import make_key
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan
from calibrant.lenses import Canonical, Groups, Induced, Marginal, Pooled, TopK, TopLabel
from calibrant.partitions import EqualMass, EqualWidth, FromFunction, SimplexBins, VarianceTree
from calibrant.resampling import Bootstrap, Consistency, Exact, Resampler
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration
from calibrant.statistics.spelled import as_statistic

SEED = 11
KEY = make_key(SEED)
DISTANCES = (total_variation, euclidean, squared_euclidean)


def make(n, m, seed=0, *, weights=None, dtype=np.float64, spread=0.5):
    rng = np.random.default_rng([seed, n, m])
    probs = rng.dirichlet(np.full(m, spread), n).astype(dtype)
    given = {
        None: None,
        "ones": np.ones(n),
        "any": rng.random(n) + 0.1,
        "zeros": rng.integers(0, 3, n).astype(float),
    }[weights]
    return Predictions(probs, rng.integers(0, m, n), weights=given)


def all_statistics(partition):
    return [
        form(partition, distance)
        for form in (ExpectedMiscalibration, WorstMiscalibration)
        for distance in DISTANCES
    ]


def draws(data, resampler, lens=Canonical(), size=12):
    """Return data sets that are drawn one after the other."""
    return [lens(resampler.draw(data, KEY, b)) for b in range(size)]


def plain(data, statistic, resampler, lens=Canonical(), size=12):
    """Return replicates by definition."""
    return [statistic(drawn) for drawn in draws(data, resampler, lens, size)]


def fast(data, statistic, resampler, lens=Canonical(), size=12):
    """Return replicates as all functions make them."""
    plan = Plan(resampler, size, SEED)
    problem = plan.look(data, lens)
    (value,), (found,) = values_and_replicates(problem, [as_statistic(statistic)], plan)
    assert value == as_statistic(statistic)(lens(data))
    return found


def assert_close(found, expected):
    # The same few hundred numbers below 2, divided by a share of rows before or after they are
    # added up; a root near 0 turns the rounding of a square, 1e-16, into 1e-8.
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def assert_same(resampler, found, expected):
    """Compare to the last bit, but for the bootstrap, whose shares are rounded differently."""
    if isinstance(resampler, Bootstrap):
        assert_close(found, expected)
    else:
        np.testing.assert_array_equal(found, expected)


def largest_class(probs):
    return probs.argmax(axis=1)


PARTITIONS = {
    "one cell": EqualWidth(1),
    "boxes": EqualWidth(4),
    "single rows": EqualWidth(1000),
    "simplex": SimplexBins(3),
    "tree": VarianceTree(15),
    "small leaves": VarianceTree(2),
    "median tree": VarianceTree(8, "median"),
    "function": FromFunction(largest_class),
}


@pytest.mark.parametrize("resampler", [Exact(), Bootstrap(), Consistency()], ids=repr)
@pytest.mark.parametrize("weights", ["ones", "any", "zeros"])
@pytest.mark.parametrize("partition", PARTITIONS)
def test_cell_statistics_are_those_of_the_plain_definition(partition, weights, resampler):
    for m, n in ((2, 70), (3, 70), (7, 90)):
        data = make(n, m, weights=weights)
        drawn = draws(data, resampler, size=8)
        for statistic in all_statistics(PARTITIONS[partition]):
            found = fast(data, statistic, resampler, size=8)
            assert_same(resampler, found, list(map(statistic, drawn)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("resampler", [Exact(), Bootstrap(), Consistency()], ids=repr)
def test_without_weights(resampler, dtype):
    for m, n in ((2, 60), (5, 80)):
        data = make(n, m, dtype=dtype)
        for partition in (EqualWidth(3), VarianceTree(9)):
            for statistic in all_statistics(partition):
                found = fast(data, statistic, resampler)
                assert_same(resampler, found, plain(data, statistic, resampler))


def third(probs):
    return np.minimum(np.arange(len(probs)), 12) // 3


MANY = [33, 40, 200]  # more outcomes than are added up one after the other


@pytest.mark.parametrize("m", [2, *range(3, 20), 31, 32, *MANY])
def test_any_number_of_classes(m):
    """Cells of one row, of few rows for the number of classes, and of many."""
    data = make(2 * m + 30, m, spread=0.2)
    for partition in (EqualWidth(1), EqualWidth(2), EqualWidth(50), FromFunction(third)):
        for statistic in all_statistics(partition):
            found = fast(data, statistic, Exact(), size=5)
            np.testing.assert_array_equal(found, plain(data, statistic, Exact(), size=5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", [None, "any", "zeros"])
@pytest.mark.parametrize("resampler", [Exact(), Bootstrap(), Consistency()], ids=repr)
def test_many_classes_have_the_bits_of_the_plain_definition(resampler, weights, dtype):
    for m in MANY:
        data = make(2 * m + 30, m, weights=weights, dtype=dtype, spread=0.2)
        for partition in (EqualWidth(2), FromFunction(largest_class)):
            for statistic in all_statistics(partition):
                found = fast(data, statistic, resampler, size=4)
                assert_same(resampler, found, plain(data, statistic, resampler, size=4))


@pytest.mark.parametrize("weights", [None, "any"])
def test_the_order_of_many_classes_changes_no_bit_of_the_statistic(weights):
    data = make(150, 60, weights=weights, spread=0.2)
    order = np.random.default_rng(0).permutation(60)
    other = Predictions(
        data.probs[:, order],
        np.argsort(order)[data.labels],
        weights=data.weights if weights else None,
    )
    for partition in (EqualWidth(1), FromFunction(third)):
        for statistic in all_statistics(partition):
            assert statistic(other) == statistic(data)


def test_equal_masses():
    data = make(50, 2, weights="zeros")
    for resampler in (Exact(), Bootstrap(), Consistency()):
        for statistic in all_statistics(EqualMass(4)):
            found = fast(data, statistic, resampler)
            assert_same(resampler, found, plain(data, statistic, resampler))


@pytest.mark.parametrize("weights", [None, "any", "zeros"])
@pytest.mark.parametrize("partition", [VarianceTree(10), EqualMass(4), EqualWidth(4)], ids=str)
def test_a_bootstrap_that_keeps_the_cells(partition, weights):
    for data in (make(60, 2, weights=weights), TopLabel()(make(60, 4, weights=weights))):
        kept = FromFunction(partition.fit(data).assign)
        for statistic, fixed in zip(all_statistics(partition), all_statistics(kept), strict=True):
            found = fast(data, statistic, Bootstrap(refit=False))
            assert_close(found, plain(data, fixed, Bootstrap()))
        moving = fast(data, statistic, Bootstrap())
        assert partition.fixed == np.allclose(found, moving, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weights", [None, "any", "zeros"])
def test_a_bootstrap_of_several_replicates_beside_one_another(weights, dtype):
    for m, n in ((2, 70), (3, 70), (40, 90)):
        data = make(n, m, weights=weights, dtype=dtype)
        drawn = draws(data, Bootstrap(), size=18)
        for partition in (EqualWidth(1), EqualWidth(4), FromFunction(largest_class)):
            for statistic in all_statistics(partition):
                expected = list(map(statistic, drawn))
                for size in (1, 4, 18):  # a part of the replicates that are added together
                    found = fast(data, statistic, Bootstrap(), size=size)
                    assert_close(found, expected[:size])


@pytest.mark.parametrize("weights", [None, "any", "zeros"])
def test_a_bootstrap_of_so_few_rows_that_some_replicates_have_none(weights):
    for n in (1, 2, 3):
        data = make(20, 3, weights=weights).take(np.arange(n) + 3)
        if data.weights.any():
            for statistic in all_statistics(EqualWidth(2)):
                found = fast(data, statistic, Bootstrap(), size=40)
                assert_close(found, plain(data, statistic, Bootstrap(), size=40))


def own_total_variation(p, q):
    return np.abs(p - q).sum(axis=-1) / 2


@pytest.mark.parametrize("weights", [None, "any", "zeros"])
@pytest.mark.parametrize("resampler", [Exact(), Bootstrap(), Consistency()], ids=repr)
def test_a_distance_of_the_user_that_is_a_built_in_one(resampler, weights):
    for m in (2, 4):
        data = make(60, m, weights=weights)
        for partition in (EqualWidth(4), VarianceTree(10)):
            for form in (ExpectedMiscalibration, WorstMiscalibration):
                own = form(partition, own_total_variation)
                found = fast(data, own, resampler)
                assert_close(found, fast(data, form(partition), resampler))
                np.testing.assert_array_equal(found, plain(data, own, resampler))


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 21])
def test_blocks_of_a_users_distance_change_no_bit(block, monkeypatch):
    data = make(80, 4, weights="zeros")
    statistic = ExpectedMiscalibration(EqualWidth(5), own_total_variation)
    whole = fast(data, statistic, Exact(), size=30)
    monkeypatch.setattr("calibrant.statistics.miscalibration.BLOCK", block)
    np.testing.assert_array_equal(fast(data, statistic, Exact(), size=30), whole)


def test_a_users_distance_is_never_asked_about_a_cell_without_weight():
    def only_distributions(p, q):
        # The frequencies of 60 rows, each rounded.
        np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=0, atol=1e-13)
        np.testing.assert_allclose(q.sum(axis=-1), 1, rtol=0, atol=1e-13)
        return total_variation(p, q)

    data = make(60, 3, weights="zeros")
    for resampler in (Exact(), Consistency()):
        statistic = ExpectedMiscalibration(EqualWidth(8), only_distributions)
        found = calibration_test(data, statistic, resampler=resampler, n_resamples=9, rng=0)
        same = ExpectedMiscalibration(EqualWidth(8))
        expected = calibration_test(data, same, resampler=resampler, n_resamples=9, rng=0)
        assert_close(found.null, expected.null)


def odd_or_sure(y, mu):
    """An outcome that depends on the class and on the prediction."""
    return int(y % 2) if mu.max() < 0.6 else 2


LENSES = [
    Canonical(),
    TopLabel(),
    TopK(2),
    Marginal(2),
    Groups([[0, 3], [1, 2]]),
    Groups([[3], [1], [0, 2]]),
    Induced(odd_or_sure, 3),
    Groups([[0, 3], [1], [2]]) >> TopLabel(),
    TopK(2) >> Marginal("rest"),
    Pooled(),
    Groups([[0, 1], [2], [3]]) >> Pooled(),
]


@pytest.mark.parametrize("weights", [None, "any", "zeros"])
@pytest.mark.parametrize("resampler", [Exact(), Bootstrap(), Consistency()], ids=repr)
@pytest.mark.parametrize("lens", LENSES, ids=str)
def test_labels_are_drawn_before_the_lens(lens, resampler, weights):
    """One rule for all: the lens sees what it makes of labels drawn for the data as given."""
    data = make(50, 4, weights=weights)
    for statistic in (
        ExpectedMiscalibration(EqualWidth(4)),
        WorstMiscalibration(VarianceTree(12), squared_euclidean),
        ExpectedMiscalibration(EqualWidth(3), own_total_variation),
        lambda seen: float((seen.weights * (seen.labels == 0)).sum()),
    ):
        found = fast(data, statistic, resampler, lens, size=6)
        assert_same(resampler, found, plain(data, statistic, resampler, lens, size=6))


def halfway(probs):
    return 0.5 * probs + 0.5 / probs.shape[1]


@pytest.mark.parametrize("make_resampler", [Exact, Consistency])
@pytest.mark.parametrize(
    "lens", [Canonical(), TopLabel(), Pooled(), Groups([[0, 1], [2]])], ids=str
)
def test_a_hypothesis_comes_before_the_lens(lens, make_resampler):
    data = make(40, 3, weights="any")
    resampler = make_resampler(halfway)
    for statistic in (
        ExpectedMiscalibration(EqualWidth(4)),
        WorstMiscalibration(VarianceTree(10), own_total_variation),
        lambda seen: float(seen.probs[np.arange(seen.n), seen.labels].mean()),
    ):
        np.testing.assert_array_equal(
            fast(data, statistic, resampler, lens), plain(data, statistic, resampler, lens)
        )


@pytest.mark.parametrize("resampler", [Exact(), Bootstrap(), Consistency()], ids=repr)
def test_pooling_comes_last(resampler):
    data = make(30, 3, weights="any")
    for statistic in (*all_statistics(EqualWidth(4)), *all_statistics(VarianceTree(10))):
        found = fast(data, statistic, resampler, Pooled())
        assert_same(resampler, found, plain(data, statistic, resampler, Pooled()))


class Backwards(Resampler):
    """A resampler of the user's, which needs the classes of the data."""

    def draw(self, data, key, b):
        return data.with_labels(data.m - 1 - Exact().draw(data, key, b).labels)


@pytest.mark.parametrize("lens", [Canonical(), TopLabel(), Marginal(1), Pooled()], ids=str)
def test_a_resampler_of_the_user_sees_the_data_before_the_lens(lens):
    data = make(40, 4)
    for statistic in (ExpectedMiscalibration(EqualWidth(4)), lambda seen: seen.labels.mean()):
        found = fast(data, statistic, Backwards(), lens)
        np.testing.assert_array_equal(found, plain(data, statistic, Backwards(), lens))


# Predictions of 1 - 1e-9 come true in all but one of a million replicates. Then the statistic
# and nearly all replicates are one number, made of nothing but last digits.


def near_vertices(n, m, eps, seed=0, weights=None):
    rng = np.random.default_rng([seed, n, m])
    labels = np.arange(n) % m
    probs = np.zeros((n, m))
    for i, y in enumerate(labels):
        probs[i] = np.insert(rng.dirichlet(np.ones(m - 1)) * eps, y, 0)
        probs[i, y] = 1 - probs[i].sum()
    return Predictions(probs, labels, weights=weights)


ALL_AT_ONCE = FromFunction(lambda probs: np.zeros(len(probs)))
ALL_APART = FromFunction(lambda probs: np.arange(len(probs)))


@pytest.mark.parametrize("eps", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize(
    ("n", "m"), [(3, 10), (4, 10), (15, 40), (90, 200), (2, 2), (50, 2), (100, 3), (300, 10)]
)
def test_nearly_sure_predictions_that_come_true_are_ties(n, m, eps):
    rng = np.random.default_rng(1)
    for weights in (None, rng.random(n) + 0.5):
        data = near_vertices(n, m, eps, weights=weights)
        for partition in (ALL_AT_ONCE, ALL_APART, EqualWidth(10), VarianceTree(20)):
            for statistic in all_statistics(partition):
                # At 1e-6 one of 99 replicates of 300 rows differs with probability 3 %.
                found = calibration_test(data, statistic, n_resamples=99, rng=0)
                assert found.pvalue >= 0.95, statistic


@pytest.mark.parametrize("lens", [TopLabel(), Marginal(0), Pooled()], ids=str)
def test_nearly_sure_predictions_through_a_lens(lens):
    data = near_vertices(60, 5, 1e-9)
    for partition in (EqualWidth(10), VarianceTree(20)):
        for statistic in all_statistics(partition):
            found = calibration_test(data, statistic, lens=lens, n_resamples=99, rng=0)
            assert found.pvalue == 1


def test_nearly_sure_predictions_of_every_class():
    rng = np.random.default_rng(2)
    for n, weights in ((200, None), (10_000, None), (10_000, rng.random(10_000))):
        data = near_vertices(n, 4, 1e-10, weights=weights)
        for partition in (EqualWidth(15), VarianceTree(50)):
            for distance in DISTANCES:
                found = classwise(data, partition, distance, n_resamples=99, rng=0)
                assert found.pvalues.tolist() == [1, 1, 1, 1]
                assert found.mean_pvalue == 1


def test_nearly_sure_predictions_of_every_cell():
    for lens in (Canonical(), TopLabel(), Pooled()):
        data = near_vertices(60, 5, 1e-9)
        found = binwise(data, EqualWidth(5), lens=lens, n_resamples=99, rng=0)
        assert (found.adjusted_pvalues == 1).all(), lens


def test_one_surprise_among_nearly_sure_predictions_is_significant():
    data = near_vertices(100, 10, 1e-9)
    labels = data.labels.copy()
    labels[0] = 1
    for partition in (ALL_AT_ONCE, EqualWidth(10), VarianceTree(20)):
        for statistic in all_statistics(partition):
            found = calibration_test(data.with_labels(labels), statistic, n_resamples=99, rng=0)
            assert found.pvalue == 0.01


# Bits


def runs(**settings):
    """Return every kind of result of a fixed seed, as bytes."""
    found = {}
    own = ExpectedMiscalibration(EqualWidth(4), own_total_variation)
    for name, data in {
        "binary": make(200, 2),
        "five": make(200, 5),
        "weights": make(200, 5, weights="any"),
        "narrow": make(200, 5, dtype=np.float32),
    }.items():
        for statistic in (
            ExpectedMiscalibration(EqualWidth(4)),
            WorstMiscalibration(VarianceTree(20)),
            own,
        ):
            for resampler in (Exact(), Consistency()):
                test = calibration_test(data, statistic, resampler=resampler, **settings)
                found[name, str(statistic), str(resampler)] = test.null
            found[name, str(statistic), "b"] = estimate(data, statistic, **settings).replicates
        found[name, "classes"] = classwise(data, **settings).null.T
        found[name, "cells"] = binwise(data, EqualWidth(3), **settings).largest
        found[name, "pooled"] = calibration_test(data, own, lens=Pooled(), **settings).null
    return found


def assert_same_bits(a, b):
    assert a.keys() == b.keys()
    for key in a:
        assert a[key].tobytes() == b[key].tobytes(), key


def test_threads_change_no_bit(monkeypatch):
    found = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("CALIBRANT_THREADS", count)
        found.append(runs(n_resamples=40, rng=3))
    assert_same_bits(found[0], found[1])
    assert_same_bits(found[0], found[2])


def steep(p, q):
    """A distance of very different sizes: huge where a cell of few rows is a surprise."""
    gap = np.abs(p - q).max(axis=-1)
    return np.where(gap > 0.98, 1e20, gap)


def test_what_else_is_in_its_block_does_not_change_a_replicate(monkeypatch):
    data, statistic = make(60, 3), ExpectedMiscalibration(EqualWidth(20), steep)
    found = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("CALIBRANT_THREADS", count)
        found.append(fast(data, statistic, Exact(), size=60))
    assert (found[0] > 1e10).any()
    assert (found[0] < 1).any()
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[0], plain(data, statistic, Exact(), size=60))


@pytest.mark.parametrize("lens", [Canonical(), TopLabel(), Pooled()], ids=str)
def test_threads_change_no_bit_of_weights_that_use_all_their_bits(monkeypatch, lens):
    """Of rows drawn again there may be more than there were, and their weights add up to more."""
    rng = np.random.default_rng(0)
    for n in (2, 8, 64, 512):
        weights = 1 - 0.01 * rng.random(n)
        weights[0] = 1.0
        data = Predictions(rng.dirichlet(np.ones(3), n), rng.integers(0, 3, n), weights=weights)
        for partition in (VarianceTree(10**4), EqualWidth(1)):
            for resampler in (Bootstrap(), Consistency(), Exact()):
                found = []
                for count in ("1", "2", "5"):
                    monkeypatch.setenv("CALIBRANT_THREADS", count)
                    eta = ExpectedMiscalibration(partition)
                    found.append(fast(data, eta, resampler, lens, size=40))
                np.testing.assert_array_equal(found[0], found[1])
                np.testing.assert_array_equal(found[0], found[2])


def test_fewer_resamples_are_the_first_of_more():
    more = runs(n_resamples=300, rng=3)
    for size in (1, 7, 50):
        assert_same_bits(
            {key: null[:size] for key, null in more.items() if "cells" not in key},
            {k: v for k, v in runs(n_resamples=size, rng=3).items() if "cells" not in k},
        )
    # More than a block.
    data, statistic = make(50, 2), ExpectedMiscalibration(EqualWidth(4))
    for given, draws in ((data, "labels"), (data, "counts"), (make(50, 3), "labels")):
        how = {"resampler": Exact(draws=draws), "rng": 1}
        whole = calibration_test(given, statistic, n_resamples=2500, **how).null
        part = calibration_test(given, statistic, n_resamples=1100, **how).null
        assert part.tobytes() == whole[:1100].tobytes()


def test_a_seed_gives_the_same_in_another_process():
    code = (
        "import hashlib, sys; sys.path[:0] = sys.argv[1:];"
        "from test_replicates import runs;"
        "found = runs(n_resamples=20, rng=8);"
        "print(hashlib.sha256(b''.join(found[k].tobytes() for k in found)).hexdigest())"
    )
    here = os.path.dirname(os.path.abspath(__file__))
    digest = subprocess.run(
        [sys.executable, "-c", code, here, os.path.dirname(here)],
        env={**os.environ, "CALIBRANT_THREADS": "1", "PYTHONHASHSEED": "3"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    found = runs(n_resamples=20, rng=8)
    assert hashlib.sha256(b"".join(found[k].tobytes() for k in found)).hexdigest() == digest


def test_generators_and_seeds():
    data, statistic = make(50, 3), ExpectedMiscalibration(EqualWidth(4))
    test = partial(calibration_test, data, statistic, n_resamples=9)
    assert test(rng=1).null.tolist() == test(rng=np.int64(1)).null.tolist()
    assert test(rng=1).null.tolist() != test(rng=2).null.tolist()
    a, b = np.random.default_rng(1), np.random.default_rng(1)
    assert test(rng=a).null.tolist() == test(rng=b).null.tolist()
    assert test(rng=a).null.tolist() != test(rng=1).null.tolist()
    assert test(rng=None).null.tolist() != test(rng=None).null.tolist()


# Progress, interrupts and memory


def long_work(progress):
    """Yield calls that report progress, by every way there is."""
    binary, three = make(300, 2), make(300, 3)
    eta = ExpectedMiscalibration(EqualWidth(4))
    own = ExpectedMiscalibration(EqualWidth(4), own_total_variation)
    tree = WorstMiscalibration(VarianceTree(30))
    settings = {"rng": 0, "progress": progress}
    yield lambda: calibration_test(binary, eta, n_resamples=3000, **settings)
    yield lambda: calibration_test(three, eta, n_resamples=600, **settings)
    yield lambda: calibration_test(three, own, n_resamples=600, **settings)
    yield lambda: calibration_test(three, tree, resampler=Consistency(), n_resamples=60, **settings)
    yield lambda: calibration_test(three, eta, lens=Pooled(), n_resamples=20, **settings)
    yield lambda: calibration_test(three, lambda d: d.labels.sum(), n_resamples=20, **settings)
    yield lambda: estimate(three, eta, n_resamples=60, **settings)
    yield lambda: estimate(three, own, n_resamples=60, **settings)
    yield lambda: classwise(three, n_resamples=300, **settings)
    yield lambda: binwise(three, EqualWidth(4), n_resamples=100, **settings)
    yield lambda: binwise(three, EqualWidth(4), lens=Pooled(), n_resamples=20, **settings)
    yield lambda: evaluate(three, n_resamples=300, **settings)


@pytest.mark.parametrize("count", ["1", "2"])
def test_progress_grows_and_ends_at_its_total(monkeypatch, count):
    monkeypatch.setenv("CALIBRANT_THREADS", count)
    for module in ("inference.testing.binwise", "inference.testing.classwise"):
        monkeypatch.setattr(f"calibrant.{module}.LAID_OUT", 1000)
    progress = []
    for work in long_work(lambda done, total: progress.append((done, total))):
        progress.clear()
        work()
        done = [d for d, _ in progress]
        assert done == sorted(set(done))
        assert len({total for _, total in progress}) == 1
        assert progress[-1][0] == progress[-1][1]
        assert all(isinstance(d, int) for d in done)


def test_progress_tells_of_what_comes_before_replicates():
    progress = []
    evaluate(make(300, 3), n_resamples=99, rng=0, progress=lambda d, n: progress.append(d / n))
    sizes = [done for done in progress if done <= 0.1]
    assert sizes == [0.025, 0.05, 0.075, 0.1]  # directions of both lenses, and their sizes
    prepared = [done for done in progress if 0.1 < done <= 0.1 + 0.9 / 20]  # statistics
    assert len(prepared) >= 4


def stop(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("count", ["1", "2"])
def test_an_interrupt_ends_the_work(monkeypatch, count):
    monkeypatch.setenv("CALIBRANT_THREADS", count)

    before = threading.active_count()
    for work in long_work(stop):
        with pytest.raises(KeyboardInterrupt):
            work()
        assert threading.active_count() == before
    data = make(300, 3)
    assert calibration_test(data, ExpectedMiscalibration(EqualWidth(4)), n_resamples=9).null.size


def test_an_interrupt_skips_what_has_not_begun(monkeypatch):
    monkeypatch.setenv("CALIBRANT_THREADS", "2")
    drawn = []

    class Counted(Resampler):
        def draw(self, data, *replicate):
            drawn.append(replicate)
            return data

    statistic = ExpectedMiscalibration(EqualWidth(4))
    with pytest.raises(KeyboardInterrupt):
        calibration_test(
            make(50, 3), statistic, resampler=Counted(), n_resamples=100_000, progress=stop
        )
    assert len(drawn) < 50_000


@pytest.mark.parametrize(
    ("lens", "partition"),
    [
        (Canonical(), EqualWidth(10)),
        (Canonical(), VarianceTree(1000)),
        (TopLabel(), EqualWidth(15)),
        (Marginal(0), VarianceTree(1000)),
    ],
    ids=str,
)
def test_no_array_of_all_rows_of_all_replicates(lens, partition):
    data = make(100_000, 10, spread=0.05)
    statistic = ExpectedMiscalibration(partition)
    calibration_test(data.restrict(np.arange(100_000) < 100), statistic, lens=lens, n_resamples=1)
    tracemalloc.start()
    calibration_test(data, statistic, lens=lens, n_resamples=999, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * data.probs.nbytes


def test_a_hypothesis_is_worked_out_once():
    calls = []

    def flattened(probs):
        calls.append(len(probs))
        return (probs + 1 / probs.shape[1]) / 2

    data, eta = make(50, 3), ExpectedMiscalibration(EqualWidth(4))
    for resampler in (Exact(flattened), Consistency(flattened)):
        calls.clear()
        calibration_test(data, eta, resampler=resampler, n_resamples=99, rng=0)
        assert calls == [50]
