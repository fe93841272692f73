"""The law of the number of events in a cell against lists and plain loops."""

from itertools import product
from math import prod

import numpy as np
import pytest
from chance import agrees

from calibrant import Predictions, engine
from calibrant.calibration import bin_predictions
from calibrant.inference import laws
from calibrant.inference.laws import cell_law, count_laws
from calibrant.partitions import EqualWidth

RNG = np.random.default_rng(0)


def one_by_one(p):
    """Return P(k events), k = 0 … n, adding one row at a time."""
    law = np.ones(1)
    for q in p:
        law = np.append(law, 0.0) * (1 - q) + np.append(0.0, law) * q
    return law


def full(p):
    """Return what `cell_law` found for k = 0 … n."""
    low, pmf = cell_law(np.asarray(p, float))
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
    low, pmf = cell_law(np.empty(0))
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
    monkeypatch.setattr(laws, "DIRECT", 64)
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_laws_and_quantiles_of_cells(dtype):
    p = np.concatenate([RNG.random(60), np.zeros(5), np.ones(5), [0.5]]).astype(dtype)
    data = Predictions(p, RNG.integers(0, 2, p.size))
    binned = bin_predictions(data, EqualWidth(7))
    found = count_laws(binned, data.probs)
    cells = EqualWidth(7).locate(data)[1]
    for c in range(binned.n_cells):
        mine = data.probs[cells == c].astype(float)
        expected = one_by_one(mine[:, 1] / mine.sum(axis=1))
        start, stop = found.offsets[c : c + 2]
        low = found.lows[c]
        cdf = np.cumsum(expected)
        # Sums up to 1 of at most 71 terms.
        np.testing.assert_allclose(
            found.cdf[start:stop], cdf[low : low + stop - start], rtol=0, atol=71 * 2.3e-16
        )
        for level in (0.01, 0.05, 0.5, 0.95, 0.99):
            assert found.quantile(level)[c] == np.flatnonzero(cdf >= level * (1 - 1e-12))[0]


def test_a_quantile_at_a_step_is_the_step():
    """P(0 events) = 1/4 exactly: the quantile of 1/4 is 0, and of anything more 1."""
    data = Predictions([0.5, 0.5], [0, 1])
    found = count_laws(bin_predictions(data, EqualWidth(1)), data.probs)
    assert [found.quantile(q)[0] for q in (0.2, 0.25, 0.2501, 0.75, 0.76, 0.999)] == [
        0, 0, 1, 1, 2, 2,
    ]  # fmt: skip


def test_drawn_counts_follow_the_laws():
    p = np.concatenate([RNG.random(40), [0.0, 1.0]])
    data = Predictions(p, np.zeros(p.size, int))
    binned = bin_predictions(data, EqualWidth(3))
    found = count_laws(binned, data.probs)
    size = 50_000
    key = np.uint64(5)
    replicates = engine.draws.replicate_keys(key, 0, size)
    counts = found.draw(key, replicates, 0, binned.n_cells)
    for c in range(binned.n_cells):
        start, stop = found.offsets[c : c + 2]
        values = found.lows[c] + np.arange(stop - start)
        below = (counts[c, :, None] <= values).sum(axis=0)
        assert agrees(below, size, found.cdf[start:stop].clip(0, 1), tests=60).all()
    # Cells are drawn apart: the correlation of 50,000 pairs has standard deviation 0.0045,
    # and five of them is a chance of 6e-7.
    assert abs(np.corrcoef(counts)[0, 1]) < 5 / np.sqrt(size)
    part = found.draw(key, replicates[10:20], 1, 3)
    np.testing.assert_array_equal(part, counts[1:3, 10:20])


def test_a_number_above_the_whole_law_is_its_last_count(monkeypatch):
    """The last entry of a distribution function may be rounded to less than 1."""
    law = laws.CountLaws(np.array([0.5, 1 - 2**-52]), np.array([0, 2]), np.array([3]))
    monkeypatch.setattr(
        engine.draws, "uniforms", lambda *_: np.array([[0, 0.5 - 2**-53, 0.5, 1 - 2**-53]])
    )
    assert law.draw(np.uint64(0), np.empty(4, np.uint64), 0, 1).tolist() == [[3, 3, 4, 4]]
