"""The unbiased squared miscalibration: pairs of rows, weights, replicates, null and reference."""

import json
from functools import cache
from itertools import product
from math import fsum, prod, sqrt

import families
import numpy as np
import pytest
from chance import TRIALS, agrees, models, most, rejections, wrap
from hypothesis import given, settings
from hypothesis import strategies as st
from places import SHARED
from scipy.special import ndtri
from strategies import integer_weights, problems, well_spread

from calibrant import Predictions, calibration_test, estimate, lenses, partitions
from calibrant.checks.parameters import make_key
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualMass, EqualWidth, FromFunction, VarianceTree
from calibrant.resampling import Bootstrap, Consistency, Exact
from calibrant.statistics import SquaredMiscalibration, View
from calibrant.statistics.squared import Pieces, covering_interval, pieces_of, score_interval

KEY = make_key(7)
FIELDS = ("unbiased", "plugin", "null_sd", "remainder", "slope", "sigma2")
few = settings(max_examples=25)


def residual(p, y):
    return [(j == y) - q for j, q in enumerate(p)]


def inner(a, b):
    return fsum(x * y for x, y in zip(a, b, strict=True))


def by_loops(data, cells):
    """Return the mean over pairs of copies of rows, cell by cell, in plain loops."""
    total = 0.0
    weights = data.weights.tolist()
    probs = data.probs.astype(float)
    if data.m == 2:
        probs[:, 1 - data.event] = 1 - probs[:, data.event]
    off = [residual(p, y) for p, y in zip(probs.tolist(), data.labels.tolist(), strict=True)]
    for c in sorted(set(cells)):
        rows = [i for i, cell in enumerate(cells) if cell == c]
        mass = fsum(weights[i] for i in rows)
        if mass < 2:
            continue
        pairs = fsum(
            (weights[i] * weights[j] - (weights[i] if i == j else 0)) * inner(off[i], off[j])
            for i in rows
            for j in rows
        )
        total += pairs / (mass - 1)
    return total / fsum(weights)


def test_by_hand():
    data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    squared = SquaredMiscalibration(EqualWidth(2))
    # Cell 0: 2 × (-0.25)(0.75), cell 1: 2 × 0.25², half of the rows each.
    assert squared(data) == (-0.375 + 0.125) / 2
    assert squared.plugin(data) == 2 * 0.25**2
    assert squared.share(data) == 1.0
    assert squared.null_mean(data) == 0.0
    # tr(C_i C_j) = 4 (3/16)², two ordered pairs in each of two cells of n_c = 2.
    assert squared.null_spread(data) == pytest.approx(sqrt(2 * 2 * 2 * 4 * (3 / 16) ** 2) / 4)


def test_a_cell_of_one_row_adds_nothing():
    data = Predictions([0.1, 0.9, 0.95], [1, 0, 1])
    squared = SquaredMiscalibration(EqualWidth(2))
    assert squared(data) == pytest.approx(2 * (-0.9 * 0.05) * 2 / 3)
    assert squared.share(data) == pytest.approx(2 / 3)
    alone = SquaredMiscalibration(EqualWidth(100))
    assert alone(data) == 0.0
    assert alone.share(data) == 0.0
    assert alone.null_spread(data) == 0.0
    assert calibration_test(data, alone, n_resamples=19, rng=0).pvalue == 1.0


@few
@given(problems(kinds=well_spread))
def test_oracle(data):
    for lens, _, _ in families.lenses_of(data.m):
        seen = lens(data)
        for partition in families.partitions_of(seen.m):
            cells = partition.locate(seen)[1].tolist()
            found = SquaredMiscalibration(partition)(seen)
            assert found == pytest.approx(by_loops(seen, cells), rel=1e-9, abs=1e-13)


def repeated(data):
    rows = np.repeat(np.arange(data.n), data.weights.astype(int))
    part = data.take(rows)
    return Predictions.trusted(part.probs, part.labels, part.classes, event=part.event)


@few
@given(problems(weights=integer_weights, kinds=well_spread, max_n=8))
def test_a_weight_is_a_number_of_copies(data):
    for partition in families.partitions_of(data.m):
        squared = SquaredMiscalibration(partition)
        close = {"rel": 1e-9, "abs": 1e-13}
        assert squared(data) == pytest.approx(squared(repeated(data)), **close)
        pieces, copies = squared.pieces(data), squared.pieces(repeated(data))
        for name in ("plugin", "remainder", "slope", "sigma2", "mass", "share"):
            assert getattr(pieces, name) == pytest.approx(getattr(copies, name), **close)


@few
@given(problems(kinds=well_spread), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(data, random):
    order = list(range(data.n))
    random.shuffle(order)
    for partition in families.partitions_of(data.m):
        squared = SquaredMiscalibration(partition)
        assert squared(data.take(np.array(order))) == squared(data)


def test_class_relabelling():
    rng = np.random.default_rng(3)
    probs, labels = rng.dirichlet(np.ones(4), 300), rng.integers(0, 4, 300)
    order = np.array([2, 0, 3, 1])
    moved = Predictions(probs[:, order], np.argsort(order)[labels])
    squared = SquaredMiscalibration(VarianceTree(30))
    assert squared(moved) == pytest.approx(squared(Predictions(probs, labels)), rel=1e-12)


def dominant(probs):
    return probs.argmax(axis=1)


LENSES = [Canonical(), TopLabel(), Marginal(1), Groups([[1], [0, 2]]), Pooled()]
LENSES += [Groups([[2, 1], [0]]) >> TopLabel()]


@pytest.mark.parametrize(
    "resampler", [Exact(), Exact(np.sqrt), Bootstrap(), Consistency()], ids=str
)
@pytest.mark.parametrize("lens", LENSES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_replicates_are_those_of_the_plain_definition(lens, resampler, dtype):
    rng = np.random.default_rng(4)
    for m in (3, 40):
        if m == 40 and not isinstance(lens, Canonical | TopLabel):
            continue
        probs = rng.dirichlet(np.full(m, 0.5), 90).astype(dtype)
        data = Predictions(probs, rng.integers(0, m, 90), weights=rng.integers(0, 3, 90))
        for partition in (EqualWidth(3), VarianceTree(15), FromFunction(dominant)):
            statistic = SquaredMiscalibration(partition)
            if isinstance(resampler, Exact) and resampler.rho is not None:
                resampler = Exact(lambda p: np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True))
            how = {"lens": lens, "resampler": resampler, "n_resamples": 12, "rng": 7}
            run = calibration_test if isinstance(resampler, Exact | Consistency) else estimate
            result = run(data, statistic, **how)
            found = result.null if run is calibration_test else result.replicates
            expected = [statistic(lens(resampler.draw(data, KEY, b))) for b in range(12)]
            np.testing.assert_array_equal(found, expected)


def test_counts_alone_do_not_tell():
    data = Predictions([0.2, 0.4, 0.6], [0, 1, 1])
    statistic = SquaredMiscalibration(EqualWidth(1))
    with pytest.raises(ValueError, match="`draws` must be 'labels' for a statistic that looks"):
        calibration_test(data, statistic, resampler=Exact(draws="counts"), n_resamples=9, rng=0)


def test_what_is_no_partition_is_refused():
    with pytest.raises(TypeError, match="`partition` must"):
        SquaredMiscalibration(10)


def every_label(data):
    """Yield every label vector and its probability."""
    law = data.probs.astype(float)
    for labels in product(range(data.m), repeat=data.n):
        chance = prod(law[i, y] for i, y in enumerate(labels))
        if chance > 0:
            yield data.with_labels(np.array(labels)), chance


SMALL = [
    Predictions([0.1, 0.3, 0.3, 0.5, 0.55, 0.7, 0.95, 1.0], [0, 1, 0, 1, 1, 0, 1, 1]),
    Predictions([0.1, 0.3, 0.4, 0.6, 0.9], [0, 1, 1, 1, 1], weights=[1, 2, 0.5, 3, 1]),
    Predictions([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [0.1, 0.8, 0.1]], [0, 1, 0, 2]),
    Predictions(
        [[0.2, 0.3, 0.5], [0.1, 0.4, 0.5], [0.6, 0.4, 0.0], [0.1, 0.8, 0.1]],
        [0, 1, 0, 2],
        weights=[2, 1, 1.5, 1],
    ),
]


@pytest.mark.parametrize("data", SMALL, ids=lambda data: f"{data} {data.weighted}")
@pytest.mark.parametrize("partition", [EqualWidth(1), EqualWidth(2), VarianceTree(3)], ids=str)
def test_null_mean_and_spread_are_exact(data, partition):
    squared = SquaredMiscalibration(partition)
    values, chances = zip(*[(squared(d), p) for d, p in every_label(data)], strict=True)
    mean = np.dot(values, chances)
    spread = np.sqrt(np.dot((np.array(values) - mean) ** 2, chances))
    assert squared.null_mean(data) == pytest.approx(mean, rel=1e-9, abs=1e-12)
    assert squared.null_spread(data) == pytest.approx(spread, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("data", SMALL, ids=lambda data: f"{data} {data.weighted}")
def test_the_pvalue_is_that_of_all_label_vectors(data):
    squared, size = SquaredMiscalibration(EqualWidth(2)), 9999
    observed = squared(data)
    exact = fsum(p for d, p in every_label(data) if squared(d) >= observed - 1e-12)
    found = calibration_test(data, squared, n_resamples=size, rng=1)
    assert agrees(found.pvalue * (size + 1) - 1, size, min(exact, 1.0), tests=10)


def ties(rng, n):
    return rng.multinomial(5, [0.5, 0.3, 0.2], n) / 5


@pytest.mark.parametrize("case", ["smooth", "ties", "sorted by label"])
def test_size(case):
    """Calibrated models are rejected in at most 5 %."""
    rng = np.random.default_rng(11)
    statistic = SquaredMiscalibration(VarianceTree(12))
    pvalues = []
    for smooth in models(11, 40, 3, trials=TRIALS):
        data = smooth
        if case == "ties":
            probs = ties(rng, 40)
            labels = (probs.cumsum(axis=1) < rng.random(40)[:, None]).sum(axis=1).clip(max=2)
            data = wrap(probs, labels)
        if case == "sorted by label":
            data = data.take(np.argsort(data.labels, kind="stable"))
        seed = int(rng.integers(2**31))
        pvalues.append(calibration_test(data, statistic, n_resamples=19, rng=seed).pvalue)
    assert rejections(pvalues) <= most(TRIALS, 0.05)


def test_power_where_cells_are_off():
    rejected = sum(
        calibration_test(data, SquaredMiscalibration(EqualWidth(4)), n_resamples=19, rng=1).pvalue
        <= 0.05
        for data in models(5, 200, 2, trials=50, law=lambda p: p[:, ::-1])
    )
    assert rejected == 50


def test_threads_change_no_bit(monkeypatch):
    rng = np.random.default_rng(6)
    data = Predictions(rng.dirichlet(np.ones(4), 500), rng.integers(0, 4, 500))
    nulls = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("CALIBRANT_THREADS", threads)
        statistic = SquaredMiscalibration(VarianceTree(50))
        nulls.append(calibration_test(data, statistic, n_resamples=199, rng=3).null)
    np.testing.assert_array_equal(nulls[0], nulls[1])
    np.testing.assert_array_equal(nulls[0], nulls[2])


def sun_interval(pieces, level=0.95):
    """Return the interval of Sun, Chaudhari, Barnett and Dobriban (2024)."""
    z, one_sided = (float(ndtri(share)) for share in ((1 + level) / 2, level))
    value = max(pieces.unbiased, 0.0)
    s = sqrt(max(pieces.sigma2, 0.0) / pieces.mass)
    if value >= 2 * z * s:
        low = value - z * s
    elif value >= 2 * one_sided * s:
        low = value / 2
    else:
        low = max(0.0, value - one_sided * s)
    return low, value + z * s


def test_intervals_are_nested_and_not_negative():
    rng = np.random.default_rng(8)
    for _ in range(50):
        probs = rng.dirichlet(np.ones(3), 100)
        data = Predictions(probs, rng.integers(0, 3, 100))
        pieces = SquaredMiscalibration(VarianceTree(20)).pieces(data)
        for interval in (score_interval, sun_interval, covering_interval):
            (a, b), (c, d) = interval(pieces, 0.8), interval(pieces, 0.99)
            assert 0 <= c <= a <= b <= d


def test_a_score_interval_by_hand():
    pieces = SquaredMiscalibration(EqualWidth(1)).pieces(Predictions([0.5] * 4, [0, 1, 1, 1]))
    pieces = pieces._replace(unbiased=0.1, slope=0.02, remainder=0.001)
    low, high = score_interval(pieces)
    for v in (low, high):
        assert (0.1 - v) ** 2 == pytest.approx(1.959963984540054**2 * (0.02 * v + 0.001))
    assert score_interval(pieces._replace(unbiased=-1.0)) == (0.0, 0.0)


def test_intervals_of_known_pieces():
    pieces = Pieces(0.03, 0.04, 0.0, 0.01, 1e-4, 1e-3, 2e-3, 0.1, 0.02, 100.0, 1.0)
    assert score_interval(pieces) == pytest.approx((0.0095, 0.0544), abs=5e-5)
    assert covering_interval(pieces) == pytest.approx((0.0, 0.0703), abs=5e-5)


def test_a_level_must_be_a_share():
    pieces = SquaredMiscalibration(EqualWidth(1)).pieces(Predictions([0.5] * 4, [0, 1, 1, 1]))
    with pytest.raises(ValueError, match="`level` must be between 0 and 1; found 95"):
        score_interval(pieces, 95)


def beyond():
    path = SHARED / "reference" / "beyond.json"
    return json.loads(path.read_text()) if path.exists() else {"none": {}}


@cache
def stored(name):
    with np.load(SHARED / "data" / "predictions" / f"{name}.npz") as file:
        probs = file["probs"].astype(np.float64)
        return Predictions(probs / probs.sum(axis=1, keepdims=True), file["labels"])


VIEWS = {"top": TopLabel(), "class:0": Marginal(0), "class:1": Canonical()}


@pytest.mark.parametrize("name", sorted(beyond()))
def test_reference(shared, name):
    """Every value to a relative 1e-9."""
    assert shared
    entry = beyond()[name]
    views = {view: (VIEWS[view], values) for view, values in entry["binary"].items()}
    views["canonical"] = lenses.Canonical(), entry["canonical"]
    checked = 0
    for lens, values in views.values():
        seen = lens(stored(name))
        for key, expected in values.items():
            if not key.startswith("squared_error_"):
                continue
            kind, _, size = key.removeprefix("squared_error_").rstrip(")").partition("(")
            squared = SquaredMiscalibration(getattr(partitions, kind)(int(size)))
            pieces = squared.pieces(seen)
            assert squared.partition.fit(seen).n_cells == expected["cells"]
            found = {field: getattr(pieces, field) for field in FIELDS}
            assert found == pytest.approx({f: expected[f] for f in FIELDS}, rel=1e-9, abs=0)
            for interval in (score_interval, sun_interval):
                wanted = expected[f"{interval.__name__}_90"]
                assert interval(pieces, 0.9) == pytest.approx(wanted, rel=1e-9, abs=1e-18)
            checked += 1
    assert checked >= 2


def test_equal_masses_count_pairs():
    data = Predictions([0.1, 0.2, 0.3, 0.8], [0, 1, 0, 1])
    value = SquaredMiscalibration(EqualMass(2))(data)
    assert value == pytest.approx(0.5 * 2 * (-0.1 * 0.8) + 0.5 * 2 * (-0.3 * 0.2))


def test_cells_of_fewer_rows_than_outcomes():
    """Pieces about spread are worked out without a matrix of all classes; here is one."""
    rng = np.random.default_rng(3)
    n, m = 7, 40
    data = Predictions(rng.dirichlet(np.full(m, 0.3), n), rng.integers(0, m, n))
    cells = View.of(data).cells(EqualWidth(1))
    found = pieces_of(cells, SquaredMiscalibration(EqualWidth(1))(data))
    probs = np.asarray(data.probs)
    covariances = [np.diag(p) - np.outer(p, p) for p in probs]
    pairs = sum(np.trace(a @ b) for a in covariances for b in covariances if a is not b)
    assert found.null_sd == pytest.approx(np.sqrt(2 * pairs) / (n * (n - 1)), rel=1e-12)
    covariance = np.cov(np.eye(m)[data.labels] - probs, rowvar=False)
    largest = np.linalg.eigvalsh(covariance)[-1]
    assert found.steepest == pytest.approx(4 / n * largest, rel=1e-12)
    squared = (covariance**2).sum()
    assert found.remainder == pytest.approx(2 * squared / (n * (n - 1)), rel=1e-12)
