"""The part of the page that compares models."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from calibrant.distances import total_variation
from calibrant.inference import Comparison, Difference
from calibrant.reporting.words import capital, score_name, signed


def comparison_parts(found: Comparison) -> dict[str, Any]:
    """Return the tables of a comparison: scores, estimates, and differences of every two models."""
    score_header, score_rows = found.score_rows()
    header, _ = found.rows()
    return {
        "score_header": [score_name(name) for name in score_header],
        "score_rows": score_rows,
        "header": header,
        "rows": _estimates(found),
        "differences": _pairs(found.differences),
    }


def _estimates(found: Comparison) -> list[list[str]]:
    """Return the estimates in total variation, those of all models beside each other."""
    combinations = next(iter(found.evaluations.values())).rows
    rows = []
    for r, combination in enumerate(combinations):
        if combination.distance is total_variation:
            for name, evaluation in found.evaluations.items():
                rows.append([name, *evaluation.rows[r].cells()])
    return rows


def _pairs(differences: Sequence[Difference]) -> list[dict[str, Any]]:
    """Gather the differences of every two models in total variation."""
    shown = [d for d in differences if d.rows[0].distance is total_variation]
    pairs = groupby(shown, key=lambda d: (d.first, d.second))
    return [_pair(first, second, list(group)) for (first, second), group in pairs]


def _pair(first: str, second: str, differences: Sequence[Difference]) -> dict[str, Any]:
    lines = []
    places: dict[str, list[str]] = {}  # where each conclusion holds
    for difference in differences:
        row = difference.rows[0]
        low, high = map(signed, difference.interval)
        value = signed(difference.estimate.value)
        lines.append([str(row.lens), str(row.partition), value, f"{low} to {high}"])
        places.setdefault(difference.conclusion, []).append(f"{row.lens}, {row.partition}")
    return {
        "title": f"{first} minus {second}",
        "header": ["lens", "partition", "difference", f"{differences[0].level:.0%} interval"],
        "rows": lines,
        "conclusions": _conclusions(places),
    }


def _conclusions(places: dict[str, list[str]]) -> list[str]:
    """Return the conclusions, with where each holds if there is more than one."""
    if len(places) == 1:
        return list(places)
    return [f"{capital('; '.join(where))}: {said}" for said, where in places.items()]
