"""What the command writes: tables, JSON, progress, errors, files."""

import json
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Rows = Sequence[Sequence[str]]

INTERRUPTED = 130  # the exit code, as shells have it
SCHEMA = "calibrant/1"

# What the library says, and how the command says it; an earlier line wins.
WORDS = (
    ("`path` must be a file; ", ""),
    ("`path`", "FILE"),
    ("`where`", "--region"),
    ("`models`", "the files"),
    ("Use paired=False for models", "Use --unpaired for files"),
    ("`label`", "--label"),
    ("`labels`", "the labels"),
    ("with `probs`", "with --probs"),
    ("`probs` must name", "--probs must name"),
    ("`probs` rows", "the rows of probabilities"),
    ("classes of `probs`", "classes of the file"),
    ("`probs`", "the probabilities"),
    ("`logits` must be finite", "the logits must be finite"),
    ("`logits`", "--logits"),
    ("`classes`", "--classes"),
    ("`weight`", "--weight"),
    ("`weights`", "the weights"),
    ("`classical`", "--classical"),
    ("`regions`", "--regions"),
    ("`k` must be less", "--lens top:K must have K less"),
    ("Use Canonical()", "Use --lens canonical"),
    ("VarianceTree()", "--partition tree:1000"),
    (
        "TopLabel() or Marginal(…) for one dimension, TopK(2) or Groups of three for two, Groups of"
        " four for three",
        "--lens top or --lens class:NAME for one dimension, --lens top:2 or --lens groups:… of"
        " three groups for two, of four groups for three",
    ),
    ("TopLabel() or Marginal(…)", "--lens top or --lens class:NAME"),
)


def print_json(command: str, body: dict[str, Any]) -> None:
    """Write one JSON object: the schema, the command, and its result.

    Numbers that JSON cannot hold, such as an infinite log score, become null.
    """
    typer.echo(json.dumps({"schema": SCHEMA, "command": command, **_plain(body)}, indent=2))


def print_title(title: str) -> None:
    """Write a line that stands out in a terminal."""
    _console().print(_text(title, "bold"), soft_wrap=True)


def print_table(title: str, header: Sequence[str], rows: Rows, heading: Sequence[int] = ()) -> None:
    """Write a table that fits the terminal.

    Parameters
    ----------
    heading : columns that become a line above their rows where the terminal is too narrow
    """
    console = _console()
    lines = _laid_out(header, rows)
    if heading and console.is_terminal and len(lines[0].plain) > console.width:
        lines = _grouped(header, rows, heading)
    for line in (_text(title, "bold"), *lines, _text("")):
        console.print(line, soft_wrap=True)


def _laid_out(header: Sequence[str], rows: Rows) -> list["Text"]:
    """Return the lines of a table: the header, a rule, and the rows, in aligned columns."""
    widths = [max(len(row[c]) for row in (header, *rows)) for c in range(len(header))]
    words = [c == 0 or any(row[c][:1].isalpha() for row in rows) for c in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths, words, strict=True)
        return "  ".join(cell.ljust(w) if left else cell.rjust(w) for cell, w, left in cells)

    rule = "  ".join("─" * w for w in widths)
    return [_text(line(header), "bold"), _text(rule, "dim"), *(_text(line(row)) for row in rows)]


def _grouped(header: Sequence[str], rows: Rows, heading: Sequence[int]) -> list["Text"]:
    """Lay out a table with the columns of `heading` as lines above their rows."""
    kept = [c for c in range(len(header)) if c not in heading]
    top, rule, *body = _laid_out(
        [header[c] for c in kept], [[row[c] for c in kept] for row in rows]
    )
    lines, last = [top, rule], ""
    for row, line in zip(rows, body, strict=True):
        words = ", ".join(row[c] for c in heading)
        if words != last:
            lines.append(_text(words, "italic"))
        lines.append(line)
        last = words
    return lines


def _console() -> "Console":
    from rich.console import Console  # noqa: PLC0415

    return Console(highlight=False)


def _text(words: str, style: str = "") -> "Text":
    from rich.text import Text  # noqa: PLC0415

    return Text(words.rstrip(), style=style)


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """Turn errors about data and files into one sentence and exit code 1.

    A letter that the font of a picture does not have is drawn as a box, without a warning.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph", UserWarning)
            yield
    except BrokenPipeError:  # the reader has seen enough
        raise
    except (ValueError, TypeError, OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.strerror:
            where = f"{error.filename}: " if error.filename else ""
            message = f"{where}{error.strerror}."
        else:
            message = _in_options(" ".join(str(error).split())) or f"{type(error).__name__}."
        typer.echo(f"calibrant: {message}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("calibrant: interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _in_options(sentence: str) -> str:
    """Return a sentence of the library in the words of the command line."""
    for said, meant in WORDS:
        sentence = sentence.replace(said, meant)
    return sentence


@contextmanager
def progress_after(seconds: float, what: str) -> Iterator[Any]:
    """Give a function of (done, total) whose work is shown as a bar if it takes longer.

    The bar says nothing of how much is done until the function is called. Nothing is shown if
    standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)
    timer = threading.Timer(seconds, bar.start)
    timer.daemon = True
    began = time.monotonic()

    def tell(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if time.monotonic() - began > seconds:
            bar.start()

    timer.start()
    try:
        yield tell
    finally:
        timer.cancel()
        timer.join()  # a bar that is just being started is stopped
        bar.stop()


def check_ending(output: Path, *endings: str) -> None:
    """Refuse a file to write whose name does not end in one of `endings`."""
    if output.suffix.lower() not in endings:
        raise typer.BadParameter(
            f"must end in {' or '.join(endings)}; found {output.name!r}.", param_hint="--output"
        )


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary name that becomes `path` if all goes well, and vanishes if not."""
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; give the name of a file in it.")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist.")
    try:
        with NamedTemporaryFile(dir=path.parent, suffix=path.suffix, delete=False) as file:
            temporary = Path(file.name)
    except OSError as error:
        raise ValueError(
            f"{path}: cannot write to the folder {path.parent}: {error.strerror}."
        ) from None
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
