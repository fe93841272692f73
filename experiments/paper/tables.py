"""Appendix D: Tables 3 to 5, for our networks.

python -m experiments.paper.tables
"""

from __future__ import annotations

from typing import Any

from calibrant import (
    Evaluation,
    EvaluationRow,
    Predictions,
    datasets,
    distances,
    estimate,
    evaluate,
    lenses,
    partitions,
    statistics,
)
from calibrant.resampling import Consistency, Exact
from calibrant.scores import accuracy, log_score
from calibrant.statistics import ExpectedMiscalibration

from . import files

SEED = 345
RESAMPLES = 999
LENSES = {"canonical": lenses.Canonical(), "maximum": lenses.TopLabel()}
PARTITIONS = {
    "equally-sized": partitions.EqualWidth(10),
    "data-dependent": partitions.VarianceTree(1000),
}
# The tables' "squared Euclidean" is the Euclidean distance; the square is there to compare.
DISTANCES = {
    "total variation": distances.total_variation,
    "Euclidean": distances.euclidean,
    "squared Euclidean": distances.squared_euclidean,
}
COMBINATIONS = [(lens, bins, d) for lens in LENSES for bins in PARTITIONS for d in DISTANCES]


def grid(name: str, resampler: Any) -> Evaluation:
    """Evaluate a network in all combinations."""
    return evaluate(
        datasets.cifar10(name),
        lenses=tuple(LENSES.values()),
        statistics=statistics.grid(PARTITIONS.values(), DISTANCES.values()),
        resampler=resampler,
        n_resamples=RESAMPLES,
        rng=SEED,
    )


def standard_error(data: Predictions, row: EvaluationRow) -> float:
    """Return the standard error of a row, with the partition fitted again to each data set."""
    eta = ExpectedMiscalibration(row.partition, row.distance)
    return estimate(data, eta, lens=row.lens, n_resamples=RESAMPLES, rng=SEED).standard_error


def null(row: Any) -> dict[str, float]:
    """Describe the null distribution of a row."""
    return {"mean": float(row.null.mean()), "sd": float(row.null.std()), "pvalue": row.pvalue}


def network(name: str) -> dict[str, Any]:
    """Return scores and the rows of the table of one network."""
    data = datasets.cifar10(name)
    exact, paper = grid(name, Exact()), grid(name, Consistency())
    correct = estimate(data, accuracy, n_resamples=RESAMPLES, rng=SEED)
    rows = [
        {
            "lens": lens,
            "bins": bins,
            "distance": distance,
            "cells": ours.partition.fit(ours.lens(data)).n_cells,
            "estimate": ours.value,
            "standard_error": standard_error(data, ours),
            "exact": null(ours),
            "consistency": null(theirs),
        }
        for (lens, bins, distance), ours, theirs in zip(
            COMBINATIONS, exact.rows, paper.rows, strict=True
        )
    ]
    return {
        "accuracy": correct.value,
        "accuracy_standard_error": correct.standard_error,
        "log_score": log_score(data),
        "rows": rows,
    }


def main() -> None:
    """Write the tables."""
    tables = {name: network(name) for name in files.NETWORKS}
    files.write("tables", {"seed": SEED, "resamples": RESAMPLES, "networks": tables})


if __name__ == "__main__":
    main()
