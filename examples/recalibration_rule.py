"""How often recalibration is recommended where none is needed, and how large its p-values are.

Predictions are drawn from Dirichlet distributions. In calibrated sets outcomes are drawn from the
predictions; the rule should say "leave it". In the others they are drawn from the square roots of
the predictions, divided by their sums: the right temperature is 2, so a map of each method could be
right, and p-values at most 0.05 should be 5 %.

Usage: python examples/recalibration_rule.py [SETS] [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np

import calibrant as cal

SIZES = ((2, 200), (2, 1000), (2, 5000), (10, 200), (10, 1000), (10, 5000))  # classes, rows
SPREAD = {2: 0.5, 10: 0.3}  # of the Dirichlet distribution


def draw(rng: np.random.Generator, m: int, n: int, temperature: float) -> cal.Predictions:
    """Return predictions that are right after this temperature."""
    logs = np.log(np.maximum(rng.dirichlet(np.full(m, SPREAD[m]), n), 1e-100))
    truth = np.exp(logs - logs.max(axis=1, keepdims=True))
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return cal.Predictions.from_logits(np.log(truth) * temperature, labels)


def measure(m: int, n: int, sets: int) -> list[str]:
    """Return a line of the table: how often the model is left alone, and rejections by method."""
    rng = np.random.default_rng(n + m)
    left = 0
    pvalues: dict[str, list[float]] = {}
    for seed in range(sets):
        fine = cal.recalibrate(draw(rng, m, n, 1.0), n_resamples=1, rng=seed)
        left += fine.recommended == "as it is"
        off = cal.recalibrate(draw(rng, m, n, 2.0), n_resamples=99, rng=seed)
        for row in off.rows:
            pvalues.setdefault(row.name, []).append(row.pvalue)
    shares = {name: np.mean(np.array(found) <= 0.05) for name, found in pvalues.items()}
    names = ("as it is", "temperature", "beta", "vector", "Dirichlet", "isotonic")
    rejected = [f"{shares[name]:.1%}" if name in shares else "" for name in names]
    return [str(m), str(n), str(sets), f"{left / sets:.1%}", *rejected]


def main(sets: int, folder: Path) -> None:
    """Print and write the table."""
    header = "classes,rows,sets,left alone,as it is,temperature,beta,vector,Dirichlet,isotonic"
    lines = [header]
    for m, n in SIZES:
        lines.append(",".join(measure(m, n, max(20, sets * 200 // n if m == 10 else sets))))
        print(lines[-1], flush=True)
    (folder / "recalibration-rule.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int((sys.argv[1:2] or ["300"])[0]), Path((sys.argv[2:3] or ["docs/figures"])[0]))
