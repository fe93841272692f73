"""What both tests say of models that are calibrated by construction.

    python -m experiments.paper.calibrated

Predictions are those of the networks; labels are drawn from them, so the hypothesis is true and a
test at 5 % may reject 5 % of the data sets. Under either resampler the null distribution depends
on the predictions alone:

- Exact: a replicate is a data set drawn in just this way. 100 replicates are one data set and the
  99 resamples of its test, so 100 × 1000 replicates are 1000 independent tests.
- Consistency: its resamples are drawn once, 999 of them, and serve all data sets.

The exact test rejects with probability 5 %, so its intervals miss 5 % now and then by chance. Where
one does, ten times as many data sets are drawn with another seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import beta

from calibrant import calibration_test, datasets
from calibrant.inference.testing.families import pvalue
from calibrant.resampling import Consistency, Exact
from calibrant.statistics import ExpectedMiscalibration

from . import files
from .tables import LENSES, PARTITIONS

SEED = 43
DATA_SETS = 1000
AGAIN = {"seed": 44, "data_sets": 10_000}
RESAMPLES = {"exact": 99, "consistency": 999}
LEVEL = 0.05


def clopper_pearson(hits: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a probability."""
    tail = (1 - level) / 2
    low = beta.ppf(tail, hits, trials - hits + 1) if hits else 0.0
    high = beta.isf(tail, hits + 1, trials - hits) if hits < trials else 1.0
    return float(low), float(high)


def rate(pvalues: list[float]) -> dict[str, Any]:
    """Describe how often the hypothesis was rejected."""
    hits = sum(p <= LEVEL for p in pvalues)
    return {"rejected": hits, "interval_95": clopper_pearson(hits, len(pvalues))}


def combination(name: str, lens: str, bins: str) -> dict[str, Any]:
    """Test data sets of one network."""
    eta = ExpectedMiscalibration(PARTITIONS[bins])
    data = datasets.cifar10(name)

    def draws(resampler: Any, count: int, seed: int) -> np.ndarray:
        found = calibration_test(
            data, eta, lens=LENSES[lens], resampler=resampler, n_resamples=count, rng=seed
        )
        return found.null

    def exactly(data_sets: int, seed: int) -> tuple[np.ndarray, list[float]]:
        groups = draws(Exact(), data_sets * (RESAMPLES["exact"] + 1), seed).reshape(data_sets, -1)
        return groups[:, 0], pvalue(groups[:, 0], groups[:, 1:]).tolist()

    values, exact = exactly(DATA_SETS, SEED)
    paper = draws(Consistency(), RESAMPLES["consistency"], SEED)
    consistency = [pvalue(h, paper) for h in values]
    low, high = rate(exact)["interval_95"]
    again = None if low <= LEVEL <= high else rate(exactly(AGAIN["data_sets"], AGAIN["seed"])[1])
    return {
        "network": name,
        "lens": lens,
        "bins": bins,
        "mean": float(values.mean()),
        "first": {"estimate": float(values[0]), "pvalue": exact[0]},
        "consistency_mean": float(paper.mean()),
        "exact": rate(exact),
        "exact_again": again,
        "consistency": rate(consistency),
    }


def main() -> None:
    """Write how often calibrated models are rejected."""
    rows = [
        combination(name, lens, bins)
        for name in files.NETWORKS
        for lens in LENSES
        for bins in PARTITIONS
    ]
    settings = {
        "seed": SEED,
        "data_sets": DATA_SETS,
        "again": AGAIN,
        "resamples": RESAMPLES,
        "level": LEVEL,
    }
    files.write("calibrated", {**settings, "rows": rows})


if __name__ == "__main__":
    main()
