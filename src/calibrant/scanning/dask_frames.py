"""Frames of Dask: their partitions are read where they are."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, final

from calibrant.engine import threads
from calibrant.scanning.fragments import FrameFragment
from calibrant.workers.dask import Dask, split_pieces
from calibrant.workers.exchange import Exchange

Progress = Callable[[int, int], None]


class Partition(NamedTuple):
    """A partition of a frame that somebody still has to compute."""

    delayed: Any
    first: int
    n: int
    name: str


@final
@dataclass(frozen=True, slots=True)
class DaskFrame:
    """The workers that hold, or compute, the partitions of a frame.

    Parameters
    ----------
    cluster : Dask
        The workers.
    """

    cluster: Dask

    @property
    def ordered(self) -> bool:
        """Whether fragments know the numbers of their rows: yes, partitions have an order."""
        return True

    def reduce(
        self,
        fragments: Sequence[Any],
        work: Callable[[Iterable[Any]], Any],
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
    ) -> Any:
        """Return the merged states of all partitions."""
        client, task = self.cluster.client, self.cluster.hand_out(work)
        futures = [
            client.submit(_run, task, client.compute(part.delayed), part[1:], pure=False)
            for part in fragments
        ]
        return self.cluster.merged(futures, [[part] for part in fragments], merge, progress)

    def exchange(
        self, fragments: Sequence[Any], exchange: Exchange, progress: Progress | None
    ) -> Any:
        """Return the merged states of all buckets."""
        client, task = self.cluster.client, self.cluster.hand_out(exchange)
        split = self.cluster.hand_out(partial(split_pieces, exchange))
        parts = [
            client.submit(_run, split, client.compute(part.delayed), part[1:], pure=False)
            for part in fragments
        ]
        return self.cluster.finished(task, parts, exchange, progress)


def open_dask(frame: Any, engine: Any) -> tuple[DaskFrame, tuple[Partition, ...], Any]:
    """Return the workers and partitions of a Dask frame, and the Arrow schema of its columns."""
    import pyarrow  # noqa: PLC0415 (an extra)
    from distributed import default_client  # noqa: PLC0415

    try:
        cluster = Dask.of(default_client() if engine is None else engine)
    except ValueError as error:
        if "No client" not in str(error):
            raise
        raise ValueError(
            "`engine` must be a Dask client for a Dask frame; there is none. Make one with"
            " distributed.Client(…)."
        ) from None
    lengths = cluster.client.compute(frame.map_partitions(len)).result().tolist()
    starts = list(accumulate(lengths, initial=0))
    parts = tuple(
        Partition(delayed, start, n, f"partition {i}")
        for i, (delayed, start, n) in enumerate(
            zip(frame.to_delayed(), starts, lengths, strict=False)
        )
        if n
    )
    sample = frame.head(1, npartitions=-1) if parts else frame._meta
    return DaskFrame(cluster), parts, pyarrow.Schema.from_pandas(sample, preserve_index=False)


def _run(work: Callable[[Iterable[Any]], Any], frame: Any, place: tuple[int, int, str]) -> Any:
    """Do the work on a partition that was computed; its rows must be as many as before."""
    import pyarrow  # noqa: PLC0415

    first, n, name = place
    if len(frame) != n:
        raise ValueError(f"{name} changed while it was read ({n:,} rows, now {len(frame):,}).")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False).combine_chunks()
    batch = table.to_batches()[0]
    return threads.alone(work, [FrameFragment(batch, first, name)])
