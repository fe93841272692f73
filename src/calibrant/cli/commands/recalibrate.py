"""``calibrant recalibrate`` and ``apply``: find a calibrator, and use one that was saved."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.checks.files import check_writable
from calibrant.cli import options
from calibrant.cli.errors import check_ending, without_panics
from calibrant.cli.inputs import Inputs, split, takes_inputs
from calibrant.cli.output import (
    print_json,
    print_readings,
    print_table,
    progress_after,
    say,
)
from calibrant.words import BOTH_OUTCOMES, many

if TYPE_CHECKING:
    from calibrant import Recalibration
    from calibrant.recalibration import Map

MethodTexts = Annotated[
    list[str] | None,
    typer.Option("--method", help=f"{options.METHODS}; the simplest first, may be repeated."),
]
Folds = Annotated[int, typer.Option(min=2, help="Number of folds.")]
Save = Annotated[
    Path | None,
    typer.Option(
        help="JSON file for the calibrator of the recommended method, or of the only --method,"
        " fitted to all rows."
    ),
]
MapFile = Annotated[Path, typer.Argument(metavar="MAP", help="JSON file of a calibrator.")]
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


@takes_inputs("by")
def recalibrate(
    file: options.File,
    method: MethodTexts = None,
    folds: Folds = 5,
    save: Save = None,
    *,
    inputs: Inputs,
) -> None:
    """Find the calibrator that helps, judged on rows it has not seen."""
    if save is not None:
        check_ending(save, ".json", option="--save")
        check_writable(save)
    import calibrant as cal
    from calibrant.cli.parsing import distinct, parse_method

    data = inputs.load(file)
    methods = distinct("--method", method, lambda text: parse_method(text, data))
    with progress_after(1.0, "recalibrating") as progress:
        how = {**inputs.draws, "folds": folds, "by": split(inputs.by)}
        found = cal.recalibrate(data, methods, **how, progress=progress)
    saved = found.rows[1].name if len(found.rows) == 2 else found.recommended
    if save is not None:
        found.map(saved).save(save)
    if inputs.json:
        body = {**inputs.origin(file, data), "save": None if save is None else str(save)}
        print_json("recalibrate", {**body, **found.to_dict()})
    else:
        _print(str(file), found)
        if save is not None:
            say(f"Written to {save}: {_described(found, saved)}.")
        print_readings(data)


def _print(name: str, found: "Recalibration") -> None:
    from calibrant.cross_fitting.result import NOTE

    say(found.recommendation)
    typer.echo()
    rows = f"{many(found.data.n, 'row')}, {found.data.m:,} classes"
    title = f"{name}: {rows}, cross-fitted with {found.settings['folds']} folds"
    print_table(title, *found.lines())
    say(f"{NOTE} {BOTH_OUTCOMES}" if found.data.m == 2 else NOTE)
    typer.echo()


def _described(found: "Recalibration", saved: str) -> str:
    from calibrant.cross_fitting.result import AS_IT_IS

    if saved == AS_IT_IS:
        return "a calibrator that changes nothing"
    return f"the calibrator of {saved!r}, fitted to all rows ({found.map(saved)})"


def apply(
    map_file: MapFile,
    file: NewFile,
    output: NewOutput,
    json: options.Json = False,
    probs: options.Probs = None,
    logits: options.Logits = False,
) -> None:
    """Recalibrate the probabilities of a file; all other columns stay as they are."""
    from calibrant.loading.formats import Rewriting, ending
    from calibrant.loading.plain_files import one_sentence

    with one_sentence(str(file)):
        wanted = ending(file)
    check_ending(output, wanted)
    check_writable(output)
    from calibrant.loading.reading import few
    from calibrant.loading.roles import Options

    fitted = _load(map_file)
    how = Options(probs=split(probs), values="logits" if logits else "probabilities")
    with without_panics():
        n, changed = Rewriting(file, fitted.classes, how).write(output, fitted)
    if json:
        body = {"map": str(map_file), "file": str(file), "output": str(output), "n": n}
        print_json("apply", {**body, "classes": list(fitted.classes)})
    else:
        say(
            f"Written to {output}: {many(n, 'row')}, with {few(changed)} recalibrated by {fitted}."
            " All other columns are as they were."
        )


def _load(path: Path) -> "Map":
    """Read a map; its fields have names that are also those of options, but mean themselves."""
    from calibrant.recalibration import load_map

    try:
        return load_map(path)
    except ValueError as error:
        raise ValueError(str(error).replace("`", "'")) from None
    except FileNotFoundError as error:
        raise FileNotFoundError(str(error).replace("`path`", "MAP")) from None
