"""Count how often an interval of the squared miscalibration holds its true value.

Models are drawn whose true probabilities are known: softmax of normal logits. Their predictions
are those (calibrated), or off slightly or far in one of four ways. The truth on the bins of a tree
is computed from 40,000 further rows. Writes the table into docs/inference.md.

Usage: python examples/covering_intervals.py [number of data sets]
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

import calibrant as cal

Floats = NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs" / "inference.md"
MARK = "<!-- coverage -->"
POOL = 40_000
SIZES = (200, 1000, 10_000)
VIEWS = {"binary": (2, 1.2), "top label of ten": (10, 1.5), "three": (3, 1.2), "ten": (10, 1.5)}
AMOUNTS = {  # of each way to be off: none, a little, much
    "overconfident": (1.0, 1.2, 2.5),
    "underconfident": (1.0, 0.85, 0.4),
    "one class too high": (0.0, 0.25, 1.5),
    "classes confused": (0.0, 0.05, 0.4),
}


def model(rng: np.random.Generator, n: int, view: str, way: str, much: int) -> tuple[Floats, ...]:
    """Return predictions and true probabilities (n, m) of a model that is off in some way."""
    m, spread = VIEWS[view]
    logits, amount = rng.normal(0, spread, (n, m)), AMOUNTS[way][much]
    truth = softmax(logits, axis=1)
    if way in ("overconfident", "underconfident"):
        return softmax(amount * logits, axis=1), truth
    if way == "one class too high":
        return softmax(logits + amount * np.eye(m)[0], axis=1), truth
    return truth, (1 - amount) * truth + amount * np.roll(truth, 1, axis=1)


def seen(view: str, probs: Floats, truth: Floats, labels: Any) -> tuple[cal.Predictions, Floats]:
    """Return the problem that is looked at, and its true probabilities."""
    data = cal.Predictions(probs, labels)
    if not view.startswith("top"):
        return data, truth
    top = np.take_along_axis(truth, probs.argmax(axis=1)[:, None], axis=1)
    return cal.lenses.TopLabel()(data), np.hstack((top, 1 - top))


def truth_on(fitted: Any, data: cal.Predictions, truth: Floats) -> float:
    """Return sum_c p_c |mean deviation in c|², without the noise of how many rows there are."""
    cells, off = fitted.assign(data.probs), truth - data.probs
    count = np.bincount(cells, minlength=fitted.n_cells)
    sums = np.stack([np.bincount(cells, d, fitted.n_cells) for d in off.T], axis=1)
    own = np.bincount(cells, (off**2).sum(axis=1), fitted.n_cells)
    pairs = np.where(count > 1, ((sums**2).sum(axis=1) - own) / np.maximum(count - 1, 1), 0.0)
    return max(0.0, float(pairs.sum() / count.sum()))


def coverage(view: str, way: str, much: int, n: int, times: int) -> float:
    """Return the share of 95 % intervals that hold the truth."""
    rng = np.random.default_rng([VIEWS[view][0], len(way), much, n])
    probs, true = model(rng, POOL, view, way, much)
    pool, pool_truth = seen(view, probs, true, np.zeros(POOL, np.int64))
    partition, hits = cal.partitions.VarianceTree(n // 10), 0
    for _ in range(times):
        probs, true = model(rng, n, view, way, much)
        below = true.cumsum(axis=1) < rng.random(n)[:, None]
        data, _ = seen(view, probs, true, below.sum(axis=1).clip(max=true.shape[1] - 1))
        value = truth_on(partition.fit(data), pool, pool_truth)
        low, high = cal.statistics.SquaredMiscalibration(partition).interval(data)
        hits += low <= value <= high
    return hits / times


def main(times: int) -> None:
    """Print the table, and put it between its marks on the page."""
    lines = [f"| n | seen | {' | '.join(AMOUNTS)} |", "|" + "---|" * (2 + len(AMOUNTS))]
    for n in SIZES:
        for view in VIEWS:
            found = [[coverage(view, way, k, n, times) for k in range(3)] for way in AMOUNTS]
            shown = [" ".join(f"{100 * c:.1f}" for c in cover) for cover in found]
            lines.append(f"| {n:,} | {view} | {' | '.join(shown)} |")
            print(lines[-1], flush=True)
    note = (
        f"Per cent of {times} intervals at nominal 95: calibrated, slightly off, far off. The tree"
        " splits nodes of a tenth of the rows."
    )
    before, _, after = PAGE.read_text("utf-8").split(MARK)
    PAGE.write_text("\n".join((before + MARK, note, "", *lines, "", MARK + after)), "utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
