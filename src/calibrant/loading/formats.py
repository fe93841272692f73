"""Files by their endings: opened to be read, or to be written again with other probabilities."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import arrays
from calibrant.checks.convert import to_polars
from calibrant.checks.files import whole_file
from calibrant.checks.parameters import ARRAYS, Wording, listed
from calibrant.loading import rules
from calibrant.loading.columnar import Columnar, arrow, parquet
from calibrant.loading.columns import ColumnStore, Rewritable, load_matrix
from calibrant.loading.delimited import delimited
from calibrant.loading.files import checked_path
from calibrant.loading.language_models import open_json, open_lines, open_log
from calibrant.loading.notation import understood
from calibrant.loading.npz import npz
from calibrant.loading.plain_files import PACKED, STANDARD_INPUT, one_sentence, plain_file
from calibrant.loading.roles import Kind, Options
from calibrant.loading.sheets import excel, stata_or_spss
from calibrant.loading.table import FILE, Table, read_columns
from calibrant.predictions import CONFIDENCES

Floats = NDArray[np.float64]
ADVICE = re.compile(r" [^.]*=True.\.")  # to read a file with an option
# ending → how to open it; arrays of NPZ files are no columns
FORMATS: dict[str, Callable[[Path], Rewritable] | None] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), delimited),
    **dict.fromkeys((".parquet", ".pq"), parquet),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), arrow),
    ".json": open_json,
    **dict.fromkeys((".jsonl", ".ndjson"), open_lines),
    ".eval": open_log,
    **dict.fromkeys((".xlsx", ".xls"), excel),
    **dict.fromkeys((".dta", ".sav", ".zsav"), stata_or_spss),
    ".npz": None,
}
COMPRESSED = (".csv", ".tsv", ".tab", ".txt", ".json", ".jsonl", ".ndjson")


def read_frame(frame: Any, options: Options) -> Table:
    """Check the rows of a frame."""
    columns = Columnar.of(to_polars(frame).lazy())
    return read_columns(understood(columns, options, texts=False), options)


def read_file(file: Path, options: Options) -> Table:
    """Read and check the rows of a file."""
    if file != STANDARD_INPUT:
        ending(file)
    with plain_file(file) as plain:
        open_columns = _format(plain)
        if open_columns is None:
            if options.decimal_comma or options.drop_missing:
                raise ValueError("`decimal_comma` and `drop_missing` are for columns, not arrays.")
            return npz(plain, options)
        texts = open_columns in (delimited, open_lines)
        return read_columns(understood(open_columns(plain), options, texts=texts), options)


def is_readable(file: Path) -> bool:
    """Whether the ending of a file says what is in it."""
    try:
        return bool(ending(file))
    except ValueError:
        return False


def _format(plain: Path) -> Callable[[Path], Rewritable] | None:
    """Return how to open a file, which must not be empty."""
    if not plain.stat().st_size:
        raise ValueError("the file must have a header and rows; it is empty.")
    return FORMATS[ending(plain)]


def ending(file: Path) -> str:
    """Return the ending that says what is in the file, and how it is compressed."""
    last, inner = file.suffix.lower(), Path(file.stem).suffix.lower()
    if last in PACKED and inner in COMPRESSED:
        return inner + last
    if last in FORMATS:
        return last
    found = repr(file.suffix) if file.suffix else "none"
    raise ValueError(
        f"the ending must say what is in the file: {', '.join(FORMATS)}, or .csv.gz; found {found}."
    )


def _plain_matrix(store: Rewritable, columns: Sequence[str]) -> NDArray[Any]:
    """Return columns that are written again: what options of `load` would read is refused."""
    try:
        return load_matrix(store, columns)
    except (ValueError, TypeError) as error:
        plain = " What is written again must hold plain numbers."
        raise type(error)(ADVICE.sub(plain, str(error))) from error


def _logits(probs: Floats, single: bool) -> Floats:
    """Return logits (n, m) of probabilities, or (n, 1) of the second of two classes."""
    with np.errstate(divide="ignore"):
        found = np.log(probs)
    if single and not np.isfinite(found).all():
        raise ValueError(
            "the map must give probabilities that have logits; it gives 0 and 1. Write"
            " probabilities into the file first."
        )
    return found[:, 1:] - found[:, :1] if single else found


def _compare(
    store: Rewritable,
    open_columns: Callable[[Path], Rewritable],
    output: Path,
    names: Sequence[str],
    expected: Floats,
) -> None:
    """Refuse a file that is not what it should have become, whoever is to blame."""
    with plain_file(output) as plain:
        try:
            again = open_columns(plain)
            same = np.array_equal(load_matrix(again, names), expected)
            same = same and store.same_rest(again, names)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"what was written must read as what was meant; it cannot be read: {error}"
            ) from error
    if not same:
        raise ValueError(
            "what was written must read as what was meant; it does not, so nothing was replaced."
            " Please report this file."
        )


def _beside(change: Callable[[Any], Floats], store: ColumnStore) -> Callable[[Any], Floats]:
    """Return what changes probabilities, with the columns of the file that it needs."""
    needs = [name for name in getattr(change, "needs", ()) if name in store.kinds]
    if not needs:
        return change
    columns = {
        name: column.to_list() for name, column in zip(needs, store.read([], needs), strict=True)
    }
    return lambda probs: change.shifted(probs, columns)  # type: ignore[attr-defined]


@final
@dataclass(frozen=True, slots=True)
class Rewriting:
    """Which file gets other probabilities, and in which columns; all else stays as it was."""

    path: Path
    classes: tuple[str, ...]  # whose probabilities it holds
    options: Options  # what the user says of `probs` and `logits`

    def write(self, output: Path, change: Callable[[Any], Floats]) -> tuple[int, tuple[str, ...]]:
        """Write the file again, its probabilities changed; return how many rows and which columns.

        `output` has the format of the file, and `change` makes probabilities (n, m) of others.
        What was written is read again and compared before it becomes `output`.
        """
        file = checked_path(self.path)
        with one_sentence(str(self.path)), plain_file(file) as plain:
            open_columns = _format(plain)
            if open_columns is None:
                raise ValueError(
                    "the file must have columns; NPZ has arrays. Use the map in Python."
                )
            store = open_columns(plain)
            chosen = self._columns(store.kinds)
            matrix = _plain_matrix(store, chosen.columns)
            if chosen.lists and matrix.shape[1] != len(self.classes):
                raise ValueError(self._other([f"{matrix.shape[1]} entries in each list"]))
            source = replace(
                FILE,
                row=store.where,
                column=lambda j: f"column {chosen.columns[0 if chosen.lists else j]!r}",
                rounded_hint=f"{FILE.hint} Were they rounded? Divide each row by its sum.",
                percent_hint=ARRAYS.percent_hint,
                gap_hint="",
            )
            changed = self._changed(matrix, source, _beside(change, store))
            columns = [changed] if chosen.lists else list(changed.T)
            with whole_file(output) as temporary:
                store.write(temporary, dict(zip(chosen.columns, columns, strict=True)))
                _compare(store, open_columns, temporary, chosen.columns, changed)
        return len(changed), chosen.columns

    def _changed(
        self, matrix: NDArray[Any], source: Wording, change: Callable[[Any], Floats]
    ) -> Floats:
        """Return what the columns shall hold, (n, k): probabilities, or logits if they did."""
        single = matrix.shape[1] == 1
        make = arrays.softmax if self.options.logits else arrays.probabilities
        found = change(make(matrix[:, 0] if single else matrix, owned=True, source=source))
        if not np.isfinite(found).all():
            bad = found[~np.isfinite(found)][0]
            raise ValueError(f"the map must give probabilities; it gives {bad}.")
        if self.options.logits:
            return _logits(found, single)
        return found[:, 1:] if single else found

    def _columns(self, kinds: Mapping[str, Kind]) -> rules.Chosen:
        """Return the columns of the classes in their order; for two classes maybe the second."""
        found = rules.by_name(kinds, self.options) or self._by_class(kinds)
        if found.lists:
            return found
        wanted = self.classes
        if len(found.columns) == 1 and len(wanted) == 2:
            wanted = wanted[1:]
            if not found.classes:
                return found
        place = dict(zip(map(str.lower, found.classes), found.columns, strict=True))
        if sorted(place) != sorted(map(str.lower, wanted)):
            raise ValueError(self._other(found.classes))
        return rules.Chosen(tuple(place[name.lower()] for name in wanted), wanted)

    def _by_class(self, kinds: Mapping[str, Kind]) -> rules.Chosen:
        """Return the columns that are named <class>, or a single one for two classes."""
        spelled = {name.lower(): name for name in kinds}
        if all(name.lower() in spelled for name in self.classes):
            columns = tuple(spelled[name.lower()] for name in self.classes)
            return rules.Chosen(columns, self.classes)
        if len(self.classes) == 2:
            correct = self.classes == CONFIDENCES
            return rules.single(kinds, self.options.logits, correct)
        raise ValueError(self._other(tuple(kinds)))

    def _other(self, found: Sequence[str]) -> str:
        return (
            "the columns must be of the classes that the map was fitted to,"
            f" {listed(self.classes)}; found {listed(found)}. Name them with `probs`."
        )
