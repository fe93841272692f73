"""§4.2 and §4.3: resampling, the test and comparisons."""

from __future__ import annotations

from math import sqrt
from typing import Any

from .. import files
from ..words import holds, pvalue, table, wrapped
from .rows import FINE, span

SIZE = "[`test_size.py`](../tests/inference/test_size.py)"


def section_4_2_and_3(calibrated: dict[str, Any], tables: dict[str, Any]) -> str:
    """Cover resampling, the test and comparisons."""
    fine = [r for r in calibrated["rows"] if (r["lens"], r["bins"]) == FINE]
    rest = [r for r in calibrated["rows"] if (r["lens"], r["bins"]) != FINE]
    n, resamples = calibrated["data_sets"], calibrated["resamples"]
    moved = 100 * sqrt(0.05 * 0.95 / resamples["consistency"])
    return "\n\n".join(
        [
            "## §4.2 Quantifying the estimator variability",
            wrapped(
                "`Consistency` is the paper's resampling to the letter, with any hypothesised"
                " calibration function; `Bootstrap` draws rows with their labels; `Exact` keeps"
                " the predictions."
            ),
            "## §4.3 Interpreting empirical calibration evaluation",
            wrapped(
                "**Testing a hypothesis of perfect calibration.** *Paper:* P[h(D^id) ≥ h(D)],"
                " estimated by consistency resampling, is used as a p-value. *Found:* it is one"
                " only where bins hold many rows. To see this, take the predictions of a network"
                " and draw labels from them, so that the model is calibrated by construction. A"
                f" test at 5 % may then reject about {0.05 * n:.0f} of {n} such data sets. Total"
                " variation; in brackets the 95 % Clopper–Pearson interval of the rate:"
            ),
            size_table(calibrated),
            wrapped(
                "The reason is in the two columns of means. Drawing predictions with replacement"
                " puts copies of a row into the same bin, where their labels average out, so the"
                " resampled miscalibration is too small: "
                + "; ".join(
                    f"{files.NETWORKS[r['network']]} {r['consistency_mean']:.4f} against"
                    f" {r['mean']:.4f}"
                    for r in fine
                )
                + ". Where bins hold hundreds of rows copies matter little: there the paper's test"
                f" rejects {span(r['consistency']['rejected'] for r in rest)} of {n}."
            ),
            wrapped(
                f"How it was computed: {n} data sets for each row of the table. In the exact test"
                f" each has its own {resamples['exact']} resamples. The null"
                " distribution of the paper's test depends on the predictions alone, so"
                f" {resamples['consistency']} resamples serve all data sets; its"
                " intervals hold for this null distribution, and another draw of it would move"
                f" rates near 5 % by about {moved:.1f} percentage points (one standard deviation)."
                f"{drawn_again(calibrated)}"
                " The same on synthetic models:"
                f" {SIZE}."
            ),
            comparing(calibrated, tables),
            wrapped(
                "**Lower bound interpretation.** See Theorem 2 above, and Figure 12 below for what"
                " it does to estimates with 10 bins."
            ),
        ]
    )


def rate(r: dict[str, Any]) -> str:
    """Write how many data sets were rejected, with the interval of the rate."""
    low, high = r["interval_95"]
    return f"{r['rejected']} [{100 * low:.1f} %, {100 * high:.1f} %]"


def drawn_again(calibrated: dict[str, Any]) -> str:
    """Say what further data sets gave where an interval of the exact test misses 5 %."""
    missed = [r for r in calibrated["rows"] if r["exact_again"]]
    if not missed:
        return ""
    return (
        f" In {len(missed)} of {len(calibrated['rows'])} rows the interval of the exact test misses"
        f" 5 %; of {calibrated['again']['data_sets']:,} further data sets, drawn with another seed,"
        " it rejects "
        + "; ".join(
            f"{rate(r['exact_again'])} ({files.NETWORKS[r['network']]}, {r['lens']}, {r['bins']})"
            for r in missed
        )
        + "."
    )


def size_table(calibrated: dict[str, Any]) -> str:
    """Return how often calibrated models are rejected."""
    return table(
        [
            "predictions",
            "lens",
            "bins",
            "mean estimate",
            "mean, consistency",
            "paper's test rejects",
            "exact test rejects",
        ],
        [
            [
                files.NETWORKS[r["network"]],
                r["lens"],
                r["bins"],
                f"{r['mean']:.4f}",
                f"{r['consistency_mean']:.4f}",
                rate(r["consistency"]),
                rate(r["exact"]),
            ]
            for r in calibrated["rows"]
        ],
    )


def comparing(calibrated: dict[str, Any], tables: dict[str, Any]) -> str:
    """Show a larger estimate that is not rejected beside a smaller one that is."""
    (drawn,) = [
        r["first"]
        for r in calibrated["rows"]
        if (r["network"], r["lens"], r["bins"]) == ("lenet", *FINE)
    ]
    (dense,) = [
        r
        for r in tables["networks"]["densenet"]["rows"]
        if (r["lens"], r["bins"], r["distance"]) == (*FINE, "total variation")
    ]
    shown = (
        drawn["estimate"] > dense["estimate"] and drawn["pvalue"] > 0.05 > dense["exact"]["pvalue"]
    )
    return wrapped(
        "**Comparing miscalibration estimates.** *Paper:* a model with the larger estimate may be"
        " the one that is not rejected, so estimates alone do not rank models. *Found:*"
        f" {holds(shown)} Canonical lens, equally-sized bins, total variation: LeNet with labels"
        " drawn from its own predictions (the first such data set) is calibrated, yet its estimate"
        f" is {drawn['estimate']:.4f} ({pvalue(drawn['pvalue'])}); DenseNet with the true labels"
        f" has {dense['estimate']:.4f} ({pvalue(dense['exact']['pvalue'])})."
    )
