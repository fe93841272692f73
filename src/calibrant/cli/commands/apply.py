"""``calibrant apply``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.checks.files import whole_file
from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.files import check_ending
from calibrant.cli.options import Json, Logits, Probs
from calibrant.cli.output import print_json, print_sentence
from calibrant.words import many

if TYPE_CHECKING:
    from calibrant.recalibration import Map

MapFile = Annotated[Path, typer.Argument(metavar="MAP", help="JSON file of a map.")]
NewFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Predictions: CSV, TSV, Parquet, Arrow or JSON lines; no labels needed.",
    ),
]
NewOutput = Annotated[
    Path, typer.Option("--output", "-o", help="File to write, with the ending of FILE.")
]


def apply(
    map_file: MapFile,
    file: NewFile,
    output: NewOutput,
    json: Json = False,
    probs: Probs = None,
    logits: Logits = False,
) -> None:
    """Recalibrate the probabilities of a file by a map; all other columns stay."""
    check_ending(output, file.suffix.lower())
    with one_sentence_errors(), whole_file(output) as temporary:
        from calibrant.loading.options import Options  # noqa: PLC0415
        from calibrant.loading.rewriting import Rewriting  # noqa: PLC0415

        fitted = _load(map_file)
        columns = None if probs is None else [name.strip() for name in probs.split(",")]
        options = Options(probs=columns, values="logits" if logits else "probabilities")
        rewriting = Rewriting(file, fitted.classes, options)
        n, changed = rewriting.write(temporary, fitted)
    if json:
        body = {"map": str(map_file), "file": str(file), "output": str(output), "n": n}
        print_json("apply", {**body, "classes": list(fitted.classes)})
    else:
        from calibrant.loading.reading import few  # noqa: PLC0415

        print_sentence(
            f"Written to {output}: {many(n, 'row')}, with {few(changed)} recalibrated by {fitted}."
            " All other columns are as they were."
        )


def _load(path: Path) -> "Map":
    """Read a map; its fields have names that are also those of options, but mean themselves."""
    from calibrant.recalibration import load_map  # noqa: PLC0415

    try:
        return load_map(path)
    except ValueError as error:
        raise ValueError(str(error).replace("`", "'")) from None
    except FileNotFoundError as error:
        raise FileNotFoundError(str(error).replace("`path`", "MAP")) from None
