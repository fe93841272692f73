"""Rows with everything that could tell two ways apart: in memory, in files, as tensors."""

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal

CLUSTER = 5  # rows
SIZES = {"large": 53_000, "many bins": 5_000}


class Rows(NamedTuple):
    """Arrays that `Predictions` takes."""

    probs: Any
    labels: Any
    weights: Any
    clusters: Any


@cache
def rows_of(m: int, dtype: str, weights: str, clusters: str, size: str = "small") -> Rows:
    """Return probabilities with zeros, certain rows, ties and edges; labels mostly follow them."""
    n = SIZES.get(size, 240 if m <= 40 else 420)
    rng = np.random.default_rng([SIZES.get(size, 0), n, m])
    probs = rng.random((n, m)) ** 4
    probs[rng.random((n, m)) < 0.05] = 0.0
    probs[:, 0] += 1e-9
    probs /= probs.sum(axis=1, keepdims=True)
    edge = rng.choice([0.1, 0.2, 0.3, 0.6, 0.7], 30)
    edge += np.spacing(edge.astype(dtype)) * rng.integers(-1, 2, 30)  # next to an edge
    probs[m + 3 : m + 33] = 0.0
    probs[m + 3 : m + 33, 0] = edge
    probs[m + 3 : m + 33, -1] = 1 - edge
    probs[:m] = np.eye(m)  # certain
    probs[m : m + 3] = 1 / m  # ties
    probs[-40:] = probs[m + 33 : m + 73]  # copies
    labels = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    labels = np.minimum(labels, m - 1)
    others = (rng.random(n) < 0.15) & (probs.max(axis=1) < 0.5)
    labels[others] = rng.integers(0, m, n)[others]
    given = {
        "no weights": None,
        "any weights": rng.gamma(1, 1, n),
        "zero weights": rng.integers(0, 5, n) / 2,
    }
    groups = rng.permutation(n) // CLUSTER if clusters == "clusters" else None
    return Rows(probs.astype(dtype), labels, given[weights], groups)


def predictions(rows: Rows) -> Any:
    """Return the rows in memory."""
    return cal.Predictions(*rows[:2], weights=rows.weights, clusters=rows.clusters)


def tensors(rows: Rows, kind: str) -> Any:
    """Return the rows as tensors on a device."""
    import torch

    found = [None if a is None else torch.from_numpy(a.copy()).to(kind) for a in rows[:3]]
    return cal.Predictions(found[0], found[1], weights=found[2])


def write(folder: Path, rows: Rows, cut: str) -> Path:
    """Write the rows to files: "whole", cut into "parts", or "shuffled" with numbers of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, m = rows.probs.shape
    order = np.random.default_rng(n).permutation(n) if cut == "shuffled" else np.arange(n)
    probs = rows.probs[order]
    columns = {
        "label": pa.array(rows.labels[order]),
        "half": pa.array([f"half {i % 2}" for i in order]),
    }
    if m <= 10:
        columns |= {f"prob_{j}": pa.array(probs[:, j]) for j in range(m)}
    else:
        columns["probs"] = pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), m)
    if rows.weights is not None:
        columns["weight"] = pa.array(rows.weights[order])
    if cut == "shuffled":
        columns["row"] = pa.array(order)
    table = pa.table(columns)
    cuts = {"whole": [], "parts": [n // 5, n // 5 + 1, n // 2], "shuffled": [n // 3]}[cut]
    group = {"whole": n, "parts": max(1, n // 8), "shuffled": max(1, n // 4)}[cut]
    folder.mkdir(parents=True)
    for i, (start, stop) in enumerate(pairwise([0, *cuts, n])):
        path = folder / f"part-{i:03d}.parquet"
        pq.write_table(table.slice(start, stop - start), path, row_group_size=group)
    return folder
