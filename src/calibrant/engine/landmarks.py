"""A kernel of low rank: every row is seen through its similarity to a few landmarks (Nyström).

With k_i the kernels of row i and the landmarks and K those of the landmarks among themselves, the
kernel of two rows is k_i' K^{-1} k_j. So a sum of it over all pairs is |L^{-1} a|², with L L' = K
and a the sum of the rows' k_i.
"""

from typing import Annotated, NamedTuple

import numpy as np

from calibrant.engine import threads
from calibrant.engine.arrays import Floats, Ints, zeros
from calibrant.engine.draws import GOLDEN, mix
from calibrant.engine.kernel import SPAN, f8, helper, i8, kernel, out
from calibrant.engine.pairs import BLOCK, Kernel, Matching, Pairs, Points, similarities

TOGETHER = 1 << 13  # rows whose sums are added up together
FLAT = 1e-10  # share of itself that a landmark must have apart from those before it


class Landmarks(NamedTuple):
    """Predictions that all others are compared with, and the factor of their kernel."""

    columns: Annotated[Floats, f8["m rank"]]
    factor: Annotated[Floats, f8["rank rank"]]  # row l is column l of L


def hashes(probs: Floats, seed: int) -> Floats:
    """Return numbers between 0 and 1, the same for equal predictions: (n,)."""
    bits = (probs + 0.0).view(np.uint64)  # no minus zero
    found = np.full(probs.shape[0], np.uint64(seed))
    for column in bits.T:
        found = mix((found ^ column) + GOLDEN)
    return np.asarray(((found >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52)


def choose(probs: Floats, rank: int, seed: int) -> Ints:
    """Return the numbers of at most `rank` rows with different predictions.

    Those are taken for which -log(u) / (1 - |p|² + 1/1000) is least, u a hash of the prediction:
    rows whose outcome is uncertain more often than others, whatever their order.
    """
    priority = -np.log(hashes(probs, seed)) / (1.001 - (probs * probs).sum(axis=1))
    order = np.argsort(priority, kind="stable")
    start, kept = 0, order[:0]
    while kept.size < rank and start < order.size:
        some = np.append(kept, order[start : start + 4 * rank])
        start += 4 * rank
        _, firsts = np.unique(probs[some], axis=0, return_index=True)
        kept = some[np.sort(firsts)]
    return kept[:rank]


def place(probs: Floats, chosen: Kernel) -> Landmarks:
    """Make landmarks of predictions (rank, m), less those that others already stand for."""
    rank = len(probs)
    columns = np.ascontiguousarray(probs.T)
    factor = zeros((rank, rank))
    _factor(Pairs.of(Points(probs, np.ones(rank)), columns, chosen), factor)
    keep = np.flatnonzero(np.diagonal(factor) > 0)
    return Landmarks(
        np.ascontiguousarray(columns[:, keep]), np.ascontiguousarray(factor[np.ix_(keep, keep)])
    )


@kernel(Pairs, out(f8["width width"]))
def _factor(pairs, factor):
    """Write L by columns; a landmark with nothing of its own gets a column of zeros."""
    values = pairs.values
    rank = factor.shape[0]
    for j in range(rank):
        similarities(pairs, j)
        least = values[j] * FLAT
        for k in range(j):
            x = factor[k, j]
            if x != 0.0:
                row = factor[k]
                for i in range(rank):
                    values[i] -= x * row[i]
        if values[j] > least:
            root = np.sqrt(values[j])
            for i in range(j, rank):
                factor[j, i] = values[i] / root


@helper
def solve(factor, values):
    """Turn values (rank,) into L^{-1} values; return their squared length."""
    rank = values.shape[0]
    for k in range(rank):
        row = factor[k]
        x = values[k] / row[k]
        values[k] = x
        for i in range(k + 1, rank):
            values[i] -= x * row[i]
    total = 0.0
    for k in range(rank):
        total += values[k] * values[k]
    return total


class Expected(NamedTuple):
    """What rows amount to whatever their labels."""

    sums: Floats  # (m, rank) of w_i p_i k_i
    own: Floats  # (n,) the kernel of each row and itself


def expected(points: Points, landmarks: Landmarks, chosen: Kernel) -> Expected:
    """Add up the predictions of all rows, as seen from the landmarks."""
    own = np.empty(len(points.probs))

    def work(*span: int) -> Floats:
        sums = zeros(landmarks.columns.shape)
        pairs = Pairs.of(points, landmarks.columns, chosen)
        _expected(pairs, landmarks.factor, span, sums, own)
        return sums

    sums = threads.run(work, threads.blocks(own.size, TOGETHER))
    return Expected(np.sum(sums, axis=0), own)


@kernel(Pairs, f8["width width"], SPAN, out(f8["m width"]), out(f8["n"]))
def _expected(pairs, factor, span, sums, own):
    values = pairs.values
    for j in range(span[0], span[1]):
        similarities(pairs, j)
        for c in range(sums.shape[0]):
            x = pairs.points.weights[j] * pairs.points.probs[j, c]
            row = sums[c]
            for i in range(values.shape[0]):
                row[i] += x * values[i]
        own[j] = solve(factor, values)


def add_rows(
    points: Points,
    landmarks: Landmarks,
    chosen: tuple[Kernel, float],
    matching: Matching,
    sums: Ints,
) -> None:
    """Add w_i k_i of rows, of a kernel in a unit, to sums (size, m, rank) of their outcomes."""
    if matching.n_rows != len(points.probs):
        raise IndexError(f"`matching` must be of {len(points.probs)} rows.")
    pairs = Pairs.of(points, landmarks.columns, chosen[0])
    table = zeros((BLOCK, pairs.values.size), np.int64)
    _add_rows(pairs, 1.0 / chosen[1], table, matching, sums)


@kernel(Pairs, f8, out(i8["_ width"]), Matching, out(i8["size m width"]))
def _add_rows(pairs, scale, table, matching, sums):
    n, values = pairs.points.probs.shape[0], pairs.values
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        for j in range(first, last):
            similarities(pairs, j)
            w, row = pairs.points.weights[j] * scale, table[j - first]
            for i in range(values.shape[0]):
                row[i] = np.int64(values[i] * w)
        for t in range(sums.shape[0]):
            rows, starts = matching.places[t, first:last], matching.starts[t, first // BLOCK]
            for c in range(sums.shape[1]):
                out = sums[t, c]
                a, stop = np.int64(starts[c]), np.int64(starts[c + 1])
                while a + 4 <= stop:  # four rows in a sweep
                    one, two = table[rows[a]], table[rows[a + 1]]
                    three, four = table[rows[a + 2]], table[rows[a + 3]]
                    for i in range(out.shape[0]):
                        out[i] += (one[i] + two[i]) + (three[i] + four[i])
                    a += 4
                while a < stop:
                    one = table[rows[a]]
                    for i in range(out.shape[0]):
                        out[i] += one[i]
                    a += 1


def squared_lengths(sums: Ints, unit: float, sums_expected: Floats, factor: Floats) -> Floats:
    """Return the sum over the outcomes of |L^{-1} (observed - expected)|² for each replicate."""
    out = np.empty(sums.shape[0])
    _squared_lengths(sums, unit, sums_expected, factor, zeros(sums.shape[2]), out)
    return out


@kernel(i8["size m rank"], f8, f8["m rank"], f8["rank rank"], out(f8["rank"]), out(f8["size"]))
def _squared_lengths(sums, unit, predicted, factor, values, out):
    for t in range(sums.shape[0]):
        total = 0.0
        for c in range(sums.shape[1]):
            for i in range(values.shape[0]):
                values[i] = sums[t, c, i] * unit - predicted[c, i]
            total += solve(factor, values)
        out[t] = total
