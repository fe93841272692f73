"""How often a calibrated model is rejected if a test at 5 % is repeated as rows come in.

    python examples/repeated_looks.py --sets 1000

Batches of rows are added to a `Tally`, which is looked at after each. One look at the end rejects
in 5 %; many looks, each at 5 %, in several times as many: a running test needs a monitor.
"""

import argparse

import numpy as np

import calibrant as cal
from calibrant import partitions, statistics

LOOKS = (1, 5, 20, 100)
ETA = statistics.ExpectedMiscalibration(partitions.EqualWidth(10))


def first_rejection(seed: int, looks: int, rows: int) -> int:
    """Return after which look a calibrated model is first rejected; 0 if it never is."""
    rng = np.random.default_rng(seed)
    tally = cal.Tally(ETA, n_resamples=99, rng=seed)
    for look in range(1, looks + 1):
        probs = rng.random(rows)
        tally.update(probs, (rng.random(rows) < probs).astype(int))
        if tally.result().pvalue <= 0.05:
            return look
    return 0


def main() -> None:
    """Print the share of models that are rejected at some look, and at the last one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--rows", type=int, default=50)
    given = parser.parse_args()
    found = np.array([first_rejection(seed, LOOKS[-1], given.rows) for seed in range(given.sets)])
    for looks in LOOKS:
        share = np.mean((found > 0) & (found <= looks))
        error = np.sqrt(share * (1 - share) / given.sets)
        print(f"{looks:4d} looks: {share:.1%} ± {error:.1%} of {given.sets:,} models are rejected")


if __name__ == "__main__":
    main()
