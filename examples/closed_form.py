"""Estimate the miscalibration of a data set that is given by a formula.

n = 5000 rows and m = 4 classes. With row i and class j counted from 0,
z = 2 sin(0.37 i (j + 1) + j), the predictions are softmax(z), and the outcome is the class
with the largest z + 2.5 cos(1.1 i (j + 2)). So everybody gets the same numbers.
"""

import numpy as np

import calibrant as cal
from calibrant import distances, lenses, partitions, statistics

LENSES = {
    "canonical": lenses.Canonical(),
    "top label": lenses.TopLabel(),
    "top 2": lenses.TopK(2),
    "class 0": lenses.Marginal(0),
    "groups 0 | 1 | 2+3": lenses.Groups([[0], [1], [2, 3]]),
    "pooled": lenses.Pooled(),
}
PARTITIONS = {
    "EqualWidth(10)": partitions.EqualWidth(10),
    "VarianceTree(500)": partitions.VarianceTree(500),
}
DISTANCES = {
    "total variation": distances.total_variation,
    "Euclidean": distances.euclidean,
}


def closed_form(n: int = 5000, m: int = 4) -> cal.Predictions:
    """Return the predictions and outcomes of the formula."""
    i = np.arange(n)[:, None]
    j = np.arange(m)
    logits = 2 * np.sin(0.37 * i * (j + 1) + j)
    labels = (logits + 2.5 * np.cos(1.1 * i * (j + 2))).argmax(axis=1)
    return cal.Predictions.from_logits(logits, labels)


def print_estimates(data: cal.Predictions) -> None:
    """Print the expected miscalibration for every lens, partition and distance."""
    print(f"{'lens':20}{'partition':19}{'bins':>5}", *(f"{name:>17}" for name in DISTANCES))
    for lens_name, lens in LENSES.items():
        induced = lens(data)
        for partition_name, partition in PARTITIONS.items():
            cells = partition.fit(induced).n_cells
            values = (
                statistics.ExpectedMiscalibration(partition, distance)(induced)
                for distance in DISTANCES.values()
            )
            print(
                f"{lens_name:20}{partition_name:19}{cells:5}",
                *(f"{value:17.6f}" for value in values),
            )


def print_scores(data: cal.Predictions) -> None:
    """Print the scores of §2.1."""
    for name, score in {
        "log loss": cal.log_score,
        "Brier score": cal.brier_score,
        "spherical score": cal.spherical_score,
        "accuracy": cal.accuracy,
    }.items():
        print(f"{name:16}{score(data):.6f}")


def main() -> None:
    """Print the tables."""
    data = closed_form()
    print(f"{data.n:,} rows, {data.m} classes\n")
    print("Expected miscalibration: how far the outcomes are from the predictions, on average")
    print_estimates(data)
    print("\nScores")
    print_scores(data)
    worst = statistics.WorstMiscalibration(partitions.EqualWidth(10))
    print(f"\nWorst bin of class 0: {worst.locate(lenses.Marginal(0)(data))}")


if __name__ == "__main__":
    main()
