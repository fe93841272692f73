"""How often limits of sizes and biases hold, for models whose truth is known.

``python examples/sizes.py`` writes the tables of docs/inference.md; ``--sets 50`` draws fewer sets.
Predictions are those of networks that come with the package, or drawn; labels are drawn from a
truth that is a function of them.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import calibrant as cal
from calibrant.sizes import CrossFit, bias_of, compare, size_of

TARGET = Path(__file__).parents[1] / "docs" / "inference.md"
Array = np.ndarray
Draw = Callable[[np.random.Generator, int], Array]


def tempered(p: Array, power: float) -> Array:
    """Return predictions to a power, divided by their sums."""
    found = np.maximum(p, 1e-12) ** power
    return found / found.sum(axis=1, keepdims=True)


def shifted(p: Array, classes: slice, amount: float) -> Array:
    """Return predictions with other log-odds of some classes."""
    found = np.maximum(p, 1e-12)
    found[:, classes] *= np.exp(amount)
    return found / found.sum(axis=1, keepdims=True)


def two(p: Array) -> Array:
    """Return both probabilities of an event."""
    return np.stack((1 - p, p), axis=1)


def rows_of(probs: Array) -> Draw:
    """Draw some rows of predictions that are there."""
    return lambda rng, n: probs[rng.choice(len(probs), n, replace=False)]


NETWORK = cal.datasets.cifar10("densenet").probs.astype(float)
NETWORK /= NETWORK.sum(axis=1, keepdims=True)
TOP = NETWORK.max(axis=1)

MANY: dict[str, tuple[Draw, Callable[[Array], Array], tuple[int, ...]]] = {
    "ten classes of a network, calibrated": (rows_of(NETWORK), lambda p: p, (100, 1000)),
    "overconfident": (rows_of(NETWORK), lambda p: tempered(p, 0.67), (300, 1000)),
    "two classes too high": (rows_of(NETWORK), lambda p: shifted(p, slice(2), -1.0), (300, 1000)),
    "three classes, calibrated": (
        lambda rng, n: rng.dirichlet(np.full(3, 0.5), n),
        lambda p: p,
        (100, 1000),
    ),
    "underconfident": (
        lambda rng, n: rng.dirichlet(np.full(3, 0.5), n),
        lambda p: tempered(p, 1.5),
        (300, 1000),
    ),
    "100 classes, calibrated": (
        lambda rng, n: rng.dirichlet(np.full(100, 0.05), n),
        lambda p: p,
        (300, 1000),
    ),
}
EVENTS: dict[str, tuple[Draw, Callable[[Array], Array], tuple[int, ...]]] = {
    "constant 0.99, calibrated": (lambda _, n: np.full(n, 0.99), lambda p: p, (200,)),
    "constant 0.99, truth 0.97": (lambda _, n: np.full(n, 0.99), lambda p: p - 0.02, (200,)),
    "constant 0.999, calibrated": (lambda _, n: np.full(n, 0.999), lambda p: p, (200,)),
    "constant 0.002, calibrated": (lambda _, n: np.full(n, 0.002), lambda p: p, (500,)),
    "confidences of a network, calibrated": (rows_of(TOP), lambda p: p, (100, 1000)),
    "their errors twice as many": (
        rows_of(TOP),
        lambda p: 1 - np.minimum(2 * (1 - p), 0.5),
        (100, 1000),
    ),
    "uniform, calibrated": (lambda rng, n: rng.random(n), lambda p: p, (300, 2000)),
    "uniform, overconfident": (
        lambda rng, n: rng.random(n),
        lambda p: tempered(two(p), 0.67)[:, 1],
        (300, 2000),
    ),
    "0.05 and 0.95, truth 0.15 and 0.85": (
        lambda _, n: np.where(np.arange(n) % 2, 0.05, 0.95),
        lambda p: np.where(p < 0.5, 0.15, 0.85),
        (60, 200),
    ),
}


def many_outcomes(sets: int) -> Iterator[list[str]]:
    """Yield rows of the table of more than two outcomes."""
    for name, (draw, law, sizes) in MANY.items():
        for n in sizes:
            rng = np.random.default_rng(n)
            found = []
            for seed in range(sets):
                p = draw(rng, n)
                r = law(p.copy())
                labels = (r.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, p.shape[1] - 1)
                size = size_of(cal.Predictions(p, labels), seed)
                assert size is not None
                truth = np.sqrt(((r - p) ** 2).sum(axis=1).mean() / 2)
                found.append((truth, size.value, size.low, size.low > truth + 1e-12))
            truth, value, low, above = 100 * np.array(found, float).mean(axis=0)
            yield [name, f"{n:,}", f"{truth:.1f}", f"{value:.1f}", f"{low:.1f}", f"{above:.1f} %"]


def of_an_event(sets: int) -> Iterator[list[str]]:
    """Yield rows of the table of two outcomes."""
    for name, (draw, law, sizes) in EVENTS.items():
        for n in sizes:
            rng = np.random.default_rng(n)
            found = []
            for seed in range(sets):
                p = draw(rng, n)
                r = law(p)
                data = cal.Predictions(p, rng.random(n) < r)
                size, bias = size_of(data, seed), bias_of(data)
                assert size is not None
                assert size.high is not None
                truth, off = np.sqrt(((r - p) ** 2).mean()), float((p - r).mean())
                holds = size.low <= truth + 1e-12 and truth <= size.high + 1e-12
                right = bias.low - 1e-12 <= off <= bias.high + 1e-12
                wrong = bias.direction is not None and abs(off) < 1e-12
                found.append((truth, holds, size.high - size.low, right, wrong))
            truth, holds, width, right, wrong = 100 * np.array(found, float).mean(axis=0)
            yield [
                *(name, f"{n:,}", f"{truth:.1f}", f"{holds:.1f} %", f"{width:.1f}"),
                *(f"{right:.1f} %", f"{wrong:.1f} %"),
            ]


def comparisons(sets: int) -> Iterator[list[str]]:
    """Yield rows of the table of models that are compared."""
    for name, gaps, n in (
        ("equally far off: + 6 and - 6 points", (0.06, -0.06), 300),
        ("equally far off: + 6 and - 6 points", (0.06, -0.06), 1000),
        ("6 points against 3", (0.06, 0.03), 500),
        ("6 points against 3", (0.06, 0.03), 2000),
    ):
        first = second = 0
        rng = np.random.default_rng(n)
        for seed in range(sets):
            q = rng.uniform(0.1, 0.9, n)
            labels = rng.random(n) < q
            one = CrossFit(cal.Predictions(q + gaps[0], labels), seed)
            other = CrossFit(cal.Predictions(q + gaps[1], labels), seed, like=one)
            found = compare(one, other, paired=True)
            if abs(found.value) > 2.24 * found.standard_error:
                first, second = first + (found.value > 0), second + (found.value < 0)
        yield [name, f"{n:,}", f"{100 * first / sets:.1f} %", f"{100 * second / sets:.1f} %"]


def table(header: list[str], rows: Iterator[list[str]]) -> str:
    """Write a table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Write the tables into the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=300)
    sets = parser.parse_args().sets
    limit = "limit above the truth"
    parts = [
        f"{sets} data sets a row; sizes in points.",
        table(
            ["more than two outcomes", "rows", "true size", "estimate", "lower limit", limit],
            many_outcomes(sets),
        ),
        table(
            [
                *("an event", "rows", "true size", "interval covers", "its width"),
                *("bias covered", "false direction"),
            ],
            of_an_event(sets),
        ),
        table(["two models", "rows", "first named", "second named"], comparisons(sets)),
    ]
    marker = "<!-- sizes -->"
    before, _, after = TARGET.read_text(encoding="utf-8").split(marker)
    text = "\n\n".join(parts)
    TARGET.write_text(f"{before}{marker}\n{text}\n{marker}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
