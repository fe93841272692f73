"""Rows that depend on each other: sums over clusters, and replicates that flip their signs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells, Draws, Gathered
from calibrant.engine.arrays import Replicates
from calibrant.predictions import Predictions
from calibrant.resampling.draws.labels import Labels, Redraw
from calibrant.rows import Batch

Array = NDArray[Any]
Floats = NDArray[np.float64]

LAID_OUT = 1 << 21  # signs, or deviations of cells, that are laid out at a time
PLENTY = 20.0  # clusters that have improbable outcomes, from which on their squares tell


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClusterSums:
    r"""Sums of :math:`w (e_y - \rho(g))` over the rows that a cell and a cluster share.

    Their squares say how clusters scatter, but say too little where outcomes that the hypothesis
    holds for improbable have not occurred as often as they should. The scatter of clusters over
    that of their rows says how rows depend on each other; the hypothesis says how single rows
    scatter. So squares grow by what the hypothesis implies of rows over what rows show. That fades
    as improbable outcomes are seen in `PLENTY` clusters and more.
    """

    deviations: Any  # (cells · m, clusters), sparse
    centre: Floats  # (cells, m) sums of w (rho(g) - g): what the hypothesis predicts of deviations
    understated: Floats  # (cells, m) variance of rows that the hypothesis implies over that shown
    surprised: Floats  # (cells,) effective number of clusters that have improbable outcomes
    surprised_in_all: float  # the same of all cells together

    @classmethod
    def of(cls, cells: Gathered, probs: Array) -> "ClusterSums":
        """Add up the rows of data that have clusters, whose labels have distributions probs."""
        from scipy.sparse import csr_array  # noqa: PLC0415

        data, n_cells = cells.data, cells.n_cells
        assert data.clusters is not None
        count = int(data.clusters.max()) + 1
        keys = cells.of_rows.astype(np.int64) * count + data.clusters
        pairs, of_rows = np.unique(keys, return_inverse=True)
        shape = pairs.size, data.m
        off, centre, understated = np.zeros(shape), *np.zeros((2, n_cells, data.m))
        for j in range(data.m):
            p = probs[:, j].astype(np.float64)
            gaps = data.weights * ((data.labels == j) - p)
            off[:, j] = np.bincount(of_rows, gaps, pairs.size)
            shown, implied = gaps**2, data.weights**2 * (p * (1.0 - p))
            understated[:, j] = _quotient(
                *(np.bincount(cells.of_rows, squares, n_cells) for squares in (implied, shown))
            )
            if probs is not data.probs:
                gap = data.weights * (p - data.probs[:, j].astype(np.float64))
                centre[:, j] = np.bincount(cells.of_rows, gap, n_cells)
        rows = (pairs // count)[:, None] * data.m + np.arange(data.m)
        places = np.broadcast_to((pairs % count)[:, None], shape)
        matrix = csr_array((off.ravel(), (rows.ravel(), places.ravel())), (n_cells * data.m, count))
        lumps = np.bincount(of_rows, _surprises(data, probs), pairs.size)
        return cls(
            matrix,
            centre,
            np.maximum(1.0, understated),
            _effective(lumps, pairs // count, n_cells),
            float(_effective(np.bincount(pairs % count, lumps), np.zeros(count, int), 1)[0]),
        )

    def flipped(self, signs: Floats, first: int, last: int) -> Floats:
        """Return deviations with signs (clusters, size): (cells first … last - 1, m, size)."""
        m = self.centre.shape[1]
        sums = self.deviations[first * m : last * m] @ signs
        return np.asarray(sums).reshape(last - first, m, -1)

    def factors(self, surprised: Any) -> Floats:
        """Return how much larger deviations (cells, m) are than those flipped.

        surprised : the number of clusters that have improbable outcomes, of all cells or of each
        """
        fading = np.minimum(1.0, PLENTY / np.maximum(surprised, 1.0)) ** 2
        return np.asarray(self.understated ** (np.reshape(fading, (-1, 1)) / 2))

    @property
    def spread(self) -> Floats:
        """Standard deviation (cells, m) of the cells' sums, from the scatter of the clusters."""
        squares = self.deviations.multiply(self.deviations).sum(axis=1)
        found: Floats = np.sqrt(np.asarray(squares)).reshape(self.centre.shape)
        return found * self.factors(self.surprised)


def _quotient(above: Array, below: Array) -> Floats:
    """Return above / below, and 1 where there is nothing below."""
    return np.divide(above, below, out=np.ones(below.size), where=below > 0)


def _surprises(data: Predictions, probs: Array) -> Floats:
    """Return the weight of rows whose outcome is not the most probable one, and 0 of others."""
    own = probs[np.arange(data.n), data.labels]
    return np.asarray(data.weights * (own < probs.max(axis=1)), np.float64)


def _effective(lumps: Array, groups: Array, n_groups: int) -> Floats:
    """Return effective numbers (sum)² / sum of squares of lumps in each group; 0 of none."""
    sums, squares = (np.bincount(groups, part, n_groups) for part in (lumps, lumps**2))
    return np.divide(sums**2, squares, out=np.zeros(n_groups), where=squares > 0)


def clusters_worth(data: Predictions, probs: Array) -> float:
    r"""Return how many clusters of alike rows the clusters are worth, labels ~ probs.

    If all rows of cluster k had one label, the weight :math:`L_k` of its improbable outcomes,
    those other than the most probable one, would have a known distribution. Sums of it are as
    skewed as a Poisson number of mean

    .. math:: \Bigl(\sum_k E (L_k - E L_k)^2\Bigr)^3 / \Bigl(\sum_k E (L_k - E L_k)^3\Bigr)^2.

    If rows depend less, so many clusters may still have improbable outcomes together: where few
    of them are to be expected, that none did is no evidence. Where no fewer occurred than
    predicted, the effective number of clusters that have them counts, if it is larger.
    """
    held = np.flatnonzero(data.weights > 0)
    assert data.clusters is not None
    clusters = np.unique(data.clusters[held], return_inverse=True)[1]
    unit = float(data.weights[held].mean())
    weights = data.weights[held] / unit
    least = 1.0 - probs[held].max(axis=1).astype(np.float64)
    order = np.lexsort((least, clusters))
    of_rows, steps, weights = clusters[order], least[order], weights[order]
    starts = np.flatnonzero(np.diff(of_rows, prepend=-1))
    steps[1:] -= np.where(np.diff(of_rows) == 0, steps[:-1], 0.0)
    ends = np.append(starts[1:], held.size) - 1
    upto = np.cumsum(weights)
    above = upto[ends][of_rows] - upto + weights  # weight of a row and those after it
    first, second, third = (np.bincount(of_rows, steps * above**power) for power in (1, 2, 3))
    variance = float((second - first**2).sum())
    skew = float((third - 3 * first * second + 2 * first**3).sum())
    worth = variance * (variance / skew) ** 2 if skew > 0 else float("inf")
    lumps = np.bincount(clusters, _surprises(data, probs)[held] / unit)
    if lumps.sum() >= first.sum():
        worth = max(worth, float(_effective(lumps, np.zeros(lumps.size, int), 1)[0]))
    return min(worth, float(lumps.size))


@final
class Signs(Draws):
    """Replicates in which the signs of clusters are flipped."""

    def __init__(self, batch: Batch, redraw: Redraw) -> None:
        self.hypothesis = Labels(batch, redraw)  # what labels are compared with
        self._known: dict[Cells, ClusterSums] = {}

    @cached_property
    def worth(self) -> float:
        """How many clusters of alike rows the clusters are worth."""
        self._check_clusters()
        return clusters_worth(self.hypothesis.seen, self.hypothesis.seen_probs)

    def sums(self, cells: Gathered) -> ClusterSums:
        """Return the sums of the clusters, added up once."""
        if cells not in self._known:
            self._known[cells] = ClusterSums.of(cells, self.hypothesis.seen_probs)
        return self._known[cells]

    def moments(self, cells: Gathered) -> tuple[Floats, Floats]:
        """Return mean and standard deviation (cells, m) of the deviations under the hypothesis."""
        divisor = np.where(cells.mass > 0, cells.mass, 1.0)[:, None]
        sums = self.sums(cells)
        return sums.centre / divisor, sums.spread / divisor

    def _signs(self, some: Replicates) -> Iterator[tuple[slice, Floats]]:
        """Yield some replicates, and the sign of each cluster in them: (clusters, some)."""
        count, key = int(self._check_clusters().max()) + 1, self.hypothesis.key
        step = max(1, LAID_OUT // count)
        for start in range(0, some.size, step):
            stop = min(start + step, some.size)
            few = Replicates(some.start + start, some.start + stop)
            keys = engine.draws.replicate_keys(key, few)
            drawn = engine.draws.uniforms(key, (0, count), keys)
            yield slice(start, stop), np.where(drawn < 0.5, -1.0, 1.0)

    def _check_clusters(self) -> Array:
        """Return the cluster of each row (n,)."""
        clusters: Array | None = self.hypothesis.seen.clusters
        if clusters is None:
            raise ValueError(
                f"`lens` must keep the clusters of its rows; {self.hypothesis.lens} does not."
            )
        return clusters

    def totals(self, cells: Gathered, some: Replicates) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        sums = self.sums(cells)
        factors = sums.factors(sums.surprised_in_all)[:, :, None]
        shares = cells.proportions[:, None]
        totals = engine.norms.Totals.zeros(some.size)
        mass = np.where(cells.mass > 0, cells.mass, 1.0)
        for few, signs in self._signs(some):
            mine = engine.norms.Totals(*(part[:, few] for part in totals))
            step = max(1, LAID_OUT // (signs.shape[1] * cells.m))
            for first in range(0, cells.n_cells, step):
                last = min(first + step, cells.n_cells)
                off = sums.flipped(signs, first, last) * factors[first:last]
                off += sums.centre[first:last, :, None]
                off /= mass[first:last, None, None]
                one, squares = engine.norms.norms(off)
                for norm, values in enumerate((one, np.sqrt(squares), squares)):
                    engine.norms.add_cells(mine, norm, values, shares[first:last])
        return totals

    def counts(self, cells: Gathered, some: Replicates, first: int, last: int) -> Floats:
        """Return what was predicted plus the flipped deviations: (size, cells, m)."""
        sums, out = self.sums(cells), np.empty((some.size, last - first, cells.m))
        for few, signs in self._signs(some):
            out[few] = np.moveaxis(sums.flipped(signs, first, last), -1, 0)
        out *= sums.factors(sums.surprised)[first:last]
        out += sums.centre[first:last]
        out += cells.means().predicted[first:last] * cells.mass[first:last, None]
        return out

    def refuse_labels(self) -> NoReturn:
        """Say that there are no labels."""
        raise ValueError(
            "`statistic` must be one on cells, such as ExpectedMiscalibration, for rows in"
            " clusters: their signs are flipped, so there are no labels to look at."
        )
