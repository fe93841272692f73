"""Figures 1, 4 and 15 to 18: reliability diagrams in one, two and three dimensions.

python -m experiments.paper.figures
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from calibrant import ReliabilityDiagram, datasets, lenses, partitions, reliability_diagram

from . import files
from .tables import PARTITIONS

SEED = 14
NUMBERS = {"lenet": (4, 1), "densenet": (15, 16), "resnet": (17, 18)}  # 1-D and 2-D in the paper
THREE = lenses.Groups([[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]])
FOUR = lenses.Groups([[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]])


def describe(diagram: ReliabilityDiagram) -> dict[str, Any]:
    """Say how far the cells are off."""
    (series,) = diagram.series
    cells, fn = series.cells, series.function
    event = diagram.event if diagram.n_outcomes == 2 else slice(None)
    deviations = np.atleast_2d(fn.deviations[:, event].T).T
    outside = (fn.deviations < cells.lower - 1e-12) | (fn.deviations > cells.upper + 1e-12)
    return {
        "cells": int(fn.n_cells),
        "off": int(series.significant(diagram.alpha).sum()),
        "share_of_rows_in_them": float(fn.proportions[series.significant(diagram.alpha)].sum()),
        "outside_pointwise": int(np.atleast_2d(outside[:, event].T).T.any(axis=1).sum()),
        "mean_signed_deviation": float(fn.proportions @ deviations[:, 0]),
        "mean_total_variation": float(fn.proportions @ np.abs(fn.deviations).sum(axis=1) / 2),
        "smallest_adjusted_pvalue": float(cells.adjusted_pvalues.min()),
    }


def one_dimension(name: str) -> dict[str, Any]:
    """Draw the top label of a network, with both kinds of bins."""
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    found = {}
    for ax, (bins, partition) in zip(axes, PARTITIONS.items(), strict=True):
        diagram = reliability_diagram(
            datasets.cifar10(name), lens=lenses.TopLabel(), partition=partition, rng=SEED
        )
        diagram.plot(ax)
        found[bins] = describe(diagram)
    files.save(f"{name}-top-label", figure)
    return found


def two_dimensions(name: str) -> dict[str, Any]:
    """Draw three groups of classes, with 25 and 100 cells."""
    figure = plt.figure(figsize=(10.5, 4.5), layout="constrained")
    found = {}
    for place, k in enumerate((5, 10)):
        diagram = reliability_diagram(
            datasets.cifar10(name), lens=THREE, partition=partitions.SimplexBins(k), rng=SEED
        )
        diagram.plot(figure.add_subplot(1, 2, place + 1))
        found[str(k * k)] = describe(diagram)
    files.save(f"{name}-three-groups", figure, dpi=90)
    return found


def three_dimensions(name: str) -> dict[str, Any]:
    """Draw four groups of classes."""
    diagram = reliability_diagram(datasets.cifar10(name), lens=FOUR, rng=SEED)
    ax = plt.figure(figsize=(6.8, 5.4), layout="constrained").add_subplot(projection="3d")
    files.save(f"{name}-four-groups", diagram.plot(ax).figure, margins="tight")
    return describe(diagram)


def main() -> None:
    """Write figures and what they show."""
    mpl.use("Agg")
    result: dict[str, Any] = {"seed": SEED}
    for name in files.NETWORKS:
        result[name] = {
            "figures": NUMBERS[name],
            "top label": one_dimension(name),
            "three groups": two_dimensions(name),
            "four groups": three_dimensions(name),
        }
    files.write("figures", result)


if __name__ == "__main__":
    main()
