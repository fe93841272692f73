"""From the files and options of a command to predictions."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import typer

from calibrant.cli.output import progress_after
from calibrant.cli.parsing import parse_region

if TYPE_CHECKING:
    from calibrant import Predictions


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read: the options that commands share, as the user wrote them."""

    region: str | None
    label: str | None
    probs: str | None
    classes: str | None
    weight: str | None
    logits: bool

    def one(self, file: Path) -> "Predictions":
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

    def several(self, files: list[Path]) -> dict[str, "Predictions"]:
        """Load files under their names, or their paths where two names are equal."""
        stems = [file.stem for file in files]
        names = [s if stems.count(s) == 1 else str(f) for s, f in zip(stems, files, strict=True)]
        if len(set(names)) != len(names):
            raise typer.BadParameter("must differ from one another.", param_hint="FILE…")
        return {name: self.one(file) for name, file in zip(names, files, strict=True)}


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]
