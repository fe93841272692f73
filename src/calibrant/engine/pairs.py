"""Kernels of pairs of predictions, and sums of them over all pairs of rows with one outcome.

The rows of each block are sorted by outcome in every replicate; then a table of some rows and
columns at a time is made on each thread, and added up. Sums are whole numbers of very small units
in two words. So neither the order of rows nor the number of threads or of replicates that are made
at a time changes a bit.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import Floats, Ints, T, blank, within, zeros
from calibrant.engine.kernel import code, f8, helper, i8, kernel, out, real, u1

TOTAL_VARIATION, EUCLIDEAN = range(2)  # distances
EXPONENTIAL, GAUSSIAN = range(2)  # kernels

MAGIC = 1.5 * 2.0**52  # adding it rounds to a whole number, which the last bits then hold
PER_LOG2 = 1.4426950408889634  # 1 / log 2
LOG2 = float.fromhex("0x1.62e42fefap-1")  # log 2, to so few bits that multiples of it are exact
REST = float.fromhex("0x1.cf79abc9e3b3ap-40")  # what it lacks
LEAST = -700.0  # exponents below are as good as this one: exp(-700) is 1e-304

BLOCK = 128  # rows that are sorted together
WORD = np.int64((1 << 32) - 1)


class KernelSum(NamedTuple):
    """A sum of kernels of one kind: exp(-d / s) or exp(-d² / (2 s²)) for every scale s."""

    kind: int
    distance: int
    scales: Floats

    @property
    def rates(self) -> Floats:
        """What the distance, or its square, is multiplied by in the exponent."""
        return -1.0 / self.scales if self.kind == EXPONENTIAL else -0.5 / self.scales**2


class Points(NamedTuple):
    """Predictions and weights of the rows."""

    probs: Annotated[NDArray[Any], real["n m"]]
    weights: Annotated[Floats, f8["n"]]


class Pairs(NamedTuple):
    """Rows and the columns that each is compared with, and scratch for one row of the table."""

    points: Points
    columns: Annotated[Floats, f8["m width"]]
    first: int  # row number of the first column, where columns are rows
    kind: int
    distance: int
    rates: Annotated[Floats, f8["_"]]
    far: Annotated[Floats, out(f8["width"])]
    series: Annotated[Floats, out(f8["width"])]
    power: Annotated[Floats, out(f8["width"])]
    bits: Annotated[Ints, out(i8["width"])]  # those of `power`
    values: Annotated[Floats, out(f8["width"])]  # kernels of a row and the columns

    @classmethod
    def of(cls, points: Points, columns: Floats, chosen: KernelSum, first: int = 0) -> "Pairs":
        """Compare rows with columns (m, width)."""
        far, series, power, values = (zeros(columns.shape[1]) for _ in range(4))
        how = chosen.kind, chosen.distance, chosen.rates
        return cls(points, columns, first, *how, far, series, power, power.view(np.int64), values)


def sweep(points: Points, chosen: KernelSum, work: Callable[[Pairs], T]) -> list[T]:
    """Compare all rows with each block of them, on several threads; return what work gives."""

    def block(first: int, last: int) -> T:
        columns = np.ascontiguousarray(points.probs[first:last].T, np.float64)
        return work(Pairs.of(points, columns, chosen, first))

    return threads.run(block, threads.blocks(len(points.probs), BLOCK))


@helper
def distances(point, columns, distance, out):
    """Write the distances of a point (m,) from columns (m, k) to out (k,); squared if Euclidean."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    for j in range(columns.shape[0]):
        p, column = np.float64(point[j]), columns[j]
        if distance == TOTAL_VARIATION:
            for i in range(out.shape[0]):
                out[i] += abs(column[i] - p)
        else:
            for i in range(out.shape[0]):
                d = column[i] - p
                out[i] += d * d
    if distance == TOTAL_VARIATION:
        for i in range(out.shape[0]):
            out[i] *= 0.5


@helper
def add_exponentials(pairs, rate):
    """Add exp(rate · far) to the values, right to an ulp or two, for rates below 0.

    Written out, so that several numbers are computed at a time, and alike on every machine: with
    z the whole number nearest to x / log 2, exp(x) is 2^z times the Taylor series of x - z log 2.
    """
    far, series, power, bits = pairs.far, pairs.series, pairs.power, pairs.bits
    for i in range(far.shape[0]):
        x = far[i] * rate
        power[i] = (x if x > LEAST else LEAST) * PER_LOG2 + MAGIC
    for i in range(far.shape[0]):
        z = power[i] - MAGIC
        x = far[i] * rate
        r = ((x if x > LEAST else LEAST) - z * LOG2) - z * REST
        taylor = 1.0 / 479001600.0
        taylor = taylor * r + 1.0 / 39916800.0
        taylor = taylor * r + 1.0 / 3628800.0
        taylor = taylor * r + 1.0 / 362880.0
        taylor = taylor * r + 1.0 / 40320.0
        taylor = taylor * r + 1.0 / 5040.0
        taylor = taylor * r + 1.0 / 720.0
        taylor = taylor * r + 1.0 / 120.0
        taylor = taylor * r + 1.0 / 24.0
        taylor = taylor * r + 1.0 / 6.0
        taylor = taylor * r + 0.5
        taylor = taylor * r + 1.0
        series[i] = taylor * r + 1.0
    for i in range(far.shape[0]):
        bits[i] = (bits[i] + 1023) << 52  # those of 2^z
    for i in range(far.shape[0]):
        pairs.values[i] += series[i] * power[i]


@helper
def similarities(pairs, j):
    """Write the kernels of row j and the columns to the values."""
    far, values = pairs.far, pairs.values
    distances(pairs.points.probs[j], pairs.columns, pairs.distance, far)
    if pairs.kind == EXPONENTIAL and pairs.distance == EUCLIDEAN:
        for i in range(far.shape[0]):
            far[i] = np.sqrt(far[i])
    if pairs.kind == GAUSSIAN and pairs.distance == TOTAL_VARIATION:
        for i in range(far.shape[0]):
            far[i] *= far[i]
    for i in range(far.shape[0]):
        values[i] = 0.0
    for b in range(pairs.rates.shape[0]):
        add_exponentials(pairs, pairs.rates[b])


class Words(NamedTuple):
    """Whole numbers high · 2^32 + low of each replicate: (size,)."""

    high: Annotated[Ints, out(i8["size"])]
    low: Annotated[Ints, out(i8["size"])]

    def plus(self, other: "Words", times: int = 1) -> "Words":
        """Return the sums with a multiple of others."""
        return Words(self.high + times * other.high, self.low + times * other.low)

    def shifted(self, value: int) -> "Words":
        """Return the sums with a whole number added to each."""
        return Words(self.high + (value >> 32), self.low + (value & int(WORD)))

    @property
    def value(self) -> Floats:
        """The numbers, rounded once."""
        return np.asarray(self.high * 2.0**32 + self.low, np.float64)


class Matching(NamedTuple):
    """Rows of each block sorted by outcome, in each replicate."""

    # Numbers of rows within their block, and where the rows of each outcome begin.
    places: Annotated[NDArray[np.uint8], out(u1["size n"])]
    starts: Annotated[NDArray[np.uint8], out(u1["size blocks m+1"])]

    @classmethod
    def empty(cls, size: int, n: int, m: int) -> "Matching":
        """Return room for so many replicates, rows and outcomes."""
        starts = np.empty((size, -(-n // BLOCK), m + 1), np.uint8)
        return cls(np.empty((size, n), np.uint8), starts)

    @property
    def n_rows(self) -> int:
        """The number of rows, which are in as many blocks as they need."""
        n = self.places.shape[1]
        if self.starts.shape[1] != -(-n // BLOCK):
            raise IndexError(f"`starts` must be of {-(-n // BLOCK)} blocks of rows.")
        return int(n)


def sort_outcomes(outcomes: NDArray[Any], first: int, matching: Matching) -> None:
    """Sort the rows of whole blocks, from row `first` on, by their outcomes (rows, size)."""
    n = matching.n_rows
    within("outcomes", outcomes, matching.starts.shape[2] - 1)
    last = first + outcomes.shape[0]
    if first % BLOCK or not 0 <= first < last <= n or (last % BLOCK and last < n):
        raise IndexError(f"`outcomes` must be of whole blocks of {BLOCK} of the {n} rows.")
    _sort_outcomes(outcomes, first, matching)


@kernel(code["_ size"], i8, Matching)
def _sort_outcomes(outcomes, first, matching):
    m = matching.starts.shape[2] - 1
    for begin in range(0, outcomes.shape[0], BLOCK):
        some = outcomes[begin : begin + BLOCK]
        for t in range(some.shape[1]):
            starts = matching.starts[t, (first + begin) // BLOCK]
            places = matching.places[t, first + begin : first + begin + some.shape[0]]
            for c in range(m + 1):
                starts[c] = 0
            for s in range(some.shape[0]):
                starts[some[s, t] + 1] += 1
            for c in range(m):
                starts[c + 1] += starts[c]
            # While rows are placed, starts[c] is where the next row of outcome c goes.
            for s in range(some.shape[0]):
                c = some[s, t]
                places[starts[c]] = s
                starts[c] += 1
            for c in range(m, 0, -1):
                starts[c] = starts[c - 1]
            starts[0] = 0


def add_entries(table: Ints, outcomes: NDArray[Any], words: Words) -> None:
    """Add the entries of a table (rows, m) for the outcomes (rows, size) of its rows."""
    within("outcomes", outcomes, table.shape[1])
    _add_entries(table, outcomes, words)


@kernel(i8["rows m"], code["rows size"], Words)
def _add_entries(table, outcomes, words):
    for s in range(outcomes.shape[0]):
        row, drawn = table[s], outcomes[s]
        for t in range(drawn.shape[0]):
            x = row[drawn[t]]
            words.high[t] += x >> 32
            words.low[t] += x & WORD


def weighted_means(points: Points, chosen: KernelSum) -> Floats:
    """Return sum_j w_j k(p_i, p_j) p_j for every row i, with j = i: (n, m)."""

    def work(pairs: Pairs) -> Floats:
        found = zeros(pairs.columns.shape)
        _weighted_means(pairs, found)
        return found

    return np.ascontiguousarray(np.hstack(sweep(points, chosen, work)).T)


@kernel(Pairs, out(f8["m width"]))
def _weighted_means(pairs, out):
    values = pairs.values
    for j in range(pairs.points.probs.shape[0]):
        similarities(pairs, j)
        w = pairs.points.weights[j]
        for i in range(values.shape[0]):
            values[i] *= w
        for c in range(out.shape[0]):
            mean, p = out[c], np.float64(pairs.points.probs[j, c])
            for i in range(mean.shape[0]):
                mean[i] += p * values[i]


def matches(points: Points, chosen: KernelSum, unit: float, matching: Matching) -> Words:
    """Return the sum of w_i w_j k(p_i, p_j) over pairs i < j of one outcome, in units: (size,)."""
    if matching.n_rows != len(points.probs):
        raise IndexError(f"`matching` must be of {len(points.probs)} rows.")

    def work(pairs: Pairs) -> Words:
        width = pairs.values.size
        weights = points.weights[pairs.first : pairs.first + width] / unit
        found = blank(Words, size=len(matching.places))
        _matches(pairs, weights, zeros((BLOCK, width), np.int64), matching, found)
        return found

    found = sweep(points, chosen, work)
    return Words(*(np.sum(part, axis=0) for part in zip(*found, strict=True)))


@helper
def add_matches(table, places, starts, words):
    """Add entries whose row and column have one outcome; places, starts : of columns, of rows."""
    for t in range(words.high.shape[0]):
        found = np.int64(0)
        columns, rows = places[0][t], places[1][t]
        ours, theirs = starts[0][t], starts[1][t]
        for c in range(ours.shape[0] - 1):
            b, last_b = np.int64(ours[c]), np.int64(ours[c + 1])
            a, last_a = np.int64(theirs[c]), np.int64(theirs[c + 1])
            while a + 4 <= last_a:  # four rows in a sweep
                one, two = table[rows[a]], table[rows[a + 1]]
                three, four = table[rows[a + 2]], table[rows[a + 3]]
                for k in range(b, last_b):
                    i = columns[k]
                    found += (one[i] + two[i]) + (three[i] + four[i])
                a += 4
            while a < last_a:
                one = table[rows[a]]
                for k in range(b, last_b):
                    found += one[columns[k]]
                a += 1
        words.high[t] += found >> 32
        words.low[t] += found & WORD


@kernel(Pairs, f8["width"], out(i8["_ width"]), Matching, Words)
def _matches(pairs, weights, table, matching, words):
    first, values, width = pairs.first, pairs.values, weights.shape[0]
    n = pairs.points.probs.shape[0]
    mine = matching.places[:, first : first + width]
    ours = matching.starts[:, first // BLOCK]
    for start in range(first, n, BLOCK):
        stop = min(start + BLOCK, n)
        for j in range(start, stop):
            similarities(pairs, j)
            row = table[j - start]
            w = pairs.points.weights[j]
            for i in range(width):
                row[i] = np.int64(values[i] * (w * weights[i]))
            for i in range(max(0, j - first), width):  # each pair once
                row[i] = 0
        theirs = matching.starts[:, start // BLOCK]
        places = mine, matching.places[:, start:stop]
        add_matches(table, places, (ours, theirs), words)


def spread(points: Points, chosen: KernelSum) -> float:
    """Return the sum of w_i² w_j² k(p_i, p_j)² tr(C_i C_j) over pairs i < j, C = diag p - p p'."""

    def work(pairs: Pairs) -> float:
        trace, inner, found = (zeros(pairs.values.size) for _ in range(3))
        _spread(pairs, trace, inner, found)
        weights = points.weights[pairs.first : pairs.first + found.size]
        return float((found * weights**2).sum())

    return float(np.sum(sweep(points, chosen, work)))


@kernel(Pairs, out(f8["width"]), out(f8["width"]), out(f8["width"]))
def _spread(pairs, trace, inner, out):
    columns, values, first = pairs.columns, pairs.values, pairs.first
    for j in range(first + 1, pairs.points.probs.shape[0]):
        w = pairs.points.weights[j] * pairs.points.weights[j]
        similarities(pairs, j)
        for i in range(values.shape[0]):
            trace[i] = inner[i] = 0.0
        for c in range(columns.shape[0]):
            p, column = np.float64(pairs.points.probs[j, c]), columns[c]
            for i in range(values.shape[0]):
                x = p * column[i]
                inner[i] += x
                trace[i] += x * ((1.0 - p) - column[i])
        for i in range(min(values.shape[0], j - first)):  # each pair once
            out[i] += w * (values[i] * values[i]) * (trace[i] + inner[i] * inner[i])
