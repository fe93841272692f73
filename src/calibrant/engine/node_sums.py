"""Sums over the rows of the nodes of a tree that grows level by level, as batches come."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import expect, expect_rows
from calibrant.engine.kernel import f8, i4, i8, kernel, out
from calibrant.engine.spread import Points, add_product, power_of
from calibrant.engine.sums import EXACT, whole
from calibrant.engine.tuples import Rows

Floats = NDArray[np.float64]


class About(NamedTuple):
    """What is added up: predictions (power 1), or powers of their deviations from means."""

    power: int
    means: Floats  # (nodes, columns); anything for predictions


def node_sums(
    rows: Rows, columns: tuple[int, int], nodes: NDArray[np.int32], about: About, unit: float
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the weight of nodes (k,), and limbs (3, k, columns) of sums over their rows.

    nodes : (n,) the node of each row; rows of other nodes, from k on, are left out
    unit : the smallest power of 2 that no weight of all rows exceeds
    """
    expect_rows(rows)
    n = rows.probs.shape[0]
    first, count = columns
    expect("nodes", nodes, (n,), "i")
    means = about.means
    expect("means", means, (None, count), "f")
    if n > EXACT:
        raise ValueError(f"`rows` must be at most {EXACT:,}; found {n:,}.")
    probs: NDArray[Any] = np.ascontiguousarray(rows.probs[:, first : first + count])
    probs.flags.writeable = False
    points = Points(probs, rows.weights, rows.step, 1.0 / unit)
    mass, limbs = np.zeros(len(means)), np.zeros((len(means), 4, count))
    _add_nodes(points, nodes, about.power, means, mass, limbs)
    return mass, whole(limbs[:, 1:].transpose(1, 0, 2))


@kernel(Points, i4["n"], i8, f8["nodes columns"], out(f8["nodes"]), out(f8["nodes 4 columns"]))
def _add_nodes(points, nodes, power, means, mass, limbs):
    for i in range(nodes.shape[0]):
        c = nodes[i]
        if 0 <= c < mass.shape[0]:
            w = points.weights[i * points.step]
            mass[c] += w
            w *= points.scale
            for j in range(means.shape[1]):
                add_product(limbs[c], j, w, power_of(points.probs[i, j], means[c, j], power))
