"""Rows that depend on each other: the size of tests, and what flips the signs of clusters."""

import numpy as np
import pytest
from chance import most
from scipy.special import expit, logit, ndtr

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
    words,
)
from calibrant.calibration import Gathered
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan
from calibrant.lenses import Canonical, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth, VarianceTree
from calibrant.resampling import Bootstrap, Consistency, Exact, WildClusters
from calibrant.resampling.draws.signs import clusters_worth
from calibrant.sizes import CrossFit, bias_of, size_of
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


def surprises(data):
    """Return the weight of outcomes other than the most probable one, in each cluster."""
    out = np.zeros(data.clusters.max() + 1)
    for i in range(data.n):
        if data.probs[i, data.labels[i]] < data.probs[i].max():
            out[data.clusters[i]] += data.weights[i]
    return out


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
    lumps = surprises(seen)
    fading = min(1.0, 20 / (lumps.sum() ** 2 / (lumps**2).sum())) ** 2
    for b in range(size):
        mean, worst, total = 0.0, 0.0, seen.weights.sum()
        for c in np.unique(cells):
            off, shown, implied = np.zeros((3, seen.m))
            mass = 0.0
            for i in np.flatnonzero(cells == c):
                one = (np.arange(seen.m) == seen.labels[i]) - seen.probs[i]
                off += signs[seen.clusters[i], b] * seen.weights[i] * one
                shown += (seen.weights[i] * one) ** 2
                implied += seen.weights[i] ** 2 * seen.probs[i] * (1 - seen.probs[i])
                mass += seen.weights[i]
            off *= np.maximum(1.0, implied / shown) ** (fading / 2)
            zero = np.zeros(seen.m)
            far = float(distance(off / mass, zero))
            mean, worst = mean + mass / total * far, max(worst, far)
        np.testing.assert_allclose(found[:, b], [mean, worst], rtol=1e-12)


def rare(how, clusters, rows=ROWS):
    """Return data of a risk of 1 %: labels by the row, one a cluster, or half of each."""
    of_rows = np.repeat(np.arange(clusters), rows)
    share = {"rows": 0.0, "half": 0.5, "clusters": 1.0}[how]

    def draw(rng):
        own, shared = rng.random(of_rows.size), rng.random(clusters)[of_rows]
        drawn = np.where(rng.random(of_rows.size) < share, shared, own)
        return Predictions(
            np.full(of_rows.size, 0.01), (drawn < 0.01).astype(int), clusters=of_rows
        )

    return draw


@pytest.mark.parametrize("how", ["rows", "half", "clusters"])
@pytest.mark.parametrize("clusters", [50, 200])
def test_calibrated_risks_are_not_rejected(how, clusters):
    rng, draw, trials = np.random.default_rng(2), rare(how, clusters), 300
    found = [calibration_test(draw(rng), n_resamples=99, rng=k).pvalue for k in range(trials)]
    assert sum(p <= 0.05 for p in found) <= most(trials, 0.065)


def test_bins_of_calibrated_risks_are_not_significant():
    rng, trials, found = np.random.default_rng(5), 150, 0
    for k in range(trials):
        p = np.repeat([0.02, 0.05], 500)
        of_rows = rng.permutation(1000) % 200
        data = Predictions(p, (rng.random(200)[of_rows] < p).astype(int), clusters=of_rows)
        cells = binwise(data, EqualWidth(30), n_resamples=99, rng=k)
        found += bool((cells.adjusted_pvalues <= 0.05).any())
    assert found <= most(trials, 0.065)


def test_intervals_cover_where_no_cluster_has_the_event():
    """Of 100 clusters with one label and a risk of 1 %, a third has no event at all."""
    rng, draw, trials, biases, sizes = np.random.default_rng(3), rare("clusters", 100), 60, 0, 0
    for k in range(trials):
        data = draw(rng)
        found = bias_of(data)
        biases += not found.low <= 0 <= found.high
        sizes += size_of(CrossFit(data, k)).low > 0
    assert biases <= most(trials, 0.05)
    assert sizes <= most(trials, 0.05)


def test_dependence_between_bins_narrows_no_limit():
    """What chance adds to squares of bins is due to dependence within them, not between them."""
    rng, z = np.random.default_rng(8), np.random.default_rng(9).standard_normal(CLUSTERS)[OF_ROWS]
    p = rng.random(OF_ROWS.size)
    drawn = ndtr(np.sqrt(0.2) * z + np.sqrt(0.8) * rng.standard_normal(p.size))
    labels = (drawn < expit(logit(p) / 1.5)).astype(int)
    alone = size_of(CrossFit(Predictions(p, labels), 0))
    together = size_of(CrossFit(Predictions(p, labels, clusters=OF_ROWS), 0))
    assert together.high > alone.high


def worth(p, labels, of_rows, weights=None):
    data = Predictions(p, labels, clusters=of_rows, weights=weights)
    return clusters_worth(data, data.probs)


def test_what_clusters_are_worth_by_hand():
    of_rows = np.repeat(np.arange(50), 4)
    none, p = np.zeros(200, int), np.full(200, 0.01)
    alike = 50 * 0.0099 / (1 - 2 * 0.01) ** 2  # variance³ / skewness² of fifty events
    assert worth(p, none, of_rows) == pytest.approx(alike)
    assert worth(1 - p, 1 - none, of_rows) == pytest.approx(alike)
    assert worth(p, none, of_rows, np.full(200, 7.0)) == pytest.approx(alike)
    some = none.copy()
    some[::20] = 1
    assert worth(p, some, of_rows) == pytest.approx(10)
    assert worth(np.full(200, 0.5), none, of_rows) == 50
    assert worth(p, none, np.where(of_rows < 25, 0, of_rows)) < alike / 5


def test_what_clusters_are_worth_by_drawing_labels():
    rng = np.random.default_rng(0)
    of_rows, p, w = rng.integers(0, 9, 60), rng.beta(1, 6, 60), rng.integers(1, 5, 60)
    least, u = np.minimum(p, 1 - p), np.arange(0.5, 200_000) / 200_000
    second = third = 0.0
    for k in range(9):
        mine = of_rows == k
        lump = (w[mine, None] * (u < least[mine, None])).sum(axis=0)
        second += lump.var()
        third += ((lump - lump.mean()) ** 3).mean()
    labels = (p > 0.5).astype(int)
    expected = min(second**3 / third**2, 9)
    assert worth(p, labels, of_rows, w) == pytest.approx(expected, rel=1e-3)


def test_a_rare_event_cannot_tell_and_says_so():
    data = rare("clusters", 200)(np.random.default_rng(1))
    data = data.with_labels(np.zeros(data.n, int))
    found = calibration_test(data, n_resamples=99, rng=0)
    assert (found.pvalue, found.decided) == (1.0, False)
    sentence = (
        "cannot tell with 200 clusters: with a rare outcome, or unequal clusters, they count as"
    )
    assert str(found).startswith(sentence)
    (verdict,) = evaluate(data, n_resamples=99, rng=0).verdicts
    assert verdict.sentence.startswith("Cannot tell with 200 clusters whether")
    assert "they count as 2.1, and at least 6 clusters are needed" in verdict.sentence
    assert "calibration at 5\xa0%: about 590 like these; " in verdict.sentence
    assert "count as 5.9, and" in words.few_clusters(5.999, 40)
    assert words.few_clusters(0.0, 40).endswith(" at 5\xa0%")
    assert not verdict.to_dict()["decided"]
    groups = slices(data, {"half": np.arange(data.n) % 2}, n_resamples=99, rng=0)
    assert str(groups).endswith("; too few clusters to judge 2 groups")
    assert [line[-1] for line in groups.lines()[1]] == ["cannot tell"] * 2
    cells = binwise(data, EqualWidth(5), n_resamples=99, rng=0)
    assert (cells.adjusted_pvalues.tolist(), str(cells)) == (
        [1.0],
        "too few clusters to judge 1 bin",
    )
    assert "too few clusters" in reliability_diagram(data, n_resamples=99, rng=0).sentence
    classes = classwise(data, n_resamples=99, rng=0)
    assert classes.undecided == ("0", "1")
    assert {line[2] for line in classes.lines()[1]} == {"cannot tell"}


def test_a_group_that_cannot_tell_leaves_the_others_alone():
    rng = np.random.default_rng(0)
    of_rows, p = np.repeat(np.arange(200), 10), np.where(np.arange(2000) % 2, 0.01, 0.5)
    labels = np.where(p < 0.1, 0, rng.random(2000) < 0.9).astype(int)
    found = slices(
        Predictions(p, labels, clusters=of_rows), {"g": np.arange(2000) % 2}, n_resamples=99, rng=0
    )
    assert [row.verdict.rejected for row in found.rows] == [True, False]
    assert [row.verdict.decided for row in found.rows] == [True, False]


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
