"""Section 5.1: the Gaussian mixture. Figures 6 to 14.

python -m experiments.paper.gaussian_mixture
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from calibrant import reliability_diagram
from calibrant.datasets import gaussian_mixture, gaussian_mixture_truth
from calibrant.partitions import EqualWidth, VarianceTree
from calibrant.statistics import ExpectedMiscalibration

from . import files

SEED = 51
SERIES = 1000
ROWS = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
BINS = (10, 100)
LIMITS = (1, 2, 3, 5, 10, 30, 100)
SHOWN = 10_000  # rows of the reliability diagrams


@dataclass(frozen=True, slots=True)
class Model:
    """One of the three logistic models.

    Parameters
    ----------
    name : in words
    beta0, beta1 : parameters
    figures : numbers in the paper: 10 bins, 100 bins, reliability diagrams
    """

    name: str
    beta0: float
    beta1: float
    figures: tuple[int, int, int]


MODELS = (
    Model("perfect", 0, -2, (6, 7, 8)),
    Model("constant", 0, 0, (9, 10, 11)),
    Model("uncalibrated", 1, 1, (12, 13, 14)),
)


def deviation(model: Model, x: float) -> float:
    """Return the true probability of Y = 1 minus the predicted one, times the density at x."""
    predicted = 1 / (1 + np.exp(model.beta0 + model.beta1 * x))
    true = gaussian_mixture_truth(model.beta0, model.beta1)(predicted)
    return float((true - predicted) * (norm.pdf(x, -1) + norm.pdf(x, 1)) / 2)


def expected_miscalibration(model: Model) -> float:
    """Return the true expected miscalibration in total variation, by quadrature over x."""
    # Between these marks the integrand is smooth: r - g of (1, 1) changes its sign at x = -1/3.
    marks = (-12, -4, -2, -1 / 3, 1, 2, 4, 12)
    return sum(
        quad(lambda x: abs(deviation(model, x)), a, b, epsabs=1e-12)[0] for a, b in pairwise(marks)
    )


def limit(model: Model, k: int) -> float:
    """Return what the estimate with k equally-sized bins tends to as the rows grow: Theorem 2."""
    inner = np.arange(1, k) / k
    cuts = (np.log(inner / (1 - inner)) - model.beta0) / model.beta1
    edges = np.clip([-12, *np.sort(cuts), 12], -12, 12)
    return sum(
        abs(quad(lambda x: deviation(model, x), a, b, epsabs=1e-12)[0]) for a, b in pairwise(edges)
    )


def estimates(number: int, n: int) -> np.ndarray:
    """Return the estimates (series, bins) for model `number` and n rows."""
    model = MODELS[number]
    statistics = [ExpectedMiscalibration(EqualWidth(k)) for k in BINS]
    out = np.empty((SERIES, len(BINS)))
    for s in range(SERIES):
        rng = np.random.default_rng([SEED, number, n, s])
        data = gaussian_mixture(n, model.beta0, model.beta1, rng)
        out[s] = [eta(data) for eta in statistics]
    return out


def summary(difference: np.ndarray) -> dict[str, float]:
    """Describe estimates minus truth (series,)."""
    return {
        "percentile_5": float(np.percentile(difference, 5)),
        "mean": float(difference.mean()),
        "percentile_95": float(np.percentile(difference, 95)),
        "over": int((difference > 0).sum()),
        "under": int((difference < 0).sum()),
    }


def bias(number: int, truth: float) -> list[dict[str, Any]]:
    """Return a row for each number of rows and bins."""
    rows = []
    for n in ROWS:
        found = estimates(number, n)
        rows += [{"n": n, "bins": k, **summary(found[:, b] - truth)} for b, k in enumerate(BINS)]
    return rows


def draw_bias(model: Model, rows: list[dict[str, Any]]) -> None:
    """Draw the two figures of one model."""
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.0), layout="constrained", sharey=True)
    for ax, k, number in zip(axes, BINS, model.figures, strict=False):
        of = [row for row in rows if row["bins"] == k]
        n = [row["n"] for row in of]
        ax.fill_between(
            n,
            [row["percentile_5"] for row in of],
            [row["percentile_95"] for row in of],
            color="#BFD7EA",
            label="5th to 95th percentile",
        )
        ax.plot(n, [row["mean"] for row in of], "o-", ms=3, color="#0072B2", label="mean")
        ax.axhline(0, color="#222222", lw=0.8)
        ax.set(xscale="log", xlabel="rows", title=f"Figure {number}: {k} bins")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("estimate − truth")
    axes[0].legend(frameon=False)
    files.save(f"gaussian-{model.name}-bias", figure)


def draw_diagrams(number: int) -> dict[str, Any]:
    """Draw the reliability diagrams of one model; return how many cells are off."""
    model = MODELS[number]
    data = gaussian_mixture(SHOWN, model.beta0, model.beta1, rng=SEED + number)
    # The constant model makes one prediction, so its curve is one point: the line at 0.
    truth = gaussian_mixture_truth(model.beta0, model.beta1) if model.beta1 else None
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    found = {}
    for ax, name, partition in (
        (axes[0], "equally-sized", EqualWidth(10)),
        (axes[1], "data-dependent", VarianceTree(1000)),
    ):
        diagram = reliability_diagram(data, partition=partition, rng=SEED)
        diagram.plot(ax, truth=truth)
        found[name] = describe(diagram, model)
    files.save(f"gaussian-{model.name}-diagrams", figure)
    return found


def describe(diagram: Any, model: Model) -> dict[str, Any]:
    """Count cells and those that are off; compare with the truth at the mean prediction."""
    (series,) = diagram.series
    fn, event = series.function, diagram.event
    predicted, deviations = fn.predicted[:, event], fn.deviations[:, event]
    true = gaussian_mixture_truth(model.beta0, model.beta1)(predicted) - predicted
    gap = np.abs(deviations - true)
    return {
        "cells": int(fn.n_cells),
        "off": int(series.significant(diagram.alpha).sum()),
        "mean_gap_to_truth": float(np.average(gap, weights=fn.mass)),
        "largest_gap_to_truth": float(gap.max()),
        "rows_of_that_cell": float(fn.mass[gap.argmax()]),
    }


def main() -> None:
    """Write results and figures."""
    mpl.use("Agg")
    result: dict[str, Any] = {
        "seed": SEED,
        "series": SERIES,
        "rows_of_diagrams": SHOWN,
        "models": {},
    }
    for number, model in enumerate(MODELS):
        truth = expected_miscalibration(model)
        rows = bias(number, truth)
        draw_bias(model, rows)
        result["models"][model.name] = {
            "beta0": model.beta0,
            "beta1": model.beta1,
            "figures": list(model.figures),
            "truth": truth,
            "bias": rows,
            "diagrams": draw_diagrams(number),
        }
    result["limits"] = [{"bins": k, "limit": limit(MODELS[2], k)} for k in LIMITS]
    files.write("gaussian_mixture", result)


if __name__ == "__main__":
    main()
