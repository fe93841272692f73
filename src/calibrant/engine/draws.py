"""Draws of labels and rows as exact functions of (key, replicate, row).

Every random number is a hash of these three: 52 bits, a whole number u. The label of a row is
the number of thresholds that u reaches. The thresholds are whole numbers too: probabilities are
rounded to multiples of 2^-52 and added up, which no order can change; if they do not amount to 1,
the sums are multiplied by the rounded quotient and rounded once more. So every engine that has
64-bit integers and IEEE arithmetic draws the same labels.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import arrays, threads
from calibrant.engine.arrays import Array, Floats, Ints, Keys, Replicates, Source, Span, zeros
from calibrant.engine.kernel import SPAN, code, helper, i4, i8, kernel, out, real, u1, u8

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ROWS = np.uint64(0xD1B54A32D192ED03)  # sets the hash of rows apart from that of replicates
ONE = 2.0**52  # the whole number that stands for a probability of 1
NEVER = np.int64(1 << 62)  # a threshold that is not reached
BYTE = 256  # classes that fit into a byte
FEW = 32  # classes up to which comparing with all of them is as fast as a binary search
SPANS = 8  # of u up to which counting those inside each is faster than drawing outcomes

SCRATCH = out(i8["_"]), out(i8["size"]), out(i8["size"])  # for thresholds, numbers u and labels


@helper
def mix(x):
    """Scramble 64 bits: the finalizer of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@helper
def row_key(key, i):
    """Hash of the row with this number in the whole data set."""
    return mix((key ^ ROWS) + np.uint64(i + 1) * GOLDEN)


@helper
def number(numbers, first, i):
    """Return the number of row i in the whole data set."""
    if numbers.shape[0] > 0:
        return numbers[i]
    return first + i


@helper
def uniform(row, replicate):
    """Whole number below 2^52 from the hashes of a row and a replicate."""
    return np.int64(mix(row + replicate) >> np.uint64(12))


def replicate_keys(key: np.uint64, replicates: Replicates) -> Keys:
    """Return the hashes of replicates."""
    numbers = np.arange(replicates.start + 1, replicates.stop + 1, dtype=np.uint64)
    return np.asarray(mix(key + numbers * GOLDEN))


def row_keys(key: np.uint64, rows: Span) -> Keys:
    """Return the hashes of the rows with numbers rows[0] … rows[1] - 1."""
    numbers = np.arange(rows[0] + 1, rows[1] + 1, dtype=np.uint64)
    return np.asarray(mix((key ^ ROWS) + numbers * GOLDEN))


def uniforms(key: np.uint64, cells: Span, replicates: Keys) -> Floats:
    """Return numbers in [0, 1) for cells[0] … cells[1] - 1, as if they were rows: (cells, B)."""
    rows = row_keys(key, cells)
    return np.asarray((mix(rows[:, None] + replicates) >> np.uint64(12)) / ONE)


def scratch(m: int, size: int) -> tuple[Ints, Ints, Ints]:
    """Return scratch memory to draw one of m classes in so many replicates."""
    return thresholds_scratch(m), zeros(size, np.int64), zeros(size, np.int64)


def thresholds_scratch(m: int) -> Ints:
    """Return scratch memory for the thresholds of m classes, filled with what is never reached.

    A multiple of three for `draw_few`, or a power of two for `draw_many`.
    """
    return np.full(-(-m // 3) * 3 if m <= FEW else 1 << (m - 1).bit_length(), NEVER)


@helper
def rounded(x):
    """Round a number below 2^52 to a whole one."""
    return np.int64((x + ONE) - ONE)


@helper
def thresholds(probs, i, out):
    """Write the thresholds of row i to out (m,): a class of probability 0 is never drawn."""
    total = np.int64(0)
    last = 0
    for j in range(probs.shape[1]):
        part = rounded(np.float64(probs[i, j]) * ONE)
        total += part
        out[j] = total
        last = j if part > 0 else last
    scale = ONE / np.float64(total)
    for j in range(last):
        out[j] = rounded(np.float64(out[j]) * scale)
    for j in range(last, probs.shape[1]):
        out[j] = NEVER


@helper
def reached(u, cuts):
    """Return how many thresholds u reaches."""
    k = 0
    while k < cuts.shape[0] and u >= cuts[k]:
        k += 1
    return k


@helper
def draw_few(cuts, row, replicates, u, labels):
    """Draw the label of one row of few classes in every replicate: labels (size,), u scratch."""
    for t in range(replicates.shape[0]):
        u[t] = uniform(row, replicates[t])
        labels[t] = 0
    j = 0
    while j < cuts.shape[0] and cuts[j] < NEVER:
        a, b, c = cuts[j], cuts[j + 1], cuts[j + 2]  # three classes in a sweep
        for t in range(replicates.shape[0]):
            labels[t] += np.int64(u[t] >= a) + np.int64(u[t] >= b) + np.int64(u[t] >= c)
        j += 3


@helper
def draw_many(cuts, row, replicates, u, labels):
    """Do the same for many classes: all replicates take a step of a binary search together."""
    for t in range(replicates.shape[0]):
        u[t] = uniform(row, replicates[t])
        labels[t] = 0
    half = cuts.shape[0] // 2
    while half > 0:
        for t in range(replicates.shape[0]):
            labels[t] += half * (u[t] >= cuts[labels[t] + half - 1])
        half //= 2


@helper
def draw_row(source, i, replicates, cuts, u, labels):
    """Draw the outcome of row i in every replicate: labels (size,)."""
    thresholds(source.probs, i, cuts)
    row = row_key(source.key, number(source.numbers, source.first, i))
    if source.probs.shape[1] <= FEW:
        draw_few(cuts, row, replicates, u, labels)
    else:
        draw_many(cuts, row, replicates, u, labels)
    if source.table.shape[0] > 0:  # what a lens sees of the classes
        seen = source.table[i if source.table.shape[0] > 1 else 0]
        for t in range(labels.shape[0]):
            labels[t] = seen[labels[t]]


@helper
def seen_as(source, i, j):
    """Return the outcome of row i that a lens makes of class j."""
    if source.table.shape[0] == 0:
        return np.int64(j)
    return np.int64(source.table[i if source.table.shape[0] > 1 else 0][j])


@helper
def end_of_span(source, i, j):
    """Return the first class after class j that row i sees as another outcome."""
    outcome = seen_as(source, i, j)
    while j < source.probs.shape[1] and seen_as(source, i, j) == outcome:
        j += 1
    return j


@helper
def add_draws(source, i, w, replicates, scratch, table):
    """Add weight w to the outcome that row i draws in every replicate: table (outcomes, size).

    Draws of the last outcome are what is left, and are not added. Classes beside each other that
    are one outcome are one span of u. Where there are few, those inside are counted span by span.
    """
    cuts, u, labels = scratch
    last = np.int64(table.shape[0] - 1)
    j = n_spans = 0
    while j < source.probs.shape[1]:
        n_spans += seen_as(source, i, j) != last
        j = end_of_span(source, i, j)
    if n_spans > SPANS:
        draw_row(source, i, replicates, cuts, u, labels)
        for t in range(labels.shape[0]):
            if labels[t] < last:
                table[labels[t], t] += w
        return
    thresholds(source.probs, i, cuts)
    row = row_key(source.key, number(source.numbers, source.first, i))
    for t in range(replicates.shape[0]):
        u[t] = uniform(row, replicates[t])
    j = 0
    while j < source.probs.shape[1]:
        low, outcome = cuts[j - 1] if j > 0 else np.int64(0), seen_as(source, i, j)
        j = end_of_span(source, i, j)
        if outcome != last:
            high, drawn = cuts[j - 1], table[outcome]
            for t in range(replicates.shape[0]):
                drawn[t] += w if (u[t] >= low) & (u[t] < high) else 0.0


@helper
def add_left(sign, whole, table):
    """Add a weight to the last outcome, and `sign` times those of the others, in any replicate."""
    rest = table[table.shape[0] - 1]
    for t in range(rest.shape[0]):
        rest[t] += whole
    for j in range(table.shape[0] - 1):
        for t in range(rest.shape[0]):
            rest[t] += sign * table[j, t]


def checked(source: Source, m: int | None = None) -> Source:
    """Refuse a source whose table is of no use, or that may draw another than m outcomes."""
    table, (n, n_classes) = source.table, source.probs.shape
    if table is None:
        if m is not None and n_classes > m:
            raise IndexError(f"`probs` must have no more than {m} classes.")
        return source
    if len(table) not in (1, n):
        raise IndexError(f"`table` must have 1 or {n} rows; found {len(table)}.")
    if m is not None or table.itemsize > 1:
        arrays.within("table", table, 1 << 31 if m is None else m)
        table = table.astype(np.int32 if table.itemsize > 1 else table.dtype, copy=False)
    return source._replace(table=table)


def draw_labels(source: Source, replicates: Replicates) -> NDArray[np.int32]:
    """Return the outcomes of all rows in some replicates: (replicates, n)."""
    source, (n, m), size = checked(source), source.probs.shape, replicates.size
    keys = replicate_keys(source.key, replicates)
    out, blocks = np.empty((size, n), np.int32), threads.row_blocks((n, m))
    threads.run(lambda *span: _draw_labels(source, span, keys, scratch(m, size), out), blocks)
    return out


@kernel(Source, SPAN, u8["size"], SCRATCH, out(i4["size n"]))
def _draw_labels(source, span, keys, scratch, out):
    cuts, u, labels = scratch
    for i in range(span[0], span[1]):
        draw_row(source, i, keys, cuts, u, labels)
        for t in range(keys.shape[0]):
            out[t, i] = labels[t]


def draw_copies(source: Source, times: Array, replicate: int) -> NDArray[np.int32]:
    """Draw a class for each of times[i] copies of row i of n: copy c draws as row i + c n."""
    arrays.within("times", times, 1 << 62)
    out = np.empty(int(times.sum(dtype=np.int64)), np.int32)
    keys = replicate_keys(source.key, Replicates(replicate, replicate + 1))
    cuts = thresholds_scratch(source.probs.shape[1])
    _draw_copies(checked(source), times, keys[0], cuts, out)
    return out


@kernel(Source, i8["n"], u8, out(i8["_"]), out(i4["_"]))
def _draw_copies(source, times, replicate, cuts, out):
    place = 0
    n = source.probs.shape[0]
    for i in range(n):
        if times[i] > 0:
            thresholds(source.probs, i, cuts)
            for copy in range(times[i]):
                u = uniform(row_key(source.key, source.first + i + copy * n), replicate)
                out[place] = reached(u, cuts)
                place += 1


def draw_times(n: int, key: np.uint64, replicate: int) -> NDArray[np.int32]:
    """Count how often n rows are drawn, n with replacement: draw k takes row ⌊u_k n / 2^52⌋."""
    keys = replicate_keys(key, Replicates(replicate, replicate + 1))
    u = mix(row_keys(key, (0, n)) + keys) >> np.uint64(12)
    drawn = (u.astype(np.float64) * (n / ONE)).astype(np.int64)
    return np.bincount(np.minimum(drawn, n - 1), minlength=n).astype(np.int32)


def event_cuts(probs: Array, event: Array) -> Ints:
    """Return the span of u that draws the class of each row, event (n,), or of all (1,): (n, 2)."""
    classes = arrays.classes_of(event, *probs.shape)
    out = np.empty((len(probs), 2), np.int64)
    blocks = threads.row_blocks(probs.shape)
    threads.run(lambda *span: _event_cuts(probs, span, classes, out), blocks)
    return out


@kernel(real["n m"], SPAN, i8["_"], out(i8["n 2"]))
def _event_cuts(probs, span, event, out):
    """Write the two thresholds about the event, of all that `thresholds` would write."""
    for i in range(span[0], span[1]):
        j = event[i if event.shape[0] > 1 else 0]
        below = upto = total = np.int64(0)
        last = 0
        for k in range(probs.shape[1]):
            part = rounded(np.float64(probs[i, k]) * ONE)
            below += part if k < j else 0
            upto += part if k <= j else 0
            total += part
            last = k if part > 0 else last
        scale = ONE / np.float64(total)
        out[i, 0] = rounded(np.float64(below) * scale) if j - 1 < last else NEVER
        out[i, 1] = rounded(np.float64(upto) * scale) if j < last else NEVER


def event_probs(probs: Array, event: Array) -> Floats:
    """Return the probability with which a class of each row is drawn: (n,)."""
    cuts = event_cuts(probs, event)
    np.minimum(cuts, np.int64(ONE), out=cuts)
    return np.asarray((cuts[:, 1] - cuts[:, 0]) / ONE)


class OutcomeSource(NamedTuple):
    """What outcomes are drawn from: a source, or, of two outcomes, which u draw the event."""

    source: Source
    cuts: Ints | None = None  # (n, 2) as `event_cuts` returns them
    event: int = 0


def draw_rows(outcomes: OutcomeSource, rows: Array, replicates: Replicates) -> Array:
    """Return the outcomes of the rows with these numbers (k,) in some replicates: (k, size).

    They are bytes if all outcomes are, so that those of many rows stay in the processor's cache.
    """
    source, cuts, event = outcomes
    n, m = source.probs.shape
    arrays.within("rows", rows, n)
    rows = rows.astype(np.int64, copy=False)
    keys = replicate_keys(source.key, replicates)
    shape = rows.size, replicates.size
    if cuts is None:
        source = checked(source)
        narrow = m <= BYTE if source.table is None else source.table.itemsize == 1
        out = np.empty(shape, np.uint8 if narrow else np.int32)
        _draw_rows(source, rows, keys, scratch(m, replicates.size), out)
        return out
    if len(cuts) != n:
        raise IndexError(f"`cuts` must be of {n} rows; found {len(cuts)}.")
    out = np.empty(shape, np.uint8)
    _draw_events((source.key, source.first, cuts), rows, keys, event, out)
    return out


@kernel(Source, i8["k"], u8["size"], SCRATCH, out(code["k size"]))
def _draw_rows(source, rows, keys, scratch, out):
    cuts, u, labels = scratch
    for s in range(rows.shape[0]):
        draw_row(source, rows[s], keys, cuts, u, labels)
        drawn = out[s]
        for t in range(keys.shape[0]):
            drawn[t] = labels[t]


@kernel((u8, i8, i8["n 2"]), i8["k"], u8["size"], i8, out(u1["k size"]))
def _draw_events(source, rows, keys, event, out):
    key, first, cuts = source
    for s in range(rows.shape[0]):
        i = rows[s]
        row = row_key(key, first + i)
        low, high = cuts[i, 0], cuts[i, 1]
        drawn = out[s]
        for t in range(keys.shape[0]):
            u = uniform(row, keys[t])
            drawn[t] = event ^ 1 ^ ((u >= low) & (u < high))
