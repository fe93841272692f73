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

from calibrant import words
from calibrant.checks.files import check_writable
from calibrant.cli import options
from calibrant.cli.commands.draw import write_picture
from calibrant.cli.commands.test import REJECTED
from calibrant.cli.errors import check_ending, mistake
from calibrant.cli.inputs import Inputs, takes_inputs
from calibrant.cli.output import SCHEMA, echo

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
    Path,
    typer.Option(
        "--state",
        metavar="FILE",
        help="File that keeps what is known and read; made if missing.",
    ),
]
LensTexts = Annotated[
    list[str] | None,
    typer.Option("--lens", help=f"{options.LENSES}; may be repeated. Set when a state begins."),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        min=1e-9, max=0.5, show_default="0.05", help="Probability of a false alarm, ever."
    ),
]
RunLength = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="ROWS",
        show_default="1,000,000",
        help="Mean rows to a false alarm of the change detector; 0: none.",
    ),
]
Chart = Annotated[
    Path | None,
    typer.Option(
        "--chart", metavar="FILE", help="Draw the evidence over time: .png, .svg or .html."
    ),
]
Follow = Annotated[
    bool, typer.Option("--follow", help="Go on watching, until the alarm or the end of the input.")
]


@takes_inputs(draws=False)
def watch(
    files: Watched,
    state: State,
    lens: LensTexts = None,
    alpha: Alpha = None,
    run_length: RunLength = None,
    chart: Chart = None,
    follow: Follow = False,
    *,
    inputs: Inputs,
) -> None:
    """Watch new rows, and exit with code 3 when calibration is refuted.

    Every row counts once, however often this runs, and also if it is killed.
    """
    from_input = STANDARD_INPUT in files
    _check(files, chart, follow)
    journal = _open(state, {"lens": lens, "alpha": alpha, "run_length": run_length})
    look = _follow_input if from_input else _look
    while True:
        _tell_all(journal.monitor, look(journal, files, inputs), chart, inputs.json, follow=follow)
        if _alarmed(journal.monitor):
            raise typer.Exit(REJECTED)
        if from_input or not follow:
            return
        time.sleep(EVERY)


def _tell_all(
    monitor: "Monitor", batches: Any, chart: Path | None, as_json: bool, *, follow: bool
) -> None:
    """Write one line about each batch, and draw: after each of them, or once."""
    count = 0
    for count, (source, rows) in enumerate(batches, 1):  # noqa: B007 (how many there were)
        _tell(monitor, source, rows, as_json)
        if follow:
            _draw(monitor, chart)
    if follow:
        return
    if not count:
        _tell(monitor, None, 0, as_json)
    _draw(monitor, chart)


def _draw(monitor: "Monitor", chart: Path | None) -> None:
    if chart is not None:
        write_picture(monitor, chart)


def _open(state: Path, settings: dict[str, Any]) -> "Journal":
    """Continue with a state, or begin one with these settings, of which None is the default."""
    from calibrant.monitor import Monitor
    from calibrant.monitor.journal import Journal

    given = {name: value for name, value in settings.items() if value is not None}
    chosen: dict[str, Any] = {name: value or None for name, value in given.items()}
    begun = Monitor(**chosen)
    journal = Journal.open(state, lambda: begun)
    for name in given:
        was, asked = getattr(journal.monitor, name), getattr(begun, name)
        if str(was) != str(asked):
            raise mistake(
                f"--{name.replace('_', '-')}",
                f"is settled when a state begins, and {state} has {_plain(was)}; found"
                f" {_plain(asked)}. Leave it out, or begin another state.",
            )
    return journal


def _plain(setting: Any) -> str:
    """Write a setting as it is given."""
    several = setting if isinstance(setting, tuple) else (setting,)
    return ", ".join("none" if each is None else str(each) for each in several)


def _check(files: list[Path], chart: Path | None, follow: bool) -> None:
    """Refuse a chart of another format, and standard input beside files or without --follow."""
    if chart is not None:
        check_ending(chart, ".png", ".svg", ".html", option="--chart")
        check_writable(chart)
    if STANDARD_INPUT in files and (len(files) > 1 or not follow):
        raise mistake("FILE…", "- must stand alone, with --follow.")


def _alarmed(monitor: "Monitor") -> bool:
    return monitor.alarm is not None or monitor.change is not None


def _look(journal: "Journal", files: list[Path], inputs: Inputs) -> Any:
    """Yield each file with new rows, and how many."""
    from calibrant.monitor.journal import files_in

    found = [file for file in files_in(files) if file.absolute() != journal.path.absolute()]
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
        if _alarmed(journal.monitor):
            return


def _tell(monitor: "Monitor", source: str | None, rows: int, as_json: bool) -> None:
    """Write one line about a batch, or about none."""
    from calibrant.monitor.journal import summary

    if as_json:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        body = {"schema": SCHEMA, "command": "watch", "time": now, "source": source, "rows": rows}
        line = {**body, **summary(monitor)}
        typer.echo(json.dumps({name: _finite(value) for name, value in line.items()}))
    else:
        new = "no new rows" if source is None else f"{source}: {words.many(rows, 'new row')}"
        echo(f"{new}; {monitor}")


def _finite(value: Any) -> Any:
    """Return None for a number that JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
