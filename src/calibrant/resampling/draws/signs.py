"""Rows that depend on each other: sums over clusters, and replicates that flip their signs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Cells, Draws, Gathered
from calibrant.engine.arrays import Replicates
from calibrant.resampling.draws.labels import Labels, Redraw
from calibrant.rows import Batch

Array = NDArray[Any]
Floats = NDArray[np.float64]

LAID_OUT = 1 << 21  # signs, or deviations of cells, that are laid out at a time


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClusterSums:
    r"""Sums of :math:`w (e_y - \rho(g))` over the rows that a cell and a cluster share.

    They are a sparse matrix; pairs of a cell and a cluster that have rows are sorted by cell.
    """

    deviations: Any  # (cells · m, clusters)
    centre: Floats  # (cells, m) sums of w (rho(g) - g): what the hypothesis predicts of deviations
    cells: Array  # (pairs,)
    clusters: Array  # (pairs,)
    mass: Floats  # (pairs,) weight of their rows

    @classmethod
    def of(cls, cells: Gathered, probs: Array) -> "ClusterSums":
        """Add up the rows of data that have clusters, whose labels have distributions probs."""
        from scipy.sparse import csr_array  # noqa: PLC0415

        data = cells.data
        assert data.clusters is not None
        count = int(data.clusters.max()) + 1
        keys = cells.of_rows.astype(np.int64) * count + data.clusters
        pairs, of_rows = np.unique(keys, return_inverse=True)
        shape = pairs.size, data.m
        off, mass = np.zeros(shape), np.bincount(of_rows, data.weights, pairs.size).astype(float)
        centre = np.zeros((cells.n_cells, data.m))
        for j in range(data.m):
            labels = (data.labels == j) - probs[:, j].astype(np.float64)
            off[:, j] = np.bincount(of_rows, data.weights * labels, pairs.size)
            if probs is not data.probs:
                gap = data.weights * (probs[:, j] - data.probs[:, j].astype(np.float64))
                centre[:, j] = np.bincount(cells.of_rows, gap, cells.n_cells)
        rows = (pairs // count)[:, None] * data.m + np.arange(data.m)
        places = np.broadcast_to((pairs % count)[:, None], shape)
        matrix = csr_array(
            (off.ravel(), (rows.ravel(), places.ravel())), (cells.n_cells * data.m, count)
        )
        return cls(matrix, centre, pairs // count, pairs % count, mass)

    def flipped(self, signs: Floats, first: int, last: int) -> Floats:
        """Return deviations with signs (clusters, size): (cells first … last - 1, m, size)."""
        m = self.centre.shape[1]
        sums = self.deviations[first * m : last * m] @ signs
        off: Floats = np.asarray(sums).reshape(last - first, m, -1)
        return off + self.centre[first:last, :, None]

    @property
    def spread(self) -> Floats:
        """Standard deviation (cells, m) of the cells' sums, from the scatter of the clusters."""
        squares = self.deviations.multiply(self.deviations).sum(axis=1)
        found: Floats = np.sqrt(np.asarray(squares)).reshape(self.centre.shape)
        return found

    @property
    def unbiased(self) -> float:
        r"""The squared miscalibration on the cells, from pairs of rows of different clusters.

        .. math:: \sum_c \frac{W_c}{W} \frac{|R_c|^2 - \sum_k |R_{ck}|^2}{W_c^2 - \sum_k W_{ck}^2}
        """
        n_cells = self.centre.shape[0]
        ones = np.ones((self.deviations.shape[1], 1))
        whole = (self.flipped(ones, 0, n_cells)[:, :, 0] ** 2).sum(axis=1)
        own = (self.spread**2).sum(axis=1)
        mass = np.bincount(self.cells, self.mass, n_cells)
        pairs = mass**2 - np.bincount(self.cells, self.mass**2, n_cells)
        held = pairs > 1e-9 * mass**2
        terms = np.divide(whole - own, pairs, out=np.zeros(n_cells), where=held)
        return float(mass @ terms / mass.sum())


@final
class Signs(Draws):
    """Replicates in which the signs of clusters are flipped."""

    def __init__(self, batch: Batch, redraw: Redraw) -> None:
        self.hypothesis = Labels(batch, redraw)  # what labels are compared with
        self._known: dict[Cells, ClusterSums] = {}

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
        clusters = self.hypothesis.seen.clusters
        if clusters is None:
            raise ValueError(
                f"`lens` must keep the clusters of its rows; {self.hypothesis.lens} does not."
            )
        count, key = int(clusters.max()) + 1, self.hypothesis.key
        step = max(1, LAID_OUT // count)
        for start in range(0, some.size, step):
            stop = min(start + step, some.size)
            few = Replicates(some.start + start, some.start + stop)
            keys = engine.draws.replicate_keys(key, few)
            drawn = engine.draws.uniforms(key, (0, count), keys)
            yield slice(start, stop), np.where(drawn < 0.5, -1.0, 1.0)

    def totals(self, cells: Gathered, some: Replicates) -> Any:
        """Return norms of the cells' deviations, summed and largest."""
        sums = self.sums(cells)
        shares = cells.proportions[:, None]
        totals = engine.norms.Totals.zeros(some.size)
        mass = np.where(cells.mass > 0, cells.mass, 1.0)
        for few, signs in self._signs(some):
            mine = engine.norms.Totals(*(part[:, few] for part in totals))
            step = max(1, LAID_OUT // (signs.shape[1] * cells.m))
            for first in range(0, cells.n_cells, step):
                last = min(first + step, cells.n_cells)
                off = sums.flipped(signs, first, last) / mass[first:last, None, None]
                one, squares = engine.norms.norms(off)
                for norm, values in enumerate((one, np.sqrt(squares), squares)):
                    engine.norms.add_cells(mine, norm, values, shares[first:last])
        return totals

    def counts(self, cells: Gathered, some: Replicates, first: int, last: int) -> Floats:
        """Return what was predicted plus the flipped deviations: (size, cells, m)."""
        sums, out = self.sums(cells), np.empty((some.size, last - first, cells.m))
        for few, signs in self._signs(some):
            out[few] = np.moveaxis(sums.flipped(signs, first, last), -1, 0)
        out += cells.means().predicted[first:last] * cells.mass[first:last, None]
        return out

    def refuse_labels(self) -> NoReturn:
        """Say that there are no labels."""
        raise ValueError(
            "`statistic` must be one on cells, such as ExpectedMiscalibration, for rows in"
            " clusters: their signs are flipped, so there are no labels to look at."
        )
