"""Recalibrate an overconfident binary model, and see which calibrator is best on other rows.

The model is twice as sure as it should be, on the scale of logits: the right temperature is 2.
"""

import numpy as np

import calibrant as cal
from calibrant import partitions, recalibration, statistics

METHODS = (
    recalibration.Temperature(),
    recalibration.Beta(),
    recalibration.Isotonic(),
    recalibration.Histogram(partitions.EqualMass(15)),
)


def too_sure(n: int, seed: int) -> cal.Predictions:
    """Return outcomes of probability p that were predicted as p² / (p² + (1 - p)²)."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.7, n)
    predicted = p**2 / (p**2 + (1 - p) ** 2)
    return cal.Predictions(predicted, (rng.random(n) < p).astype(int), classes=["no", "yes"])


def main() -> None:
    """Print scores and p-values before and after."""
    train, test = too_sure(2000, seed=1), too_sure(5000, seed=2)
    eta = statistics.ExpectedMiscalibration(partitions.EqualWidth(15))
    print(f"{'':30}{'log loss':>10}{'Brier':>8}{'p':>7}")
    models = {"as it is": test} | {str(each): each.fit(train)(test) for each in METHODS}
    for name, model in models.items():
        found = cal.calibration_test(model, eta, rng=0)
        log, brier = cal.log_score(model), cal.brier_score(model)
        print(f"{name:30}{log:10.4f}{brier:8.4f}{found.pvalue:7.3f}")


if __name__ == "__main__":
    main()
