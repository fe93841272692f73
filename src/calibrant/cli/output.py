"""What the command writes: tables, JSON, progress, errors."""

import json
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import typer

SCHEMA = "calibrant/1"


def print_json(command: str, body: dict[str, Any]) -> None:
    """Write one JSON object: the schema, the command, and its result.

    Numbers that JSON cannot hold, such as an infinite log score, become null.
    """
    typer.echo(json.dumps({"schema": SCHEMA, "command": command, **_plain(body)}, indent=2))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table that fits the terminal."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(title=Text(title) if title else None, box=SIMPLE_HEAD, title_justify="left")
    for c, name in enumerate(header):
        words = any(row[c][:1].isalpha() for row in rows)
        table.add_column(Text(name), justify="left" if words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    width = None if sys.stdout.isatty() else max(160, sum(map(len, header)))
    Console(width=width, highlight=False).print(table)


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """Turn errors about data and files into one sentence and exit code 1."""
    try:
        yield
    except (ValueError, TypeError, OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.strerror:
            message = f"{error.filename}: {error.strerror}." if error.filename else error.strerror
        else:
            message = str(error) or type(error).__name__
        typer.echo(f"calibrant: {message}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("calibrant: interrupted.", err=True)
        raise typer.Exit(130) from None


@contextmanager
def progress_after(seconds: float, what: str) -> Iterator[Any]:
    """Give a function of (done, total) that shows a bar once the work takes longer.

    Nothing is shown if standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=1.0)
    began = time.monotonic()

    def tell(done: int, total: int) -> None:
        if time.monotonic() - began > seconds:
            bar.start()
            bar.update(task, completed=done / total)

    try:
        yield tell
    finally:
        bar.stop()


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary name that becomes `path` if all goes well, and vanishes if not."""
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist.")
    with NamedTemporaryFile(dir=path.parent, suffix=path.suffix, delete=False) as file:
        temporary = Path(file.name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
