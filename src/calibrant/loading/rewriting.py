"""A file with other probabilities: all that is not a probability stays as it was."""

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import arrays
from calibrant.checks.parameters import Source, listed
from calibrant.loading import rules, text
from calibrant.loading.column_store import ColumnStore, Kind
from calibrant.loading.columnar import Columnar, guarded
from calibrant.loading.delimited import Delimited
from calibrant.loading.failures import one_sentence
from calibrant.loading.files import FORMATS, checked_path, ending
from calibrant.loading.json_lines import JsonLines
from calibrant.loading.matrix import complete
from calibrant.loading.options import LOGITS_HINT, Options
from calibrant.loading.plain_files import plain_file

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Rewriting:
    """Which file gets other probabilities, and in which columns.

    Parameters
    ----------
    path : Path
        The file.
    classes : tuple of str
        The classes, whose probabilities it holds.
    options : Options
        What the user says of `probs` and `logits`.
    """

    path: Path
    classes: tuple[str, ...]
    options: Options

    def write(self, output: Path, change: Callable[[Any], Floats]) -> tuple[int, tuple[str, ...]]:
        """Write the file again, its probabilities changed; return how many rows and which columns.

        Parameters
        ----------
        output : Path
            The file to write, in the format of the one that is read.
        change : callable
            Function of probabilities (n, m) that returns others.
        """
        file = checked_path(self.path)
        with one_sentence(str(self.path)), plain_file(file) as plain:
            store = _opened(plain)
            chosen = _columns(store.kinds, self.classes, self.options)
            matrix = complete(store, chosen, (), ()).to_numpy(order="c", writable=True)
            changed = self._changed(store, chosen, matrix, change)
            _write(store, output, dict(zip(chosen, changed.T, strict=True)))
        return len(changed), chosen

    def _changed(
        self,
        store: ColumnStore,
        chosen: Sequence[str],
        matrix: NDArray[Any],
        change: Callable[[Any], Floats],
    ) -> Floats:
        """Return what the columns shall hold, (n, k): probabilities, or logits if they did."""
        logits = self.options.logits
        source = Source(
            store.where,
            lambda j: f"column {chosen[j]!r}",
            probs="the probabilities",
            logits="the logits",
            hint=LOGITS_HINT,
        )
        single = matrix.shape[1] == 1
        make = arrays.softmax if logits else arrays.probabilities
        found = change(make(matrix[:, 0] if single else matrix, owned=True, source=source))
        if logits:
            with np.errstate(divide="ignore"):
                found = np.log(found)
            return found[:, 1:] - found[:, :1] if single else found
        return found[:, 1:] if single else found


def _opened(file: Path) -> ColumnStore:
    opens = FORMATS[ending(file)]
    if opens is None:
        raise ValueError("the file must have columns; NPZ has arrays. Use the map in Python.")
    if not file.stat().st_size:
        raise ValueError("the file must have a header and rows; it is empty.")
    return opens(file)


def _columns(
    kinds: Mapping[str, Kind], classes: tuple[str, ...], options: Options
) -> tuple[str, ...]:
    """Return the columns of the classes in their order; for two classes maybe only the second."""
    if options.columns is not None:
        found = rules.by_request(kinds, options.columns, options.logits)
    else:
        found = rules.by_prefix(kinds, options.logits) or _by_class(kinds, classes, options.logits)
    wanted = classes
    if len(found.columns) == 1 and len(classes) == 2:
        wanted = classes[1:]
        if not found.classes:
            return found.columns
    place = dict(zip(map(str.lower, found.classes), found.columns, strict=True))
    if not _same(sorted(place), sorted(map(str.lower, wanted))):
        raise ValueError(_other(classes, found.classes))
    return tuple(place[name.lower()] for name in wanted)


def _by_class(kinds: Mapping[str, Kind], classes: tuple[str, ...], logits: bool) -> rules.Chosen:
    """Return the columns that are named <class>, or a single one for two classes."""
    spelled = {name.lower(): name for name in kinds}
    if all(name.lower() in spelled for name in classes):
        return rules.Chosen(tuple(spelled[name.lower()] for name in classes), classes)
    if len(classes) == 2:
        return rules.single(kinds, logits, correct=classes == ("wrong", "correct"))
    raise ValueError(_other(classes, tuple(kinds)))


def _same(names: Sequence[str], others: Sequence[str]) -> bool:
    return [name.lower() for name in names] == [name.lower() for name in others]


def _other(classes: Sequence[str], found: Sequence[str]) -> str:
    return (
        f"the columns must be of the classes that the map was fitted to, {listed(classes)}; found"
        f" {listed(found)}. Name them with `probs`."
    )


def _write(store: ColumnStore, output: Path, columns: Mapping[str, Floats]) -> None:
    """Write a file with some columns replaced, by the kind of the one that was read."""
    if isinstance(store, Delimited):
        _write_cells(store, output, columns)
    elif isinstance(store, JsonLines):
        _write_objects(store, output, columns)
    elif isinstance(store, Columnar):
        _write_frame(store, output, columns)


def _write_cells(store: Delimited, output: Path, columns: Mapping[str, Floats]) -> None:
    places = [store.index[name] for name in columns]
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    with text.opened(store.path) as file, _created(output) as target:
        writer = csv.writer(target, delimiter=store.separator, lineterminator="\n")
        records = (cells for cells in csv.reader(file, delimiter=store.separator) if any(cells))
        writer.writerow(next(records))
        for cells, values in zip(records, rows, strict=False):  # empty lines may follow
            for place, value in zip(places, values, strict=True):
                cells[place] = repr(value)
            writer.writerow(cells)


def _write_objects(store: JsonLines, output: Path, columns: Mapping[str, Floats]) -> None:
    keys = [store.spelled[name] for name in columns]
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    with text.opened(store.path) as file, _created(output) as target:
        lines = (line for line in file if line.strip())
        for line, values in zip(lines, rows, strict=True):
            found = json.loads(line) | dict(zip(keys, values, strict=True))
            target.write(json.dumps(found, ensure_ascii=False) + "\n")


def _write_frame(store: Columnar, output: Path, columns: Mapping[str, Floats]) -> None:
    import polars as pl  # noqa: PLC0415 (only files need it)

    changed = [pl.Series(store.spelled[name], values) for name, values in columns.items()]
    frame = guarded(store.frame.collect).with_columns(changed)
    if output.suffix.lower() in (".parquet", ".pq"):
        frame.write_parquet(output)
    else:
        frame.write_ipc(output)


@contextmanager
def _created(path: Path) -> Iterator[TextIO]:
    """Open a text file to write, compressed if its name says so."""
    create: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with create(path, "wt", encoding="utf-8", newline="") as file:
        yield file
