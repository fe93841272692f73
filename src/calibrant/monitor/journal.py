"""A monitor of files: what was read of which is saved with it, in one write.

A file is known by where it is, or by its contents if it was renamed or copied: few rows, or the
same over and over, are no sign of that. Of a file that grew, the rows that follow those that were
read are new, if the latter are as they were. The state is replaced as
a whole: a program that is killed at any moment has either read a batch and saved that, or neither.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

import numpy as np

from calibrant.checks.files import whole_file
from calibrant.loading.formats import is_readable
from calibrant.loading.plain_files import NoRowsError
from calibrant.monitor import saved
from calibrant.monitor.monitor import Monitor
from calibrant.predictions import Predictions

FORMAT = "calibrant watch"
LINES = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson")  # files that grow line by line
DIFFERENT = 16  # rows that two files do not share by chance, if they differ from one another
LOOKED_AT = 1000  # rows among which these are looked for
Load = Callable[[Path], Predictions]


@final
class Journal:
    """A monitor, the rows that it has seen of each file, and the file in which both are saved."""

    def __init__(self, path: Path, monitor: Monitor, files: dict[str, list[Any]]) -> None:
        self.path = path
        self.monitor = monitor
        self.files = files  # rows that were read, their digest and rows left out, by name

    @classmethod
    def open(cls, path: Path, begin: Callable[[], Monitor]) -> "Journal":
        """Continue with the state of a file, or begin if there is none."""
        if not path.exists():
            return cls(path, begin(), {})
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            found = cls(path, Monitor.from_dict(body["monitor"]), dict(body["files"]))
            whole = {name: body[name] for name in ("format", "monitor", "files")}
        except (
            OSError,
            UnicodeDecodeError,
            LookupError,
            TypeError,
            RecursionError,
            json.JSONDecodeError,
        ):
            raise ValueError(f"{path}: is not the state of a monitor. {saved.REMEDY}") from None
        if body.get("digest") != saved.digest(whole):
            raise ValueError(f"{path}: is damaged. {saved.REMEDY}")
        return found

    def save(self) -> None:
        """Write monitor and files in one step."""
        body = {"format": FORMAT, "monitor": self.monitor.to_dict(), "files": self.files}
        text = json.dumps({**body, "digest": saved.digest(body)})
        with whole_file(self.path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def read(self, file: Path, load: Load) -> int:
        """Watch the new rows of a file, and save; return how many there are."""
        try:
            with _whole_lines(file) as place:
                data = None if place is None else load(place)
        except ValueError as error:
            if not isinstance(error.__cause__, NoRowsError):
                raise
            data = None  # of a night without any
        if data is None:
            return 0
        name = str(file.resolve())
        seen, left_out = self._seen(file, name, data)
        now = [data.n, rows_digest(data, data.n), _left_out(data)]
        self.monitor.missing += max(_left_out(data) - left_out, 0)
        if seen < data.n:
            self.monitor.update(data.take(np.arange(seen, data.n)))
        if self.files.get(name) != now:
            self.files[name] = now
            self.save()
        return data.n - seen

    def take(self, data: Predictions) -> int:
        """Watch rows that come once and in no file, and save; return how many there are."""
        self.monitor.missing += _left_out(data)
        self.monitor.update(data)
        self.save()
        return data.n

    def _seen(self, file: Path, name: str, data: Predictions) -> tuple[int, int]:
        """Return how many rows of a file were read before, under this name or another.

        The second number is how many had been left out.
        """
        if name in self.files:
            rows, digest, *left_out = self.files[name]
            if rows > data.n or rows_digest(data, rows) != digest:
                raise ValueError(
                    f"{file}: its first {rows:,} rows were read before and have changed since."
                    " Give new rows a new file, or begin with another state."
                )
            return rows, sum(left_out)
        return self._seen_elsewhere(data)

    def _seen_elsewhere(self, data: Predictions) -> tuple[int, int]:
        """Return the same of a file that is new by its name."""
        sizes = {rows for rows, *_ in self.files.values() if rows <= data.n}
        digests = {rows: rows_digest(data, rows) for rows in sizes}
        same = [
            (rows, sum(left_out))
            for rows, digest, *left_out in self.files.values()
            if digests.get(rows) == digest
        ]
        found = max(same, default=(0, 0))
        return found if _is_telling(data, found[0]) else (0, 0)


def _is_telling(data: Predictions, rows: int) -> bool:
    """Whether the first rows differ so much that another file has them only as a copy."""
    some = data.probs[: min(rows, LOOKED_AT)]
    return len(np.unique(some, axis=0)) >= DIFFERENT


def _left_out(data: Predictions) -> int:
    """Return how many rows of a file lacked a value."""
    return 0 if data.reading is None else data.reading.dropped


def rows_digest(data: Predictions, rows: int) -> str:
    """Return a digest of the first rows."""
    found = sha256(np.ascontiguousarray(data.probs[:rows], np.float64).tobytes())
    found.update(data.labels[:rows].tobytes())
    return found.hexdigest()[:32]


def files_in(paths: list[Path]) -> list[Path]:
    """Return files, those of folders in the order of their names, but no hidden ones.

    Hidden are states that are being written, among others.
    """
    found = []
    for path in paths:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        found += [each for each in inside if each == path or _is_data(each)]
    return found


def _is_data(file: Path) -> bool:
    return file.is_file() and is_readable(file) and not file.name.startswith(".")


@contextmanager
def _whole_lines(file: Path) -> Iterator[Path | None]:
    """Yield a file without a last line that is still being written; None if nothing is left."""
    if file.suffix.lower() not in LINES or not file.is_file():
        yield file
        return
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    heading = 0 if file.suffix.lower() in (".jsonl", ".ndjson") else 1
    if whole.count(b"\n") <= heading:
        yield None
    elif len(whole) == len(content):
        yield file
    else:
        with TemporaryDirectory() as folder:
            place = Path(folder) / file.name
            place.write_bytes(whole)
            yield place


def batches(lines: Iterator[str], size: int, suffix: str) -> Iterator[Path]:
    """Yield files of at most so many lines of standard input each, a header first if it has one.

    A last line without an end is left out: who wrote it may have been killed.
    """
    header = "" if suffix == ".jsonl" else next(lines, "")
    with TemporaryDirectory() as folder:
        place = Path(folder) / f"standard-input{suffix}"
        kept: list[str] = []
        for line in takewhile(lambda line: line.endswith("\n"), lines):
            kept.append(line)
            if len(kept) == size:
                place.write_text(header + "".join(kept), encoding="utf-8")
                kept = []
                yield place
        if kept:
            place.write_text(header + "".join(kept), encoding="utf-8")
            yield place


def summary(monitor: Monitor) -> Mapping[str, Any]:
    """Return what is known now as plain numbers, for a line of JSON."""
    which = None if monitor.which is None else monitor.which.to_dict()
    names = ("n", "missing", "evalue", "log_evalue", "pvalue", "alarm", "change", "since")
    more = ("since_interval", "direction", "bias", "bias_interval")
    numbers = {name: getattr(monitor, name) for name in (*names, *more)}
    return {**numbers, "which": which, "sentence": monitor.sentence}
