"""Every cell: limits against lists of all outcomes, and errors held for all cells at once."""

import json
from functools import cache, partial
from itertools import product
from math import prod

import numpy as np
import pytest
from chance import BUDGET, TRIALS, agrees, fewest, models, most, wrap
from scipy.stats import binom, ks_2samp, norm

from calibrant import Predictions, binwise, calibration_function, calibration_test
from calibrant.calibration import EventSums
from calibrant.checks.parameters import make_key
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopK, TopLabel
from calibrant.partitions import EqualWidth, FromFunction, VarianceTree
from calibrant.resampling import Consistency, Exact, Resampler
from calibrant.resampling.draws.counts import CountDistributions
from calibrant.statistics import ExpectedMiscalibration

RNG = np.random.default_rng(0)
THREE = Predictions(RNG.dirichlet(np.ones(3), 90), RNG.integers(0, 3, 90))


def to_the_first(probs):
    law = 0.7 * probs
    law[:, 0] += 0.3
    return law


def listed(data, cells):
    """Return probabilities (all outcomes,) and deviations (all outcomes, cells, m)."""
    law = data.probs / data.probs.sum(axis=1, keepdims=True)
    weights, found = [], []
    mass = np.bincount(cells, data.weights)
    predicted = np.stack(
        [np.bincount(cells, data.weights * data.probs[:, j]) / mass for j in range(data.m)], axis=-1
    )
    for labels in product(range(data.m), repeat=data.n):
        weights.append(prod(law[i, y] for i, y in enumerate(labels)))
        onehot = np.eye(data.m)[list(labels)] * data.weights[:, None]
        observed = np.stack([np.bincount(cells, onehot[:, j]) for j in range(data.m)], axis=-1)
        found.append(observed / mass[:, None] - predicted)
    return np.array(weights), np.array(found)


def quantile(values, weights, level):
    """Return the smallest value with at least this probability at or below it."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return values[order][np.argmax(total >= level * (1 - 1e-9))]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("event", [0, 1])
def test_binary_limits_are_exact(level, event):
    p = np.array([0.12, 0.3, 0.31, 0.6, 0.65, 0.9, 0.95, 1.0])
    data = Predictions(p, [0, 1, 0, 1, 0, 1, 1, 1])
    if event == 0:
        data = Marginal(1)(data)
    assert data.event == event
    partition = EqualWidth(3)
    cells = partition.locate(data)[1]
    weights, deviations = listed(data, cells)
    found = binwise(data, partition, level=level, n_resamples=1, rng=0)
    for c in range(found.function.n_cells):
        for j in (0, 1):
            low = quantile(deviations[:, c, j], weights, (1 - level) / 2)
            high = quantile(deviations[:, c, j], weights, (1 + level) / 2)
            # The limits of the other outcome are those of the event turned around. Where a
            # tail is exact, at a step of the law, they may be the neighbouring steps.
            if j == data.event:
                assert found.lower[c, j] == pytest.approx(low, abs=1e-12)
                assert found.upper[c, j] == pytest.approx(high, abs=1e-12)
    other = 1 - data.event
    np.testing.assert_allclose(found.lower[:, other], -found.upper[:, data.event], atol=1e-12)
    np.testing.assert_allclose(found.upper[:, other], -found.lower[:, data.event], atol=1e-12)


def test_binary_limits_of_equal_predictions_are_binomial():
    data = Predictions([0.3] * 500 + [0.8] * 40, [0] * 540)
    found = binwise(data, EqualWidth(2), level=0.95, n_resamples=1, rng=0)
    for c, (n, p) in enumerate(((500, 0.3), (40, 0.8))):
        expected = binom.ppf([0.025, 0.975], n, p) / n - p
        # Sums of up to 500 predictions.
        assert [found.lower[c, 1], found.upper[c, 1]] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 1.0, 3.0]])
def test_moments_and_limits_of_three_classes(weights):
    probs = [[0.2, 0.3, 0.5], [0.25, 0.35, 0.4], [0.6, 0.4, 0.0], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]
    data = Predictions(probs, [0, 1, 0, 0, 2], weights=weights)
    partition = EqualWidth(2)
    law, deviations = listed(data, partition.locate(data)[1])
    size = 20_000
    found = binwise(data, partition, level=0.8, n_resamples=size, rng=1)
    centre = np.einsum("o,ocj->cj", law, deviations)
    spread = np.sqrt(np.einsum("o,ocj->cj", law, deviations**2) - centre**2)
    # Sums over 243 outcomes, and a difference of squares before the root.
    np.testing.assert_allclose(found.centre, centre, atol=1e-13)
    np.testing.assert_allclose(found.spread, spread, atol=1e-8)
    # A limit is an empirical quantile: the law at it, and just below it, straddle the tail up
    # to the chance of 20,000 draws.
    for c, j in np.ndindex(centre.shape):
        for limit, tail in ((found.lower[c, j], 0.1), (found.upper[c, j], 0.9)):
            at = law[deviations[:, c, j] <= limit + 1e-9].sum()
            below = law[deviations[:, c, j] < limit - 1e-9].sum()
            assert at >= tail or agrees(size * tail, size, at, tests=60)
            assert below <= tail or agrees(size * tail, size, below, tests=60)


def test_the_largest_standardised_deviation_follows_its_law():
    data = Predictions(
        [[0.2, 0.3, 0.5], [0.25, 0.35, 0.4], [0.6, 0.4, 0.0], [0.7, 0.2, 0.1]], [0, 1, 0, 0]
    )
    partition, size = EqualWidth(2), 20_000
    law, deviations = listed(data, partition.locate(data)[1])
    found = binwise(data, partition, n_resamples=size, rng=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.nanmax(np.abs(deviations) / np.where(found.spread > 0, found.spread, np.nan), axis=2)
    largest = t.max(axis=1)
    possible = law > 0
    atoms = np.unique(largest[possible].round(9))
    counts = np.array([(found.largest >= a - 1e-8).sum() for a in atoms])
    tails = np.array([law[largest >= a - 1e-8].sum() for a in atoms]).clip(max=1)
    assert agrees(counts, size, tails, tests=atoms.size).all()
    own = t[law.argmax()]  # any outcome will do
    drawn = data.with_labels(np.array(list(product(range(3), repeat=4))[law.argmax()]))
    again = binwise(drawn, partition, n_resamples=size, rng=2)
    np.testing.assert_allclose(again.standardised, own, rtol=1e-9)
    exact = np.array([law[largest >= h - 1e-8].sum() for h in own]).clip(max=1)
    hits = again.adjusted_pvalues * (size + 1) - 1
    assert agrees(hits, size, exact, tests=own.size).all()


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 90)])
def test_the_plain_definition(weights):
    """Deviations of drawn data sets, in the cells of the data."""
    data = Predictions(THREE.probs, THREE.labels, weights=weights)
    partition = VarianceTree(25)
    found = binwise(data, partition, level=0.8, n_resamples=49, rng=4)
    drawn = [Exact().draw(data, make_key(4), b) for b in range(49)]
    deviations = np.array([calibration_function(d, partition).deviations for d in drawn])
    expected = np.quantile(deviations, [0.1, 0.9], axis=0, method="inverted_cdf")
    np.testing.assert_allclose([found.lower, found.upper], expected, atol=1e-13)
    largest = (np.abs(deviations) / found.spread).max(axis=(1, 2))
    np.testing.assert_allclose(found.largest, largest, rtol=1e-11)
    function = calibration_function(data, partition)
    np.testing.assert_array_equal(found.function.deviations, function.deviations)
    np.testing.assert_array_equal(found.function.counts, function.counts)


@pytest.mark.parametrize("m", [2, 3])
def test_family_wise_error_and_simultaneous_limits(m):
    """A chance of 5 % that any cell of a calibrated model is off; without adjustment far more."""
    partition = EqualWidth(8) if m == 2 else EqualWidth(3)
    off = outside = unadjusted = 0
    for trial, data in enumerate(models(m, 80, m)):
        found = binwise(data, partition, level=0.9, n_resamples=19, rng=trial)
        off += found.adjusted_pvalues.min() <= 0.05
        lower, upper = found.simultaneous(0.95)
        deviations = found.function.deviations
        slack = 1e-12  # rounding of limits that were reached exactly
        outside += ((deviations < lower - slack) | (deviations > upper + slack)).any()
        unadjusted += (
            (deviations < found.lower - slack) | (deviations > found.upper + slack)
        ).any()
    limit = most(TRIALS, 0.05)
    assert off <= limit
    assert outside <= limit
    assert unadjusted > limit


def test_cells_without_spread():
    probs = [[1.0, 0.0, 0.0]] * 5 + [[0.0, 0.5, 0.5]] * 20
    right = Predictions(probs, [0] * 5 + [1, 2] * 10)
    found = binwise(right, EqualWidth(2), n_resamples=99, rng=0)
    sure = found.spread.max(axis=1) == 0
    assert sure.sum() == 1
    assert found.standardised[sure] == 0
    assert found.adjusted_pvalues.tolist() == [1, 1]
    assert (found.lower[sure] == 0).all()
    assert (found.upper[sure] == 0).all()
    assert (found.simultaneous(0.9)[1][sure] == 0).all()
    wrong = right.with_labels(np.array([1] + [0] * 4 + [1, 2] * 10))
    off = binwise(wrong, EqualWidth(2), n_resamples=99, rng=0)
    assert off.standardised[sure] == np.inf
    assert off.adjusted_pvalues[sure] == 0.01
    json.dumps(off.to_dict(), allow_nan=False)


def test_binary_cells_without_spread():
    data = Predictions([0.0] * 4 + [1.0] * 3, [0] * 4 + [1] * 3)
    found = binwise(data, EqualWidth(2), n_resamples=19, rng=0)
    assert found.adjusted_pvalues.tolist() == [1, 1]
    assert not found.lower.any()
    assert not found.upper.any()
    wrong = binwise(data.with_labels(np.array([1, 0, 0, 0, 1, 1, 1])), EqualWidth(2), rng=0)
    assert wrong.adjusted_pvalues.tolist() == [0.001, 1]


@pytest.mark.parametrize("resampler", [Exact(), Consistency()], ids=repr)
def test_cells_without_weight(resampler):
    weights = np.where(THREE.probs[:, 0] > 0.5, 0.0, 1.0)
    data = Predictions(THREE.probs, THREE.labels, weights=weights)
    partition = FromFunction(lambda probs: probs[:, 0] > 0.5)
    found = binwise(data, partition, resampler=resampler, n_resamples=19, rng=0)
    absent = found.function.mass == 0
    assert absent.tolist() == [False, True]
    assert found.adjusted_pvalues[absent] == 1
    assert np.isfinite(found.lower[~absent]).all()
    assert np.isfinite(found.largest).all()


def test_a_hypothesis_moves_the_centre():
    found = binwise(THREE, EqualWidth(1), resampler=Exact(to_the_first), n_resamples=99, rng=0)
    mean = THREE.probs.mean(axis=0)
    np.testing.assert_allclose(found.centre[0], to_the_first(mean[None])[0] - mean, atol=1e-13)
    assert found.lower[0, 0] < found.centre[0, 0] < found.upper[0, 0]
    # Rows that sum to a little more than 1 are the same hypothesis.
    loose = Exact(lambda probs: 1.0008 * to_the_first(probs))
    again = binwise(THREE, EqualWidth(1), resampler=loose, n_resamples=99, rng=0)
    np.testing.assert_allclose(again.centre, found.centre, atol=1e-13)
    np.testing.assert_allclose(again.spread, found.spread, atol=1e-13)


def scores(seen, partition, drawn):
    """Return normal scores (data sets, cells) of the smaller tail of each count, by convolution."""
    fitted, cells = partition.locate(seen)
    out = np.empty((len(drawn), fitted.n_cells))
    for c in range(fitted.n_cells):
        rows, pmf = cells == c, np.ones(1)
        for p in seen.probs[rows, seen.event]:
            pmf = np.convolve(pmf, [1 - p, p])
        at_most, at_least = pmf.cumsum(), pmf[::-1].cumsum()[::-1]
        for b, data in enumerate(drawn):
            k = (data.labels[rows] == seen.event).sum()
            out[b, c] = max(0.0, -norm.ppf(min(at_most[k], at_least[k])))
    return out


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 90)])
@pytest.mark.parametrize(
    "lens", [TopLabel(), Marginal(2), TopK(2), Groups([[0, 2], [1]]), Pooled()], ids=str
)
def test_through_lenses(lens, weights):
    """Labels are drawn for the data as given; the lens sees what it makes of them."""
    data = Predictions(THREE.probs, THREE.labels, weights=weights)
    partition = EqualWidth(4)
    found = binwise(data, partition, lens=lens, level=0.8, n_resamples=49, rng=1)
    drawn = [lens(Exact().draw(data, make_key(1), b)) for b in range(49)]
    deviations = np.array([calibration_function(d, partition).deviations for d in drawn])
    seen = lens(data)
    exact = seen.m == 2 and weights is None and lens.rowwise
    spread = np.where(found.spread > 1e-12, found.spread, np.inf)
    largest = (np.abs(deviations) / spread).max(axis=(1, 2))
    if exact:
        largest = scores(seen, partition, drawn).max(axis=1)
    np.testing.assert_allclose(found.largest, largest, rtol=1e-9)
    np.testing.assert_array_equal(
        found.function.deviations, calibration_function(seen, partition).deviations
    )
    expected = np.quantile(deviations, [0.1, 0.9], axis=0, method="inverted_cdf")
    if exact:
        # Limits are exact, whatever was drawn: those of the induced problem.
        direct = binwise(seen, partition, level=0.8, n_resamples=1)
        # Of the induced problem P(other) is rounded, so its counts differ by 1e-16.
        np.testing.assert_allclose(found.lower, direct.lower, atol=1e-13)
        np.testing.assert_allclose(found.upper, direct.upper, atol=1e-13)
    else:
        np.testing.assert_allclose([found.lower, found.upper], expected, atol=1e-13)


def test_pooled_cells_hold_their_error():
    off = 0
    for trial, data in enumerate(models(5, 15, 3, trials=600)):
        found = binwise(data, EqualWidth(3), lens=Pooled(), n_resamples=19, rng=trial)
        off += found.adjusted_pvalues.min() <= 0.05
    assert off <= most(600, 0.05)


def test_a_pooled_deviation_that_cannot_occur_is_not_significant():
    """In one cell as many events occur as are predicted, always: what is left is rounding."""
    for n, m in ((17, 3), (60, 3), (17, 7), (60, 7)):
        rng = np.random.default_rng([n, m])
        data = wrap(rng.dirichlet(np.ones(m), n), rng.integers(0, m, n))
        found = binwise(data, EqualWidth(1), lens=Pooled(), n_resamples=99, rng=0)
        assert found.adjusted_pvalues.tolist() == [1]


def test_consistency_keeps_the_cells():
    data = THREE
    found = binwise(data, EqualWidth(2), resampler=Consistency(), level=0.8, n_resamples=39, rng=3)
    fitted = found.function.fitted
    deviations = np.full((39, found.function.n_cells, 3), np.nan)
    for b in range(39):
        drawn = Consistency().draw(data, make_key(3), b)
        cells = fitted.assign(drawn.probs)
        for c in set(cells.tolist()):
            mine = cells == c
            deviations[b, c] = np.eye(3)[drawn.labels[mine]].mean(axis=0) - drawn.probs[mine].mean(
                axis=0
            )
    expected = np.nanquantile(deviations, [0.1, 0.9], axis=0, method="inverted_cdf")
    np.testing.assert_allclose([found.lower, found.upper], expected, atol=1e-13)


def test_limits_need_enough_resamples():
    found = binwise(THREE, EqualWidth(2), n_resamples=19, rng=0)
    lower, upper = found.simultaneous(0.95)  # the largest of 19
    np.testing.assert_allclose(upper - found.centre, found.largest.max() * found.spread, rtol=1e-12)
    np.testing.assert_allclose(lower + upper, 2 * found.centre, atol=1e-15)
    with pytest.raises(
        ValueError,
        match=r"`level` must be at most 19/20 with 19 resamples; found 0\.96\. Use more resam",
    ):
        found.simultaneous(0.96)


def test_adjusted_pvalues_agree_with_simultaneous_limits():
    bad = Predictions(np.tile([0.2, 0.5, 0.9], 60), np.tile([1, 0, 1, 0, 1, 1], 30))
    found = binwise(bad, EqualWidth(4), n_resamples=99, rng=0)
    lower, upper = found.simultaneous(0.95)
    deviations = found.function.deviations
    outside = ((deviations < lower - 1e-12) | (deviations > upper + 1e-12)).any(axis=1)
    assert outside.tolist() == (found.adjusted_pvalues <= 0.05).tolist()
    assert outside.any()
    assert not outside.all()
    assert str(found) == f"{outside.sum()} of 3 bins are significant at 5% (family-wise)"


def test_plain_numbers():
    found = binwise(THREE, EqualWidth(2), n_resamples=19, rng=0)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["lower"] == found.lower.tolist()
    assert plain["counts"] == found.function.counts.tolist()
    assert plain["adjusted_pvalues"] == found.adjusted_pvalues.tolist()
    assert (plain["level"], plain["n_resamples"]) == (0.9, 19)
    assert plain["settings"] == {
        "partition": "2 equal widths",
        "lens": "canonical",
        "level": 0.9,
        "resampler": str(Exact()),
        "n_resamples": 19,
        "seed": 0,
    }
    assert repr(found) == f"<bins: {found}>"


def test_blocks_of_cells_change_no_bit(monkeypatch):
    for data in (THREE, Predictions(RNG.random(90), RNG.integers(0, 2, 90))):
        whole = binwise(data, EqualWidth(5), n_resamples=39, rng=2)
        with monkeypatch.context() as patch:
            patch.setattr("calibrant.inference.testing.binwise.LAID_OUT", 1)
            parts = binwise(data, EqualWidth(5), n_resamples=39, rng=2)
        for name in ("lower", "upper", "largest", "centre", "spread"):
            assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes()


@cache
def mean_deviations(lens, partition, size):
    """Return the mean of the cells' deviations in data sets drawn from `to_the_first`."""
    draws = (Exact(to_the_first).draw(THREE, make_key(3), b) for b in range(size))
    found = [calibration_function(lens(drawn), partition).deviations for drawn in draws]
    return np.mean(found, axis=0)


@pytest.mark.parametrize("make_resampler", [Exact, Consistency])
@pytest.mark.parametrize(
    "lens", [Canonical(), TopLabel(), Marginal(1), TopK(2), Groups([[1], [0, 2]])], ids=str
)
def test_a_hypothesis_is_about_the_predictions_before_the_lens(lens, make_resampler):
    partition = EqualWidth(2)
    resampler = make_resampler(to_the_first)
    found = binwise(THREE, partition, lens=lens, resampler=resampler, n_resamples=9, rng=0)
    # The mean of so many deviations is within five standard errors: a chance of 6e-7 for each.
    means = mean_deviations(lens, partition, 1000)
    assert (np.abs(means - found.centre) <= 5 * found.spread / 1000**0.5 + 1e-13).all()
    assert np.abs(found.centre).max() > 0.03  # which is not where calibration puts it
    direct = lens(THREE)
    cells = partition.locate(direct)[1]
    law = np.zeros(direct.probs.shape)
    for y in range(3):
        outcome = lens(THREE.with_labels(np.full(THREE.n, y))).labels
        law[np.arange(THREE.n), outcome] += to_the_first(THREE.probs)[:, y]
    for c in range(found.function.n_cells):
        mine = cells == c
        expected = law[mine].mean(axis=0) - direct.probs[mine].mean(axis=0)
        np.testing.assert_allclose(found.centre[c], expected, atol=1e-13)
        variance = (law * (1 - law))[mine].sum(axis=0) / mine.sum() ** 2
        np.testing.assert_allclose(found.spread[c], np.sqrt(variance), atol=1e-13)


def test_a_hypothesis_that_is_not_known_to_the_cells_is_refused():
    with pytest.raises(
        ValueError,
        match=r"`resampler` must draw labels from the predictions through the lens pooled, which "
        r"takes a row apart; Exact has another hypothesis\.",
    ):
        binwise(THREE, EqualWidth(2), lens=Pooled(), resampler=Exact(to_the_first))
    binwise(THREE, EqualWidth(2), lens=Pooled(), n_resamples=1)

    class Backwards(Resampler):
        def draw(self, data, key, b):
            return data.with_labels(data.m - 1 - Exact().draw(data, key, b).labels)

    with pytest.raises(
        ValueError,
        match=r"`resampler` must say with `distributions` what labels are drawn from, as Exact "
        r"does; Backwards does not\. Use it in calibration_test\(\)\.",
    ):
        binwise(THREE, EqualWidth(2), resampler=Backwards())


def test_counts_drawn_by_the_cell():
    """The other rule of draws: the same law, for two outcomes without weights."""
    data = Predictions(np.linspace(0.05, 0.95, 60), RNG.integers(0, 2, 60))
    size = 4000
    a, b = (
        binwise(data, EqualWidth(3), resampler=Exact(draws=draws), n_resamples=size, rng=0)
        for draws in ("labels", "counts")
    )
    np.testing.assert_array_equal(a.lower, b.lower)
    np.testing.assert_array_equal(a.upper, b.upper)
    assert not np.array_equal(a.largest, b.largest)
    # The limit of Kolmogorov and Smirnov for two samples of one size.
    limit = np.sqrt(np.log(2 / BUDGET) / size)
    assert ks_2samp(a.largest, b.largest).statistic < limit
    wrong = binwise(data, EqualWidth(4), n_resamples=size, rng=1)
    assert ks_2samp(a.largest, wrong.largest).statistic > limit
    with pytest.raises(ValueError, match=r"`draws` must be 'labels' here: counts are drawn only"):
        binwise(THREE, EqualWidth(3), resampler=Exact(draws="counts"))


@pytest.mark.parametrize("own", [False, True], ids=["binwise", "own distance"])
def test_few_cells_of_many_rows_tell_their_progress(own):
    """They are drawn a block of replicates at a time, on all threads, and may be interrupted."""
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet(np.ones(3), 5000), rng.integers(0, 3, 5000))
    seen = []

    def tell(done, total):
        seen.append((done, total))
        if len(seen) == 2:
            raise KeyboardInterrupt

    def largest(p, q):
        return np.abs(p - q).max(axis=-1)

    how = {"n_resamples": 2000, "rng": 0, "progress": tell}
    eta = ExpectedMiscalibration(EqualWidth(1), largest)
    run = partial(calibration_test, data, eta) if own else partial(binwise, data, EqualWidth(1))
    with pytest.raises(KeyboardInterrupt):
        run(**how)
    assert seen[1][0] < seen[1][1]


def test_binary_cells_are_judged_by_the_exact_distribution_of_their_count():
    data = Predictions([0.02] * 30 + [0.6] * 50, [1] * 3 + [0] * 27 + [1] * 26 + [0] * 24)
    found = binwise(data, EqualWidth(2), n_resamples=199, rng=0)
    tails = binom.sf(2, 30, 0.02), binom.cdf(26, 50, 0.6)
    np.testing.assert_allclose(found.standardised, -norm.ppf(tails), rtol=1e-9)
    lower, upper = found.simultaneous(0.95)
    limit = np.sort(found.largest)[189]
    for c, (n, p) in enumerate([(30, 0.02), (50, 0.6)]):
        k = np.arange(n + 1)
        smaller = np.minimum(binom.cdf(k, n, p), binom.sf(k - 1, n, p))
        inside = k[-norm.ppf(smaller) <= limit + 1e-9] / n - p
        assert lower[c, 1] == pytest.approx(inside.min(), abs=1e-12)
        assert upper[c, 1] == pytest.approx(inside.max(), abs=1e-12)


def test_skewed_cells_do_not_drown_the_others():
    """A cell of rare events has large standardised deviations, but no small p-values."""
    rng, trials, seen, old = np.random.default_rng(0), 40, 0, 0
    for trial in range(trials):
        p = np.repeat([0.0005, 0.0006, 0.0007, 0.5], [100, 100, 100, 400])
        truth = np.where(p == 0.5, 0.575, p)
        data = Predictions(p, rng.random(p.size) < truth)
        partition = FromFunction(lambda probs: probs[:, 1])
        found = binwise(data, partition, n_resamples=99, rng=trial)
        seen += found.adjusted_pvalues[3] <= 0.05
        drawn = [Exact().draw(data, make_key(trial), b) for b in range(99)]
        gaps = np.array(
            [calibration_function(d, partition).deviations[:, 1] for d in [data, *drawn]]
        )
        t = np.abs(gaps) / found.spread[:, 1]
        old += (1 + (t[1:].max(axis=1) >= t[0, 3]).sum()) / 100 <= 0.05
    assert seen >= fewest(trials, 0.8)
    assert old <= trials // 3


@pytest.mark.parametrize(("p", "n", "events"), [(0.02, 500, 50), (0.98, 500, 450), (0.5, 40, 40)])
def test_what_can_hardly_occur_is_significant(p, n, events):
    """Tails are added up from their own side: none is lost, however small."""
    data = Predictions(np.full(n, p), np.arange(n) < events)
    found = binwise(data, EqualWidth(1), n_resamples=99, rng=0)
    assert found.adjusted_pvalues.tolist() == [0.01]


@pytest.mark.parametrize("p", [0.001, 0.02, 0.5, 0.98])
def test_scores_of_every_count_are_those_of_a_binomial(p):
    n = 300
    sums = EventSums.of(np.full(n, p), np.zeros(n, np.int32), 1)
    counts = np.arange(n + 1.0)[:, None]
    found = CountDistributions.of(sums).scores(counts)[:, 0]
    smaller = np.minimum(binom.cdf(counts[:, 0], n, p), binom.sf(counts[:, 0] - 1, n, p))
    large = smaller > 1e-20
    assert not np.isnan(found).any()
    assert found[large] == pytest.approx(np.maximum(0, -norm.ppf(np.minimum(smaller, 0.5)))[large])
    assert (found[~large] > 9).all()
