"""From the files and options of a command to predictions."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import typer

from calibrant.cli.progress import progress_after
from calibrant.cli.regions import parse_region

if TYPE_CHECKING:
    from calibrant import Predictions


@final
@dataclass(frozen=True, slots=True)
class Inputs:
    """How files are read: the options that commands share, as the user wrote them.

    Parameters
    ----------
    region : str or None
        Condition that rows must meet; None for all rows.
    label, weight : str or None
        Columns of the labels and of the weights; None where the rules of `load` apply.
    probs, classes : str or None
        Columns of the probabilities, and names of the classes, separated by commas.
    logits : bool
        Whether the columns hold logits.
    """

    region: str | None
    label: str | None
    probs: str | None
    classes: str | None
    weight: str | None
    logits: bool

    def load(self, file: Path) -> "Predictions":
        """Load a file, and keep the rows of the region."""
        from calibrant.loading import load  # noqa: PLC0415

        with progress_after(1.0, "reading"):
            data = load(
                file,
                label=self.label,
                probs=_split(self.probs),
                classes=_split(self.classes),
                weight=self.weight,
                logits=self.logits,
            )
        return data if self.region is None else data.restrict(parse_region(self.region, data))

    def load_all(self, files: list[Path]) -> dict[str, "Predictions"]:
        """Load files under their names, or their paths where two names are equal."""
        stems = Counter(file.stem for file in files)
        named = {file.stem if stems[file.stem] == 1 else str(file): file for file in files}
        if len(named) < len(files):
            raise typer.BadParameter("must differ from one another.", param_hint="FILE…")
        return {name: self.load(file) for name, file in named.items()}


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]
