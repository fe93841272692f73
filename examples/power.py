"""Measure how often tests reject real and simulated models; write the table for the docs.

Each data set is cut to random samples of 500 rows; every statistic is tested at 5 % with 99 draws
that all share. Predictions of real models are read from a folder of NPZ files with ``probs`` and
``labels``, if one is given; those that come with the package are always there.

Usage: python examples/power.py [folder]
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import softmax

import calibrant as cal
from calibrant import lenses, partitions, statistics
from calibrant.calibration import View
from calibrant.inference.testing.families import omnibus

PAGE = Path(__file__).parents[1] / "docs" / "measures.md"
MARK = "<!-- power -->"
ROWS, SAMPLES, RESAMPLES, ALPHA = 500, 60, 99, 0.05
TREE = partitions.VarianceTree(ROWS // 5)
OTHERS = {
    "10 equal widths": statistics.ExpectedMiscalibration(partitions.EqualWidth(10)),
    "tree": statistics.ExpectedMiscalibration(TREE),
    "squared on a tree": statistics.SquaredMiscalibration(TREE),
}
BINARY = {
    "smooth": statistics.SmoothMiscalibration(),
    "cutoff": statistics.CutoffMiscalibration(),
    "two-bin": statistics.AveragedTwoBin(),
    "Spiegelhalter": statistics.Spiegelhalter(),
}
Source = Callable[[np.random.Generator], cal.Predictions]


def sample_of(data: cal.Predictions) -> Source:
    """Return a source of random rows."""
    return lambda rng: data.take(rng.choice(data.n, ROWS, replace=False))


def tempered(m: int, temperature: float) -> Source:
    """Return a source of models: underconfident by a temperature above 1, or overconfident."""

    def draw(rng: np.random.Generator) -> cal.Predictions:
        logits = rng.normal(0, 1.5, (ROWS, m))
        below = softmax(logits, axis=1).cumsum(axis=1) < rng.random(ROWS)[:, None]
        probs = softmax(logits / temperature, axis=1)
        return cal.Predictions(probs, below.sum(axis=1).clip(max=m - 1))

    return draw


def sources(folder: Path | None) -> Iterator[tuple[str, Source]]:
    """Yield the models by name."""
    for m in (2, 5, 10, 20):
        for temperature in (0.75, 1.0, 1.5):
            yield f"simulated, {m} classes, temperature {temperature}", tempered(m, temperature)
    for name in cal.datasets.names():
        yield f"{name} (comes with calibrant)", sample_of(cal.datasets.cifar10(name))
    for file in sorted(folder.glob("*.npz")) if folder else ():
        with np.load(file) as arrays:
            data = cal.Predictions(arrays["probs"], arrays["labels"])
        if data.n >= ROWS and data.m <= 100:
            yield file.stem, sample_of(data)


def power(source: Source, lens: lenses.Lens, seed: int) -> dict[str, float]:
    """Return the share of rejections of each test."""
    rng = np.random.default_rng(seed)
    hits: dict[str, list[bool]] = {}
    for number in range(SAMPLES):
        seen = lens(source(rng))
        named = {str(statistic): statistic for statistic in omnibus(View.of(seen))} | OTHERS
        named |= BINARY if seen.m == 2 else {}
        how = {"n_resamples": RESAMPLES, "rng": number}
        together = cal.calibration_test(seen, **how)
        found = cal.evaluate(seen, lenses=[lenses.Canonical()], statistics=[*named.values()], **how)
        hits.setdefault("omnibus", []).append(together.pvalue <= ALPHA)
        for name, row in zip(named, found.rows, strict=True):
            hits.setdefault(name, []).append(row.pvalue <= ALPHA)
    return {name: 100 * float(np.mean(found)) for name, found in hits.items()}


def table(lines: list[tuple[str, dict[str, float]]]) -> list[str]:
    """Write one line a model, and the mean of all."""
    names = list(lines[0][1])
    mean = {name: float(np.mean([found[name] for _, found in lines])) for name in names}
    text = [f"| model | {' | '.join(names)} |", "|---" + "|---:" * len(names) + "|"]
    for model, found in [*lines, (f"**mean of {len(lines)}**", mean)]:
        text.append(f"| {model} | {' | '.join(f'{found[name]:.0f}' for name in names)} |")
    return text


def main(folder: Path | None) -> None:
    """Measure, print and write the tables."""
    many, two = [], []
    for seed, (name, source) in enumerate(sources(folder)):
        m = source(np.random.default_rng(0)).m
        if m > 2:
            many.append((name, power(source, lenses.Canonical(), seed)))
            two.append((f"{name}, top label", power(source, lenses.TopLabel(), seed)))
        else:
            two.append((name, power(source, lenses.Canonical(), seed)))
        print(*(many[-1:] if m > 2 else []), two[-1], sep="\n", flush=True)
    note = f"Per cent of {SAMPLES} samples of {ROWS} rows that are rejected at 5 %."
    parts = [note, "", "Two outcomes:", "", *table(two), "", "More outcomes, canonical:", ""]
    before, _, after = PAGE.read_text("utf-8").split(MARK)
    PAGE.write_text("\n".join((before + MARK, *parts, *table(many), "", MARK + after)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
