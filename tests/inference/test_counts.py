"""The distribution of the number of events in a cell against lists and plain loops."""

from itertools import product
from math import prod

import numpy as np
import pytest
from chance import agrees

from calibrant import Predictions, calibration_test, engine
from calibrant.calibration import Gathered
from calibrant.engine.arrays import Replicates
from calibrant.inference.replicates.problem import Plan
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopK, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Bootstrap, Exact
from calibrant.resampling.draws import counts as module
from calibrant.resampling.draws.counts import CountDistributions, cell_counts
from calibrant.statistics import ExpectedMiscalibration

RNG = np.random.default_rng(0)


def one_by_one(p):
    """Return P(k events), k = 0 … n, adding one row at a time."""
    law = np.ones(1)
    for q in p:
        law = np.append(law, 0.0) * (1 - q) + np.append(0.0, law) * q
    return law


def full(p):
    """Return what `cell_counts` found for k = 0 … n."""
    low, pmf = cell_counts(np.asarray(p, float))
    out = np.zeros(len(p) + 1)
    out[low : low + pmf.size] = pmf
    return out


def close(found, expected, n):
    # Every term is positive, so n steps of three roundings each change it by 3 n ulp at most.
    # Ends below 1e-25 are left out, at every one of the log2(n / 128) levels.
    np.testing.assert_allclose(found, expected, rtol=3 * n * 2.3e-16, atol=1e-23)


@pytest.mark.parametrize(
    "p", [[0.5], [0.0], [1.0], [0.1, 0.9], [0.0, 1.0, 0.3, 1.0], [0.2] * 6, [1e-12, 0.5, 1.0]]
)
def test_all_outcomes_listed(p):
    expected = np.zeros(len(p) + 1)
    for y in product((0, 1), repeat=len(p)):
        expected[sum(y)] += prod(q if event else 1 - q for q, event in zip(p, y, strict=True))
    close(full(p), expected, 8)


def test_no_rows():
    low, pmf = cell_counts(np.empty(0))
    assert (low, pmf.tolist()) == (0, [1.0])


KINDS = {
    "spread": RNG.random,
    "equal": lambda n: np.full(n, 0.3),
    "rare": lambda n: np.full(n, 1e-12),
    "sure and impossible": lambda n: RNG.integers(0, 2, n).astype(float),
    "a few open": lambda n: np.where(np.arange(n) % 50 == 0, RNG.random(n), 1.0),
    "near both ends": lambda n: np.where(RNG.random(n) < 0.5, 1e-9, 1 - 1e-9),
}


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 256, 257, 1000, 2000])
@pytest.mark.parametrize("kind", KINDS)
def test_one_row_at_a_time(kind, n):
    p = KINDS[kind](n)
    close(full(p), one_by_one(p), n)


@pytest.mark.parametrize("kind", ["spread", "equal", "near both ends"])
def test_many_rows_by_fourier_transform(kind, monkeypatch):
    p = KINDS[kind](20_000)
    plain = full(p)
    monkeypatch.setattr(module, "DIRECT", 64)
    # A transform errs by a few ulp of the largest term, not of each one.
    np.testing.assert_allclose(full(p), plain, rtol=0, atol=1e-15)
    assert full(p).min() >= 0
    np.testing.assert_allclose(plain.sum(), 1, rtol=0, atol=1e-11)  # 20,000 roundings
    k = np.arange(20_001)
    # The mean and variance of a sum are the sums of the rows'; k² is up to 4e8.
    assert plain @ k == pytest.approx(p.sum(), rel=1e-11)
    assert plain @ (k - p.sum()) ** 2 == pytest.approx((p * (1 - p)).sum(), rel=1e-8)


def test_the_comparison_can_fail():
    p = KINDS["spread"](300)
    wrong = p.copy()
    wrong[7] += 1e-9
    with pytest.raises(AssertionError):
        close(full(wrong), one_by_one(p), 300)


def distributions_of(data, partition, lens=Canonical()):
    """Return the cells of a problem and the distributions of their counts."""
    problem = Plan(Exact(), 1, 5).look(data, lens)
    cells = Gathered(problem.seen, partition)
    return cells, problem.event_distributions(cells)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lens", [Canonical(), Marginal(0)], ids=str)
def test_distributions_and_quantiles_of_cells(lens, dtype):
    p = np.concatenate([RNG.random(60), np.zeros(5), np.ones(5), [0.5]]).astype(dtype)
    data = Predictions(p, RNG.integers(0, 2, p.size))
    cells, found = distributions_of(data, EqualWidth(7), lens)
    event = 1 if lens == Canonical() else 0
    for c in range(cells.n_cells):
        mine = data.probs[cells.of_rows == c].astype(float)
        expected = one_by_one(mine[:, event] / mine.sum(axis=1))
        start, stop = found.offsets[c : c + 2]
        low = found.lows[c]
        cdf = np.cumsum(expected)
        # Sums up to 1 of at most 71 terms, of probabilities that are multiples of 2^-52.
        np.testing.assert_allclose(
            found.cdf[start:stop], cdf[low : low + stop - start], rtol=0, atol=2 * 71 * 2.3e-16
        )
        for level in (0.01, 0.05, 0.5, 0.95, 0.99):
            assert found.quantile(level)[c] == np.flatnonzero(cdf >= level * (1 - 1e-12))[0]


def test_a_quantile_at_a_step_is_the_step():
    """P(0 events) = 1/4 exactly: the quantile of 1/4 is 0, and of anything more 1."""
    _, found = distributions_of(Predictions([0.5, 0.5], [0, 1]), EqualWidth(1))
    assert [found.quantile(q)[0] for q in (0.2, 0.25, 0.2501, 0.75, 0.76, 0.999)] == [
        0, 0, 1, 1, 2, 2,
    ]  # fmt: skip


def test_drawn_counts_follow_their_distributions():
    p = np.concatenate([RNG.random(40), [0.0, 1.0]])
    data = Predictions(p, np.zeros(p.size, int))
    cells, found = distributions_of(data, EqualWidth(3))
    size = 50_000
    key = np.uint64(5)
    replicates = engine.draws.replicate_keys(key, Replicates(0, size))
    counts = found.draw(key, replicates, 0, cells.n_cells)
    for c in range(cells.n_cells):
        start, stop = found.offsets[c : c + 2]
        values = found.lows[c] + np.arange(stop - start)
        below = (counts[c, :, None] <= values).sum(axis=0)
        assert agrees(below, size, found.cdf[start:stop].clip(0, 1), tests=60).all()
    # Cells are drawn apart: the correlation of 50,000 pairs has standard deviation 0.0045,
    # and five of them is a chance of 6e-7.
    assert abs(np.corrcoef(counts)[0, 1]) < 5 / np.sqrt(size)
    part = found.draw(key, replicates[10:20], 1, 3)
    np.testing.assert_array_equal(part, counts[1:3, 10:20])


def test_a_number_above_the_whole_distribution_is_its_last_count(monkeypatch):
    """The last entry of a distribution function may be rounded to less than 1."""
    cdf, tails = np.array([0.5, 1 - 2**-52]), np.array([1.0, 0.5])
    law = CountDistributions(cdf, tails, np.array([0, 2]), np.array([3]))
    monkeypatch.setattr(
        engine.draws, "uniforms", lambda *_: np.array([[0, 0.5 - 2**-53, 0.5, 1 - 2**-53]])
    )
    assert law.draw(np.uint64(0), np.empty(4, np.uint64), 0, 1).tolist() == [[3, 3, 4, 4]]


# Counts as a rule of drawing

COUNTS = Exact(draws="counts")
ETA = ExpectedMiscalibration(EqualWidth(4))


@pytest.mark.parametrize("lens", [TopLabel(), TopK(1), Marginal(2)], ids=str)
def test_counts_through_a_lens_about_one_class(lens):
    data = Predictions(RNG.dirichlet(np.ones(4), 80), RNG.integers(0, 4, 80))
    size = 4000
    one, other = (
        calibration_test(data, ETA, lens=lens, resampler=resampler, n_resamples=size, rng=3)
        for resampler in (COUNTS, Exact())
    )
    assert one.statistic == other.statistic
    assert one.settings["resampler"] != other.settings["resampler"]
    # The same law: the shares of replicates below some values differ by chance alone.
    for level in (0.1, 0.5, 0.9):
        value = np.quantile(other.null, level)
        both = (one.null <= value).sum() + (other.null <= value).sum()
        assert agrees((one.null <= value).sum(), size, both / (2 * size), tests=3)
    repeated = calibration_test(data, ETA, lens=lens, resampler=COUNTS, n_resamples=50, rng=3)
    np.testing.assert_array_equal(repeated.null, one.null[:50])


@pytest.mark.parametrize("wrong", ["weights", "three", "groups", "pooled"])
def test_counts_are_drawn_only_where_their_distribution_is_known(wrong):
    probs, labels = RNG.dirichlet(np.ones(3), 30), RNG.integers(0, 3, 30)
    lens = {"groups": Groups([[0], [1, 2]]), "pooled": Pooled(), "weights": TopLabel()}
    weights = RNG.random(30) if wrong == "weights" else None
    data = Predictions(probs, labels, weights=weights)
    with pytest.raises(
        ValueError, match=r"`draws` must be .labels. (here: counts are|for a statistic that)"
    ):
        calibration_test(data, ETA, lens=lens.get(wrong, Canonical()), resampler=COUNTS)


def test_counts_have_no_labels():
    data = Predictions(RNG.random(30), RNG.integers(0, 2, 30))
    with pytest.raises(ValueError, match=r"`draws` must be 'labels' for a statistic that looks at"):
        calibration_test(data, lambda seen: seen.labels.sum(), resampler=COUNTS)


def test_whether_counts_are_known():
    data = Predictions(RNG.dirichlet(np.ones(3), 30), RNG.integers(0, 3, 30))
    heavy = Predictions(data.probs, data.labels, weights=RNG.random(30))

    def known(some, lens, resampler=Exact()):
        return Plan(resampler, 1, 1).look(some, lens).exact_counts

    assert known(data, TopLabel())
    assert known(data, Marginal(1))
    assert not known(data, Canonical())
    assert not known(data, Pooled())
    assert not known(heavy, TopLabel())
    assert not known(data, TopLabel(), Bootstrap())
