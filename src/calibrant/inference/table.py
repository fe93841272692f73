"""Plain tables: the same columns for the terminal, for notebooks and for JSON."""

from collections.abc import Sequence
from html import escape

Rows = Sequence[Sequence[str]]


def text(header: Sequence[str], rows: Rows) -> str:
    """Lay out a table in aligned columns; the first ones, which hold words, to the left."""
    widths = [max(len(row[c]) for row in (header, *rows)) for c in range(len(header))]
    words = _words(rows, len(header))

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            cell.ljust(w) if words[c] else cell.rjust(w)
            for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *map(line, rows)])


def html(header: Sequence[str], rows: Rows) -> str:
    """Write a table in HTML, escaped."""
    words = _words(rows, len(header))

    def line(row: Sequence[str], tag: str) -> str:
        cells = (
            f'<{tag} style="text-align:{"left" if words[c] else "right"}">{escape(cell)}</{tag}>'
            for c, cell in enumerate(row)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(header, 'th')}</thead><tbody>{body}</tbody></table>"


def _words(rows: Rows, columns: int) -> list[bool]:
    return [any(row[c][:1].isalpha() for row in rows) for c in range(columns)]
