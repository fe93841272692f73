"""Count how often calibrated models whose rows depend on each other are rejected at 5 %.

Each row has a label from its prediction, but rows of one cluster depend on each other. Writes
the table into docs/inference.md.

Usage: python examples/clusters.py [number of data sets]
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from calibrant import Predictions, calibration_test

Drawn = tuple[np.ndarray, np.ndarray]

PAGE = Path(__file__).parents[1] / "docs" / "inference.md"
MARK = "<!-- clusters -->"


def one_label(rng: np.random.Generator, of_rows: np.ndarray) -> Drawn:
    """Draw one label for all rows of a cluster, whose predictions are equal."""
    p = rng.random(of_rows.max() + 1)
    return p[of_rows], (rng.random(p.size) < p)[of_rows]


def half_shared(rng: np.random.Generator, of_rows: np.ndarray) -> Drawn:
    """Let half of the rows share the label of their cluster."""
    p, shared = one_label(rng, of_rows)
    own = rng.random(p.size) < p
    return p, np.where(rng.random(p.size) < 0.5, shared, own)


def latent(rng: np.random.Generator, of_rows: np.ndarray) -> Drawn:
    """Draw labels by normal numbers that have a correlation of 0.1 within clusters."""
    p = rng.random(of_rows.size)
    shared = rng.standard_normal(of_rows.max() + 1)[of_rows]
    own = rng.standard_normal(p.size)
    return p, ndtr(np.sqrt(0.1) * shared + np.sqrt(0.9) * own) < p


def rare(rng: np.random.Generator, of_rows: np.ndarray) -> Drawn:
    """Draw one label for all rows of a cluster, of an event that is rare."""
    p = rng.beta(1, 20, of_rows.max() + 1)
    return p[of_rows], (rng.random(p.size) < p)[of_rows]


CASES: dict[str, Callable[[np.random.Generator, np.ndarray], Drawn]] = {
    "one label a cluster": one_label,
    "half of the rows share a label": half_shared,
    "latent correlation 0.1": latent,
    "one label a cluster, 5 % events": rare,
}


def shares(trials: int, clusters: int) -> Iterator[list[str]]:
    """Yield how often calibrated models are rejected, with clusters and without."""
    of_rows = np.repeat(np.arange(clusters), 10)
    for name, draw in CASES.items():
        rng, found = np.random.default_rng(0), np.zeros(2)
        for trial in range(trials):
            p, labels = draw(rng, of_rows)
            for k, given in enumerate((of_rows, None)):
                data = Predictions(p, labels.astype(int), clusters=given)
                found[k] += calibration_test(data, n_resamples=199, rng=trial).pvalue <= 0.05
        shown = " | ".join(f"{100 * share:.1f} %" for share in found / trials)
        yield f"| {name} | {clusters} | {shown} |"


def main(trials: int) -> None:
    """Print the table, and put it between its marks on the page."""
    lines = ["| case | clusters | with clusters | as if independent |", "|---|--:|--:|--:|"]
    for clusters in (30, 100, 300):
        for line in shares(trials, clusters):
            lines.append(line)
            print(line, flush=True)
    note = f"Rejected at 5 % of {trials} data sets, clusters of ten rows, B = 199."
    before, _, after = PAGE.read_text("utf-8").split(MARK)
    PAGE.write_text("\n".join((before + MARK, note, "", *lines, "", MARK + after)), "utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
