"""Hypothesis strategies for predictions: vertices, ties, zeros, points one ulp from an edge."""

from math import nextafter

import numpy as np
from hypothesis import strategies as st

from calibrant import Predictions

PARTS = (1, 2, 3, 4, 5, 7, 10)


@st.composite
def grid_rows(draw, m):
    """Multiples of 1/k, so with ties, zeros, vertices and values on bin edges."""
    k = draw(st.sampled_from(PARTS))
    marks = sorted(draw(st.lists(st.integers(0, k), min_size=m - 1, max_size=m - 1)))
    parts = np.diff([0, *marks, k])
    return (parts / k).tolist()


@st.composite
def edge_rows(draw, m):
    """One coordinate on an edge j/k, or one ulp beside it; the rest goes to another class."""
    k = draw(st.sampled_from(PARTS))
    p = draw(st.integers(0, k)) / k
    p = draw(st.sampled_from((p, max(0.0, nextafter(p, -1.0)), min(1.0, nextafter(p, 2.0)))))
    here, there = draw(st.permutations(range(m)))[:2]
    row = [0.0] * m
    row[here], row[there] = p, 1.0 - p
    return row


@st.composite
def inner_rows(draw, m):
    """Points inside the simplex; entries may be small, and seldom tie."""
    parts = draw(st.lists(st.integers(1, 10**6), min_size=m, max_size=m))
    return (np.array(parts) / sum(parts)).tolist()


def rows(m):
    return st.one_of(grid_rows(m), edge_rows(m), inner_rows(m))


def well_spread(m):
    """Rows whose coordinates vary in more than their last digit.

    Others have no variance to speak of, only rounding, and then a tree follows the rounding.
    """
    return st.one_of(grid_rows(m), inner_rows(m))


integer_weights = st.integers(0, 3)
any_weights = st.sampled_from((0.0, 0.25, 0.5, 1.0, 1.0, 2.5))  # their sums are exact


@st.composite
def problems(draw, *, m=None, kinds=None, dtype=None, weights=None, max_n=12):
    """Draw `Predictions`.

    kinds : a function m -> strategy of rows; dtype : float32 or float64; weights : a strategy
    of one weight, False for none. What is not given is drawn.
    """
    m = draw(st.integers(2, 5)) if m is None else m
    one_row = (kinds or rows)(m)
    probs = draw(st.lists(one_row, min_size=1, max_size=max_n))
    n = len(probs)
    labels = draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))
    dtype = draw(st.sampled_from((np.float32, np.float64))) if dtype is None else dtype
    if weights is None:
        weights = draw(st.sampled_from((False, integer_weights, any_weights)))
    given = None
    if weights is not False:
        given = draw(st.lists(weights, min_size=n, max_size=n))
        if not any(given):
            given[0] = 1
    return Predictions(np.array(probs, dtype), labels, weights=given)


@st.composite
def tie_free(draw, *, m=None, max_n=12, weights=False):
    """Draw float64 predictions in which no two numbers are equal, in a row or in two of them."""
    m = draw(st.integers(2, 5)) if m is None else m
    seed = draw(st.integers(0, 2**32 - 1))
    n = draw(st.integers(1, max_n))
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(m), n)
    labels = rng.integers(0, m, n)
    given = None if weights is False else rng.integers(1, 4, n)
    return Predictions(probs, labels, weights=given)
