"""Draws of labels and rows as exact functions of (key, replicate, row).

Every random number is a hash of these three: 52 bits, a whole number u. The label of a row is
the number of thresholds that u reaches. The thresholds are whole numbers too: probabilities are
rounded to multiples of 2^-52 and added up, which no order can change; if they do not amount to 1,
the sums are multiplied by the rounded quotient and rounded once more. So every engine that has
64-bit integers and IEEE arithmetic draws the same labels.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine import threads
from calibrant.engine.arrays import expect, within, zeros
from calibrant.engine.kernel import SPAN, code, helper, i4, i8, kernel, optional, out, real, u8
from calibrant.engine.tuples import Replicates, Source

Array = NDArray[Any]
Keys = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ROWS = np.uint64(0xD1B54A32D192ED03)  # sets the hash of rows apart from that of replicates
ONE = 2.0**52  # the whole number that stands for a probability of 1
NEVER = np.int64(1 << 62)  # a threshold that is not reached
FEW = 32  # classes up to which comparing with all of them is as fast as a binary search


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


def uniforms(key: np.uint64, cells: tuple[int, int], replicates: Keys) -> NDArray[np.float64]:
    """Return numbers in [0, 1) for cells[0] … cells[1] - 1, as if they were rows: (cells, B)."""
    numbers = np.arange(cells[0] + 1, cells[1] + 1, dtype=np.uint64)
    rows = mix((key ^ ROWS) + numbers * GOLDEN)
    return np.asarray((mix(rows[:, None] + replicates) >> np.uint64(12)) / ONE)


def thresholds_room(m: int) -> NDArray[np.int64]:
    """Return room for the thresholds of m classes, filled with what is never reached.

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
def draw_few(cuts, row, replicates, u, labels):
    """Draw the label of one row of few classes in every replicate: labels (size,), u room."""
    for t in range(replicates.shape[0]):
        u[t] = uniform(row, replicates[t])
        labels[t] = 0
    j = 0
    while j < cuts.shape[0] and cuts[j] < NEVER:
        a, b, c = cuts[j], cuts[j + 1], cuts[j + 2]  # three classes in a sweep
        for t in range(replicates.shape[0]):
            labels[t] += (u[t] >= a) + (u[t] >= b) + (u[t] >= c)
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
def see(table, i, labels):
    """Turn the drawn classes of row i, labels (size,), into what a lens sees, if there is a table."""
    if table.shape[0] > 0:
        row = i if table.shape[0] > 1 else 0
        for t in range(labels.shape[0]):
            labels[t] = table[row, labels[t]]


@helper
def draw_row(source, i, replicates, cuts, u, labels):
    """Draw the outcome of row i in every replicate: labels (size,)."""
    thresholds(source.probs, i, cuts)
    row = row_key(source.key, number(source.numbers, source.first, i))
    if source.probs.shape[1] <= FEW:
        draw_few(cuts, row, replicates, u, labels)
    else:
        draw_many(cuts, row, replicates, u, labels)
    see(source.table, i, labels)


class Drawing(NamedTuple):
    """A source that was checked, as kernels take it."""

    probs: Annotated[Array, real["n classes"]]
    table: Annotated[Array | None, optional(code["_ classes"])]
    key: np.uint64
    first: int
    numbers: Annotated[NDArray[np.int64] | None, optional(i8["n"])]


def checked(source: Source) -> Drawing:
    """Refuse a source that a kernel cannot use."""
    expect("probs", source.probs, (None, None), "f")
    table = source.table
    if table is not None:
        expect("table", table, (source.probs.shape[0] if len(table) > 1 else 1, None), "iu")
        if table.itemsize > 1:
            within("table", table, 1 << 31)
            table = table.astype(np.int32, copy=False)
    return Drawing(source.probs, table, source.key, source.first, source.numbers)


def draw_labels(source: Source, replicates: Replicates) -> NDArray[np.int32]:
    """Return the outcomes of all rows in some replicates: (replicates, n)."""
    drawing = checked(source)
    n, m = source.probs.shape
    keys = replicate_keys(source.key, replicates)
    out = np.empty((replicates.size, n), np.int32)

    def work(start: int, stop: int) -> None:
        room = (
            thresholds_room(m),
            zeros(replicates.size, np.int64),
            zeros(replicates.size, np.int64),
        )
        _draw_labels(drawing, (start, stop), keys, room, out)

    threads.run(work, threads.row_blocks(source.probs.shape))
    return out


@kernel(
    Drawing, SPAN, u8["size"], (out(i8["_"]), out(i8["size"]), out(i8["size"])), out(i4["size n"])
)
def _draw_labels(source, span, keys, room, out):
    cuts, u, labels = room
    for i in range(span[0], span[1]):
        draw_row(source, i, keys, cuts, u, labels)
        for t in range(keys.shape[0]):
            out[t, i] = labels[t]


def draw_copies(source: Source, times: Array, replicate: int) -> NDArray[np.int32]:
    """Draw a class for each copy of a row that stands times[i] times; copies stand together.

    The copy number c of row i of n draws as if it were row i + c n. What a lens makes of the
    classes is left to the caller.
    """
    drawing = checked(source)
    n, m = source.probs.shape
    expect("times", times, (n,), "iu")
    if times.min(initial=0) < 0:
        raise IndexError("`times` must not be negative.")
    out = np.empty(int(times.sum(dtype=np.int64)), np.int32)
    keys = replicate_keys(source.key, Replicates(replicate, replicate + 1))
    _draw_copies(drawing, times, keys[0], thresholds_room(m), out)
    return out


@kernel(Drawing, i8["n"], u8, out(i8["_"]), out(i4["_"]))
def _draw_copies(source, times, replicate, cuts, out):
    place = 0
    n = source.probs.shape[0]
    for i in range(n):
        if times[i] > 0:
            thresholds(source.probs, i, cuts)
            for copy in range(times[i]):
                u = uniform(row_key(source.key, source.first + i + copy * n), replicate)
                y = 0
                while u >= cuts[y]:
                    y += 1
                out[place] = y
                place += 1


def draw_times(n: int, key: np.uint64, replicate: int) -> NDArray[np.int32]:
    """Count how often each of n rows is drawn when n are drawn with replacement: (n,).

    The k-th draw takes row ⌊u n / 2^52⌋, with u of row number k.
    """
    numbers = np.arange(1, n + 1, dtype=np.uint64)
    rows = mix((key ^ ROWS) + numbers * GOLDEN)
    u = mix(rows + replicate_keys(key, Replicates(replicate, replicate + 1))) >> np.uint64(12)
    drawn = (u.astype(np.float64) * (n / ONE)).astype(np.int64)
    return np.bincount(np.minimum(drawn, n - 1), minlength=n).astype(np.int32)
