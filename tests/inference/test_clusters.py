"""Rows that depend on each other: the size of tests, and what flips the signs of clusters."""

import numpy as np
import pytest
from chance import most
from scipy.special import ndtr

from calibrant import (
    Predictions,
    binwise,
    calibration_test,
    classwise,
    compare,
    estimate,
    evaluate,
    recalibrate,
    reliability_diagram,
    slices,
)
from calibrant.calibration import Gathered
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan
from calibrant.lenses import Canonical, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth, VarianceTree
from calibrant.resampling import Bootstrap, Consistency, Exact, WildClusters
from calibrant.resampling.draws.signs import ClusterSums
from calibrant.statistics import (
    ExpectedMiscalibration,
    KernelMiscalibration,
    WorstMiscalibration,
)

CLUSTERS, ROWS = 100, 10
OF_ROWS = np.repeat(np.arange(CLUSTERS), ROWS)


def one_label(rng):
    p = rng.random(CLUSTERS)
    return p[OF_ROWS], (rng.random(CLUSTERS) < p)[OF_ROWS]


def half_shared(rng):
    p = rng.random(CLUSTERS)
    shared, own = (rng.random(CLUSTERS) < p)[OF_ROWS], rng.random(OF_ROWS.size) < p[OF_ROWS]
    return p[OF_ROWS], np.where(rng.random(OF_ROWS.size) < 0.5, shared, own)


def latent(rng):
    p, own = rng.random(OF_ROWS.size), rng.standard_normal(OF_ROWS.size)
    return p, ndtr(np.sqrt(0.1) * rng.standard_normal(CLUSTERS)[OF_ROWS] + np.sqrt(0.9) * own) < p


def rejected(make, trials, clusters, seed=0):
    rng, count = np.random.default_rng(seed), 0
    for trial in range(trials):
        p, labels = make(rng)
        data = Predictions(p, labels.astype(int), clusters=clusters)
        count += calibration_test(data, n_resamples=99, rng=trial).pvalue <= 0.05
    return count


@pytest.mark.parametrize("make", [one_label, half_shared, latent])
def test_size_with_clusters(make):
    assert rejected(make, 400, OF_ROWS) <= most(400, 0.07)


@pytest.mark.parametrize(("make", "least"), [(one_label, 0.9), (half_shared, 0.5)])
def test_without_clusters_calibrated_models_are_rejected(make, least):
    assert rejected(make, 40, None) > least * 40


def test_power_is_kept():
    rng = np.random.default_rng(1)
    for trial in range(20):
        p = rng.random(OF_ROWS.size)
        data = Predictions(p, (rng.random(p.size) < p**2).astype(int), clusters=OF_ROWS)
        assert calibration_test(data, n_resamples=99, rng=trial).pvalue <= 0.05


def some_data(m=3, n=120, seed=4, weights=True):
    rng = np.random.default_rng(seed)
    return Predictions(
        rng.dirichlet(np.ones(m), n),
        rng.integers(0, m, n),
        weights=rng.integers(1, 4, n) if weights else None,
        clusters=rng.integers(0, 17, n),
    )


def signs_of(key, count, size):
    """Return what `SignBlock` draws, from the definition: the hash of (key, b, cluster)."""
    from calibrant import engine
    from calibrant.engine.arrays import Replicates

    keys = engine.draws.replicate_keys(key, Replicates(0, size))
    return np.where(engine.draws.uniforms(key, (0, count), keys) < 0.5, -1, 1)


@pytest.mark.parametrize("lens", [Canonical(), TopLabel(), Pooled(), Marginal(1)])
@pytest.mark.parametrize("distance", [total_variation, euclidean, squared_euclidean])
def test_null_by_plain_loops(lens, distance):
    data, size, partition = some_data(), 7, EqualWidth(4)
    seen = lens(data)
    plan = Plan(WildClusters(), size, 11)
    statistics = [
        kind(partition, distance) for kind in (ExpectedMiscalibration, WorstMiscalibration)
    ]
    _, found = values_and_replicates(plan.look(data, lens), statistics, plan)
    signs = signs_of(plan.key, 17, size)
    cells = Gathered(seen, partition).of_rows
    for b in range(size):
        mean, worst, total = 0.0, 0.0, seen.weights.sum()
        for c in np.unique(cells):
            off, mass = np.zeros(seen.m), 0.0
            for i in np.flatnonzero(cells == c):
                one = (np.arange(seen.m) == seen.labels[i]) - seen.probs[i]
                off += signs[seen.clusters[i], b] * seen.weights[i] * one
                mass += seen.weights[i]
            zero = np.zeros(seen.m)
            far = float(distance(off / mass, zero))
            mean, worst = mean + mass / total * far, max(worst, far)
        np.testing.assert_allclose(found[:, b], [mean, worst], rtol=1e-12)


def test_the_size_looks_at_pairs_of_different_clusters():
    data = some_data(weights=False)
    cells = Gathered(data, EqualWidth(2))
    value, n = 0.0, data.n
    for c in range(cells.n_cells):
        rows = np.flatnonzero(cells.of_rows == c)
        off = np.eye(3)[data.labels[rows]] - data.probs[rows]
        other = data.clusters[rows][:, None] != data.clusters[rows]
        if other.any():
            value += rows.size / n * ((off @ off.T)[other].sum() / other.sum())
    assert ClusterSums.of(cells, data.probs).unbiased == pytest.approx(value, rel=1e-12)


def test_blocks_of_signs_change_nothing(monkeypatch):
    data = some_data()
    found = calibration_test(data, n_resamples=99, rng=3)
    monkeypatch.setattr("calibrant.resampling.draws.signs.LAID_OUT", 40)
    again = calibration_test(data, n_resamples=99, rng=3)
    np.testing.assert_allclose(again.null, found.null, rtol=1e-12)
    assert found.settings["resampler"] == "WildClusters(rho=None)"


def test_names_of_clusters_do_not_matter():
    data = some_data()
    named = Predictions(
        data.probs, data.labels, weights=data.weights, clusters=[f"{c:02}" for c in data.clusters]
    )
    assert np.array_equal(
        calibration_test(named, n_resamples=19, rng=3).null,
        calibration_test(data, n_resamples=19, rng=3).null,
    )


def test_every_verb_respects_clusters():
    data = some_data(n=400, weights=False)
    found = evaluate(data, n_resamples=39, rng=0)
    assert found.settings["resampler"] == "WildClusters(rho=None)"
    for verdict in found.verdicts:
        low, high = verdict.interval
        assert 0 <= low <= verdict.size
        assert (high is None) == (verdict.bias is None)
    assert classwise(data, n_resamples=19, rng=0).null.shape == (3, 19)
    assert (
        binwise(data, EqualWidth(3), n_resamples=19, rng=0).settings["resampler"].startswith("Wild")
    )
    assert reliability_diagram(data, lens=TopLabel(), n_resamples=19, rng=0)
    sex = np.arange(400) % 2
    assert len(slices(data, {"sex": sex}, n_resamples=39, rng=0).rows) == 2
    other = data.with_probs(np.full((400, 3), 1 / 3))
    assert compare({"a": data, "b": other}, n_resamples=19, rng=0).differences
    folds = recalibrate(data, n_resamples=19, rng=0).folds
    for cluster in range(17):
        assert np.unique(folds[data.clusters == cluster]).size == 1


def test_classes_share_signs_with_their_marginals():
    data = some_data(weights=False)
    null = classwise(data, EqualWidth(4), n_resamples=19, rng=5).null
    eta = ExpectedMiscalibration(EqualWidth(4))
    for j in range(3):
        alone = calibration_test(data, eta, lens=Marginal(j), n_resamples=19, rng=5)
        assert alone.null.tolist() == null[j].tolist()


def test_whole_clusters_are_bootstrapped():
    data = some_data()
    times = Bootstrap().times(data, np.uint64(3), 0)
    for cluster in range(17):
        assert np.unique(times[data.clusters == cluster]).size == 1
    eta = ExpectedMiscalibration(EqualWidth(3))
    kept = estimate(data, eta, resampler=Bootstrap(refit=False), n_resamples=9, rng=0)
    plain = [eta(data.take(np.repeat(np.arange(120), Bootstrap().times(data, np.uint64(0), 0))))]
    assert kept.replicates.size == 9
    assert plain[0] > 0


def test_a_hypothesis_is_respected():
    data = some_data(m=2, weights=False)
    seen = calibration_test(
        data,
        ExpectedMiscalibration(EqualWidth(1)),
        resampler=WildClusters(lambda probs: np.full_like(probs, 0.5)),
        n_resamples=199,
        rng=0,
    )
    rate = data.labels.mean()
    centre = abs(0.5 - data.probs[:, 1].mean())
    assert abs(seen.null.mean() - centre) < 5 * abs(rate - 0.5) + 0.1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda d: calibration_test(d, KernelMiscalibration(0.1)), "one on cells"),
        (lambda d: calibration_test(d, lambda x: float(x.n)), "one on cells"),
        (
            lambda d: calibration_test(
                d, ExpectedMiscalibration(EqualWidth(2)), resampler=Consistency()
            ),
            "must respect the clusters of the rows, as WildClusters",
        ),
        (
            lambda d: compare({"a": d, "b": Predictions(d.probs, d.labels)}),
            "must all have clusters, or none",
        ),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(some_data(weights=False))


def test_wild_clusters_need_clusters():
    data = Predictions([0.2, 0.8], [0, 1])
    with pytest.raises(ValueError, match="must be given with the data"):
        calibration_test(data, ExpectedMiscalibration(EqualWidth(1)), resampler=WildClusters())
    assert Exact().respecting(data) == Exact()


@pytest.mark.parametrize(
    ("clusters", "sentence"),
    [
        ([1, 2], "one for each of the 3 rows"),
        ([1, 1, 1], "at least two"),
        ([1.0, np.nan, 2.0], "no missing values; row 1"),
        (["a", None, "b"], "no missing values; row 1"),
    ],
)
def test_bad_clusters(clusters, sentence):
    with pytest.raises(ValueError, match=sentence):
        Predictions([0.2, 0.5, 0.8], [0, 1, 1], clusters=clusters)


def test_days_are_clusters():
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-01"], "datetime64[D]")
    assert Predictions([0.2, 0.5, 0.8], [0, 1, 1], clusters=days).clusters.tolist() == [0, 1, 0]


def test_a_tree_of_all_rows_is_the_first_statistic():
    data = some_data(m=2, n=300, weights=False)
    tree, _ = calibration_test(data, n_resamples=19, rng=0).parts
    expected = ExpectedMiscalibration(VarianceTree(30), squared_euclidean)
    assert (tree.statistic, tree.value) == (str(expected), expected(data))
