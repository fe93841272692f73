"""Folders of Parquet that hold given predictions, cut in any way."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from calibrant import Predictions


def rows_of(n=3_000, m=4, dtype=np.float32, weighted=False, seed=0):
    """Return rows with ties, zeros, vertices and sums that are off by a little."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(m, 0.5), n).astype(dtype)
    probs[::7] = rng.multinomial(10, np.full(m, 1 / m), len(probs[::7])) / 10
    probs[::11] *= dtype(1.0007)
    probs[-1] = np.eye(m)[1]
    labels = rng.integers(0, m, n)
    weights = rng.gamma(1, 1, n) * (rng.random(n) > 0.1) if weighted else None
    return probs, labels, weights


def predictions(probs, labels, weights=None):
    """Return the rows in memory, with the classes that a folder of them has."""
    return Predictions(probs, labels, [str(j) for j in range(probs.shape[1])], weights)


def table(probs, labels, weights=None, *, form="wide", rows=None):
    """Return the rows as an Arrow table: wide, lists, or lists of a fixed size."""
    n, m = probs.shape
    columns = {"label": pa.array(labels)}
    if form == "wide":
        columns |= {f"prob_{j}": pa.array(probs[:, j]) for j in range(m)}
    elif form == "fixed":
        columns["probs"] = pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), m)
    else:
        offsets = pa.array(np.arange(0, n * m + 1, m, dtype=np.int32))
        columns["probs"] = pa.ListArray.from_arrays(offsets, pa.array(probs.ravel()))
    if weights is not None:
        columns["weight"] = pa.array(weights)
    if rows is not None:
        columns["row"] = pa.array(rows)
    return pa.table(columns)


def write(folder, whole, cuts=(700, 701, 2_000), group=450, names="part-{:03d}.parquet"):
    """Write a table to files that begin at these rows, in groups of at most so many."""
    folder.mkdir(parents=True, exist_ok=True)
    ends = [0, *sorted(cuts), whole.num_rows]
    for i, (start, stop) in enumerate(pairwise(ends)):
        pq.write_table(
            whole.slice(start, stop - start), folder / names.format(i), row_group_size=group
        )
    return folder
