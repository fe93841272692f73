"""Tables: the same rows as text, as lines for a terminal, as HTML and as a data frame."""

import re
import shutil
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

Rows = Sequence[Sequence[str]]
Lines = tuple[Sequence[str], Rows]  # the header, and the lines below it

Backend = Literal["pandas", "polars"]
NARROWEST = 24  # characters of a line of a list: a name and a number stay together

# What a terminal or a browser would obey instead of showing it: control characters, marks that
# turn the direction of writing, ends of lines that are not \n, and halves of characters.
CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str, keep: str = "") -> str:
    r"""Write control characters as Python and JSON can, except those to `keep`.

    Names in files may hold them; what is shown must not do what they say.

    Examples
    --------
    >>> print(visible("cat\x1b]0;title\x07"))
    cat\u001b]0;title\u0007
    """

    def written(found: re.Match[str]) -> str:
        return found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}"

    return CONTROL.sub(written, text)


class Tabular(ABC):
    """A result that is a table: as text, in a notebook, and as a data frame."""

    __slots__ = ()

    rows: Any  # what has a `to_dict`, unless the records are others

    @abstractmethod
    def lines(self) -> Lines:
        """Return header and lines of the table."""

    def records(self) -> list[dict[str, Any]]:
        """Return plain values for each row of a data frame."""
        return [row.to_dict() for row in self.rows]

    @property
    def note(self) -> str:
        """What is to be said below the table, if anything."""
        return ""

    def table(self) -> str:
        """Return the table as text, with its note: in a terminal so that it fits."""
        header, rows = self.lines()
        if not sys.stdout.isatty():
            return "\n".join(filter(None, (text(header, rows), self.note)))
        columns = shutil.get_terminal_size().columns
        found = [line for _, line in fitted(header, rows, (), columns)]
        return "\n".join([*found, *textwrap.wrap(self.note, columns)])

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return the records as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars"}, optional
            What the frame belongs to. Default: pandas if it was imported before, else polars.
        """
        return frame(self.records(), backend)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the answer in words, then the table."""
        answer = "".join(f"<p>{escape(visible(line))}</p>" for line in str(self).split("\n"))
        return answer + html(*self.lines())


def text(header: Sequence[str], rows: Rows) -> str:
    """Lay out a table in aligned columns: words to the left, numbers to the right.

    Examples
    --------
    >>> print(text(["lens", "p"], [["canonical", "0.5"], ["top 2", "0.25"]]))
    lens          p
    ---------  ----
    canonical   0.5
    top 2      0.25
    """
    return "\n".join(lines(header, rows))


def lines(header: Sequence[str], rows: Rows, *, words: int = 0, rule: str = "-") -> list[str]:
    """Return the lines of a table: the header, a rule of such characters, and the rows.

    So many leading columns hold `words` even if they look like numbers.
    """
    header, *rows = ([visible(cell) for cell in row] for row in (header, *rows))
    widths = [max(len(row[c]) for row in (header, *rows)) for c in range(len(header))]
    left = _left(rows, len(header), words)

    def line(row: Sequence[str]) -> str:
        cells = []
        for cell, width, to_the_left in zip(row, widths, left, strict=True):
            cells.append(cell.ljust(width) if to_the_left else cell.rjust(width))
        return "  ".join(cells).rstrip()

    return [line(header), "  ".join(rule * width for width in widths), *map(line, rows)]


def fitted(
    header: Sequence[str], rows: Rows, heading: Sequence[int], width: int, rule: str = "-"
) -> list[tuple[str, str]]:
    """Lay out a table that fits: lines, each after what it is, "header", "rule", "heading" or "".

    Where the place is too narrow, the columns `heading` become a line above their rows, then the
    words that name a row, too; where it still is, each row becomes a list of its columns.
    """
    found: list[tuple[str, str]] = []
    for above in ((), tuple(heading), names(rows, heading)):
        (top, under), groups = grouped(header, rows, above, words=not above, rule=rule)
        if len(under) <= width:
            found = [("header", top), ("rule", under)]
            break
    else:
        groups = stacked(header, rows, names(rows, heading), max(width, NARROWEST))
    for words, body in groups:
        found += [("heading", words)] * bool(words)
        found += [("", line) for line in body]
    return found


def grouped(
    header: Sequence[str], rows: Rows, heading: Sequence[int], *, words: int = 0, rule: str = "-"
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Lay out a table with some columns as headings above their rows, to make it narrower.

    Returns the header and the rule; and for each group its heading, and the lines of the successive
    rows that share it. `words` counts the columns that are left.
    """
    kept = [c for c in range(len(header)) if c not in heading]
    narrow = [pick(row, kept) for row in rows]
    top, under, *body = lines(pick(header, kept), narrow, words=words, rule=rule)
    titles = [", ".join(pick(row, heading)) for row in rows]
    groups = []
    for title, group in groupby(zip(titles, body, strict=True), key=itemgetter(0)):
        groups.append((title, [line for _, line in group]))
    return [top, under], groups


def stacked(
    header: Sequence[str], rows: Rows, heading: Sequence[int], width: int
) -> list[tuple[str, list[str]]]:
    """Lay out a table for a narrow place: each row's heading, and a line for each other column.

    Examples
    --------
    >>> stacked(["group", "rows", "p"], [["women", "120", "0.5"]], [0], 20)
    [('women', ['  rows: 120', '  p: 0.5'])]
    """
    kept = [c for c in range(len(header)) if c not in heading]
    fill = textwrap.TextWrapper(
        max(width, 12),
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
        break_long_words=False,
    )
    found = []
    for row in rows:
        lines = [line for c in kept if row[c] for line in fill.wrap(f"{header[c]}: {row[c]}")]
        found.append((", ".join(filter(None, pick(row, heading))), lines))
    return found


def names(rows: Rows, heading: Sequence[int]) -> tuple[int, ...]:
    """Return the columns of the heading, and the next one if it holds words that name a row."""
    left = _left(rows, len(rows[0]) if rows else 0, words=0 if heading else 1)
    following = [c for c in range(len(left)) if c not in heading][:1]
    return (*heading, *(c for c in following if left[c]))


def pick(row: Sequence[str], columns: Sequence[int]) -> list[str]:
    """Return some cells of a row."""
    return [row[c] for c in columns]


def html(header: Sequence[str], rows: Rows) -> str:
    """Write a table element in HTML, escaped, aligned as `text` does."""
    left = _left(rows, len(header), 0)
    styles = [f' style="text-align:{"left" if each else "right"}"' for each in left]
    return f"<table>{_contents(header, rows, styles, styles)}</table>"


def plain(header: Sequence[str], rows: Rows, caption: str) -> str:
    """Write a table in HTML, escaped, without attributes: small, for a style sheet to align."""
    none = [""] * len(header)
    return (
        f"<table><caption>{escape(caption)}</caption>{_contents(header, rows, none, none)}</table>"
    )


def cards(
    header: Sequence[str],
    rows: Rows,
    words: int,
    *,
    caption: str = "",
    groups: Sequence[tuple[str, int]] = (),
) -> str:
    """Write a table in HTML, escaped, for a style sheet that can show each row as a card.

    Columns of words have the class ``word``; the first one names its row. The other cells have the
    name of their column in ``data-name``.

    The first so many columns, at least one, hold `words`. Groups of neighbouring columns, with how
    many each has, stand above the header; "" for none.
    """
    numbers = _named(header, groups)[words:]
    of_words = [' class="word"'] * words
    in_head = of_words + [""] * len(numbers)
    in_body = of_words + [f' data-name="{escape(name)}"' for name in numbers]
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    above = "".join(_group(name, count) for name, count in groups)
    contents = _contents(header, rows, in_head, in_body, f"<tr>{above}</tr>" if above else "")
    return f'<table class="cards">{top}{contents}</table>'


def _named(header: Sequence[str], groups: Sequence[tuple[str, int]]) -> list[str]:
    """Return the names of columns, after those of their groups."""
    owners = [name for name, count in groups for _ in range(count)] or [""] * len(header)
    return [f"{of}: {name}" if of else name for of, name in zip(owners, header, strict=True)]


def _group(name: str, count: int) -> str:
    """Write the head of a group of columns."""
    if not name:
        return f'<td colspan="{count}"></td>'
    return f'<th scope="colgroup" colspan="{count}">{escape(name)}</th>'


def frame(records: Sequence[Mapping[str, Any]], backend: Backend | None = None) -> Any:
    """Return records, all with the same keys, as a data frame with a column for each key."""
    import narwhals as nw  # noqa: PLC0415 (takes a while to import)

    chosen = _installed(backend)
    columns = {}
    for name in records[0] if records else ():
        columns[name] = _column([record[name] for record in records])
    return nw.from_dict(columns, backend=chosen).to_native()


def _installed(backend: Backend | None) -> Backend:
    """Return the backend that is meant, if it is there."""
    if backend is None:
        return "polars" if sys.modules.get("pandas") is None else "pandas"
    if backend not in ("pandas", "polars"):
        raise ValueError(f"`backend` must be 'pandas', 'polars' or None; found {backend!r}.")
    if find_spec(backend) is None:
        other = "polars" if backend == "pandas" else "pandas"
        raise ImportError(
            f"`backend` {backend!r} is not installed; install {backend}, or choose {other!r}."
        )
    return backend


def _column(values: list[Any]) -> list[Any]:
    """Return values that one column can hold: with a float among them, integers are floats."""
    if not any(isinstance(value, float) for value in values):
        return values
    return [float(value) if isinstance(value, int) else value for value in values]


def _contents(
    header: Sequence[str], rows: Rows, in_head: list[str], in_body: list[str], above: str = ""
) -> str:
    """Write the head and the body of a table element, with attributes of the cells of each column.

    The first cell of a row names it. Cells that are HTML, such as links, say so as those of
    markupsafe do.
    """

    def line(row: Sequence[str], opened: list[str]) -> str:
        shown = (cell if hasattr(cell, "__html__") else escape(visible(cell)) for cell in row)
        cells = zip(opened, shown, strict=True)
        return f"<tr>{''.join(f'<{tag}>{cell}</{tag[:2]}>' for tag, cell in cells)}</tr>"

    head = line(header, [f'th scope="col"{each}' for each in in_head])
    tags = ['th scope="row"', *["td"] * (len(header) - 1)]
    body = [tag + each for tag, each in zip(tags, in_body, strict=True)]
    lines = "".join(line(row, body) for row in rows)
    return f"<thead>{above}{head}</thead><tbody>{lines}</tbody>"


def _left(rows: Rows, columns: int, words: int) -> list[bool]:
    """Say which columns are aligned to the left: those that hold words."""
    return [c < words or any(row[c][:1].isalpha() for row in rows) for c in range(columns)]
