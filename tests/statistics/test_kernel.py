"""The kernel calibration error: values, bandwidths, forms, replicates, null and refusals."""

import json
from itertools import product
from math import exp, fsum, prod, sqrt

import families
import numpy as np
import pytest
from chance import TRIALS, agrees, models, most, rejections, wrap
from hypothesis import given, settings
from hypothesis import strategies as st
from places import SHARED
from strategies import integer_weights, problems

from calibrant import Predictions, calibration_test, estimate
from calibrant.checks.parameters import make_key
from calibrant.lenses import Canonical, Groups, Induced, Marginal, Pooled, TopLabel
from calibrant.resampling import Bootstrap, Exact
from calibrant.statistics import KernelMiscalibration

KEY = make_key(7)
CLOSE = {"rel": 1e-9, "abs": 1e-13}
few = settings(max_examples=25)


def probs_of(data):
    """Return the predictions as lists; of two outcomes the event tells the other."""
    probs = data.probs.astype(float)
    if data.m == 2:
        probs[:, 1 - data.event] = 1 - probs[:, data.event]
    return probs.tolist()


def total_variation(p, q):
    return fsum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def euclidean(p, q):
    return sqrt(fsum((a - b) ** 2 for a, b in zip(p, q, strict=True)))


def similarity(p, q, statistic, scales):
    """Return the sum of the kernels of two predictions."""
    d = (total_variation if statistic.distance == "total_variation" else euclidean)(p, q)
    if statistic.kernel == "gaussian":
        return fsum(exp(-d * d / (2 * s * s)) for s in scales)
    return fsum(exp(-d / s) for s in scales)


def by_loops(data, statistic, scales):
    """Return the mean over pairs of copies of rows, in plain loops."""
    weights, probs = data.weights.tolist(), probs_of(data)
    off = [[(j == y) - q for j, q in enumerate(p)] for p, y in zip(probs, data.labels, strict=True)]
    total = fsum(weights)
    found = 0.0
    for i, j in product(range(data.n), repeat=2):
        times = weights[i] * weights[j] - (weights[i] if statistic.unbiased and i == j else 0)
        h = fsum(a * b for a, b in zip(off[i], off[j], strict=True))
        found += times * h * similarity(probs[i], probs[j], statistic, scales)
    if statistic.unbiased:
        return found / (total * (total - 1)) if total >= 2 else 0.0
    return found / total**2


def settings_of(m):
    """Return statistics of every kernel and distance that suits m outcomes."""
    chosen = [("exponential", "total_variation"), ("laplacian", "euclidean")]
    chosen += [("gaussian", "euclidean")] + [("gaussian", "total_variation")] * (m == 2)
    return [
        KernelMiscalibration(scales, kernel, distance, unbiased)
        for kernel, distance in chosen
        for scales in (0.3, (0.05, 0.5))
        for unbiased in (True, False)
    ]


def numbers(statistic):
    scales = statistic.bandwidth
    return scales if isinstance(scales, tuple) else (scales,)


def test_by_hand():
    data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    # r = -1/4, 3/4, 1/4, 1/4 of the event, both outcomes: 2 r_i r_j.
    near, far = -3 / 16 + 1 / 16, 4 / 16 * exp(-1)
    found = KernelMiscalibration(0.5)(data)
    assert found == pytest.approx(2 * 2 * (near + far) / 12, rel=1e-14)
    own = 2 * (1 + 9 + 1 + 1) / 16
    biased = KernelMiscalibration(0.5, unbiased=False)
    assert biased(data) == pytest.approx((4 * (near + far) + own) / 16, rel=1e-14)
    assert biased.null_mean(data) == pytest.approx(4 * (6 / 16) / 16)
    assert KernelMiscalibration(0.5).null_mean(data) == 0.0
    assert KernelMiscalibration().settled(data).bandwidth == 0.25  # between 0 and 0.5


def test_three_outcomes_by_hand():
    data = Predictions([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], [0, 1])
    assert KernelMiscalibration(1.0)(data) == 0.0
    data = Predictions([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], [0, 1])
    # (1/2, -1/2, 0)'(0, 1/2, -1/2) = -1/4, at a distance of 1/2.
    assert KernelMiscalibration(1.0)(data) == pytest.approx(-0.25 * exp(-0.5), rel=1e-14)


@few
@given(problems())
def test_oracle(data):
    for lens, _, _ in families.lenses_of(data.m):
        seen = lens(data)
        for statistic in settings_of(seen.m):
            expected = by_loops(seen, statistic, numbers(statistic))
            assert statistic(seen) == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 300])
def test_oracle_across_blocks(n):
    rng = np.random.default_rng(n)
    data = Predictions(rng.dirichlet(np.ones(3), n), rng.integers(0, 3, n))
    for statistic in settings_of(3)[::3]:
        expected = by_loops(data, statistic, numbers(statistic))
        assert statistic(data) == pytest.approx(expected, **CLOSE)


def repeated(data):
    rows = np.repeat(np.arange(data.n), data.weights.astype(int))
    part = data.take(rows)
    return Predictions.trusted(part.probs, part.labels, part.classes, event=part.event)


def low_rank(scales, unbiased=True, rank=5):
    return KernelMiscalibration(scales, unbiased=unbiased, form="low-rank", rank=rank)


@few
@given(problems(weights=integer_weights, max_n=8))
def test_a_weight_is_a_number_of_copies(data):
    for statistic in settings_of(data.m):
        assert statistic(data) == pytest.approx(statistic(repeated(data)), rel=1e-8, abs=1e-12)
    # Features are rounded to 2^-28 of the largest weight, those of n rows by n sqrt(rank) halves of
    # it together; the squared length of their sum, over the mass squared, by 2 sqrt(2) times that.
    rounding = 2 * np.sqrt(2 * 5) * data.n * 2.0**-28
    for statistic in (low_rank(0.3), low_rank(0.3, unbiased=False)):
        assert statistic(data) == pytest.approx(statistic(repeated(data)), rel=1e-8, abs=rounding)


@few
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(data, random):
    order = list(range(data.n))
    random.shuffle(order)
    moved = data.take(np.array(order))
    for statistic in [*settings_of(data.m), low_rank(0.3)]:
        assert statistic(moved) == pytest.approx(statistic(data), rel=1e-8, abs=1e-13)


def test_class_relabelling():
    rng = np.random.default_rng(3)
    probs, labels = rng.dirichlet(np.ones(4), 300), rng.integers(0, 4, 300)
    order = np.array([2, 0, 3, 1])
    moved = Predictions(probs[:, order], np.argsort(order)[labels])
    for statistic in [*settings_of(4), KernelMiscalibration()]:
        assert statistic(moved) == pytest.approx(statistic(Predictions(probs, labels)), rel=1e-9)


def distances_of(data, distance):
    """Return the distances of all ordered pairs of copies of rows, i = j too."""
    measure = total_variation if distance == "total_variation" else euclidean
    probs = probs_of(data)
    rows = np.repeat(np.arange(data.n), data.weights.astype(int))
    return [measure(probs[i], probs[j]) for i in rows for j in rows]


@few
@given(problems(weights=integer_weights, max_n=9))
def test_median_of_all_ordered_pairs(data):
    for distance in ("total_variation", "euclidean"):
        expected = float(np.median(distances_of(data, distance)))
        statistic = KernelMiscalibration(("median", 0.5), distance=distance)
        if expected == 0:
            with pytest.raises(ValueError, match="median distance is 0"):
                statistic.settled(data)
        else:
            found = statistic.settled(data).bandwidth
            assert found == pytest.approx(expected / 2, rel=1e-12)


@pytest.mark.parametrize("n", [200, 201])
@pytest.mark.parametrize("case", ["smooth", "grid", "confident"])
def test_median_of_many_pairs(n, case):
    """More pairs than are laid out, with ties, and down to the last bits of tiny distances."""
    rng = np.random.default_rng(n)
    probs = {
        "smooth": rng.dirichlet(np.ones(3), n),
        "grid": rng.multinomial(4, [0.4, 0.3, 0.3], n) / 4,
        "confident": rng.dirichlet([1.0, 1e-3, 1e-3], n) * [1, 1e-9, 1e-9],
    }[case]
    probs /= probs.sum(axis=1, keepdims=True)
    data = Predictions(probs, np.zeros(n, int))
    for distance, order in (("total_variation", 1), ("euclidean", 2)):
        gaps = np.linalg.norm(probs[:, None] - probs[None], ord=order, axis=2) / (3 - order)
        found = KernelMiscalibration(distance=distance).settled(data).bandwidth
        assert found == pytest.approx(float(np.median(gaps)), rel=1e-9)


def test_several_bandwidths_are_a_sum_of_kernels():
    rng = np.random.default_rng(1)
    for m in (2, 4):
        data = Predictions(rng.dirichlet(np.ones(m), 60), rng.integers(0, m, 60))
        parts = [KernelMiscalibration(s)(data) for s in (0.1, 0.4, ("median", 0.2))]
        together = KernelMiscalibration((0.1, 0.4, ("median", 0.2)))
        assert together(data) == pytest.approx(sum(parts), rel=1e-10)
        assert KernelMiscalibration([0.1, 0.4]) == KernelMiscalibration((0.1, 0.4))


def test_few_predictions_make_low_rank_exact():
    rng = np.random.default_rng(2)
    for m in (2, 3):
        probs = rng.multinomial(5, np.full(m, 1 / m), 400) / 5
        data = Predictions(probs, rng.integers(0, m, 400))
        full, compressed = KernelMiscalibration(0.2), low_rank(0.2, rank=50)
        assert compressed(data) == pytest.approx(full(data), rel=1e-8)


def test_low_rank_is_close_where_kernels_are_wide():
    rng = np.random.default_rng(2)
    data = Predictions(rng.dirichlet(np.ones(3), 500), rng.integers(0, 3, 500))
    full = KernelMiscalibration(1.0, "gaussian", "euclidean")
    compressed = KernelMiscalibration(1.0, "gaussian", "euclidean", form="low-rank", rank=60)
    assert compressed(data) == pytest.approx(full(data), rel=1e-4)


def test_the_form_is_told_and_depends_on_the_rows():
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(3), 20_001)
    data = Predictions(probs, np.zeros(20_001, int))
    many, few_rows = KernelMiscalibration(0.5), data.take(np.arange(20_000))
    assert many.settled(data).form == "low-rank"
    assert many.settled(few_rows).form == "full"
    assert many.settled(TopLabel()(data)).form == "full"
    gaussian = KernelMiscalibration(0.5, "gaussian", "euclidean")
    assert gaussian.settled(TopLabel()(data)).form == "low-rank"
    assert "low-rank" in str(many.settled(data))
    assert str(KernelMiscalibration()) == "kernel median"
    other = KernelMiscalibration((0.1, 0.4), "gaussian", "euclidean", unbiased=False)
    assert str(other) == "biased gaussian kernel 0.1, 0.4 of euclidean distance"


def test_the_median_of_very_many_rows_is_that_of_some():
    rng = np.random.default_rng(2)
    probs = rng.multinomial(20, [0.5, 0.3, 0.2], 25_000) / 20
    data = Predictions(probs, np.zeros(25_000, int))
    statistic = KernelMiscalibration()
    found = statistic.settled(data)
    assert found.form == "low-rank"
    exact = np.median(np.abs(probs[:2000, None] - probs[None, :2000]).sum(axis=2)) / 2
    assert found.bandwidth == pytest.approx(exact, abs=0.051)
    moved = statistic.settled(data.take(rng.permutation(25_000)))
    assert moved.bandwidth == found.bandwidth


LENSES = [Canonical(), TopLabel(), Marginal(1), Groups([[1], [0, 2]]), Pooled()]
LENSES += [Groups([[2, 1], [0]]) >> TopLabel()]
STATISTICS = [
    KernelMiscalibration(),
    KernelMiscalibration((0.1, 0.4), unbiased=False),
    KernelMiscalibration(0.3, "gaussian", "euclidean"),
    KernelMiscalibration(0.3, form="low-rank", rank=20),
    KernelMiscalibration(0.3, unbiased=False, form="low-rank", rank=20),
]


def root(probs):
    return np.sqrt(probs) / np.sqrt(probs).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("resampler", [Exact(), Exact(root)], ids=["calibrated", "rho"])
@pytest.mark.parametrize("lens", LENSES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_replicates_are_those_of_the_plain_definition(lens, resampler, dtype):
    """Bit for bit: sums of what depends on labels are exact."""
    rng = np.random.default_rng(4)
    for m, weighted in ((3, True), (3, False), (40, False)):
        if m == 40 and not isinstance(lens, Canonical | TopLabel):
            continue
        probs = rng.dirichlet(np.full(m, 0.5), 150).astype(dtype)
        weights = rng.integers(0, 3, 150) if weighted else None
        data = Predictions(probs, rng.integers(0, m, 150), weights=weights)
        drawn = [lens(resampler.draw(data, KEY, b)) for b in range(12)]
        for statistic in STATISTICS:
            how = {"lens": lens, "resampler": resampler, "n_resamples": 12, "rng": 7}
            found = calibration_test(data, statistic, **how)
            np.testing.assert_array_equal(found.null, list(map(statistic, drawn)))
            assert found.statistic == statistic(lens(data))


def test_bootstrapped_rows():
    rng = np.random.default_rng(5)
    data = Predictions(rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60))
    for statistic in STATISTICS:
        found = estimate(data, statistic, n_resamples=5, rng=7).replicates
        expected = [statistic(Bootstrap().draw(data, KEY, b)) for b in range(5)]
        np.testing.assert_array_equal(found, expected)


def test_many_replicates_in_batches(monkeypatch):
    from calibrant.statistics import kernel_forms
    from calibrant.statistics import statistic as reading

    rng = np.random.default_rng(6)
    data = Predictions(rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200))
    for statistic in [*STATISTICS, KernelMiscalibration(0.1)]:
        for lens in (Canonical(), TopLabel()):
            whole = calibration_test(data, statistic, lens=lens, n_resamples=99, rng=1).null
            with monkeypatch.context() as patch:
                patch.setattr(kernel_forms, "BATCH", 2000)
                patch.setattr(reading, "READ", 100)
                patch.setenv("CALIBRANT_THREADS", "3")
                parts = calibration_test(data, statistic, lens=lens, n_resamples=99, rng=1).null
            np.testing.assert_array_equal(whole, parts)


def every_label(data):
    """Yield every label vector and its probability."""
    law = np.array(probs_of(data))
    for labels in product(range(data.m), repeat=data.n):
        chance = prod(law[i, y] for i, y in enumerate(labels))
        if chance > 0:
            yield data.with_labels(np.array(labels)), chance


SMALL = [
    Predictions([0.1, 0.3, 0.3, 0.5, 0.55, 0.7, 0.95, 1.0], [0, 1, 0, 1, 1, 0, 1, 1]),
    Predictions([0.1, 0.3, 0.3, 0.6, 0.9], [0, 1, 1, 1, 1], weights=[1, 2, 0.5, 3, 1]),
    Predictions([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [0.1, 0.8, 0.1]], [0, 1, 0, 2]),
    Predictions(
        [[0.2, 0.3, 0.5], [0.1, 0.4, 0.5], [0.6, 0.4, 0.0], [0.1, 0.8, 0.1]],
        [0, 1, 0, 2],
        weights=[2, 1, 1.5, 1],
    ),
]


@pytest.mark.parametrize("data", SMALL, ids=lambda data: f"{data} {data.weighted}")
def test_null_mean_and_spread_are_exact(data):
    for statistic in settings_of(data.m):
        values, chances = zip(*[(statistic(d), p) for d, p in every_label(data)], strict=True)
        mean = np.dot(values, chances)
        spread = np.sqrt(np.dot((np.array(values) - mean) ** 2, chances))
        assert statistic.null_mean(data) == pytest.approx(mean, rel=1e-9, abs=1e-13)
        assert statistic.null_spread(data) == pytest.approx(spread, rel=1e-9)


def test_the_spread_of_many_rows_is_that_of_replicates():
    rng = np.random.default_rng(9)
    data = Predictions(rng.dirichlet(np.ones(4), 300), rng.integers(0, 4, 300))
    for lens in (Canonical(), TopLabel()):
        statistic = KernelMiscalibration(0.3)
        null = calibration_test(data, statistic, lens=lens, n_resamples=3999, rng=1).null
        spread = statistic.null_spread(lens(data))
        assert abs(null.mean()) < 5 * spread / sqrt(3999)
        assert null.std() == pytest.approx(spread, rel=0.1)  # fourth moments about 9 spread⁴


@pytest.mark.parametrize("data", SMALL, ids=lambda data: f"{data} {data.weighted}")
@pytest.mark.parametrize("form", ["full", "low-rank"])
def test_the_pvalue_is_that_of_all_label_vectors(data, form):
    statistic, size = KernelMiscalibration(0.4, form=form, rank=4), 9999
    observed = statistic(data)
    exact = fsum(p for d, p in every_label(data) if statistic(d) >= observed - 1e-12)
    found = calibration_test(data, statistic, n_resamples=size, rng=1)
    assert agrees(found.pvalue * (size + 1) - 1, size, min(exact, 1.0), tests=10)


@pytest.mark.parametrize("statistic", [KernelMiscalibration(0.2), low_rank(0.2, rank=20)], ids=str)
@pytest.mark.parametrize("case", ["smooth", "ties", "sorted by label"])
def test_size(case, statistic):
    """Calibrated models are rejected in at most 5 %."""
    rng = np.random.default_rng(11)
    pvalues, trials = [], TRIALS // 2
    for smooth in models(11, 40, 3, trials=trials):
        data = smooth
        if case == "ties":
            probs = rng.multinomial(5, [0.5, 0.3, 0.2], 40) / 5
            labels = (probs.cumsum(axis=1) < rng.random(40)[:, None]).sum(axis=1).clip(max=2)
            data = wrap(probs, labels)
        if case == "sorted by label":
            data = data.take(np.argsort(data.labels, kind="stable"))
        seed = int(rng.integers(2**31))
        pvalues.append(calibration_test(data, statistic, n_resamples=19, rng=seed).pvalue)
    assert rejections(pvalues) <= most(trials, 0.05)


def test_a_sure_model_that_is_right_is_not_rejected():
    """Every replicate is the data set itself, and ties with it to the last bit."""
    rng = np.random.default_rng(0)
    for m in (2, 3):
        labels = rng.integers(0, m, 200)
        data = Predictions(np.eye(m)[labels], labels)
        for statistic in (KernelMiscalibration(0.1), low_rank(0.1, rank=2)):
            assert calibration_test(data, statistic, n_resamples=19, rng=0).pvalue == 1.0


def test_threads_change_no_bit(monkeypatch):
    rng = np.random.default_rng(6)
    data = Predictions(rng.dirichlet(np.ones(4), 500), rng.integers(0, 4, 500))
    for statistic in STATISTICS:
        found = []
        for threads in ("1", "2", "3"):
            monkeypatch.setenv("CALIBRANT_THREADS", threads)
            test = calibration_test(data, statistic, n_resamples=39, rng=3)
            found.append([test.statistic, statistic.null_spread(data), *test.null])
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({"bandwidth": 0}, "`bandwidth` must be a number above 0; found 0"),
        ({"bandwidth": -0.5}, "`bandwidth` must be a number above 0; found -0.5"),
        ({"bandwidth": float("nan")}, "`bandwidth` must be finite; found nan"),
        ({"bandwidth": ("median", 0)}, "`bandwidth` must be a number above 0; found 0"),
        ({"bandwidth": (0.1, -1)}, "`bandwidth` must be a number above 0; found -1"),
        ({"bandwidth": "mean"}, "`bandwidth` must be a number above 0, 'median', .*found 'mean'"),
        ({"bandwidth": ()}, "`bandwidth` must name at least one; found none"),
        ({"bandwidth": (("median", 1, 2),)}, "`bandwidth` must be a number above 0, 'median'"),
        ({"kernel": "cosine"}, "`kernel` must be 'exponential', .*; found 'cosine'"),
        ({"distance": "hellinger"}, "`distance` must be 'total_variation' or 'euclidean'"),
        ({"form": "blocks"}, "`form` must be 'auto', 'full' or 'low-rank'; found 'blocks'"),
        ({"rank": 0}, "`rank` must be a whole number from 1; found 0"),
        ({"seed": -1}, "`seed` must be a whole number from 0; found -1"),
    ],
)
def test_bad_settings_are_refused(chosen, sentence):
    with pytest.raises(ValueError, match=sentence):
        KernelMiscalibration(**chosen)


def test_bad_types_are_refused():
    with pytest.raises(TypeError, match="`bandwidth` must be a number; found None"):
        KernelMiscalibration(None)
    with pytest.raises(TypeError, match="`unbiased` must be True or False; found 1"):
        KernelMiscalibration(unbiased=1)


def test_a_median_of_zero_is_refused():
    data = Predictions([0.5, 0.5, 0.5, 0.2], [0, 1, 1, 0])
    with pytest.raises(ValueError, match=r"`bandwidth` must be a number here, such as 0\.1: at"):
        KernelMiscalibration()(data)
    assert KernelMiscalibration(0.1)(data) != 0


def test_one_outcome_is_refused():
    data = Predictions.trusted(np.ones((3, 1)), np.zeros(3, np.int32), ("all",), event=None)
    with pytest.raises(ValueError, match="`lens` must show at least two outcomes; found one"):
        KernelMiscalibration(0.1)(data)


def test_a_kernel_that_is_not_positive_definite_is_refused():
    data = Predictions([[0.2, 0.3, 0.5]] * 2, [0, 1])
    statistic = KernelMiscalibration(0.1, "gaussian")
    with pytest.raises(ValueError, match="`distance` must be 'euclidean' for a Gaussian kernel"):
        statistic(data)
    assert isinstance(statistic(TopLabel()(data)), float)


def test_rows_without_pairs():
    assert KernelMiscalibration(0.1)(Predictions([0.3], [1])) == 0.0
    alone = Predictions([0.3, 0.6], [1, 0], weights=[0.5, 0.5])
    assert KernelMiscalibration(0.1)(alone) == 0.0
    assert KernelMiscalibration(0.1).null_spread(alone) == 0.0
    assert KernelMiscalibration(0.1, unbiased=False)(Predictions([0.3], [1])) > 0


def test_any_lens():
    data = Predictions([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.4, 0.4, 0.2]], [0, 1, 2])
    lens = Induced(lambda y, mu: int(mu[y] < 0.35), 2)
    result = calibration_test(data, KernelMiscalibration(0.3), lens=lens, n_resamples=9, rng=0)
    assert result.statistic == KernelMiscalibration(0.3)(lens(data))


def beyond():
    path = SHARED / "reference" / "beyond.json"
    return json.loads(path.read_text()) if path.exists() else {"none": {}}


def stored(name):
    with np.load(SHARED / "data" / "predictions" / f"{name}.npz") as file:
        probs = file["probs"].astype(np.float64)
        return Predictions(probs / probs.sum(axis=1, keepdims=True), file["labels"])


def check(data, kernel, distance, bandwidth, expected):
    """Compare scale, both values, and what they are under redrawn labels."""
    chosen = KernelMiscalibration(bandwidth, kernel, distance).settled(data)
    biased = KernelMiscalibration(chosen.bandwidth, kernel, distance, unbiased=False)
    found = {
        "scale": chosen.bandwidth,
        "unbiased": chosen(data),
        "biased": biased(data),
        "null_sd": chosen.null_spread(data),
        "null_mean_biased": biased.null_mean(data),
    }
    wanted = {name: expected[name] for name in found}
    assert found == pytest.approx(wanted, rel=1e-9, abs=0)


VIEWS = {"top": TopLabel(), "class:0": Marginal(0), "class:1": Canonical()}


@pytest.mark.parametrize("name", sorted(beyond()))
def test_reference_of_two_outcomes(shared, name):
    """Every value to a relative 1e-9."""
    assert shared
    data = stored(name)
    for view, values in beyond()[name]["binary"].items():
        for scale, expected in values["skce_exponential_total_variation"].items():
            bandwidth = 0.4 if scale == "scale_0.4" else "median"
            check(VIEWS[view](data), "exponential", "total_variation", bandwidth, expected)


KINDS = [("exponential", "total_variation"), ("gaussian", "euclidean")]
QUICK = ["fmi_precip3_24h", "hpc_cv_lda", "ser_iemocap_egemaps", "widmann_cifar10_googlenet"]


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize(("kernel", "distance"), KINDS)
def test_reference_of_all_outcomes(shared, name, kernel, distance):
    """Every value to a relative 1e-9, for a few sets of each kind: all of them take minutes."""
    assert shared
    expected = beyond()[name]["canonical"][f"skce_{kernel}_{distance}"]
    check(stored(name), kernel, distance, "median", expected)


TEN = [name for name, entry in sorted(beyond().items()) if "first_10_rows" in entry]


@pytest.mark.parametrize("name", TEN or ["none"])
def test_first_ten_rows(shared, name):
    """The p-value of all 1024 label vectors, to the last digits."""
    assert shared
    entry = beyond()[name]
    data = stored(name).take(np.arange(10))
    statistic = KernelMiscalibration(0.4)
    expected = entry["first_10_rows"]["skce_unbiased_scale_0.4"]
    assert statistic(data) == pytest.approx(expected["statistic"], rel=1e-9)
    vectors = [(statistic(d), p) for d, p in every_label(data)]
    slack = 1e-12
    exact = fsum(p for value, p in vectors if value >= statistic(data) - slack)
    assert exact == pytest.approx(expected["pvalue"], rel=1e-9)
    found = calibration_test(data, statistic, n_resamples=9999, rng=1).pvalue
    assert agrees(found * 10_000 - 1, 9999, min(expected["pvalue"], 1.0), tests=46)


REDRAWN = [
    name
    for name, entry in sorted(beyond().items())
    if "skce_pvalue_redrawn" in entry.get("canonical", ())
]


@pytest.mark.parametrize("name", REDRAWN or ["none"])
def test_redrawn_pvalue(shared, name):
    """Two simulated p-values differ by no more than chance."""
    assert shared
    entry = beyond()[name]["canonical"]["skce_pvalue_redrawn"]
    found = calibration_test(stored(name), KernelMiscalibration(), n_resamples=999, rng=1).pvalue
    error = sqrt(max(entry["value"] * (1 - entry["value"]), 1e-3) / entry["draws"])
    assert abs(found - entry["value"]) <= 4 * sqrt(2) * error
