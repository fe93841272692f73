"""``calibrant watch``: new rows of files, and an alarm."""

import json
import math
import sys
import time
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.checks.files import check_writable
from calibrant.cli import options
from calibrant.cli.commands.draw import write_picture
from calibrant.cli.commands.test import REJECTED
from calibrant.cli.errors import mistake
from calibrant.cli.inputs import Inputs, takes_inputs
from calibrant.cli.output import check_ending

if TYPE_CHECKING:
    from calibrant import Monitor
    from calibrant.monitor.journal import Journal

STANDARD_INPUT = Path("-")
EVERY = 1.0  # seconds between two looks
BATCH = 1000  # rows of standard input in a batch

Watched = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE…",
        help=f"Files that grow, or folders of files: {options.FORMATS} with --follow.",
    ),
]
State = Annotated[
    Path, typer.Option("--state", help="File that keeps what is known and read; made if missing.")
]
LensTexts = Annotated[
    list[str] | None,
    typer.Option("--lens", help=f"{options.LENSES}; may be repeated. Set when a state begins."),
]
Alpha = Annotated[
    float, typer.Option(min=1e-9, max=0.5, help="Probability of a false alarm, ever.")
]
RunLength = Annotated[
    float,
    typer.Option(min=0.0, help="Mean rows to a false alarm of the change detector; 0: none."),
]
Chart = Annotated[
    Path | None, typer.Option("--chart", help="Draw the evidence over time: .png, .svg or .html.")
]
Follow = Annotated[
    bool, typer.Option("--follow", help="Go on watching, until the alarm or the end of the input.")
]


@takes_inputs()
def watch(
    files: Watched,
    state: State,
    lens: LensTexts = None,
    alpha: Alpha = 0.05,
    run_length: RunLength = 1e6,
    chart: Chart = None,
    follow: Follow = False,
    *,
    inputs: Inputs,
) -> None:
    """Watch new rows, and exit with code 3 when calibration is refuted.

    Every row counts once, however often this runs, and also if it is killed.
    """
    if chart is not None:
        check_ending(chart, ".png", ".svg", ".html", option="--chart")
        check_writable(chart)
    if STANDARD_INPUT in files and (len(files) > 1 or not follow):
        raise mistake("FILE…", "- must stand alone, with --follow.")
    from calibrant.monitor import Monitor
    from calibrant.monitor.journal import Journal

    settings: dict[str, Any] = {"alpha": alpha, "run_length": run_length or None}
    journal = Journal.open(state, lambda: Monitor(lens or None, **settings))
    look = _follow_input if STANDARD_INPUT in files else _look
    while True:
        for source, rows in look(journal, files, inputs):
            _tell(journal.monitor, source, rows, inputs.json)
            if chart is not None:
                write_picture(journal.monitor, chart)
        alarm = journal.monitor.alarm is not None or journal.monitor.change is not None
        if alarm or not follow or STANDARD_INPUT in files:
            break
        time.sleep(EVERY)
    if alarm:
        raise typer.Exit(REJECTED)


def _look(journal: "Journal", files: list[Path], inputs: Inputs) -> Any:
    """Yield each file with new rows, and how many; say so once if there are none."""
    from calibrant.monitor.journal import files_in

    found = files_in(files)
    if not found:
        raise mistake("FILE…", "must name a file, or a folder with files of predictions.")
    for file in found:
        rows = journal.read(file, inputs.load)
        if rows:
            yield str(file), rows


def _follow_input(journal: "Journal", _files: list[Path], inputs: Inputs) -> Any:
    """Yield batches of standard input until it ends, or there is an alarm."""
    from calibrant.monitor.journal import batches

    lines = iter(sys.stdin)
    first = next(lines, "")
    suffix = ".jsonl" if first.lstrip().startswith("{") else ".csv"
    for place in batches(chain([first], lines) if first else lines, BATCH, suffix):
        rows = journal.take(inputs.load(place))
        yield "standard input", rows
        if journal.monitor.alarm is not None or journal.monitor.change is not None:
            return


def _tell(monitor: "Monitor", source: str, rows: int, as_json: bool) -> None:
    """Write one line about a batch."""
    from calibrant.monitor.journal import summary

    if as_json:
        body = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "source": source}
        told = {**body, "rows": rows, **summary(monitor)}
        typer.echo(json.dumps({name: _finite(value) for name, value in told.items()}))
    else:
        typer.echo(f"{source}: {rows:,} new rows; {monitor}")


def _finite(value: Any) -> Any:
    """Return None for a number that JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
