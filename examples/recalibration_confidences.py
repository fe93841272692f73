"""Repair the confidences that a language model states in words: 60 %, 90 %, 100 %.

Simulated answers: stated confidences are round numbers, most of them 90 % and more, and the
answer is right less often. Certainty (100 %) is sometimes wrong, so the log loss is infinite and
a temperature cannot help: zeros stay zeros.
"""

import numpy as np

import calibrant as cal
from calibrant import partitions, recalibration

STATED = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
OFTEN = np.array([0.03, 0.04, 0.08, 0.15, 0.3, 0.25, 0.15])
EACH = partitions.FromFunction(lambda probs: probs[:, 1])  # a bin for each stated confidence
RIGHT = np.array([0.45, 0.5, 0.52, 0.6, 0.72, 0.83, 0.93])


def answers(n: int, seed: int) -> cal.Predictions:
    """Return stated confidences, and whether the answer was right."""
    rng = np.random.default_rng(seed)
    which = rng.choice(len(STATED), n, p=OFTEN)
    right = rng.random(n) < RIGHT[which]
    return cal.Predictions(STATED[which], right.astype(int), classes=["wrong", "right"])


def main() -> None:
    """Print what each stated confidence should have been, by three maps."""
    train, test = answers(1500, seed=1), answers(5000, seed=2)
    maps = {
        "beta": recalibration.Beta().fit(train),
        "isotonic": recalibration.Isotonic().fit(train),
        "frequency": recalibration.Histogram(EACH).fit(train),
    }
    print(f"{'stated':>9}{'truth':>9}", *(f"{name:>9}" for name in maps))
    columns = [fitted(STATED)[:, 1] for fitted in maps.values()]
    for stated, truth, *found in zip(STATED, RIGHT, *columns, strict=True):
        print(f"{stated:9.2f}{truth:9.2f}", *(f"{value:9.3f}" for value in found))
    scores = (cal.log_score(fitted(test)) for fitted in maps.values())
    print(f"{'log loss':>9}{cal.log_score(test):9.4f}", *(f"{score:9.4f}" for score in scores))


if __name__ == "__main__":
    main()
