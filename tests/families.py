"""All members of each family, so that a law is tested on every one of them."""

import numpy as np

from calibrant import distances, partitions
from calibrant.lenses import Canonical, Groups, Marginal, TopK, TopLabel

DISTANCES = (distances.total_variation, distances.euclidean, distances.squared_euclidean)


def rank(y, mu):
    """Return how many classes come before y when mu is sorted; ties go to the lower index."""
    return sum(q > mu[y] or (q == mu[y] and j < y) for j, q in enumerate(mu))


def lenses_of(m):
    """Return (lens, its psi, number of outcomes) of every rowwise lens on m classes."""
    found = [
        (Canonical(), lambda y, _: y, m),
        (TopLabel(), lambda y, mu: min(rank(y, mu), 1), 2),
    ]
    found += [(TopK(k), lambda y, mu, k=k: min(rank(y, mu), k), k + 1) for k in range(1, m)]
    found += [(Marginal(j), lambda y, _, j=j: int(y != j), 2) for j in range(m)]
    found += [(make(m), psi, size) for make, psi, size, least in _GROUPS if m >= least]
    if m >= 3:
        found.append((Groups([range(1, m), [0]]) >> TopLabel(), _top_of_two_groups, 2))
    return found


def _top_of_two_groups(y, mu):
    first = float(np.sum(np.asarray(mu[1:], np.float64)))
    first = float(np.asarray(first, np.asarray(mu).dtype))
    top = 0 if first >= mu[0] else 1
    return int((0 if y >= 1 else 1) != top)


_GROUPS = (
    (lambda m: Groups([[0], range(1, m)]), lambda y, _: int(y >= 1), 2, 2),
    (lambda m: Groups([range(1, m), [0]]), lambda y, _: int(y == 0), 2, 2),
    (lambda m: Groups([[1], [0, *range(3, m)], [2]]), lambda y, _: {1: 0, 2: 2}.get(y, 1), 3, 3),
)


def largest_over_half(probs):
    return probs.max(axis=1) >= 0.5


def partitions_of(m):
    """Return a few of every kind of partition that works on m outcomes."""
    found = [
        partitions.EqualWidth(1),
        partitions.EqualWidth(3),
        partitions.EqualWidth(10),
        partitions.SimplexBins(2),
        partitions.SimplexBins(5),
        partitions.VarianceTree(1),
        partitions.VarianceTree(4),
        partitions.VarianceTree(2, "median"),
        partitions.FromFunction(largest_over_half),
    ]
    return [*found, partitions.EqualMass(2), partitions.EqualMass(5)] if m == 2 else found


def one_cell(m):
    """Return partitions that put every row into a single cell."""
    found = [
        partitions.EqualWidth(1),
        partitions.SimplexBins(1),
        partitions.VarianceTree(10**9),
        partitions.FromFunction(lambda probs: np.zeros(len(probs))),
    ]
    return [*found, partitions.EqualMass(1)] if m == 2 else found
