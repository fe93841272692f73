"""Distributions from sums, against the recursion row by row in extended precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant.calibration.cells import EventSums
from calibrant.resampling.draws.counts import distributions

RNG = np.random.default_rng(0)
# The recursion errs by 1e-19 a step; sums to 2^-84 and transforms of a few hundred terms by less
# than this. A draw resolves 2e-16, so a wrong one has a chance of some 1e-14.
CLOSE = 1e-14


def recursion(p):
    """Return P(at most k events), k = 0 … n, in 80-bit arithmetic."""
    law = np.zeros(len(p) + 1, np.longdouble)
    law[0] = 1
    for i, q in enumerate(p.astype(np.longdouble)):
        law[1 : i + 2] = law[1 : i + 2] * (1 - q) + law[: i + 1] * q
        law[0] *= 1 - q
    return np.cumsum(law)


def from_sums(p, cells=1):
    """Return the same from sums, merged from parts."""
    parts = [
        EventSums.of(part, np.zeros(part.size, np.int32), 1) for part in np.array_split(p, cells)
    ]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    ((low, pmf),) = distributions(merged)
    out = np.zeros(p.size + 1)
    cdf = np.cumsum(pmf) / pmf.sum()
    out[low : low + cdf.size] = cdf[: p.size + 1 - low]
    out[low + cdf.size :] = 1.0
    return out


KINDS = {
    "spread": RNG.random(1_300),
    "just below": np.full(799, 0.5),
    "just enough": np.full(800, 0.5),
    "skewed": np.full(9_800, 0.021),
    "few": RNG.random(40),
    "rare": np.full(20_000, 1e-4),
    "nearly certain": 1 - RNG.random(5_000) * 1e-4,
    "all kinds": np.concatenate(
        [RNG.random(200), np.zeros(40), np.ones(60), np.full(2_000, 1e-5), np.full(500, 1 - 1e-6)]
    ),
    "one row": np.array([0.3]),
    "sure": np.ones(7),
    "impossible": np.zeros(7),
}


@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_of_the_threshold(kind):
    p = KINDS[kind]
    assert np.abs(from_sums(p) - recursion(p)).max() < CLOSE


def test_the_comparison_can_fail():
    p = KINDS["spread"]
    wrong = p.copy()
    wrong[7] += 1e-9
    assert np.abs(from_sums(wrong) - recursion(p)).max() > CLOSE


@settings(max_examples=15)
@given(st.integers(1, 9), st.integers(0, 99))
def test_neither_order_nor_cut_changes_a_bit(parts, seed):
    """Also where some parts are below the threshold, and their rows are dropped later."""
    p = np.concatenate([KINDS["spread"][:900], KINDS["all kinds"]])
    turned = np.random.default_rng(seed).permutation(p)
    assert from_sums(turned, parts).tolist() == from_sums(p).tolist()


def test_rows_are_dropped_for_good_once_the_variance_is_large():
    cells = np.zeros(500, np.int32)
    half = EventSums.of(np.full(500, 0.5), cells, 1)
    assert half.p.size == 500  # a variance of 125
    assert half.merge(half).p.size == 0
    rare = EventSums.of(np.full(500, 1e-4), cells, 1)
    assert rare.p.size == 0  # rows near the ends are known by their sums
