"""From the files and options of a command to predictions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import typer

from calibrant.cli.panics import without_panics
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
    label, weight, model, id, cluster : str or None
        Columns of labels, weights, names of models, of rows and of clusters; None where the rules
        of `load` apply.
    probs, classes, ignore, by : str or None
        Columns of the probabilities, names of the classes, columns to leave out, and those whose
        groups are looked at, separated by commas.
    logits, normalize : bool
        Whether the columns hold logits, or values that were rounded.
    """

    region: str | None
    label: str | None
    probs: str | None
    classes: str | None
    weight: str | None
    logits: bool
    normalize: bool
    ignore: str | None
    model: str | None
    id: str | None = None
    cluster: str | None = None
    by: str | None = None

    def load(self, file: Path) -> "Predictions":
        """Load the only model of a file, and keep the rows of the region."""
        models = self.load_all([file])
        if len(models) > 1:
            raise typer.BadParameter(
                f"must choose one of {len(models)} models, such as"
                f" {self.model}={next(iter(models))}.",
                param_hint="--model",
            )
        return next(iter(models.values()))

    def load_all(self, files: list[Path], *, paired: bool = True) -> dict[str, "Predictions"]:
        """Load the models of files under their names, and keep the rows of the region."""
        from calibrant.loading import load_models  # noqa: PLC0415

        if len({file.resolve() for file in files}) < len(files):
            raise typer.BadParameter("must differ from one another.", param_hint="FILE…")
        with progress_after(1.0, "reading"), without_panics():
            models = load_models(
                files,
                model=self.model,
                id=self.id,
                paired=paired,
                label=self.label,
                probs=_split(self.probs),
                classes=_split(self.classes),
                weight=self.weight,
                logits=self.logits,
                normalize=self.normalize,
                ignore=_split(self.ignore) or (),
                cluster=self.cluster,
                keep=_split(self.by) or (),
            )
        return {name: self._within(data) for name, data in models.items()}

    def _within(self, data: "Predictions") -> "Predictions":
        return data if self.region is None else data.restrict(parse_region(self.region, data))


def readings(models: Mapping[str, "Predictions"]) -> dict[str, Any]:
    """Return what was read for each model, as plain values."""
    return {name: data.reading.to_dict() for name, data in models.items() if data.reading}


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]
