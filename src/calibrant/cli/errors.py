"""Errors: one sentence in the words of the command line, and an exit code."""

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import typer

from calibrant.cli.output import fitted
from calibrant.tables import visible

INTERRUPTED = 130  # the exit code, as shells have it
STANDARD_ERROR = 2

# What a user of Python writes, and what is written on the command line instead. In a sentence
# of the library, code stands in backticks. It is translated as a whole; the rest stays.
SAME = ["label", "probs", "classes", "weight", "model", "id", "cluster", "row", "engine"]
SAME += ["ignore", "by", "folds", "shift", "regions", "style", "climatology"]
SAME += ["region", "columns", "depth", "state"]
PARTS = ("clusters", "labels", "weights", "groups", "statistic", "statistics")
ON_THE_COMMAND_LINE = {
    **{name: f"--{name}" for name in SAME},
    **{name: f"the {name}" for name in PARTS},
    "path": "FILE",
    "paths": "FILE…",
    "data": "the file",
    "models": "the files",
    "paired=False": "--unpaired",
    "style='line'": "--style line",
    "Predictions(…, classes=[…])": "--classes",
    "where": "--region",
    "values='logits'": "--logits",
    "values='rounded'": "--normalize",
    "percent": "--percent",
    "percent=True": "--percent",
    "decimal_comma": "--decimal-comma",
    "decimal_comma=True": "--decimal-comma",
    "drop_missing": "--drop-missing",
    "drop_missing=True": "--drop-missing",
    "keep": "--by",
    "keep=…": "--ignore",
    "id=…": "--id",
    "model=…": "--model",
    "bandwidth": "the bandwidth of --statistic kernel:…",
    "k": "K",
    "split": "SPLIT of --partition tree:SIZE:SPLIT",
    "n_resamples": "--resamples",
    "run_length": "--run-length",
    "min_rows": "--min-rows",
    "rng": "--seed",
    "Canonical()": "--lens canonical",
    "TopLabel()": "--lens top",
    "TopK(2)": "--lens top:2",
    "Marginal(…)": "--lens class:NAME",
    "Groups(…)": "--lens groups:…",
    "EqualMass(…)": "--partition mass:…",
    "VarianceTree()": "--partition tree:1000",
    "CALIBRANT_THREADS": "CALIBRANT_THREADS",
}
CODE = re.compile(r"`([^`]+)`")


def translated(sentence: str) -> str:
    """Return a sentence of the library with its code as it is written on the command line."""
    return CODE.sub(lambda code: ON_THE_COMMAND_LINE.get(code[1], code[0]), sentence)


def mistake(option: str, sentence: str) -> typer.BadParameter:
    """Return the error of an option or argument that is not as it must be."""
    return typer.BadParameter(visible(sentence), param_hint=option)


def check_ending(output: Path, *endings: str, option: str = "--output") -> None:
    """Refuse a file to write whose name does not end in one of `endings`."""
    if not (output.suffix and output.name.lower().endswith(endings)):
        raise mistake(option, f"must end in {' or '.join(endings)}; found {output.name!r}.")


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
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        typer.echo(fitted(f"calibrant: {visible(_sentence(error))}"), err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("calibrant: interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}."
    return translated(" ".join(str(error).split())) or f"{type(error).__name__}."


@contextmanager
def without_panics() -> Iterator[None]:
    """Keep what is printed while a file is read that cannot be read.

    A compiled reader that panics prints where, straight to the file of standard error: many lines
    that say nothing to a user, who gets a sentence. If all goes well, what was printed is shown
    afterwards.
    """
    try:
        before = os.dup(STANDARD_ERROR)
    except OSError:  # there is no standard error
        yield
        return
    try:
        with TemporaryFile() as kept:
            os.dup2(kept.fileno(), STANDARD_ERROR)
            try:
                yield
            finally:
                os.dup2(before, STANDARD_ERROR)
            kept.seek(0)
            os.write(before, kept.read())
    finally:
        os.close(before)
