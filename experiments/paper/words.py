"""Numbers as text: tables, rounded numbers and verdicts for the page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any


def wrapped(text: str, first: str = "", rest: str = "") -> str:
    """Break a paragraph into lines of at most 100 letters, never inside code."""
    kept = re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)", lambda m: m[0].replace(" ", "\0"), text)
    lines = textwrap.fill(
        kept,
        100,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace("\0", " ")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table in Markdown."""
    lines = [list(header), ["---"] * len(header), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def holds(condition: bool) -> str:
    """Give the verdict on a claim."""
    return "**holds.**" if condition else "**does not hold here.**"


def pvalue(p: float) -> str:
    """Write a p-value."""
    return f"p = {p:.3f}"


def pm(value: float, spread: float, digits: int) -> str:
    """Write a number with its spread."""
    return f"{value:.{digits}f} ± {spread:.{digits}f}"


def rounded_ratio(above: float, below: float, unit: float = 0.001) -> tuple[float, float]:
    """Return the limits of a ratio of two numbers that were rounded to `unit`."""
    return (above - unit / 2) / (below + unit / 2), (above + unit / 2) / (below - unit / 2)


def decisions(rows: Sequence[Mapping[str, Any]], level: float, names: Mapping[str, str]) -> str:
    """Say in which rows the two tests decide differently at a level."""
    differ = [
        r for r in rows if (r["exact"]["pvalue"] <= level) != (r["consistency"]["pvalue"] <= level)
    ]
    both = sum(r["exact"]["pvalue"] <= level and r["consistency"]["pvalue"] <= level for r in rows)
    shown = "; ".join(
        f"{names[r['network']]}, {r['lens']}, {r['bins']}, {r['distance']} (consistency"
        f" {r['consistency']['pvalue']:.3f}, exact {r['exact']['pvalue']:.3f})"
        for r in differ
    )
    return (
        f"At {100 * level:g} % both tests reject in {both} of {len(rows)} rows and decide"
        f" differently in {len(differ)}" + (f": {shown}." if differ else ".")
    )
