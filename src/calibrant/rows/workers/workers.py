"""What workers are and what they are given, and how fragments become their tasks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any, Protocol

from calibrant.engine import threads

Progress = Callable[[int, int], None]
Work = Callable[[Iterable[Any]], Any]  # on fragments; it has the `names` of the columns it reads
Merge = Callable[[Any, Any], Any]

MOST = 64  # tasks: enough for balance, few enough that merging their states costs little


class Split(Protocol):
    """What workers do with rows that belong together but lie apart; it travels to them.

    Law: pieces of a bucket may come in any order, and `merge` is exact, associative and
    commutative. So the result depends on the rows alone.
    """

    @property
    def names(self) -> list[str]:
        """The columns that are read."""

    @property
    def n_buckets(self) -> int:
        """How many buckets there are."""

    def split(self, fragments: Iterable[Any]) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of the rows of fragments, each with the number of its bucket."""

    def finish(self, bucket: int, pieces: Iterable[bytes]) -> Any:
        """Return the state of all pieces of a bucket."""

    def merge(self, a: Any, b: Any) -> Any:
        """Return the state of both."""


class Workers(Protocol):
    """Those who read fragments and add up what they find.

    Law: every fragment's state enters the result once, also if its work had to be done again.
    """

    @property
    def ordered(self) -> bool:
        """Whether fragments know the numbers of their rows."""

    def reduce(
        self, fragments: Sequence[Any], work: Work, merge: Merge, progress: Progress | None
    ) -> Any:
        """Return the merged states of all fragments."""

    def exchange(self, fragments: Sequence[Any], exchange: Split, progress: Progress | None) -> Any:
        """Return the merged states of all buckets, to which the rows of fragments are moved."""


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


def refuse_version(worker: str, found: str | None, cause: str = "") -> None:
    """Refuse a worker without calibrant (None), or with another version of it; say why, maybe."""
    if found is None:
        raise ValueError(
            f"{worker} cannot import calibrant; install it where workers run, with the extras that"
            f" are installed here.{cause}"
        )
    if found != version("calibrant"):
        raise ValueError(
            f"{worker} has calibrant {found}, and here is {version('calibrant')}; install the same"
            " version everywhere."
        )


def split_alone(exchange: Split, fragments: Iterable[Any]) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces of fragments, each made without further threads: for one of many processes.

    A generator works when it is asked for the next piece, not when it is made.
    """
    pieces = exchange.split(fragments)
    yield from iter(lambda: threads.alone(next, pieces, None), None)
