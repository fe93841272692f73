"""Figure 3."""

from __future__ import annotations

from typing import Any

from ..words import holds, table, wrapped
from .rows import best_rows, figure


def figure_3(training: dict[str, Any]) -> str:
    """Cover the training of LeNet on MNIST."""
    ways = [
        best_rows(training, way)
        for way in ("top-label-consistency", "top-label-exact", "canonical-exact")
    ]
    canonical = training["canonical_consistency_pvalues_at_best"]
    rows = [
        [
            str(number + 1),
            f"{exact['step']:g}",
            f"{exact['log_score']:.4f}",
            f"{exact['accuracy']:.4f}",
            f"{exact['value']:.4f}",
            f"{exact['null_mean']:.4f}",
            f"{paper['pvalue']:.3f}",
            f"{exact['pvalue']:.3f}",
            f"{full['value']:.4f}",
            f"{canonical[number]:.3f}",
            f"{full['pvalue']:.3f}",
        ]
        for number, (paper, exact, full) in enumerate(zip(*ways, strict=True))
    ]
    rejected = [sum(row["pvalue"] <= 0.05 for row in way) for way in ways]
    return "\n\n".join(
        [
            "### Figure 3",
            wrapped(
                "*Paper* (§5.2): the models with the best negative log-likelihood are quite"
                " consistently indicated as miscalibrated. *Found:*"
                f" {holds(rejected[:2] == [len(rows)] * 2)} At the smallest negative"
                " log-likelihood on the validation set (stars) calibration"
                f" of the top label is rejected at 5 % in {rejected[0]} of {len(rows)} trainings by"
                f" the paper's test and in {rejected[1]} by the exact one; of all classes in"
                f" {sum(p <= 0.05 for p in canonical)} and {rejected[2]}. Top label: 10 equal"
                " widths. All classes: canonical lens, tree of 1000. The smallest"
                f" p-values possible are {least(training, 'top-label-consistency')} (paper's) and"
                f" {least(training, 'top-label-exact')} (exact)."
            ),
            table(
                [
                    "start",
                    "step",
                    "nLL",
                    "accuracy",
                    "η, top label",
                    "mean if calibrated",
                    "p, paper's",
                    "p, exact",
                    "η, all classes",
                    "p, paper's",
                    "p, exact",
                ],
                rows,
            ),
            calm_steps(training),
            figure("mnist-top-label-consistency", "LeNet on MNIST, top label, the paper's p-value"),
            figure("mnist-top-label-exact", "LeNet on MNIST, top label, exact p-value"),
            figure("mnist-canonical-exact", "LeNet on MNIST, all classes, exact p-value"),
            wrapped(
                "From above: top label with the paper's p-value, top label with the exact one, all"
                " classes with the exact one. A step is a batch of 100 images, 500 steps are an"
                " epoch. Dotted: mean of the estimate if the model were calibrated; dashed: 5 %."
            ),
            wrapped(
                "`calibrant.Trajectory` records such rows in any training loop, with one call after"
                " each epoch, and draws this figure."
            ),
        ]
    )


def least(training: dict[str, Any], way: str) -> str:
    """Write the smallest possible p-value of a way, and why."""
    resamples = training[way][0]["settings"]["n_resamples"]
    return f"{1 / (1 + resamples):.3f} with {resamples} resamples"


def calm_steps(training: dict[str, Any]) -> str:
    """Say when calibration is not rejected."""
    of = {
        way: [[r for r in one["rows"] if r["pvalue"] > 0.05] for one in training[way]]
        for way in ("top-label-consistency", "top-label-exact", "canonical-exact")
    }
    steps = [row["step"] for one in of["top-label-exact"] for row in one]
    recorded = sum(len(one["rows"]) for one in training["top-label-exact"])
    scores = [
        min(row["log_score"] for row in calm) / best["log_score"]
        for calm, best in zip(
            of["top-label-exact"], best_rows(training, "top-label-exact"), strict=True
        )
        if calm
    ]
    disagree = [
        (a["pvalue"], b["pvalue"])
        for one, other in zip(
            training["top-label-consistency"], training["top-label-exact"], strict=True
        )
        for a, b in zip(one["rows"], other["rows"], strict=True)
        if (a["pvalue"] <= 0.05) != (b["pvalue"] <= 0.05)
    ]
    return wrapped(
        "The top label is not rejected (exact test) only early, between steps"
        f" {min(steps):g} and {max(steps):g}: at {len(steps)} of {recorded} recorded steps. The"
        " best likelihood among these steps is worse than the best of the same training by a"
        f" factor of {min(scores):.2f} to {max(scores):.2f}. Calibration of all classes is"
        f" rejected at {recorded - sum(map(len, of['canonical-exact']))} of {recorded}. For the"
        f" top label the two tests decide differently at {len(disagree)} of {recorded} steps"
        " (paper's p, exact p: "
        + "; ".join(f"{a:.3f}, {b:.3f}" for a, b in disagree)
        + "), as resamples do by"
        " chance near the level."
    )
