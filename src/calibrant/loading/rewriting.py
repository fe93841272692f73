"""A file with other probabilities: all that is not a probability stays as it was."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import arrays
from calibrant.checks.parameters import Source, listed
from calibrant.loading import rules
from calibrant.loading.columns import load_matrix
from calibrant.loading.files import checked_path, open_store
from calibrant.loading.options import LOGITS_HINT, Options
from calibrant.loading.plain_files import one_sentence, plain_file
from calibrant.loading.roles import Kind

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Rewriting:
    """Which file gets other probabilities, and in which columns."""

    path: Path
    classes: tuple[str, ...]  # whose probabilities it holds
    options: Options  # what the user says of `probs` and `logits`

    def write(self, output: Path, change: Callable[[Any], Floats]) -> tuple[int, tuple[str, ...]]:
        """Write the file again, its probabilities changed; return how many rows and which columns.

        `output` has the format of the file, and `change` makes probabilities (n, m) of others.
        """
        file = checked_path(self.path)
        with one_sentence(str(self.path)), plain_file(file) as plain:
            store = open_store(plain)
            chosen = self._columns(store.kinds)
            matrix = load_matrix(store, chosen.columns)
            if chosen.lists and matrix.shape[1] != len(self.classes):
                raise ValueError(self._other([f"{matrix.shape[1]} entries in each list"]))
            source = Source(
                store.where,
                lambda j: f"column {chosen.columns[0 if chosen.lists else j]!r}",
                probs="the probabilities",
                logits="the logits",
                hint=LOGITS_HINT,
            )
            changed = self._changed(matrix, source, change)
            columns = [changed] if chosen.lists else list(changed.T)
            store.write(output, dict(zip(chosen.columns, columns, strict=True)))
        return len(changed), chosen.columns

    def _changed(
        self, matrix: NDArray[Any], source: Source, change: Callable[[Any], Floats]
    ) -> Floats:
        """Return what the columns shall hold, (n, k): probabilities, or logits if they did."""
        single = matrix.shape[1] == 1
        make = arrays.softmax if self.options.logits else arrays.probabilities
        found = change(make(matrix[:, 0] if single else matrix, owned=True, source=source))
        if self.options.logits:
            with np.errstate(divide="ignore"):
                found = np.log(found)
            return found[:, 1:] - found[:, :1] if single else found
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
            correct = self.classes == ("wrong", "correct")
            return rules.single(kinds, self.options.logits, correct)
        raise ValueError(self._other(tuple(kinds)))

    def _other(self, found: Sequence[str]) -> str:
        return (
            "the columns must be of the classes that the map was fitted to,"
            f" {listed(self.classes)}; found {listed(found)}. Name them with `probs`."
        )
