"""What workers are, and who of them an engine means."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import Any, Protocol

from calibrant.workers.exchange import Exchange
from calibrant.workers.threads import Threads

Progress = Callable[[int, int], None]


class Workers(Protocol):
    """Those who read fragments and add up what they find.

    Law: every fragment's state enters the result once, also if its work had to be done again.
    """

    @property
    def ordered(self) -> bool:
        """Whether fragments know the numbers of their rows."""
        ...

    def reduce(
        self,
        fragments: Sequence[Any],
        work: Callable[[Iterable[Any]], Any],
        merge: Callable[[Any, Any], Any],
        progress: Progress | None,
    ) -> Any:
        """Return the merged states of all fragments."""
        ...

    def exchange(
        self, fragments: Sequence[Any], exchange: Exchange, progress: Progress | None
    ) -> Any:
        """Return the merged states of all buckets, to which the rows of fragments are moved."""
        ...


def as_workers(engine: Any) -> Workers:
    """Return the workers that the user means by `engine`.

    Examples
    --------
    >>> as_workers(None)
    Threads()
    """
    if engine is None or engine == "local":
        return Threads()
    if isinstance(engine, Executor):
        from calibrant.workers.futures import Futures  # noqa: PLC0415

        return Futures(engine)
    home = type(engine).__module__.partition(".")[0]
    if home == "distributed" or str(engine).startswith("dask://"):
        from calibrant.workers.dask import Dask  # noqa: PLC0415

        return Dask.of(engine)
    if home == "pyspark" or str(engine).startswith(("spark://", "sc://", "local[")):
        from calibrant.workers.spark import Spark  # noqa: PLC0415

        return Spark.of(engine)
    raise TypeError(
        "`engine` must be None, an Executor, a Dask client, a SparkSession or an address such as"
        f" 'dask://host:8786'; found {engine!r}."
    )
