"""``calibrant report``."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.checks.files import whole_file
from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.files import check_ending
from calibrant.cli.inputs import Inputs, readings, takes_inputs
from calibrant.cli.options import (
    Files,
    Json,
    Output,
    Resamples,
    Seed,
)
from calibrant.cli.output import print_json, print_readings, print_sentence
from calibrant.cli.parsing import parse_groups
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Predictions, Scan
    from calibrant.lenses import Lens


@takes_inputs("id", "by", "row", "engine")
def report(
    files: Files,
    output: Output = Path("calibrant-report.html"),
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="Groups of classes to draw, such as 0-2|3-5|6-9.")
    ] = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    *,
    inputs: Inputs,
) -> None:
    """Write a report: one HTML file that works offline."""
    check_ending(output, ".html", ".htm")
    with one_sentence_errors(), whole_file(output) as temporary:
        models = inputs.open_models(files)
        lens = None if groups is None else _groups(groups, next(iter(models.values())))
        title = title or f"Calibration of {', '.join(models)}"
        told = write_report(models, temporary, title, (seed, resamples, lens, inputs.region))
    if json:
        body: dict[str, Any] = {
            "files": [str(f) for f in files],
            "region": inputs.region,
            "output": str(output),
        }
        body["readings"] = readings(models)
        print_json("report", {**body, "seed": seed, "n_resamples": resamples})
    else:
        for sentence in told:
            print_sentence(sentence)
        typer.echo(f"\nWritten to {output}: open it in a browser.")
        print_readings(models)


def write_report(
    models: Mapping[str, "Predictions | Scan"],
    output: Path,
    title: str,
    settings: "tuple[int, int, Lens | None, str | None]",
) -> list[str]:
    """Write the report on one model, or on more than one with their comparison.

    settings : seed, number of resamples, groups of classes, and the condition of the rows
    """
    from calibrant.inference.replicates.problem import check_resamples  # noqa: PLC0415
    from calibrant.reporting.contents import Settings  # noqa: PLC0415
    from calibrant.reporting.write import told_report  # noqa: PLC0415

    seed, resamples, groups, region = settings
    how = Settings(seed, check_resamples(resamples), groups, region)
    with progress_after(1.0, "report") as progress:
        return told_report(models, output, title, how, progress)


def _groups(text: str, data: "Predictions | Scan") -> "Lens":
    lens = parse_groups(text, data)
    if text.count("|") > 3:
        raise typer.BadParameter(
            f"must be two, three or four groups, to be drawn; found {text.count('|') + 1}.",
            param_hint="--groups",
        )
    return lens
