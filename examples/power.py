"""Measure how often tests reject real and simulated models; write the tables for the docs.

Each data set is cut to random samples of 1,000 rows, or of 60 % if it has fewer; every statistic is
tested at 5 % with 199 draws that all share, through both lenses of `evaluate`. The default combines
the p-values of some of them. Models that nearly every test rejects are left after ten samples.
Predictions of real models are read from a folder of NPZ files with ``probs`` and ``labels``, if one
is given; those that come with the package are always there. The last models are what a default
could miss: one class of 100, a wave, a dip, a logistic regression that is no straight line.

Usage: python examples/power.py [folder]
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

import calibrant as cal
from calibrant import lenses, partitions, resampling, statistics
from calibrant.calibration import View
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan
from calibrant.inference.testing.families import omnibus, pvalues_of_row

PAGE = Path(__file__).parents[1] / "docs" / "measures.md"
MARK = "<!-- power -->"
ROWS, SHARE, RESAMPLES, ALPHA = 1_000, 0.6, 199, 0.05
FEW, SAMPLES, MANY = 10, 60, 100  # samples: of what is plain, of others, of weak spots
TREE = partitions.VarianceTree(ROWS // 5)
OTHERS = {
    "10 equal widths": statistics.ExpectedMiscalibration(partitions.EqualWidth(10)),
    "tree": statistics.ExpectedMiscalibration(TREE),
    "squared on a tree": statistics.SquaredMiscalibration(TREE),
}
BINARY = {
    "kernel 0.02": statistics.KernelMiscalibration(0.02),
    "kernel 0.1": statistics.KernelMiscalibration(0.1),
    "smooth": statistics.SmoothMiscalibration(),
    "cutoff": statistics.CutoffMiscalibration(),
    "two-bin": statistics.AveragedTwoBin(),
    "Spiegelhalter": statistics.Spiegelhalter(),
}
DEFAULT, EVALUATE = "default", "`evaluate`"
Source = Callable[[np.random.Generator], cal.Predictions]
Power = dict[str, dict[str, float]]  # per cent by lens and statistic


def sample_of(data: cal.Predictions) -> Source:
    """Return a source of random rows."""
    size = min(ROWS, int(SHARE * data.n))
    return lambda rng: data.take(rng.choice(data.n, size, replace=False))


def drawn(rng: np.random.Generator, truth: np.ndarray) -> np.ndarray:
    """Draw a class for each row of a table of probabilities."""
    below = truth.cumsum(axis=1) < rng.random(len(truth))[:, None]
    return below.sum(axis=1).clip(max=truth.shape[1] - 1)


def tempered(m: int, temperature: float) -> Source:
    """Return a source of models: underconfident by a temperature above 1, or overconfident."""

    def draw(rng: np.random.Generator) -> cal.Predictions:
        logits = rng.normal(0, 1.5, (ROWS, m))
        labels = drawn(rng, softmax(logits, axis=1))
        return cal.Predictions(softmax(logits / temperature, axis=1), labels)

    return draw


def one_class(shift: float, n: int) -> Source:
    """Return a source of models of 100 classes; the log-odds of one are off."""

    def draw(rng: np.random.Generator) -> cal.Predictions:
        logits = rng.normal(0, 4, (n, 100))
        probs = softmax(logits, axis=1)
        logits[:, 0] += shift
        return cal.Predictions(probs, drawn(rng, softmax(logits, axis=1)))

    return draw


def curve(rate: Callable[[np.ndarray], np.ndarray]) -> Source:
    """Return a source of predictions of an event, spread evenly, that occurs at another rate."""

    def draw(rng: np.random.Generator) -> cal.Predictions:
        p = rng.random(ROWS)
        return cal.Predictions(p, (rng.random(ROWS) < rate(p)).astype(int))

    return draw


def logistic(components: int) -> Source:
    """Return a source of logistic regressions that say whether a handwritten digit is above 4."""
    images, digits = load_digits(return_X_y=True)
    above = (digits > 4).astype(int)

    def draw(rng: np.random.Generator) -> cal.Predictions:
        order = rng.permutation(above.size)
        seen, new = order[ROWS:], order[:ROWS]
        pca = PCA(components, random_state=0).fit(images[seen])
        model = LogisticRegression(max_iter=500).fit(pca.transform(images[seen]), above[seen])
        return cal.Predictions(model.predict_proba(pca.transform(images[new]))[:, 1], above[new])

    return draw


def sources(folder: Path | None) -> Iterator[tuple[str, Source]]:
    """Yield the models by name."""
    for m, temperature in ((2, 0.8), (2, 1.0), (2, 1.25), (10, 1.0)):
        yield f"simulated, {m} classes, temperature {temperature}", tempered(m, temperature)
    for name in cal.datasets.names():
        yield f"{name} (comes with calibrant)", sample_of(cal.datasets.cifar10(name))
    for file in sorted(folder.glob("*.npz")) if folder else ():
        with np.load(file) as arrays:
            yield file.stem, sample_of(cal.Predictions(arrays["probs"], arrays["labels"]))


def weak_spots() -> Iterator[tuple[str, Source]]:
    """Yield models that are off where a default may not look."""
    yield "one class of 100, 2 log-odds too low", one_class(2.0, ROWS // 2)
    yield "one class of 100, 2 log-odds too high", one_class(-2.0, 2 * ROWS)
    yield "waves of ±10 points", curve(lambda p: np.clip(p + 0.1 * np.sin(16 * np.pi * p), 0, 1))
    yield "a dip of 25 points, 0.06 wide", curve(lambda p: p - 0.25 * (abs(p - 0.6) < 0.03))
    yield "logistic regression, 8 components", logistic(8)


def columns(data: cal.Predictions, lens: lenses.Lens, seed: int) -> dict[str, np.ndarray]:
    """Return p-values of the data and of all replicates, by the name of the statistic."""
    plan = Plan.of(data, resampling.Exact(), RESAMPLES, seed, None)
    problem = plan.look(data, lens)
    named = {str(one): one for one in omnibus(problem.view)} | OTHERS
    named |= BINARY if problem.view.m == 2 else {}
    values, nulls = values_and_replicates(problem, list(named.values()), plan)
    rows = np.column_stack((values, nulls))
    return {name: pvalues_of_row(row) for name, row in zip(named, rows, strict=True)}


def together(found: list[np.ndarray]) -> float:
    """Return the p-value of the smallest p-value."""
    least = np.min(found, axis=0)
    return float((least <= least[0]).mean())


def pvalues(data: cal.Predictions, seed: int, *, classwise: bool) -> dict[str, dict[str, float]]:
    """Return the p-values of a data set by lens and statistic."""
    out, family = {}, []
    chosen = [lenses.Canonical()] if data.m == 2 else [lenses.Canonical(), lenses.TopLabel()]
    for lens in chosen:
        found = columns(data, lens, seed)
        mine = [found[str(one)] for one in omnibus(View.of(lens(data)))]
        family += mine
        out[str(lens)] = {DEFAULT: together(mine)} | {k: row[0] for k, row in found.items()}
    out["both"] = {EVALUATE: together(family)}
    if classwise and data.m > 2:
        by_class = cal.classwise(data, n_resamples=RESAMPLES, rng=seed).adjusted_pvalues
        out["both"]["classwise"] = float(by_class.min())
    return out


def power(source: Source, seed: int, samples: int) -> tuple[Power, int]:
    """Return how often each test rejects, and the number of samples."""
    rng = np.random.default_rng(seed)
    sets: list[dict[str, dict[str, float]]] = []
    for number in range(samples):
        sets.append(pvalues(source(rng), number, classwise=samples == MANY))
        if samples < MANY and number + 1 == FEW and _plain(sets):
            break
    found: Power = {}
    for lens, some in sets[0].items():
        hits = {name: [one[lens][name] <= ALPHA for one in sets] for name in some}
        found[lens] = {name: 100 * float(np.mean(hit)) for name, hit in hits.items()}
    return found, len(sets)


def _plain(sets: list[dict[str, dict[str, float]]]) -> bool:
    """Whether nearly all tests reject."""
    found = [p <= ALPHA for one in sets for lens in one.values() for p in lens.values()]
    return bool(np.mean(found) > 0.9)


def table(lens: str, m: int, found: dict[str, tuple[int, Power]]) -> list[str]:
    """Write how often each statistic rejects through a lens, one line a model."""
    lines = {
        name if lens == "canonical" else f"{name}, top label": power[lens]
        for name, (outcomes, power) in found.items()
        if lens in power and (lens == "top label" or (outcomes == 2) == (m == 2))
    }
    names = list(next(iter(lines.values())))
    text = [f"| model | {' | '.join(names)} |", "|---" + "|---:" * len(names) + "|"]
    for model, some in lines.items():
        numbers = [some.get(name, some.get(f"{name}, low-rank", np.nan)) for name in names]
        text.append(f"| {model} | {' | '.join(f'{number:.0f}' for number in numbers)} |")
    return text if lens == "canonical" else text[2:]


def against_the_best(found: dict[str, tuple[int, Power]]) -> list[str]:
    """Write how often `evaluate` rejects, and the best single statistic through either lens."""
    text = [f"| model | {EVALUATE} | best single statistic | |", "|---|---:|---:|---|"]
    for model, (_, some) in found.items():
        singles = {
            (number, f"{name}{', top label' if lens == 'top label' else ''}")
            for lens, rows in some.items()
            for name, number in rows.items()
            if name not in (DEFAULT, EVALUATE)
        }
        number, name = max(singles)
        text.append(f"| {model} | {some['both'][EVALUATE]:.0f} | {number:.0f} | {name} |")
    return text


def main(folder: Path | None) -> None:
    """Measure, print and write the tables."""
    found: dict[str, tuple[int, Power]] = {}
    plain = []
    models = [(*one, SAMPLES) for one in sources(folder)]
    for seed, (name, source, samples) in enumerate(models):
        rejected, count = power(source, seed, samples)
        if count < samples:
            plain.append(name)
        else:
            found[name] = source(np.random.default_rng(0)).m, rejected
        print(name, count, rejected, flush=True)
    weak = {}
    for seed, (name, source) in enumerate(weak_spots()):
        weak[name] = source(np.random.default_rng(0)).m, power(source, seed, MANY)[0]
        print(name, weak[name], flush=True)
    many = found | weak
    text = [
        f"Per cent of {SAMPLES} samples ({MANY} of the last {len(weak)} models) that are rejected"
        f" at 5 %. In {len(plain)} more models nearly every test rejects each of {FEW} samples:"
        f" {', '.join(plain)}.",
        *("", "All lenses:", "", *against_the_best(many)),
        *("", "Two outcomes:", "", *table("canonical", 2, many), *table("top label", 2, many)),
        *("", "More outcomes, canonical:", "", *table("canonical", 3, many)),
    ]
    before, _, after = PAGE.read_text("utf-8").split(MARK)
    PAGE.write_text("\n".join((before + MARK, *text, "", MARK + after)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
