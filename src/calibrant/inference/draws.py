"""Labels redrawn in fixed cells: what the exact test needs of a replicate."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Binned, cell_sums
from calibrant.engine import threads
from calibrant.inference.laws import CountLaws, count_laws

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Kinds = tuple[int, int]

BUILT_IN = 6  # expected total variation, Euclidean, squared Euclidean; the worst of each
ALL: Kinds = (0, 3)
TABLE = 1 << 15  # numbers of a table of cells and replicates
MANY = 1000  # cells
SPARSE = 16  # rows in a cell, on average, below which drawing each is faster than their law
NORMS: tuple[Callable[[Floats, Floats], Floats], ...] = (
    lambda off, rest: np.abs(off) + np.abs(rest),
    lambda off, rest: np.sqrt(off * off + rest * rest),
    lambda off, rest: off * off + rest * rest,
)


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
    def of(cls, binned: Binned, law: NDArray[Any], key: np.uint64, *, fast: bool = False) -> Self:
        """Prepare the draws; of whole cells where that is possible.

        fast : draw labels all the same where many cells hold few rows each, which is faster
        """
        whole = binned.data.m == 2 and not binned.data.weighted
        if fast and binned.n_cells >= MANY:
            whole &= binned.data.n >= SPARSE * binned.n_cells
        return cls(binned, law, key, count_laws(binned, law) if whole else None)

    def statistics(self, n_resamples: int, kinds: Kinds = ALL, progress: Any = None) -> Floats:
        """Return the built-in statistics of all replicates: (6, n_resamples).

        kinds : as in ``range(*kinds)``, the distances that are needed; others are left at 0
        """
        out = np.empty((BUILT_IN, n_resamples))
        block = self._exact_block if self.counts_law is None else self._binary_block()

        def work(b0: int, b1: int) -> None:
            sums = np.zeros((9, b1 - b0))
            block(engine.draws.replicate_keys(self.key, b0, b1), kinds, sums)
            out[:, b0:b1] = engine.null.finish(sums)

        if self.counts_law is not None:  # too little work for more threads
            spans = threads.blocks(n_resamples, 4096)
        else:
            spans = threads.even_blocks(n_resamples, _block_size(self.binned.data.probs.size))
        threads.run(work, spans, progress)
        return out

    def _exact_block(self, replicates: Keys, kinds: Kinds, sums: Floats) -> None:
        """Add the statistics of a block of replicates to sums (9, size), a draw for each row."""
        data, null = self.binned.data, engine.null
        kernel = null.exact_block if data.m <= engine.draws.FEW else null.sparse_block
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
            *kinds,
            engine.draws.room(data.m),
            *null.scratch(data.m, replicates.size),
            sums,
        )

    def _binary_block(self) -> Callable[[Keys, Kinds, Floats], None]:
        """Return the function that does the same with a draw for each cell."""
        assert self.counts_law is not None
        data, laws, mass = self.binned.data, self.counts_law, self.binned.mass[:, None]
        predicted = cell_sums(self.binned, data, 0, self.binned.n_cells)[0]
        event, other = predicted[:, data.event, None], predicted[:, 1 - data.event, None]
        shares = self.binned.proportions

        def block(replicates: Keys, kinds: Kinds, sums: Floats) -> None:
            for first, last in threads.blocks(shares.size, max(1, TABLE // replicates.size)):
                cells = slice(first, last)
                events = laws.draw(self.key, replicates, first, last)
                off = (events - event[cells]) / mass[cells]
                rest = ((mass[cells] - events) - other[cells]) / mass[cells]
                for kind in range(*kinds):
                    norms = NORMS[kind](off, rest)
                    engine.null.collect_cells(norms, shares[cells], kind, sums)

        return block

    def counts(self, b0: int, b1: int, first: int, last: int, progress: Any = None) -> Floats:
        """Return the outcome counts of cells first … last - 1: (b1 - b0, cells, m)."""
        data, starts = self.binned.data, self.binned.starts
        out = np.zeros((b1 - b0, last - first, data.m))

        def draw_labels(start: int, stop: int) -> None:
            engine.draws.count_block(
                self.law,
                *data.kernel_weights,
                self.binned.rows,
                starts,
                first,
                last,
                self.key,
                engine.draws.replicate_keys(self.key, b0 + start, b0 + stop),
                *engine.draws.scratch(data.m, stop - start),
                out[start:stop],
            )

        def draw_events(start: int, stop: int) -> None:
            assert self.counts_law is not None
            replicates = engine.draws.replicate_keys(self.key, b0 + start, b0 + stop)
            events = self.counts_law.draw(self.key, replicates, first, last).T
            out[start:stop, :, data.event] = events
            out[start:stop, :, 1 - data.event] = self.binned.mass[first:last] - events

        size = _block_size(int(starts[last] - starts[first]) * data.m)
        work = draw_labels if self.counts_law is None else draw_events
        threads.run(work, threads.blocks(b1 - b0, size), progress)
        return out

    def frequencies(self, b0: int, b1: int, first: int, last: int, progress: Any = None) -> Floats:
        """Return the outcome frequencies of cells first … last - 1: (b1 - b0, cells, m)."""
        mass = self.binned.mass[first:last, None]
        return self.counts(b0, b1, first, last, progress) / np.where(mass > 0, mass, 1.0)


def _block_size(numbers: int) -> int:
    """Return how many replicates share the reading of so many probabilities.

    Long blocks are faster; but progress is shown, and an interrupt is obeyed, between blocks.
    """
    return 512 if numbers < 1 << 18 else 256 if numbers < 1 << 24 else 128
