"""What a command writes: tables and JSON, and a bar for work that takes longer than a moment."""

import json
import logging
import math
import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import typer

from calibrant import tables

if TYPE_CHECKING:
    from rich.console import Console

    from calibrant import Predictions, Scan

SCHEMA = "calibrant/2"
WIDTH = 100  # of what is not read in a terminal
STYLES = {"header": "bold", "rule": "dim", "heading": "italic"}  # of lines of tables


def print_json(command: str, body: dict[str, Any]) -> None:
    """Write one JSON object: the schema, the command, and its result.

    Numbers that JSON cannot hold, such as an infinite log loss, become null.
    """
    typer.echo(json.dumps({"schema": SCHEMA, "command": command, **_plain(body)}, indent=2))


def print_readings(read: "Predictions | Scan | Mapping[str, Any]") -> None:
    """Write which columns were taken for what, once for models that were read alike."""
    alike: dict[str, list[str]] = {}
    for name, data in (read if isinstance(read, Mapping) else {"": read}).items():
        if data.reading is not None:
            alike.setdefault(str(data.reading), []).append(name)
    for sentence, names in alike.items():
        of = f"{', '.join(names)}: " if len(alike) > 1 else ""
        say(f"{of}{sentence}")


def width() -> int:
    """Return how many characters a line has: those of the terminal, at most `WIDTH`."""
    return min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH) if _is_narrow() else WIDTH


def _is_narrow() -> bool:
    """Whether lines have an end: those of a pipe have none, unless somebody says so."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def fitted(line: str) -> str:
    """Return a line in lines that fit, or as it is where nothing has to."""
    return _filled(line) if _is_narrow() else line


def say(sentence: str) -> None:
    """Write a sentence, in lines that fit; no word is broken."""
    typer.echo(_filled(tables.visible(sentence, keep="\n")))


def echo(line: str) -> None:
    """Write a line that stays one in a pipe, without characters that a terminal would obey."""
    typer.echo(fitted(tables.visible(line)))


def _filled(text: str) -> str:
    text = text.replace(" %", "\N{NO-BREAK SPACE}%")
    return textwrap.fill(text, max(width(), 1), break_on_hyphens=False, break_long_words=False)


def drawn(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seed and the number of data sets drawn, of the settings of a result."""
    return {name: settings[name] for name in ("seed", "n_resamples")}


def print_title(title: str) -> None:
    """Write a line that stands out in a terminal."""
    _print_styled(_console(), fitted(title), "bold")


def print_table(
    title: str, header: Sequence[str], rows: tables.Rows, heading: Sequence[int] = ()
) -> None:
    """Write a table that fits the terminal; the columns `heading` may become lines above rows."""
    console = _console()
    columns = console.width if console.is_terminal else width()
    _print_styled(console, fitted(title), "bold")
    for kind, line in tables.fitted(header, rows, heading, columns, rule="─"):
        text = _filled(line) if kind == "heading" else line
        _print_styled(console, text, STYLES.get(kind, ""))
    _print_styled(console, "")


def _print_styled(console: "Console", line: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(tables.visible(line, keep="\n"), style=style), soft_wrap=True)


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextmanager
def progress_after(seconds: float, what: str) -> Iterator[Any]:
    """Show work as a bar, beside a word, if it takes longer than so many seconds.

    Yields a function of (done, total) to call now and then; the bar says nothing of how much is
    done before. If standard error is not a terminal, yields None, and nothing is shown.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    terminal = _terminal()
    bar = Progress(console=Console(file=terminal), transient=True)
    task = bar.add_task(what, total=None)
    timer = threading.Timer(seconds, bar.start)
    timer.daemon = True
    began = time.monotonic()

    def report(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if time.monotonic() - began > seconds:
            bar.start()

    timer.start()
    try:
        with _notes(lambda note: bar.update(task, description=f"{what} ({note})")):
            yield report
    finally:
        timer.cancel()
        timer.join()  # a bar that is just being started is stopped
        bar.stop()
        if terminal is not sys.stderr:
            terminal.close()


@contextmanager
def _notes(show: Callable[[str], None]) -> Iterator[None]:
    """Show what the library notes in its log: which way was taken, and what takes long."""
    handler = logging.Handler(logging.DEBUG)
    handler.emit = lambda record: show(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("calibrant")
    level = log.level
    log.setLevel(logging.DEBUG)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _terminal() -> TextIO:
    """Return standard error, also while its file is put aside for a reader that may panic."""
    try:
        return os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")
    except (OSError, ValueError):  # not a file, as in tests
        return sys.stderr
