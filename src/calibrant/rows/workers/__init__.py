"""Who does the work on parts of a data set: threads, processes, a cluster.

Workers have two methods. ``reduce(fragments, work, merge, progress)``: ``work`` takes fragments and
returns a state, and ``merge`` puts two states together, exactly, so neither their number nor
their order matters. ``exchange(fragments, exchange, progress)``: rows are moved to numbered
buckets, each bucket becomes a state, and these are merged. If the work on fragments fails, the
error of the first of them is raised. Workers know nothing of what they do.
"""

from concurrent.futures import Executor
from typing import Any

from calibrant.rows.workers.local import Futures, Threads
from calibrant.rows.workers.workers import Workers

__all__ = ["Threads", "Workers", "as_workers"]


def as_workers(engine: Any) -> Workers:
    """Return the workers that the user means by `engine`."""
    if engine is None or engine == "local":
        return Threads()
    if isinstance(engine, Executor):
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
