"""``calibrant recalibrate``."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.checks.files import whole_file
from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.files import check_ending
from calibrant.cli.inputs import Inputs, readings, takes_inputs
from calibrant.cli.options import File, Json, Resamples, Seed
from calibrant.cli.output import print_json, print_readings, print_sentence, print_table
from calibrant.cli.parsing import METHODS, parse_methods
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Recalibration

MethodTexts = Annotated[
    list[str] | None,
    typer.Option("--method", help=f"{METHODS}; the simplest first, may be repeated."),
]
Save = Annotated[
    Path | None,
    typer.Option(
        help="JSON file for the calibrator of the recommended method, or of the only --method,"
        " fitted to all rows."
    ),
]


@takes_inputs()
def recalibrate(
    file: File,
    method: MethodTexts = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    save: Save = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    *,
    inputs: Inputs,
) -> None:
    """Find the calibrator that suits the probabilities, judged on rows that it has not seen."""
    if save is not None:
        check_ending(save, ".json", option="--save")
    with one_sentence_errors(), whole_file(save) if save else nullcontext() as temporary:
        import calibrant as cal  # noqa: PLC0415

        data = inputs.load(file)
        methods = parse_methods(method, data)
        with progress_after(1.0, "recalibrating") as progress:
            found = cal.recalibrate(
                data, methods, folds=folds, n_resamples=resamples, rng=seed, progress=progress
            )
        saved = found.rows[1].name if len(found.rows) == 2 else found.recommended
        if temporary is not None:
            found.map(saved).save(temporary)
    if json:
        read = readings({"": data}).get("")
        body = {"file": str(file), "region": inputs.region, "reading": read}
        body["save"] = None if save is None else str(save)
        print_json("recalibrate", {**body, **found.to_dict()})
    else:
        _print(str(file), found)
        if save is not None:
            print_sentence(f"Written to {save}: {_described(found, saved)}.")
        print_readings({"": data})


def _print(name: str, found: "Recalibration") -> None:
    from calibrant.cross_fitting.result import NOTE  # noqa: PLC0415
    from calibrant.words import BOTH_OUTCOMES, many  # noqa: PLC0415

    print_sentence(found.recommendation)
    typer.echo()
    rows = f"{many(found.data.n, 'row')}, {found.data.m:,} classes"
    title = f"{name}: {rows}, cross-fitted with {found.settings['folds']} folds"
    print_table(title, *found.lines())
    print_sentence(f"{NOTE} {BOTH_OUTCOMES}" if found.data.m == 2 else NOTE)
    typer.echo()


def _described(found: "Recalibration", saved: str) -> str:
    from calibrant.cross_fitting.result import AS_IT_IS  # noqa: PLC0415

    if saved == AS_IT_IS:
        return "a calibrator that changes nothing"
    return f"the calibrator of {saved!r}, fitted to all rows ({found.map(saved)})"
