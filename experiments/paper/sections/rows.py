"""Rows of the results, and parts of sentences that several sections need."""

from __future__ import annotations

from typing import Any

from .. import files
from ..words import pvalue

BINS = {"equally-sized": "equally-sized bins", "data-dependent": "data-dependent bins"}
FINE = ("canonical", "equally-sized")  # the combination with few rows in a cell


def figure(name: str, text: str) -> str:
    """Return a picture with its description."""
    return f"![{text}](figures/paper/{name}.png)"


def span(values: Any) -> str:
    """Write the range of some whole numbers."""
    values = list(values)
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def lenet_pvalues(tables: dict[str, Any]) -> str:
    """Return the exact p-values of the top label of LeNet."""
    rows = [
        row
        for row in tables["networks"]["lenet"]["rows"]
        if row["lens"] == "maximum" and row["distance"] == "total variation"
    ]
    return "top label, total variation: " + ", ".join(
        f"{pvalue(row['exact']['pvalue'])} with {BINS[row['bins']]}" for row in rows
    )


def best_rows(training: dict[str, Any], way: str) -> list[dict[str, float]]:
    """Return the row with the best likelihood of each training."""
    return [min(one["rows"], key=lambda row: row["log_score"]) for one in training[way]]


def ours_of(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """Return our rows with their network."""
    return [{**r, "network": name} for name, one in tables["networks"].items() for r in one["rows"]]


def paper_of() -> list[dict[str, Any]]:
    """Return the paper's rows."""
    return files.facts()["rows"]


def order(rows: list[dict[str, Any]], lens: str, bins: str) -> dict[str, float]:
    """Return the estimates in total variation by network."""
    wanted = (lens, bins, "total variation")
    return {
        r["network"]: r["estimate"] for r in rows if (r["lens"], r["bins"], r["distance"]) == wanted
    }
