"""Row by row: checks, the most probable classes, sums over groups of classes."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import Array, Rows, classes_of, within
from calibrant.engine.kernel import SPAN, Declared, code, f8, helper, i4, i8, kernel, out, real

SHORT = 32  # classes up to which one plain loop over a row is the fastest
BITS = Declared(("i4", "i8"), "real")  # of predictions
STRIDE = 64  # entries of a longer row among which the largest is looked for


class Checked(NamedTuple):
    """What a look at the rows found: how many are bad or uneven, and each row's top class."""

    bad: int
    uneven: int
    top: "Top"


class Top(NamedTuple):
    """The most probable class of every row, and its probability."""

    classes: Annotated[Array, code["n"]]  # uint8 or int32
    probs: Annotated[Array, real["n"]]


TOP = out(code["n"]), out(real["n"])  # what `Top` has, to be found


def check(probs: Array, rounding: float, tolerance: float) -> Checked:
    """Read every row once, to find those that are no distributions and each one's top class.

    A row is bad if an entry is negative or not a number, or if its sum is further from 1 than
    `tolerance`; a good one is uneven if that is further than `rounding`. Of equal entries the
    lower class is the top one.
    """
    bits = probs.view(f"i{probs.itemsize}")
    n, m = probs.shape
    top = Top(np.empty(n, np.uint8 if m <= 256 else np.int32), np.empty(n, probs.dtype))
    limits = rounding, tolerance

    def work(*span: int) -> Any:
        if m <= SHORT:
            return _check_short(probs, span, limits, top)
        return _check_long(bits, probs, span, limits, top)

    counts = threads.run(work, threads.row_blocks(probs.shape))
    return Checked(sum(bad for bad, _ in counts), sum(uneven for _, uneven in counts), top)


@kernel(real["n m"], SPAN, (f8, f8), TOP, returns=(i8, i8))
def _check_short(probs, span, limits, top):
    start, stop = span
    bad = uneven = 0
    fours = stop - (stop - start) % 4
    for i in range(start, fours, 4):  # four rows in a sweep, which do not wait for one another
        a, b = begun(probs[i, 0]), begun(probs[i + 1, 0])
        c, d = begun(probs[i + 2, 0]), begun(probs[i + 3, 0])
        for j in range(1, probs.shape[1]):
            a, b = seen(a, probs[i, j], j), seen(b, probs[i + 1, j], j)
            c, d = seen(c, probs[i + 2, j], j), seen(d, probs[i + 3, j], j)
        for s, row in enumerate((a, b, c, d)):
            is_bad, is_uneven = judged(row, i + s, limits, top)
            bad += is_bad
            uneven += is_uneven
    for i in range(fours, stop):
        row = begun(probs[i, 0])
        for j in range(1, probs.shape[1]):
            row = seen(row, probs[i, j], j)
        is_bad, is_uneven = judged(row, i, limits, top)
        bad += is_bad
        uneven += is_uneven
    return bad, uneven


@helper
def begun(p):
    """Return what is known of a row after its first entry: largest, its class, smallest, sum."""
    return p, np.int32(0), p, np.float64(p)


@helper
def seen(row, p, j):
    """Return what is known of a row with one more entry, that of class j."""
    best, at, least, total = row
    at = np.int32(j) if p > best else at
    return p if p > best else best, at, p if p < least else least, total + p


@helper
def judged(row, i, limits, top):
    """Write the top class of row i; return whether it is bad, and whether it is uneven."""
    best, at, least, total = row
    rounding, tolerance = limits
    classes, probs = top
    off = abs(total - 1.0)
    good = least >= 0.0 and off <= tolerance  # false of what is not a number
    classes[i] = at
    probs[i] = best
    return not good, good and off > rounding


@helper
def extremes(entries):
    """Return the largest and the smallest of some numbers."""
    high = low = entries[0]
    for j in range(entries.shape[0]):
        high = entries[j] if entries[j] > high else high
        low = entries[j] if entries[j] < low else low
    return high, low


@helper
def total(row):
    """Add up a row, in eight sums side by side."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    m = row.shape[0]
    for k in range(m // 8):
        j = 8 * k
        s0 += row[j]
        s1 += row[j + 1]
        s2 += row[j + 2]
        s3 += row[j + 3]
        s4 += row[j + 4]
        s5 += row[j + 5]
        s6 += row[j + 6]
        s7 += row[j + 7]
    for k in range(m % 8):
        s0 += row[m - 1 - k]
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))


@helper
def any_negative(row):
    """Whether a number is below 0; bits alone do not tell, since those of -0.0 are."""
    found = False
    for j in range(row.shape[0]):
        found = found or row[j] < 0.0
    return found


@kernel(BITS["n m"], real["n m"], SPAN, (f8, f8), TOP, returns=(i8, i8))
def _check_long(bits, probs, span, limits, top):
    """Do the same for long rows, several entries at a time.

    bits : (n, m) as integers, which order numbers as they are, and what is negative below 0
    """
    m = probs.shape[1]
    classes, highest = top
    bad = uneven = 0
    for i in range(span[0], span[1]):
        best = least = bits[i, 0]
        at = 0  # where the stretch with the largest entry begins
        for start in range(0, m, STRIDE):
            high, low = extremes(bits[i, start : min(start + STRIDE, m)])
            if high > best:
                best = high
                at = start
            least = low if low < least else least
        while bits[i, at] != best:
            at += 1
        off = abs(total(probs[i]) - 1.0)
        good = (least >= 0 or not any_negative(probs[i])) and off <= limits[1]
        bad += not good
        uneven += good and off > limits[0]
        classes[i] = at
        highest[i] = probs[i, at]
    return bad, uneven


def top_classes(probs: Array, k: int) -> NDArray[np.int32]:
    """Return the k most probable classes of every row in order, equal ones by class: (n, k)."""
    if not 1 <= k <= probs.shape[1]:
        raise IndexError(f"`k` must be from 1 to {probs.shape[1]}; found {k}.")
    out = np.empty((probs.shape[0], k), np.int32)
    threads.run(lambda *span: _top_classes(probs, span, out), threads.row_blocks(probs.shape))
    return out


@kernel(real["n m"], SPAN, out(i4["n k"]))
def _top_classes(probs, span, out):
    k = out.shape[1]
    for i in range(span[0], span[1]):
        held = 0
        for j in range(probs.shape[1]):
            p = probs[i, j]
            if held == k and not p > probs[i, out[i, k - 1]]:
                continue
            at = held if held < k else k - 1
            while at > 0 and probs[i, out[i, at - 1]] < p:
                out[i, at] = out[i, at - 1]
                at -= 1
            out[i, at] = j
            held += held < k


class Ranked(NamedTuple):
    """Labels (n,), and the most probable class of every row."""

    labels: Annotated[NDArray[np.int32], i4["n"]]
    top: Top


def against_top(ranked: Ranked) -> tuple[Array, NDArray[np.int32]]:
    """Return the binary problem of the most probable class: (p, 1 - p), and 0 where it occurs."""
    n = ranked.labels.size
    probs = np.empty((n, 2), ranked.top.probs.dtype)
    outcomes = np.empty(n, np.int32)
    blocks = threads.row_blocks((n, 2))
    threads.run(lambda *span: _against_top(ranked, span, probs, outcomes), blocks)
    return probs, outcomes


@kernel(Ranked, SPAN, out(real["n 2"]), out(i4["n"]))
def _against_top(ranked, span, probs, outcomes):
    for i in range(span[0], span[1]):
        p = ranked.top.probs[i]
        probs[i, 0] = p
        probs[i, 1] = 1.0 - np.float64(p) if p < 1.0 else 0.0
        outcomes[i] = ranked.labels[i] != ranked.top.classes[i]


def against_rest(rows: Rows, event: Array) -> tuple[Array, NDArray[np.int32]]:
    """Return the problem of a class of each row, (n,) or (1,): (p, 1 - p), and 0 if it occurs."""
    n, m = rows.probs.shape
    event = classes_of(event, n, m)
    probs = np.empty((n, 2), rows.probs.dtype)
    labels = np.empty(n, np.int32)
    blocks = threads.row_blocks((n, 16))
    threads.run(lambda *span: _against_rest(rows, event, span, probs, labels), blocks)
    return probs, labels


@kernel(Rows, i8["_"], SPAN, out(real["n 2"]), out(i4["n"]))
def _against_rest(rows, event, span, probs, labels):
    for i in range(span[0], span[1]):
        j = event[i if event.shape[0] > 1 else 0]
        p = rows.probs[i, j]
        probs[i, 0] = p
        probs[i, 1] = 1.0 - np.float64(p) if p < 1.0 else 0.0
        labels[i] = rows.labels[i] != j


def group_sums(probs: Array, group_of: NDArray[np.int32], n_groups: int) -> Array:
    """Add up the classes of each group, in float64: (n, groups) of the type of probs."""
    within("group_of", group_of, n_groups)
    out = np.empty((probs.shape[0], n_groups), probs.dtype)
    blocks = threads.row_blocks(probs.shape)
    threads.run(lambda *span: _group_sums(probs, span, group_of, np.empty(n_groups), out), blocks)
    return out


@kernel(real["n m"], SPAN, i4["m"], out(f8["groups"]), out(real["n groups"]))
def _group_sums(probs, span, group_of, sums, out):
    for i in range(span[0], span[1]):
        sums[:] = 0.0
        for j in range(probs.shape[1]):
            sums[group_of[j]] += probs[i, j]
        for g in range(sums.shape[0]):
            out[i, g] = sums[g]
