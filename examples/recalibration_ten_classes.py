"""Repair a network for ten classes with maps of 1, 20 and 110 parameters, and save the best.

Usage: python examples/recalibration_ten_classes.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np

import calibrant as cal
from calibrant import lenses, partitions, recalibration, statistics

METHODS = (
    recalibration.Temperature(),
    recalibration.Vector(),
    recalibration.Dirichlet(0.01, 0.01),
    recalibration.Matrix(),
)


def main(folder: Path) -> None:
    """Print scores of rows that the maps have not seen, and write the map of the best score."""
    data = cal.datasets.cifar10("resnet")
    even = np.arange(data.n) % 2 == 0
    train, test = data.restrict(even), data.restrict(~even)
    eta = statistics.ExpectedMiscalibration(partitions.EqualWidth(15))
    maps = {str(method): method.fit(train) for method in METHODS}
    models = {"as it is": test} | {name: fitted(test) for name, fitted in maps.items()}
    print(f"{'':12}{'log loss':>10}{'accuracy':>10}{'p, top class':>14}")
    for name, model in models.items():
        found = cal.calibration_test(model, eta, lens=lenses.TopLabel(), rng=0)
        log, hits = cal.log_score(model), cal.accuracy(model)
        print(f"{name:12}{log:10.4f}{hits:10.4f}{found.pvalue:14.3f}")
    best = min(maps, key=lambda name: cal.log_score(models[name]))
    maps[best].save(folder / "map.json")
    again = recalibration.load_map(folder / "map.json")
    same = bool((again(test.probs) == models[best].probs).all())
    print(f"\n{maps[best]} is in map.json; loaded, it gives the same numbers: {same}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
