"""All classes at once: the cells and sums of every marginal in one sweep over the rows.

The cells of class j are offsets[j] … offsets[j + 1] - 1; tables have one entry for each.
"""

from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from calibrant.engine import arrays, draws, threads
from calibrant.engine.arrays import Array, Floats, Ints, Replicates, Rows, Source, Span
from calibrant.engine.draws import SCRATCH, draw_row
from calibrant.engine.grid import interval
from calibrant.engine.kernel import SPAN, code, f8, i8, kernel, out, u8
from calibrant.engine.sums import EXACT, add_limbs_at, whole

Limbs = Ints  # (3, all cells), as those of `engine.sums`


class ClassSums(NamedTuple):
    """Weight of every cell, and limbs of the sum of predictions."""

    mass: Annotated[Floats, out(f8["slots"])]
    limbs: Annotated[Floats, out(f8["3 slots"])]


def class_boxes(rows: Rows, edges: Floats, unit: float) -> tuple[Array, Floats, Limbs]:
    """Return the intervals of entries (n, m), and weight and limbs, in units, of all: (m · k,)."""
    arrays.expect_edges(edges)
    arrays.expect_weights(rows)
    n, m = rows.probs.shape
    k = edges.size - 1
    cells = np.empty((n, m), np.uint8 if k <= 256 else np.int32)

    def work(span: Span, tables: ClassSums) -> None:
        _class_boxes(rows, span, 1.0 / unit, edges, cells, arrays.zeros((4, m)), tables)

    return cells, *_added(rows, m * k, work)


def class_sums(rows: Rows, cells: Array, offsets: Ints, unit: float) -> tuple[Floats, Limbs]:
    """Return weight and limbs of the entries of each cell, where cells (n, m) are known."""
    arrays.expect_weights(rows)
    _expect_cells(cells, offsets)
    work = partial(_class_sums, rows, 1.0 / unit, offsets, cells)
    return _added(rows, int(offsets[-1]), work)


def _expect_cells(cells: Array, offsets: Ints) -> None:
    """Refuse cells (n, m) that a class does not have."""
    sizes = np.diff(offsets)
    known = offsets[0] == 0 and (sizes >= 0).all() and cells.min() >= 0
    if not known or (cells.max(axis=0) >= sizes).any():
        raise IndexError("`cells` must be among those that `offsets` give to each class.")


def _added(rows: Rows, size: int, work: Any) -> tuple[Floats, Limbs]:
    """Add up tables over blocks of rows; few blocks, since tables may be large."""

    def add(*span: int) -> tuple[Floats, Limbs]:
        tables = arrays.blank(ClassSums, slots=size)
        work(span, tables)
        return tables.mass, whole(tables.limbs)

    spans = threads.even_blocks(rows.probs.shape[0], EXACT, 1 << 12)
    mass, limbs = zip(*threads.run(add, spans), strict=True)
    return np.sum(mass, axis=0), np.sum(limbs, axis=0)


@kernel(Rows, SPAN, f8, f8["k+1"], out(code["n m"]), out(f8["4 m"]), ClassSums)
def _class_boxes(rows, span, scale, edges, cells, low, tables):
    """Find the interval of every entry and add it up.

    Most entries of many classes are below the first edge, so these are added without a
    branch, class by class side by side, to low (4, m), zero before.
    """
    m = rows.probs.shape[1]
    k = edges.shape[0] - 1
    edge = edges[1]
    for i in range(span[0], span[1]):
        w = rows.weights[i * rows.step]
        for j in range(m):
            p = np.float64(rows.probs[i, j])
            inside = w if p < edge else 0.0
            add_limbs_at(low, j, inside * scale * p)
            low[3, j] += inside
            cells[i, j] = 0
        for j in range(m):
            p = np.float64(rows.probs[i, j])
            if p >= edge:
                q = interval(p, edges)
                cells[i, j] = q
                tables.mass[j * k + q] += w
                add_limbs_at(tables.limbs, j * k + q, w * scale * p)
    for j in range(m):
        tables.mass[j * k] += low[3, j]
        for s in range(3):
            tables.limbs[s, j * k] += low[s, j]


@kernel(Rows, f8, i8["m+1"], code["n m"], SPAN, ClassSums)
def _class_sums(rows, scale, offsets, cells, span, tables):
    for i in range(span[0], span[1]):
        w = rows.weights[i * rows.step]
        for j in range(rows.probs.shape[1]):
            at = offsets[j] + cells[i, j]
            tables.mass[at] += w
            add_limbs_at(tables.limbs, at, w * scale * rows.probs[i, j])


def class_counts(
    rows: Rows, cells: Array, offsets: Ints, source: Source, replicates: Replicates
) -> Floats:
    """Return the weight of the classes that are drawn, in their cells: (all cells, replicates)."""
    m = source.probs.shape[1]
    arrays.expect_weights(rows)
    _expect_cells(cells, offsets)
    found = np.zeros((int(offsets[-1]), replicates.size))
    keys, scratch = draws.replicate_keys(source.key, replicates), draws.scratch(m, replicates.size)
    _class_counts(rows, cells, offsets, draws.checked(source, cells.shape[1]), keys, scratch, found)
    return found


@kernel(Rows, code["n m"], i8["m+1"], Source, u8["size"], SCRATCH, out(f8["slots size"]))
def _class_counts(rows, cells, offsets, source, keys, scratch, out):
    cuts, u, labels = scratch
    for i in range(rows.probs.shape[0]):
        draw_row(source, i, keys, cuts, u, labels)
        w = rows.weights[i * rows.step]
        for t in range(keys.shape[0]):
            y = labels[t]
            out[offsets[y] + cells[i, y], t] += w
