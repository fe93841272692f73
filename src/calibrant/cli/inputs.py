"""From the files and options of a command to predictions."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, final, get_type_hints

from calibrant.cli import options
from calibrant.cli.errors import mistake, without_panics
from calibrant.cli.output import progress_after

if TYPE_CHECKING:
    from calibrant import Predictions, Scan


@final
@dataclass(frozen=True, slots=True)
class Inputs:
    """How much is drawn and how files are read: options that commands share, as users wrote them.

    `takes_inputs` makes options of a command of them.
    """

    resamples: options.Resamples = 999
    seed: options.Seed = 0
    json: options.Json = False
    region: options.Region = None
    label: options.Label = None
    probs: options.Probs = None
    classes: options.Classes = None
    weight: options.Weight = None
    logits: options.Logits = False
    normalize: options.Normalize = False
    percent: options.Percent = False
    decimal_comma: options.DecimalComma = False
    drop_missing: options.DropMissing = False
    ignore: options.Ignore = None
    cluster: options.Cluster = None
    model: options.Model = None
    id: options.Id = None
    by: options.By = None
    row: options.Row = None
    engine: options.Engine = None

    @property
    def draws(self) -> dict[str, Any]:
        """What the library is told of the draws."""
        return {"n_resamples": self.resamples, "rng": self.seed}

    def open(self, file: Path) -> "Predictions | Scan":
        """Load the only model of a file or folder, or look at what is read in batches."""
        return self._opened(file) if self.streams(file) else self.load(file)

    def open_all(
        self, files: list[Path], *, paired: bool = True
    ) -> Mapping[str, "Predictions | Scan"]:
        """Load the models of files, or look at the only one if it is read in batches."""
        if not any(self.streams(file) for file in files):
            return self.load_all(files, paired=paired)
        from calibrant.arguments import as_rows

        found = {str(file): self.open(file) for file in files}
        if len(files) > 1 and not all(as_rows(data).held for data in found.values()):
            raise mistake(
                "FILE…",
                "must be one folder, pattern or address where rows are read in batches: such models"
                " are not compared.",
            )
        return found

    def _opened(self, file: Path) -> "Predictions | Scan":
        """Load files of a folder, pattern or address if they fit into memory, else look at them."""
        found = self.scan(file)
        if self.row is not None or self.engine is not None or not found.fits:
            return found
        with progress_after(1.0, "reading"):
            return found.load()

    def _whole(self, file: Path) -> "Predictions":
        """Load a file, or a folder that fits into memory."""
        from calibrant import Predictions

        found = self.open(file)
        if not isinstance(found, Predictions):
            raise mistake("FILE", f"must fit into memory here; {file} has {found.n:,} rows.")
        return found

    def streams(self, file: Path) -> bool:
        """Whether rows are read in batches: of folders, patterns, addresses, or if asked for."""
        several = any(mark in str(file) for mark in "*?[") and not file.exists()
        asked = self.row is not None or self.engine is not None
        return file.is_dir() or several or asked or _address(file) != str(file)

    def scan(self, file: Path) -> "Scan":
        """Look at the files of a folder, pattern or address, which are read when needed."""
        from calibrant.loading import scan

        flags = ("percent", "decimal_comma", "drop_missing")
        for option in ("region", "ignore", "model", "id", "cluster", *flags):
            if getattr(self, option) not in (None, False):
                raise mistake(
                    f"--{option.replace('_', '-')}",
                    "is for single files; rows of folders are taken as they are.",
                )
        with progress_after(1.0, "reading footers"):
            found = scan(_address(file), row=self.row, engine=self.engine, **self._columns())
            return found if self.by is None else found.keeping(split(self.by) or ())

    def load(self, file: Path, *, columns: bool = False) -> "Predictions":
        """Load the only model of a file, and keep the rows of the region.

        With `columns`, all columns that have no other use are kept beside the predictions.
        """
        models = self.load_with_columns([file]) if columns else self.load_all([file])
        if len(models) > 1:
            raise mistake(
                "--model",
                f"must choose one of {len(models)} models, such as"
                f" {self.model}={next(iter(models))}.",
            )
        return next(iter(models.values()))

    def load_with_columns(self, files: list[Path]) -> dict[str, "Predictions"]:
        """Load the models of files with all columns that have no other use beside them."""
        models = self.load_all(files, paired=False)
        if Path("-") in files:  # which is read once
            return models
        others = [getattr(model.reading, "keepable", ()) for model in models.values()]
        keep = [name for name in others[0] if all(name in each for each in others)]
        return self.load_all(files, paired=False, keep=keep) if keep else models

    def load_all(
        self, files: list[Path], *, paired: bool = True, keep: Sequence[str] = ()
    ) -> dict[str, "Predictions"]:
        """Load the models of files under their names, and keep the rows of the region."""
        from calibrant.loading import load_models

        if any(map(self.streams, files)):
            return dict(zip(map(str, files), map(self._whole, files), strict=True))

        if len(set(map(os.path.realpath, files))) < len(files):
            raise mistake("FILE…", "must differ from one another.")
        with progress_after(1.0, "reading"), without_panics():
            models = load_models(
                files,
                id=self.id,
                paired=paired,
                keep=[*(split(self.by) or ()), *keep],
                **self.reading,
            )
        return self._within_region(models)

    @property
    def reading(self) -> dict[str, Any]:
        """What `load_models` is told of the files."""
        return {
            "model": self.model,
            "ignore": split(self.ignore) or (),
            "cluster": self.cluster,
            "percent": self.percent,
            "decimal_comma": self.decimal_comma,
            "drop_missing": self.drop_missing,
            **self._columns(),
        }

    @property
    def words(self) -> list[str]:
        """What somebody wrote to say how files are read, but for the model."""
        options = []
        for field in fields(self):
            value, name = getattr(self, field.name), field.name.replace("_", "-")
            if value != field.default and name not in ("resamples", "seed", "region", "model"):
                options += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        return options

    def _within_region(self, models: dict[str, "Predictions"]) -> dict[str, "Predictions"]:
        """Keep the rows of the region."""
        if self.region is None:
            return models
        from calibrant.cli.parsing import parse_region

        where = self.region
        return {name: data.restrict(parse_region(where, data)) for name, data in models.items()}

    def _columns(self) -> dict[str, Any]:
        """Return what `load` and `scan` are told of the columns."""
        if self.logits and self.normalize:
            raise mistake("--normalize", "must not be given with --logits: softmax rows sum to 1.")
        return {
            "label": self.label,
            "probs": split(self.probs),
            "classes": split(self.classes),
            "weight": self.weight,
            "values": "logits" if self.logits else "rounded" if self.normalize else "probabilities",
        }

    def origin(
        self, files: Path | list[Path], read: "Predictions | Scan | Mapping[str, Any]"
    ) -> dict[str, Any]:
        """Return for JSON what was read: one file or several, one model or several by name."""
        origin: dict[str, Any] = {"file": str(files)}
        if isinstance(files, list):
            origin = {"files": [str(file) for file in files]}
        origin["region"] = self.region
        if isinstance(read, Mapping):
            readings = {name: data.reading for name, data in read.items() if data.reading}
            return {**origin, "readings": {name: r.to_dict() for name, r in readings.items()}}
        return {**origin, "reading": None if read.reading is None else read.reading.to_dict()}


def takes_inputs(
    *more: str, draws: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, whose last parameter is `inputs`, the options that `Inputs` has.

    more : which of `id`, `by`, `row` and `engine` it takes as well
    draws : whether it draws data sets
    """
    others = {"id", "by", "row", "engine"} - set(more)
    others |= set() if draws else {"resamples", "seed"}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(Inputs, include_extras=True)
        shared = [field for field in fields(Inputs) if field.name not in others]
        names = {field.name for field in shared}
        own = [p for p in signature(command).parameters.values() if p.name != "inputs"]

        @wraps(command)
        def call(**given: Any) -> None:
            mine = {name: value for name, value in given.items() if name not in names}
            command(**mine, inputs=Inputs(**{name: given[name] for name in names}))

        added = [
            Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
            for f in shared
        ]
        call.__signature__ = Signature([*own, *added])  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in (*own, *added)}
        return call

    return decorate


def _address(file: Path) -> str:
    """Return a path, or an address such as s3://bucket/folder, which a path writes otherwise."""
    text = re.sub(r"^([a-z][a-z0-9+.-]+):/(?!/)", r"\1://", str(file))
    return re.sub("^file://", "file:///", text)


def split(text: str | None) -> list[str] | None:
    """Return the names that commas separate."""
    return None if text is None else [word.strip() for word in text.split(",")]
