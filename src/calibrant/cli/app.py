"""The list of commands, and the start."""

import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from calibrant.checks.files import remove_unfinished
from calibrant.cli.commands.draw import plot, report
from calibrant.cli.commands.evaluate import compare, evaluate, power
from calibrant.cli.commands.examples import datasets, demo
from calibrant.cli.commands.explore import explore
from calibrant.cli.commands.recalibrate import apply, recalibrate
from calibrant.cli.commands.risks import clinical, verification
from calibrant.cli.commands.search import search
from calibrant.cli.commands.test import run_test
from calibrant.cli.commands.watch import watch
from calibrant.cli.errors import INTERRUPTED, one_sentence_errors
from calibrant.cli.help import Command

LARGE = 1 << 20  # bytes of an array that goes back to the system as soon as it is not needed
MMAP_THRESHOLD = -3  # the number of this setting in malloc.h

app = typer.Typer(
    name="calibrant",
    help="Find out whether a classifier's probabilities can be trusted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Find out whether a classifier's probabilities can be trusted."""
    if version:
        from calibrant import __version__

        typer.echo(__version__)
        raise typer.Exit


# Of each command: what the list of commands says, and the example at the end of its help.
COMMANDS: dict[Callable[..., None], tuple[str, str]] = {
    evaluate: (
        "Are the probabilities calibrated? How far off are they?",
        "evaluate predictions.csv --lens top --lens class:dog",
    ),
    run_test: (
        "Test one aspect of calibration; gates for CI.",
        "test predictions.csv --lens top --fail-below 0.01",
    ),
    search: (
        "Find which rows are off, by columns of the file.",
        "search predictions.csv --columns age,site,hour",
    ),
    compare: ("Find which model is better calibrated.", "compare lenet.csv resnet.csv --lens top"),
    plot: (
        "Draw a reliability diagram of one or more models.",
        "plot predictions.csv --lens top -o diagram.png",
    ),
    report: (
        "Write a report: one HTML file that works offline.",
        "report predictions.parquet -o report.html",
    ),
    explore: (
        "Look around in your browser: lenses, bins, rows.",
        "explore predictions.parquet",
    ),
    power: (
        "Is the file large enough to show a model that is off?",
        "power predictions.csv --lens top --temperature 1.2",
    ),
    watch: (
        "Watch rows as they arrive, and raise an alarm.",
        "watch predictions/ --state state.json --chart watch.html",
    ),
    clinical: (
        "Validate clinical risks: O/E, slope, AUC, net benefit.",
        "clinical predictions.csv --threshold 0.1",
    ),
    verification: (
        "Verify forecasts: skill, reliability, resolution.",
        "verification forecasts.csv --cluster week",
    ),
    recalibrate: (
        "Find the calibrator that helps.",
        "recalibrate train.csv --save map.json",
    ),
    apply: (
        "Recalibrate a file with a saved calibrator.",
        "apply map.json new.csv -o out.csv",
    ),
    demo: ("Evaluate predictions that come with calibrant.", "demo"),
    datasets: ("List or write these predictions.", "datasets lenet -o lenet.csv"),
}
for _command, (_short, _example) in COMMANDS.items():
    _name = _example.split()[0]
    _add = app.command(
        _name, cls=Command, short_help=_short, epilog=f"Example: calibrant {_example}"
    )
    _add(one_sentence_errors()(_command))


def main() -> None:
    """Run the command."""
    open_streams()
    # A terminal that lacks a sign, such as ±, shows another one instead of an error.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # To be ended is to be interrupted: temporary files are removed.
    for name in ("SIGTERM", "SIGHUP"):  # the latter is not known everywhere
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    return_large_arrays()
    try:
        app()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            # Python would end by the signal, whatever was said of it, if it met code that is made
            # from text, as parts of numba are while they load.
            sys.stdout.flush()
            sys.stderr.flush()
            remove_unfinished()
            os._exit(INTERRUPTED)
        raise


def open_streams() -> None:
    """Open the standard streams that whoever started the command has closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def return_large_arrays() -> None:
    """Make glibc give every large array back to the system when it is freed.

    Otherwise glibc keeps up to 64 MB of freed memory in each thread: with a million rows, as
    much as the data.
    """
    if sys.platform != "linux":
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, LARGE)
