"""Examples 1, 3 and 5 and Figures 2 and 5.

python -m experiments.paper.examples
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from calibrant import Predictions, calibration_test, datasets, reliability_diagram
from calibrant.lenses import Canonical, Marginal, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.statistics import ExpectedMiscalibration

from . import files

SEED = 135
ROWS = 60_000
RESAMPLES = 999
LENSES = {
    "canonical": Canonical(),
    "top label": TopLabel(),
    **{f"class {j + 1}": Marginal(j) for j in range(3)},
}
ETA = ExpectedMiscalibration(EqualWidth(10))  # puts every prediction into a cell of its own


def looked_at(data: Predictions) -> dict[str, Any]:
    """Test an example through every lens."""
    found = {}
    for name, lens in LENSES.items():
        test = calibration_test(data, ETA, lens=lens, n_resamples=RESAMPLES, rng=SEED)
        found[name] = {
            "estimate": test.statistic,
            "null_mean": float(test.null.mean()),
            "pvalue": test.pvalue,
        }
    return found


def draw(examples: dict[str, Predictions]) -> None:
    """Draw the examples on the simplex."""
    figure = plt.figure(figsize=(10.5, 4.5), layout="constrained")
    for place, data in enumerate(examples.values()):
        diagram = reliability_diagram(data, partition=ETA.partition, rng=SEED)
        diagram.plot(figure.add_subplot(1, 2, place + 1))
    files.save("examples", figure, dpi=90)


def one_row() -> dict[str, float]:
    """Return the biases of Example 5: one row, one bin, both outcomes equally likely."""
    eta = ExpectedMiscalibration(EqualWidth(1))
    perfect = [eta(Predictions(np.eye(2)[[y]], [y])) for y in (0, 1)]
    constant = [eta(Predictions([[0.5, 0.5]], [y])) for y in (0, 1)]
    return {"perfect": float(np.mean(perfect)), "constant": float(np.mean(constant))}


def main() -> None:
    """Write results and the figure."""
    mpl.use("Agg")
    examples = {
        "example1": datasets.example1(ROWS, rng=SEED),
        "example3": datasets.example3(ROWS, rng=SEED),
    }
    draw(examples)
    result = {name: looked_at(data) for name, data in examples.items()}
    settings = {"seed": SEED, "rows": ROWS, "resamples": RESAMPLES}
    files.write("examples", {**settings, **result, "example5": one_row()})


if __name__ == "__main__":
    main()
