"""The size of the default test for rows in clusters, and without respecting them.

    python examples/clusters.py [trials]

Models are calibrated by construction: each row's label has the predicted distribution, but rows of
one cluster depend on each other. A test at 5 % should reject 5 % of them.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import ndtr

from calibrant import Predictions, calibration_test, tables

Drawn = tuple[np.ndarray, np.ndarray]


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
        yield [name, f"{clusters}", *(f"{100 * share:.1f} %" for share in found / trials)]


def main() -> None:
    """Print the table of docs/inference.md."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rows = [row for clusters in (30, 100, 300) for row in shares(trials, clusters)]
    print(f"{trials} data sets each, clusters of 10 rows, B = 199\n")
    print(tables.markdown(["case", "clusters", "with clusters", "as if independent"], rows))


if __name__ == "__main__":
    main()
