"""Labels redrawn in fixed cells: what the exact test needs of a replicate."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import _kernels
from calibrant._kernels import threads
from calibrant.calibration import Binned
from calibrant.inference.laws import CountLaws, count_laws

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Wanted = NDArray[np.bool_]

BUILT_IN = 6  # expected total variation, Euclidean, squared Euclidean; the worst of each
ALL: Wanted = np.ones(BUILT_IN, np.bool_)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CellDraws:
    """Outcome counts of every cell, with labels drawn from `law` in replicate after replicate.

    Parameters
    ----------
    binned : the predictions, sorted into cells
    law : (n, m) the probabilities that labels are drawn from
    key : of the draws
    counts_law : the exact laws of the event's count, for binary problems without weights.
        Then one number is drawn for a cell; otherwise one for each of its rows.
    """

    binned: Binned
    law: NDArray[Any]
    key: np.uint64
    counts_law: CountLaws | None

    @classmethod
    def of(cls, binned: Binned, law: NDArray[Any], key: np.uint64) -> Self:
        """Prepare the draws; of whole cells where that is possible."""
        whole = binned.data.m == 2 and not binned.data.weighted
        return cls(binned, law, key, count_laws(binned, law) if whole else None)

    def statistics(self, n_resamples: int, wanted: Wanted = ALL, progress: Any = None) -> Floats:
        """Return the built-in statistics that are wanted of all replicates: (6, n_resamples)."""
        out = np.empty((BUILT_IN, n_resamples))
        block = self._exact_block if self.counts_law is None else self._binary_block()

        def work(b0: int, b1: int) -> None:
            sums = np.zeros((9, b1 - b0))
            block(_kernels.draws.replicate_keys(self.key, b0, b1), wanted, sums)
            out[:, b0:b1] = _kernels.null.finish(sums)

        if self.counts_law is not None:  # too little work for more threads
            spans = threads.blocks(n_resamples, 1024)
        else:
            spans = threads.even_blocks(n_resamples, _block_size(self.binned.data.probs.size))
        threads.run(work, spans, progress)
        return out

    def _exact_block(self, replicates: Keys, wanted: Wanted, sums: Floats) -> None:
        """Add the statistics of a block of replicates to sums (9, size), a draw for each row."""
        data, null = self.binned.data, _kernels.null
        kernel = null.exact_block if data.m <= _kernels.draws.FEW else null.sparse_block
        kernel(
            self.law,
            data.probs,
            *data.kernel_weights,
            self.binned.rows,
            self.binned.starts,
            self.binned.mass,
            float(self.binned.mass.sum()),
            self.key,
            replicates,
            wanted,
            _kernels.draws.room(data.m),
            *null.scratch(data.m, replicates.size),
            sums,
        )

    def _binary_block(self) -> Callable[[Keys, Wanted, Floats], None]:
        """Return the function that does the same with a draw for each cell."""
        assert self.counts_law is not None
        predicted = self._event_sums()
        total = float(self.binned.mass.sum())
        laws = (self.counts_law.cdf, self.counts_law.offsets, self.counts_law.lows)

        def block(replicates: Keys, wanted: Wanted, sums: Floats) -> None:
            norm = np.empty((3, replicates.size))
            _kernels.null.binary_block(
                *laws, predicted, self.binned.mass, total, self.key, replicates, wanted, norm, sums
            )

        return block

    def _event_sums(self) -> Floats:
        """Add up the predictions of each cell, the event first: (cells, 2).

        Row after row, as the statistic does: in another order ties would differ by rounding.
        """
        sums = np.zeros((self.binned.n_cells, 2))
        data = self.binned.data
        _kernels.cells.event_sums(
            data.probs, data.event, self.binned.rows, self.binned.starts, sums
        )
        return sums

    def counts(self, b0: int, b1: int, first: int, last: int) -> Floats:
        """Return the outcome counts of cells first … last - 1: (b1 - b0, cells, m)."""
        data = self.binned.data
        out = np.zeros((b1 - b0, last - first, data.m))
        replicates = _kernels.draws.replicate_keys(self.key, b0, b1)
        if self.counts_law is not None:
            laws = self.counts_law
            events = np.empty((last - first, b1 - b0))
            _kernels.null.event_counts(
                laws.cdf, laws.offsets, laws.lows, first, last, self.key, replicates, events
            )
            out[:, :, data.event] = events.T
            out[:, :, 1 - data.event] = self.binned.mass[first:last] - events.T
        else:
            _kernels.draws.count_block(
                self.law,
                *data.kernel_weights,
                self.binned.rows,
                self.binned.starts,
                first,
                last,
                self.key,
                replicates,
                _kernels.draws.room(data.m),
                out,
            )
        return out

    def frequencies(self, b0: int, b1: int, first: int, last: int) -> Floats:
        """Return the outcome frequencies of cells first … last - 1: (b1 - b0, cells, m)."""
        mass = self.binned.mass[first:last, None]
        return self.counts(b0, b1, first, last) / np.where(mass > 0, mass, 1.0)


def _block_size(numbers: int) -> int:
    """Return how many replicates share the reading of so many probabilities.

    Long blocks are faster; but progress is shown, and an interrupt is obeyed, between blocks.
    """
    return 512 if numbers < 1 << 18 else 256 if numbers < 1 << 24 else 128
