"""Rows that are shuffled to numbered buckets, and where they wait on this machine."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple, Protocol, final

from calibrant.engine import threads

Progress = Callable[[int, int], None]


class Split(Protocol):
    """What workers do with rows that belong together but lie apart; it travels to them.

    Law: pieces of a bucket may come in any order, and `merge` is exact, associative and
    commutative. So the result depends on the rows alone.
    """

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        ...

    @property
    def n_buckets(self) -> int:
        """How many buckets there are."""
        ...

    def split(self, fragments: Iterable[Any]) -> Iterator[tuple[int, bytes]]:
        """Yield pieces of the rows of fragments, each with the number of its bucket."""
        ...

    def finish(self, bucket: int, pieces: Iterable[bytes]) -> Any:
        """Return the state of all pieces of a bucket."""
        ...

    def merge(self, a: Any, b: Any) -> Any:
        """Return the state of both."""
        ...


class Bucket(NamedTuple):
    """A bucket, as a fragment to be worked on."""

    number: int
    n: int  # bytes


@final
@dataclass(frozen=True, slots=True)
class Spill:
    """Pieces of buckets, in files of a temporary folder."""

    folder: Path
    sizes: dict[int, int] = field(default_factory=dict)  # bytes of every bucket that has some
    lock: Any = field(default_factory=Lock)

    @classmethod
    @contextmanager
    def temporary(cls) -> Iterator["Spill"]:
        """Keep pieces for as long as this lasts."""
        with TemporaryDirectory(prefix="calibrant-") as name:
            yield cls(Path(name))

    def add(self, bucket: int, piece: bytes) -> None:
        """Keep a piece."""
        try:
            with self.lock, self._path(bucket).open("ab") as file:
                pickle.dump(piece, file, pickle.HIGHEST_PROTOCOL)
                self.sizes[bucket] = self.sizes.get(bucket, 0) + len(piece)
        except OSError as error:
            raise ValueError(
                f"the rows of very many cells wait in temporary files in {self.folder.parent},"
                f" where they cannot be written ({error.strerror}). Set TMPDIR to a folder with"
                " more room, or use a coarser partition."
            ) from None

    def pieces(self, bucket: int) -> Iterator[bytes]:
        """Yield the pieces of a bucket."""
        with self._path(bucket).open("rb") as file:
            while file.peek(1):
                yield pickle.load(file)  # what this process wrote

    @property
    def buckets(self) -> list[Bucket]:
        """All buckets that have pieces."""
        return [Bucket(number, size) for number, size in sorted(self.sizes.items())]

    def _path(self, bucket: int) -> Path:
        return self.folder / f"bucket-{bucket}"


def split_alone(exchange: Split, fragments: Iterable[Any]) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces of fragments, each made without further threads: for one of many processes.

    A generator works when it is asked for the next piece, not when it is made.
    """
    pieces = exchange.split(fragments)
    yield from iter(lambda: threads.alone(next, pieces, None), None)


def half(progress: Progress | None, which: int) -> Progress | None:
    """Report the first or the second half of the work as part of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(which * total + done, 2 * total)
