"""Rows that stand a Poisson number of times: against whole numbers, and data laid out."""

from decimal import Decimal, getcontext
from math import factorial

import integers
import numpy as np
import pytest
from chance import agrees
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from calibrant import Predictions, engine
from calibrant.calibration import Gathered
from calibrant.checks.parameters import make_key
from calibrant.engine.arrays import Replicates
from calibrant.partitions import FromFunction

RESAMPLE = engine.resample
KEY = make_key(5)


def test_thresholds_are_those_of_the_poisson_distribution():
    getcontext().prec = 50
    total = Decimal(0)
    for k, cut in enumerate(RESAMPLE.CUTS.tolist()):
        total += 1 / Decimal(factorial(k))
        # Sums of 18 floats and an exponential, each rounded to 2^-53.
        assert abs(Decimal(cut) - 2**52 * total / Decimal(1).exp()) <= 2
    assert (np.diff(RESAMPLE.CUTS) >= 0).all()
    assert RESAMPLE.CUTS[-1] >= 2**52 - 1  # more are next to impossible


@given(st.integers(0, 2**64 - 1), st.integers(0, 10**9), st.integers(0, 10**6))
def test_times_are_those_of_python(key, first, b):
    cuts = RESAMPLE.CUTS.tolist()
    expected = [sum(integers.uniform(key, b, first + i) >= cut for cut in cuts) for i in range(5)]
    assert RESAMPLE.poisson_times(5, first, np.uint64(key), b).tolist() == expected


def test_times_are_poisson():
    times = np.concatenate([RESAMPLE.poisson_times(500, 0, KEY, b) for b in range(100)])
    counts = np.bincount(times, minlength=8)[:8]
    assert agrees(counts, times.size, poisson.pmf(np.arange(8), 1), tests=8).all()
    assert not agrees(counts, times.size, poisson.pmf(np.arange(8), 1.05), tests=8).all()


def third(probs):
    return np.minimum(np.arange(len(probs)), 12) // 3


@pytest.mark.parametrize("weights", [None, "any"])
@pytest.mark.parametrize("m", [2, 3, 40])
def test_totals_are_those_of_data_laid_out(m, weights):
    rng = np.random.default_rng(m)
    data = Predictions(
        rng.dirichlet(np.ones(m), 40),
        rng.integers(0, m, 40),
        weights=None if weights is None else rng.random(40),
    )
    cells = Gathered(data, FromFunction(third))
    for replicates in (Replicates(0, 1), Replicates(3, 11), Replicates(3, 14)):
        found = RESAMPLE.resampled_totals(data.rows, cells.by_order, KEY, replicates)
        for t, b in enumerate(range(*replicates)):
            times = RESAMPLE.poisson_times(40, 0, KEY, b)
            kept = np.repeat(np.arange(40), times)
            mine = cells.of_rows[kept]
            drawn = data.take(kept)
            totals = Gathered(
                drawn, FromFunction(lambda _, mine=mine: mine)
            ).totals()  # the cells stay
            np.testing.assert_allclose(found.expected[:, t], totals.expected[:, 0], rtol=1e-12)
            np.testing.assert_allclose(found.worst[:, t], totals.worst[:, 0], rtol=1e-12)


def test_a_chunk_of_rows_draws_what_the_whole_draws():
    """Rows in cells of their own: what is added up of the second half is that of the whole."""
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40))
    half = data.take(np.arange(20, 40))
    apart = FromFunction(lambda probs: np.arange(len(probs)))
    rows = half.rows._replace(first=20)
    cells = Gathered(half, apart)
    found = RESAMPLE.resampled_totals(rows, cells.by_order, KEY, Replicates(0, 8))
    norms = np.abs(np.eye(3)[half.labels] - half.probs).sum(axis=1)
    for b in range(8):
        times = RESAMPLE.poisson_times(40, 0, KEY, b)[20:]
        assert found.worst[0, b] == pytest.approx(norms[times > 0].max(), rel=1e-14)
        expected = (times * norms).sum() / times.sum()
        assert found.expected[0, b] == pytest.approx(expected, rel=1e-12)
