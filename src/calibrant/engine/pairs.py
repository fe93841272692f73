"""Sums over all pairs of rows, a table of some rows and columns at a time on each thread."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import expect, zeros
from calibrant.engine.kernel import f8, helper, i8, kernel, out
from calibrant.engine.kernels import CHOSEN, Kernel, Room, check_points, plain, similarities
from calibrant.engine.matching import BLOCK, WORD, Matching, Words, total

Floats = NDArray[np.float64]


class Points(NamedTuple):
    """Predictions and weights of the rows."""

    probs: Annotated[Floats, f8["n m"]]  # (n, m)
    weights: Annotated[Floats, f8["n"]]  # (n,)

    def columns(self, first: int, last: int) -> Floats:
        """Return the predictions of some rows, one outcome after the other: (m, rows)."""
        return np.ascontiguousarray(self.probs[first:last].T)


def weighted_means(points: Points, chosen: Kernel) -> Floats:
    """Return sum_j w_j k(p_i, p_j) p_j for every row i, with j = i: (n, m)."""
    n, m = check_points(points.probs)
    expect("weights", points.weights, (n,), "f")
    out = np.empty((n, m))

    def work(first: int, last: int) -> None:
        found = zeros((m, last - first))
        room = Room.of(last - first), zeros(last - first)
        _weighted_means(points, points.columns(first, last), plain(chosen), room, found)
        out[first:last] = found.T

    threads.run(work, threads.blocks(n, BLOCK))
    return out


@kernel(Points, f8["m width"], CHOSEN, (Room, out(f8["width"])), out(f8["m width"]))
def _weighted_means(points, columns, chosen, room, out):
    room, values = room
    for j in range(points.probs.shape[0]):
        point = points.probs[j]
        similarities(point, columns, chosen, room, values)
        w = points.weights[j]
        for i in range(values.shape[0]):
            values[i] *= w
        for c in range(out.shape[0]):
            mean, p = out[c], point[c]
            for i in range(mean.shape[0]):
                mean[i] += p * values[i]


def matches(points: Points, chosen: Kernel, unit: float, matching: Matching) -> Words:
    """Return the sum of w_i w_j k(p_i, p_j) over pairs i < j of one outcome, in units: (size,)."""
    n, m = check_points(points.probs)
    size = matching.places.shape[0]
    expect("places", matching.places, (size, n), "u")
    expect("starts", matching.starts, (size, -(-n // BLOCK), m + 1), "u")
    blocks = threads.blocks(n, BLOCK)
    found = [Words.zeros(size) for _ in blocks]

    def work(first: int, last: int) -> None:
        width = last - first
        block = points.columns(first, last), points.weights[first:last] / unit
        room = Room.of(width), zeros(width), zeros((BLOCK, width), np.int64)
        here = found[first // BLOCK]
        _matches(points, block, plain(chosen), first, room, matching, here)

    threads.run(work, blocks)
    return total(found)


@helper
def add_matches(table, places, starts, words):
    """Add the entries of a table whose row and column have one outcome.

    places, starts : of the columns and of the rows, in every replicate
    """
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


@kernel(
    Points,
    (f8["m width"], f8["width"]),
    CHOSEN,
    i8,
    (Room, out(f8["width"]), out(i8["_ width"])),
    Matching,
    Words,
)
def _matches(points, block, chosen, first, room, matching, words):
    columns, weights = block
    room, values, table = room
    n, width = points.probs.shape[0], columns.shape[1]
    mine = matching.places[:, first : first + width]
    ours = matching.starts[:, first // BLOCK]
    for start in range(first, n, BLOCK):
        stop = min(start + BLOCK, n)
        for j in range(start, stop):
            similarities(points.probs[j], columns, chosen, room, values)
            row = table[j - start]
            w = points.weights[j]
            for i in range(width):
                row[i] = np.int64(values[i] * (w * weights[i]))
            for i in range(max(0, j - first), width):  # each pair once
                row[i] = 0
        theirs = matching.starts[:, start // BLOCK]
        places = mine, matching.places[:, start:stop]
        add_matches(table, places, (ours, theirs), words)


def spread(points: Points, chosen: Kernel) -> float:
    """Return the sum of w_i² w_j² k(p_i, p_j)² tr(C_i C_j) over pairs i < j, C = diag p - p p'."""
    n, _ = check_points(points.probs)
    blocks = threads.blocks(n, BLOCK)
    found = np.zeros(len(blocks))

    def work(first: int, last: int) -> None:
        lines = zeros((4, last - first))
        room = Room.of(last - first)
        _spread(points, points.columns(first, last), plain(chosen), first, room, lines)
        found[first // BLOCK] = (lines[3] * points.weights[first:last] ** 2).sum()

    threads.run(work, blocks)
    return float(found.sum())


@kernel(Points, f8["m width"], CHOSEN, i8, Room, out(f8["4 width"]))
def _spread(points, columns, chosen, first, room, lines):
    values, trace, inner, out = lines[0], lines[1], lines[2], lines[3]
    for j in range(first + 1, points.probs.shape[0]):
        point = points.probs[j]
        w = points.weights[j] * points.weights[j]
        similarities(point, columns, chosen, room, values)
        for i in range(values.shape[0]):
            trace[i] = inner[i] = 0.0
        for c in range(columns.shape[0]):
            p, column = point[c], columns[c]
            for i in range(values.shape[0]):
                x = p * column[i]
                inner[i] += x
                trace[i] += x * ((1.0 - p) - column[i])
        for i in range(min(values.shape[0], j - first)):  # each pair once
            out[i] += w * (values[i] * values[i]) * (trace[i] + inner[i] * inner[i])
