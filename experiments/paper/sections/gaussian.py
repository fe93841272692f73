"""§5.1: the Gaussian mixture."""

from __future__ import annotations

from typing import Any

from .. import files
from ..words import holds, table, wrapped
from .rows import BINS, figure, span


def section_5_1(gaussian: dict[str, Any]) -> str:
    """Cover the Gaussian mixture."""
    models, paper = gaussian["models"], files.facts()
    truth = models["uncalibrated"]["truth"]
    parts = [
        "## §5.1 One-dimensional Gaussian mixture model",
        wrapped(
            "*Paper:* the expected miscalibration in total variation is 0 for the perfect and the"
            f" constant model and about {paper['eta_uncalibrated']} for the uncalibrated one."
            f" *Found:* {holds(round(truth, 2) == paper['eta_uncalibrated'])} By quadrature:"
            f" {models['perfect']['truth']:.1g}, {models['constant']['truth']:.1g} and"
            f" {truth:.6f}."
        ),
        claims_5_1(models, gaussian["series"]),
    ]
    titles = {
        "perfect": "Perfect model (β0 = 0, β1 = −2): Figures 6, 7, 8",
        "constant": "Calibrated constant model (β0 = β1 = 0): Figures 9, 10, 11",
        "uncalibrated": "Uncalibrated model (β0 = β1 = 1): Figures 12, 13, 14",
    }
    for name, title in titles.items():
        parts += [f"### {title}", *mixture(name, models[name], gaussian)]
    return "\n\n".join(parts)


def claims_5_1(models: dict[str, Any], series: int) -> str:
    """Say whether the statements of §5.1 hold."""
    perfect, constant, wrong = (models[m]["bias"] for m in ("perfect", "constant", "uncalibrated"))
    ten, hundred = ([r for r in wrong if r["bins"] == k] for k in (10, 100))
    both = all(r["over"] and r["under"] for r in wrong)
    more = ten[-1]["under"] > ten[0]["under"] and hundred[-1]["under"] > hundred[0]["under"]
    same = [
        (a, b)
        for a in ten
        for b in hundred
        if a["n"] * b["bins"] == b["n"] * a["bins"] and a["n"] >= 500
    ]
    points = [
        "*Paper:* for the calibrated models estimates are close to zero but almost always"
        f" over-estimate. *Found:* {holds(min(r['over'] for r in perfect) == series)} The perfect"
        f" model is over-estimated in {span(r['over'] for r in perfect)} of {series} series; the"
        f" constant one in {span(r['over'] for r in constant)}, and in all others the estimate is"
        " exactly 0, which happens when half of the labels are 1. An estimate cannot be below 0,"
        " so these models cannot be under-estimated. “Close to zero” needs rows: with 50 rows and"
        f" 100 bins the mean for the perfect model is {row(perfect, 50, 100)['mean']:.4f}.",
        "*Paper:* for the uncalibrated model both over- and under-estimation are observed."
        f" *Found:* {holds(both)} Both occur for every number of rows and bins below.",
        "*Paper:* with more samples, and maybe more importantly more samples per bin,"
        f" under-estimation becomes more likely. *Found:* {holds(more)} From"
        f" {ten[0]['n']} to {ten[-1]['n']:,} rows the under-estimated series grow from"
        f" {ten[0]['under']} to {ten[-1]['under']} with 10 bins and from {hundred[0]['under']} to"
        f" {hundred[-1]['under']} with 100. Rows per bin are not the whole reason."
        " Under-estimated with equally many of them, "
        + ", ".join(
            f"{a['n'] // a['bins']}: {a['under']} (10 bins) and {b['under']} (100 bins)"
            for a, b in same
        )
        + ". Wide bins average deviations of both signs (Theorem 2), so with 10 bins the"
        " estimate ends below the truth; with 100 the limit is so near that both stay possible.",
    ]
    return "\n".join(wrapped(point, first="- ", rest="  ") for point in points)


def row(rows: list[dict[str, Any]], n: int, bins: int) -> dict[str, Any]:
    """Return the row of a number of rows and bins."""
    (one,) = [r for r in rows if (r["n"], r["bins"]) == (n, bins)]
    return one


def mixture(name: str, model: dict[str, Any], gaussian: dict[str, Any]) -> list[str]:
    """Return the figures and the table of one model."""
    a, b, c = model["figures"]

    def cells(r: dict[str, Any]) -> list[str]:
        shown = [f"{r[key]:+.4f}" for key in ("percentile_5", "mean", "percentile_95")]
        return [*shown, str(r["over"])]

    numbers = sorted({r["n"] for r in model["bias"]})
    return [
        wrapped(
            f"Estimate minus truth over {gaussian['series']} series; “over” counts the series that"
            f" over-estimate. Left half 10 bins (Figure {a}), right half 100 bins (Figure {b})."
        ),
        table(
            ["rows", *(["5th", "mean", "95th", "over"] * 2)],
            [
                [f"{n:,}", *cells(row(model["bias"], n, 10)), *cells(row(model["bias"], n, 100))]
                for n in numbers
            ],
        ),
        figure(f"gaussian-{name}-bias", f"Figures {a} and {b}"),
        figure(f"gaussian-{name}-diagrams", f"Figure {c}"),
        wrapped(f"Figure {c}. " + diagram_text(name, model["diagrams"], gaussian)),
    ]


def diagram_text(name: str, diagrams: dict[str, Any], gaussian: dict[str, Any]) -> str:
    """Describe the reliability diagrams of one model."""
    parts = [
        f"{BINS[bins]}: {d['off']} of {d['cells']} bins significant, mean distance from the true"
        f" deviation at the bin's mean prediction {d['mean_gap_to_truth']:.4f} (largest"
        f" {d['largest_gap_to_truth']:.4f}, in a bin of {d['rows_of_that_cell']:,.0f} rows)"
        for bins, d in diagrams.items()
    ]
    extra = ""
    if name == "constant":
        extra = " There is one prediction, 1/2, and one bin; the true deviation is 0."
    elif name == "perfect" and any(d["off"] for d in diagrams.values()):
        extra = (
            " A significant bin of a calibrated model is a false alarm; for each diagram"
            " the chance of any is at most 5 %. The seed was not changed to avoid it."
        )
    return (
        f"{gaussian['rows_of_diagrams']:,} rows. *Paper:* the true deviation (green) is closely"
        " matched. *Found:* " + "; ".join(parts) + "." + extra
    )
