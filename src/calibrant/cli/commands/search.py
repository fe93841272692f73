"""``calibrant search``: where probabilities are off."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.checks.files import check_writable
from calibrant.cli import options
from calibrant.cli.commands.draw import write_picture
from calibrant.cli.errors import check_ending, mistake
from calibrant.cli.inputs import Inputs, split, takes_inputs
from calibrant.cli.output import (
    drawn,
    print_json,
    print_readings,
    print_table,
    progress_after,
    say,
)

if TYPE_CHECKING:
    from calibrant import Predictions, Scan

Columns = Annotated[
    str | None,
    typer.Option(
        help="Columns that are known before the outcome, separated by commas. Default: all that"
        " hold nothing else."
    ),
]
Depth = Annotated[int, typer.Option(min=1, max=2, help="Conditions of a region, at most.")]
MinRows = Annotated[int, typer.Option(min=1, help="The fewest rows of a region.")]
SearchLens = Annotated[
    str | None,
    typer.Option(
        "--lens",
        help="Aspect of two outcomes: top, class:NAME, groups:0-4|5-9; or classes, each of them.",
    ),
]
Statistic = Annotated[
    str,
    typer.Option(help="bias: how much too high probabilities are; slope: how much too extreme."),
]
Picture = Annotated[
    Path | None, typer.Option("--output", "-o", help="Picture: PNG, SVG, PDF or HTML.")
]


@takes_inputs("row", "engine")
def search(
    file: options.File,
    columns: Columns = None,
    statistic: Statistic = "bias",
    lens: SearchLens = None,
    depth: Depth = 2,
    min_rows: MinRows = 40,
    output: Picture = None,
    *,
    inputs: Inputs,
) -> None:
    """Search regions of rows, by columns and predictions, for those that are off."""
    if output is not None:
        check_ending(output, ".png", ".svg", ".pdf", ".html")
        check_writable(output)
    import calibrant as cal
    from calibrant.cli.parsing import parse_lens
    from calibrant.regions.searching import CLASSES

    data = _load(file, columns, inputs)
    chosen = lens if lens in (None, CLASSES) else parse_lens(str(lens), data)
    how: dict[str, Any] = {"statistic": statistic, "lens": chosen, "depth": depth}
    how |= {"min_rows": min_rows, **inputs.draws}
    with progress_after(1.0, "searching") as progress:
        found = cal.search(data, **how, progress=progress)
    if output is not None:
        write_picture(found, output)
    if inputs.json:
        body = inputs.origin(file, data)
        print_json("search", {**body, **drawn(found.settings), **found.to_dict()})
        return
    for sentence in found.sentences:
        say(sentence)
    typer.echo()
    header, lines = found.lines()
    print_table("Regions", header, lines, heading=(0,))
    for note in found.notes:
        say(note)
    if output is not None:
        typer.echo(f"Written to {output}.")
    print_readings(data)


def _load(file: Path, columns: str | None, inputs: Inputs) -> "Predictions | Scan":
    """Load or look at rows with the columns to be searched: those named, or all others."""
    if columns is not None:
        _check_names(columns)
        try:
            return replace(inputs, by=columns).open(file)
        except ValueError as error:  # which names the options of other commands
            raise ValueError(re.sub("`(keep|by)`", "`columns`", str(error))) from None
    if not inputs.streams(file):
        return inputs.load(file, columns=True)
    others = inputs.scan(file).reading.keepable
    return replace(inputs, by=",".join(others) or None).open(file)


def _check_names(columns: str) -> None:
    if not all(split(columns) or [""]):
        raise mistake("--columns", f"must be names, separated by commas; found {columns!r}.")
