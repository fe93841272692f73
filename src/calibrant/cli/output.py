"""What a command writes to standard output: tables and JSON."""

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from calibrant import tables

if TYPE_CHECKING:
    from rich.console import Console

    from calibrant import Predictions, Scan

SCHEMA = "calibrant/2"
WIDTH = 100  # of sentences, and of tables that are not read in a terminal


def print_json(command: str, body: dict[str, Any]) -> None:
    """Write one JSON object: the schema, the command, and its result.

    Numbers that JSON cannot hold, such as an infinite log loss, become null.
    """
    typer.echo(json.dumps({"schema": SCHEMA, "command": command, **_plain(body)}, indent=2))


def print_readings(models: Mapping[str, "Predictions | Scan"]) -> None:
    """Write which columns were taken for what, once for models that were read alike."""
    alike: dict[str, list[str]] = {}
    for name, data in models.items():
        if data.reading is not None:
            alike.setdefault(str(data.reading), []).append(name)
    for sentence, names in alike.items():
        of = f"{', '.join(names)}: " if len(alike) > 1 else ""
        print_sentence(f"{of}{sentence}")


def print_sentence(sentence: str) -> None:
    """Write a sentence in lines of at most so many characters."""
    typer.echo(textwrap.fill(sentence, WIDTH, break_on_hyphens=False, break_long_words=False))


def drawn(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seed and the number of data sets drawn, of the settings of a result."""
    return {name: settings[name] for name in ("seed", "n_resamples")}


def print_title(title: str) -> None:
    """Write a line that stands out in a terminal."""
    _print_styled(_console(), title, "bold")


def print_table(
    title: str, header: Sequence[str], rows: tables.Rows, heading: Sequence[int] = ()
) -> None:
    """Write a table that fits the terminal.

    Where that is too narrow, the columns `heading` become a line above their rows.
    """
    console = _console()
    top, rule, *body = tables.lines(header, rows, words=1, rule="─")
    groups = [("", body)]
    if heading and len(rule) > (console.width if console.is_terminal else WIDTH):
        (top, rule), groups = tables.grouped(header, rows, heading, words=1, rule="─")
    _print_styled(console, title, "bold")
    _print_styled(console, top, "bold")
    _print_styled(console, rule, "dim")
    for words, lines in groups:
        if words:
            _print_styled(console, words, "italic")
        for line in lines:
            _print_styled(console, line)
    _print_styled(console, "")


def _print_styled(console: "Console", line: str, style: str = "") -> None:
    from rich.text import Text  # noqa: PLC0415

    console.print(Text(line, style=style), soft_wrap=True)


def _console() -> "Console":
    from rich.console import Console  # noqa: PLC0415

    return Console(highlight=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
