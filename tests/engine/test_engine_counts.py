"""How often an event occurs in each cell: against labels that are laid out, and one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from calibrant import engine
from calibrant.checks.seeds import make_key
from calibrant.engine.arrays import Replicates, Source

KEY = make_key(3)
REPLICATES = Replicates(2, 9)


@given(problems(), st.data())
def test_counts_are_those_of_labels(data, draw):
    """Of any class against the rest, weights and all."""
    event = np.array([draw.draw(st.integers(0, data.m - 1))])
    cells = np.arange(data.n, dtype=np.int32) % 3
    order = engine.sums.sort_rows(cells, 3)
    cuts = engine.draws.event_cuts(data.probs, event)
    keys = KEY, engine.draws.replicate_keys(KEY, REPLICATES)
    first = draw.draw(st.sampled_from((0, 5)))
    rows = data.rows._replace(first=first)
    labels = engine.draws.draw_labels(Source(data.probs, None, KEY, first), REPLICATES)
    expected = np.zeros((3, REPLICATES.size))
    for t, drawn in enumerate(labels):
        expected[:, t] = np.bincount(cells, data.weights * (drawn == event), 3)
    for span in ((0, 3), (1, 3), (2, 2)):
        found = engine.null.event_counts(rows, order, cuts, keys, span)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected[slice(*span)])


@pytest.mark.parametrize("length", [1, 3, 128])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 200])
def test_blocks_of_rows_one_by_one(n, length):
    p = np.random.default_rng(n).random(n)
    p[:2] = [0.0, 1.0][:n]
    found = engine.poisson_binomial.block_counts(p, length)
    blocks = [p[start : start + length] for start in range(0, n, length)]
    assert len(found.spans) == len(found.lows) == len(blocks)
    for low, (start, stop), mine in zip(found.lows, found.spans, blocks, strict=True):
        law = np.ones(1)
        for q in mine:
            law = np.append(law, 0.0) * (1 - q) + np.append(0.0, law) * q
        pmf = np.zeros(mine.size + 1)
        pmf[low : low + stop - start] = found.pmf[start:stop]
        # Ends below 1e-30 are left out; the rest is rounded three times a row.
        np.testing.assert_allclose(pmf, law, rtol=3 * mine.size * 2.3e-16, atol=1e-29)
