"""What ``--help`` shows: the words that people type, in lines that fit the terminal."""

import re
import textwrap
from typing import Any

from typer.core import TyperCommand

from calibrant.cli.output import width

INDENT = 2
WIDEST = 28  # of options, beside which their text begins
LEAST = 30  # of that text, or it stands below
TYPE = re.compile(r"( <[^>]*>\S*| (TEXT|PATH|INTEGER|FLOAT)( RANGE)?)$")
CHOICES = re.compile(r"<([^>]*\|[^>]*)>$")
RANGE = re.compile(r"(; |(?<=\[))[-0-9.e]*<?=?x[<>]=?[-0-9.e]+(?=[;\]])")

VALUES = {  # what stands for the value of an option
    "COLUMN": "label weight row id cluster",
    "COLUMNS": "probs ignore by",
    "NAMES": "classes",
    "COLUMN[=NAME]": "model",
    "NUMBER": "resamples seed folds alpha target fail_below fail_above require_below"
    " temperature shift threshold bins climatology",
    "FILE": "output save",
    "LENS": "lens",
    "GROUPS": "groups",
    "BINS": "partition",
    "DISTANCE": "distance",
    "NAME": "statistic method",
    "CONDITION": "region",
    "ENGINE": "engine",
    "TITLE": "title",
}
VALUE_OF = {name: value for value, names in VALUES.items() for name in names.split()}


class Command(TyperCommand):
    """A command whose help has no types of a programming language in it."""

    def get_help(self, ctx: Any) -> str:
        """Lay out usage, what the command does, its arguments and options, and an example."""
        arguments, options = self._records(ctx, "argument"), self._records(ctx, "option")
        parts = [
            self.get_usage(ctx),
            filled(self.help or "", INDENT),
            f"Arguments:\n{_listed(arguments)}" if arguments else "",
            f"Options:\n{_listed(options)}",
            filled(self.epilog or "", INDENT),
        ]
        return "\n\n".join(filter(None, parts))

    def get_usage(self, ctx: Any) -> str:
        """Return the line that stands above an error, too."""
        names = [name for name, _ in self._records(ctx, "argument")]
        return filled(" ".join(["Usage:", ctx.command_path, *names, "[OPTIONS]"]), 0)

    def _records(self, ctx: Any, kind: str) -> list[tuple[str, str]]:
        """Return the arguments or options, each with its text."""
        found = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and param.param_type_name == kind:
                found.append(_spoken(param.name or "", *record))
        return found


def _spoken(name: str, flag_text: str, text: str) -> tuple[str, str]:
    """Return an option and its text as people speak of them."""
    choices = CHOICES.search(flag_text)
    value = choices[1] if choices else VALUE_OF.get(name, "")
    flag = TYPE.sub("", flag_text)
    typed = flag != flag_text and not flag.isupper() and not flag.endswith("…")
    text = RANGE.sub("", text).replace("[]", "")
    if not typed:
        return flag, " ".join(text.replace("[required]", "").split())
    return f"{flag} {value}".strip(), " ".join(text.split())


def _listed(records: list[tuple[str, str]]) -> str:
    """Lay out names and texts in two columns, or below each other where that is too narrow."""
    short = [len(name) for name, _ in records if len(name) <= WIDEST]
    column = max(short, default=0) + INDENT + 2
    if width() - column < LEAST:
        column = 2 * INDENT
    lines = []
    for name, text in records:
        first = " " * INDENT + name
        body = filled(text, column).splitlines()
        if body and len(first) + 2 <= column:
            first, *body = first.ljust(column) + body[0][column:], *body[1:]
        lines += [first, *body]
    return "\n".join(lines)


def filled(text: str, indent: int) -> str:
    """Break a text into lines, but no word of it."""
    space = " " * indent
    return textwrap.fill(
        text,
        max(width(), indent + 10),
        initial_indent=space,
        subsequent_indent=space,
        break_on_hyphens=False,
        break_long_words=False,
    )
