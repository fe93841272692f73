"""The size of p-values after recalibration.

Predictions are drawn from symmetric Dirichlet distributions, outcomes from the predictions, or from
their square roots, divided by their sums: the right temperature is 1 or 2, which a map of each
method could be. p-values at most 0.05 should be 5 % or less.

Usage: python examples/recalibration_rule.py [SETS] [FOLDER]
"""

import csv
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

import calibrant as cal
from calibrant.calibration import View
from calibrant.inference.testing.families import omnibus
from calibrant.recalibration import Dirichlet, Isotonic, Method, Temperature

CLASSES, ROWS = (2, 3, 10), (1000, 5000)
METHODS = (Temperature(), Isotonic(), Dirichlet())
APART = ((2, Isotonic()), (10, Isotonic()), (10, Dirichlet()))


def draw(
    rng: np.random.Generator, m: int, n: int, concentration: float, temperature: float = 1.0
) -> cal.Predictions:
    """Return predictions that are right after this temperature."""
    logs = np.log(np.maximum(rng.dirichlet(np.full(m, concentration), n), 1e-100))
    truth = np.exp(logs - logs.max(axis=1, keepdims=True))
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return cal.Predictions.from_logits(np.log(truth) * temperature, labels)


def rejected(m: int, n: int, temperature: float, sets: int) -> list[str]:
    """Return the share of p-values at most 0.05, as it is and after each method."""
    rng = np.random.default_rng([m, n, int(temperature)])
    pvalues = []
    for seed in range(sets):
        data = draw(rng, m, n, 0.5, temperature)
        found = cal.recalibrate(data, METHODS, n_resamples=99, rng=seed)
        pvalues.append([row.pvalue for row in found.rows])
    return [f"{share:.1%}" for share in (np.array(pvalues) <= 0.05).mean(axis=0)]


def taken_apart(m: int, method: Method, sets: int) -> list[list[str]]:
    """Return how often each statistic rejects calibrated models after a method."""
    rng = np.random.default_rng([m, 1000])
    found: dict[str, list[bool]] = {}
    for seed in range(sets):
        after = cal.recalibrate(draw(rng, m, 1000, 0.5), [method], n_resamples=1, rng=seed)
        data = after.predictions(str(method))
        for statistic in omnibus(View.of(data)):
            test = cal.calibration_test(data, statistic, n_resamples=99, rng=seed)
            found.setdefault(str(statistic), []).append(test.pvalue <= 0.05)
    shares = {name: np.mean(each) for name, each in found.items()}
    start = [str(m), str(method)]
    return [[*start, name, str(sets), f"{share:.0%}"] for name, share in shares.items()]


def write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    """Write a table, and print it."""
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    print(path.read_text(), flush=True)


def tables(sets: int) -> tuple[list[list[str]], ...]:
    """Measure all on all cores; ten classes and 5,000 rows take long, and are fewer."""
    tests = []
    with ProcessPoolExecutor() as pool:
        for m, n, temperature in product(CLASSES, ROWS, (1.0, 2.0)):
            count = max(1, sets // 4) if m * n > 20_000 else sets
            start = [str(m), str(n), f"{temperature:g}", str(count)]
            tests.append((start, pool.submit(rejected, m, n, temperature, count)))
        parts = [pool.submit(taken_apart, m, method, sets // 2) for m, method in APART]
        return (
            [[*start, *found.result()] for start, found in tests],
            [row for part in parts for row in part.result()],
        )


def main(sets: int, folder: Path) -> None:
    """Print and write the tables."""
    tests, parts = tables(sets)
    header = ["classes", "rows", "right temperature", "sets", "as it is", *map(str, METHODS)]
    write(folder / "recalibration-pvalues.csv", header, tests)
    header = ["classes", "method", "statistic", "sets", "rejected"]
    write(folder / "recalibration-apart.csv", header, parts)


if __name__ == "__main__":
    main(int((sys.argv[1:2] or ["100"])[0]), Path((sys.argv[2:3] or ["docs/figures"])[0]))
