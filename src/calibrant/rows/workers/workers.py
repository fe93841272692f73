"""What workers are, who of them an engine means, and how fragments become their tasks."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from importlib.metadata import version
from typing import Any, Protocol

from calibrant.rows.workers.spill import Split
from calibrant.rows.workers.threads import Threads

Progress = Callable[[int, int], None]

MOST = 64  # tasks: enough for balance, few enough that merging their states costs little


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

    def exchange(self, fragments: Sequence[Any], exchange: Split, progress: Progress | None) -> Any:
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
        from calibrant.rows.workers.futures import Futures  # noqa: PLC0415

        return Futures(engine)
    home = type(engine).__module__.partition(".")[0]
    if home == "distributed" or str(engine).startswith("dask://"):
        from calibrant.rows.workers.dask import Dask  # noqa: PLC0415

        return Dask.of(engine)
    if home == "pyspark" or str(engine).startswith(("spark://", "sc://", "local[")):
        from calibrant.rows.workers.spark import Spark  # noqa: PLC0415

        return Spark.of(engine)
    raise TypeError(
        "`engine` must be None, an Executor, a Dask client, a SparkSession or an address such as"
        f" 'dask://host:8786'; found {engine!r}."
    )


def tasks(fragments: Sequence[Any], most: int = MOST) -> list[tuple[Any, ...]]:
    """Cut fragments into at most so many runs of about equally many rows.

    Examples
    --------
    >>> from types import SimpleNamespace as Rows
    >>> [len(run) for run in tasks([Rows(n=10), Rows(n=1), Rows(n=1), Rows(n=8)], 2)]
    [1, 3]
    """
    total = sum(fragment.n for fragment in fragments)
    runs: list[list[Any]] = []
    done = 0
    for fragment in fragments:
        number = done * most // max(total, 1)
        if not runs or number > (done - runs[-1][-1].n) * most // max(total, 1):
            runs.append([])
        runs[-1].append(fragment)
        done += fragment.n
    return [tuple(run) for run in runs]


def refuse_version(worker: str, found: str | None) -> None:
    """Refuse a worker without calibrant (None), or with another version of it."""
    if found is None:
        raise ValueError(
            f"{worker} cannot import calibrant; install it where workers run, with the extras that"
            " are installed here."
        )
    if found != version("calibrant"):
        raise ValueError(
            f"{worker} has calibrant {found}, and here is {version('calibrant')}; install the same"
            " version everywhere."
        )
