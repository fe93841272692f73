"""A kernel of low rank: every row is seen through its similarity to a few landmarks (Nyström).

With k_i the kernels of row i and the landmarks and K those of the landmarks among themselves, the
kernel of two rows is k_i' K^{-1} k_j = f_i'f_j, with the features f_i = L^{-1} k_i of a row and
L L' = K. So a sum of it over all pairs of rows is the squared length of the sum of their features.
Features are whole numbers of a small unit: sums of them are exact in any order.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import Floats, Ints, within, zeros
from calibrant.engine.draws import GOLDEN, mix
from calibrant.engine.kernel import SPAN, code, f8, helper, i4, i8, kernel, out, real, u8
from calibrant.engine.pairs import KernelSum, Pairs, Points, similarities

TOGETHER = 1 << 13  # rows whose sums are added up together
ABREAST = 16  # rows that are hashed together
NEAR, FEW = 512, 64  # rows whose features stay in the processor's cache, if classes are so few
SORTED = 64  # replicates whose outcomes are looked at together: as many bytes as a cache line has
FLAT = 1e-10  # share of itself that a landmark must have apart from those before it


class Landmarks(NamedTuple):
    """Predictions that all others are compared with, and the factor of their kernel."""

    columns: Annotated[Floats, f8["m rank"]]
    factor: Annotated[Floats, f8["rank rank"]]  # row l is column l of L


def hashes(probs: Floats, seed: int) -> Floats:
    """Return numbers between 0 and 1, the same for equal predictions: (n,)."""
    found = np.empty(probs.shape[0], np.uint64)

    def work(*span: int) -> None:
        columns = zeros((probs.shape[1], ABREAST))
        _hashes(probs, span, np.uint64(seed), (columns, columns.view(np.uint64)), found)

    threads.run(work, threads.row_blocks(probs.shape))
    return np.asarray(((found >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52)


@kernel(real["n m"], SPAN, u8, (out(f8["m _"]), u8["m _"]), out(u8["n"]))
def _hashes(probs, span, seed, scratch, out):
    """Mix in one prediction after the other, of several rows abreast."""
    columns, bits = scratch  # the same numbers, and the bits of them
    for start in range(span[0], span[1], ABREAST):
        count = min(ABREAST, span[1] - start)
        for k in range(count):
            for j in range(columns.shape[0]):
                columns[j, k] = np.float64(probs[start + k, j]) + 0.0  # no minus zero
            out[start + k] = seed
        for j in range(columns.shape[0]):
            for k in range(count):
                out[start + k] = mix((out[start + k] ^ bits[j, k]) + GOLDEN)


def choose(probs: Floats, rank: int, seed: int) -> Ints:
    """Return the numbers of at most `rank` rows with different predictions.

    Those are taken for which -log(u) / (1 - |p|² + 1/1000) is least, u a hash of the prediction:
    rows whose outcome is uncertain more often than others, whatever their order.
    """
    squares = np.einsum("ij,ij->i", probs, probs, dtype=np.float64)
    priority = -np.log(hashes(probs, seed)) / (1.001 - squares)
    order = np.argsort(priority, kind="stable")
    start, kept = 0, order[:0]
    while kept.size < rank and start < order.size:
        some = np.append(kept, order[start : start + 4 * rank])
        start += 4 * rank
        _, firsts = np.unique(probs[some], axis=0, return_index=True)
        kept = some[np.sort(firsts)]
    return kept[:rank]


def place(probs: Floats, chosen: KernelSum) -> Landmarks:
    """Make landmarks of predictions (rank, m), less those that others already stand for."""
    rank = len(probs)
    columns = np.ascontiguousarray(probs.T, np.float64)
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


def unit_for(weights: Floats, chosen: KernelSum) -> float:
    """Return the unit of features: a row's, times its weight, are at most 2^28 of it.

    The squared length of a row's features is at most its kernel with itself, and four numbers of
    28 bits and a sign can be added in 32.
    """
    largest = float(weights.max(initial=0.0)) * np.sqrt(chosen.scales.size)
    return float(2.0 ** (np.ceil(np.log2(max(largest, 1e-300))) - 28))


class Features(NamedTuple):
    """Rows as landmarks see them."""

    units: Annotated[NDArray[np.int32], out(i4["n width"])]  # features times weight, in units
    own: Annotated[Floats, out(f8["n"])]  # the kernel of each row and itself


def see(points: Points, landmarks: Landmarks, chosen: KernelSum, unit: float) -> Features:
    """Return the features of rows."""
    n, rank = len(points.probs), landmarks.columns.shape[1]
    found = Features(zeros((n, rank), np.int32), np.empty(n))

    def work(*span: int) -> None:
        pairs = Pairs.of(points, landmarks.columns, chosen)
        _see(pairs, landmarks.factor, 1.0 / unit, span, found)

    threads.run(work, threads.blocks(n, TOGETHER))
    return found


@kernel(Pairs, f8["width width"], f8, SPAN, Features)
def _see(pairs, factor, scale, span, found):
    values = pairs.values
    for j in range(span[0], span[1]):
        similarities(pairs, j)
        found.own[j] = solve(factor, values)
        row, w = found.units[j], pairs.points.weights[j] * scale
        for i in range(values.shape[0]):
            row[i] = np.int32(np.rint(values[i] * w))


def expected(probs: NDArray[Any], units: NDArray[np.int32]) -> Floats:
    """Return sums of p_i f_i, the features that labels of rows bring on average: (m, rank)."""
    sums = zeros((probs.shape[1], units.shape[1]))
    _add_expected(probs, units, sums)
    return sums


@kernel(real["n m"], i4["n rank"], out(f8["m rank"]))
def _add_expected(probs, units, sums):
    n = probs.shape[0]
    for s in range(0, n - 3, 4):  # four rows in a sweep
        one, two, three, four = units[s], units[s + 1], units[s + 2], units[s + 3]
        for c in range(sums.shape[0]):
            out = sums[c]
            a, b = np.float64(probs[s, c]), np.float64(probs[s + 1, c])
            d, e = np.float64(probs[s + 2, c]), np.float64(probs[s + 3, c])
            for i in range(out.shape[0]):
                out[i] += (a * one[i] + b * two[i]) + (d * three[i] + e * four[i])
    for s in range(n - n % 4, n):
        one = units[s]
        for c in range(sums.shape[0]):
            out, a = sums[c], np.float64(probs[s, c])
            for i in range(out.shape[0]):
                out[i] += a * one[i]


class Sorting(NamedTuple):
    """Scratch memory for rows that are sorted by outcome."""

    outcomes: Annotated[NDArray[Any], out(code["_ n"])]  # of some replicates, one after the other
    rows: Annotated[NDArray[np.int32], out(i4["n"])]
    starts: Annotated[NDArray[np.int32], out(i4["m+1"])]  # where rows of each outcome begin, or end


def add_features(units: NDArray[np.int32], outcomes: NDArray[Any], sums: Ints) -> None:
    """Add the features of rows (n, rank) to sums (size, m, rank), by their outcomes (n, size)."""
    n, m = len(units), sums.shape[1]
    within("outcomes", outcomes, m)
    if len(outcomes) != n:
        raise IndexError(f"`outcomes` must be of {n} rows; found {len(outcomes)}.")
    step = NEAR if m <= FEW else n
    for first in range(0, n, step):
        some = slice(first, min(first + step, n))
        few = np.empty((SORTED, some.stop - first), outcomes.dtype)
        scratch = Sorting(few, np.empty(some.stop - first, np.int32), np.empty(m + 1, np.int32))
        _add_features(units[some], outcomes[some], scratch, sums)


@helper
def sort_rows(drawn, rows, starts):
    """Write the rows sorted by what they have drawn, and where those of each outcome end."""
    for c in range(starts.shape[0]):
        starts[c] = 0
    for s in range(drawn.shape[0]):
        starts[drawn[s] + 1] += 1
    for c in range(starts.shape[0] - 1):
        starts[c + 1] += starts[c]
    for s in range(drawn.shape[0]):  # starts[c] is where the next row of outcome c goes
        c = drawn[s]
        rows[starts[c]] = s
        starts[c] += 1


@kernel(i4["n rank"], code["n size"], Sorting, out(i8["size m rank"]))
def _add_features(units, outcomes, scratch, sums):
    rows, starts = scratch.rows, scratch.starts
    for t in range(sums.shape[0]):
        if t % SORTED == 0:
            for s in range(units.shape[0]):
                for k in range(min(SORTED, sums.shape[0] - t)):
                    scratch.outcomes[k, s] = outcomes[s, t + k]
        sort_rows(scratch.outcomes[t % SORTED], rows, starts)
        a = 0
        for c in range(sums.shape[1]):
            out, stop = sums[t, c], starts[c]
            while a + 8 <= stop:  # eight rows in a sweep
                one, two = units[rows[a]], units[rows[a + 1]]
                three, four = units[rows[a + 2]], units[rows[a + 3]]
                five, six = units[rows[a + 4]], units[rows[a + 5]]
                seven, eight = units[rows[a + 6]], units[rows[a + 7]]
                for i in range(out.shape[0]):
                    x = np.int32(np.int32(one[i] + two[i]) + np.int32(three[i] + four[i]))
                    y = np.int32(np.int32(five[i] + six[i]) + np.int32(seven[i] + eight[i]))
                    out[i] += np.int64(x) + np.int64(y)
                a += 8
            while a + 4 <= stop:
                one, two = units[rows[a]], units[rows[a + 1]]
                three, four = units[rows[a + 2]], units[rows[a + 3]]
                for i in range(out.shape[0]):
                    out[i] += np.int32(np.int32(one[i] + two[i]) + np.int32(three[i] + four[i]))
                a += 4
            while a < stop:
                one = units[rows[a]]
                for i in range(out.shape[0]):
                    out[i] += one[i]
                a += 1


def add_own(points: Points, own: Floats, outcomes: NDArray[Any], scale: float, sums: Ints) -> None:
    """Add w_i k_ii p_iy of rows with outcomes (n, size), times a scale, to sums (size,)."""
    within("outcomes", outcomes, points.probs.shape[1])
    _add_own(points, own, outcomes, scale, zeros(points.probs.shape[1], np.int64), sums)


@kernel(Points, f8["n"], code["n size"], f8, out(i8["m"]), out(i8["size"]))
def _add_own(points, own, outcomes, scale, table, sums):
    for s in range(outcomes.shape[0]):
        row, drawn = points.probs[s], outcomes[s]
        x = points.weights[s] * own[s] * scale
        if table.shape[0] < drawn.shape[0]:  # each outcome is drawn several times
            for c in range(table.shape[0]):
                table[c] = np.int64(np.rint(x * np.float64(row[c])))
            for t in range(drawn.shape[0]):
                sums[t] += table[drawn[t]]
        else:
            for t in range(drawn.shape[0]):
                sums[t] += np.int64(np.rint(x * np.float64(row[drawn[t]])))


def squared_lengths(sums: Ints, expected: Floats) -> Floats:
    """Return the sum of the squares of sums (size, m, rank) less what was expected (m, rank)."""
    out = np.empty(sums.shape[0])
    _squared_lengths(sums, expected, zeros(sums.shape[2]), out)
    return out


@kernel(i8["size m rank"], f8["m rank"], out(f8["rank"]), out(f8["size"]))
def _squared_lengths(sums, expected, squares, out):
    """Add up squares over outcomes for each feature, and then over features."""
    for t in range(sums.shape[0]):
        for i in range(squares.shape[0]):
            squares[i] = 0.0
        for c in range(sums.shape[1]):
            row, centre = sums[t, c], expected[c]
            for i in range(squares.shape[0]):
                off = row[i] - centre[i]
                squares[i] += off * off
        total = 0.0
        for i in range(squares.shape[0]):
            total += squares[i]
        out[t] = total
