"""Measure how often tests reject real and simulated models; write the tables for the docs.

Each data set is cut to random samples of 1,000 rows, or of 60 % if it has fewer; every statistic is
tested at 5 % with 199 draws that all share, through both lenses of `evaluate`. The default combines
the p-values of some of them. Models that nearly every test rejects are left after ten samples.
Predictions of real models are read from a folder of NPZ files with ``probs`` and ``labels``, if one
is given; those that come with the package are always there. The last models are what a default
could miss: one class of 100, a wave, a dip, a logistic regression that is no straight line.

Usage: python examples/power.py [--folder FOLDER] [--samples 60] [--processes 1] [--dry]
60 samples of 57 models take some four minutes of a core.
"""

import argparse
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

import calibrant as cal
from calibrant import lenses, partitions, resampling, statistics
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan
from calibrant.inference.testing.families import (
    combined,
    omnibus,
    omnibus_weights,
    pvalue,
    together,
)

PAGE = Path(__file__).parents[1] / "docs" / "measures.md"
MARK = "<!-- power -->"
ROWS, SHARE, RESAMPLES, ALPHA = 1_000, 0.6, 199, 0.05
FEW, SAMPLES = 10, 60  # samples: of what is plain, and of others
SEEN, PLAIN = 12, 97  # per cent: of models that some test sees, and of those that the default sees
TREE = partitions.VarianceTree(ROWS // 5)
OTHERS = {
    "10 equal widths": statistics.ExpectedMiscalibration(partitions.EqualWidth(10)),
    "tree": statistics.ExpectedMiscalibration(TREE),
    "squared on a tree": statistics.SquaredMiscalibration(TREE),
}
BINARY = {
    "kernel 0.1": statistics.KernelMiscalibration(0.1),
    "smooth": statistics.SmoothMiscalibration(),
    "cutoff": statistics.CutoffMiscalibration(),
    "two-bin": statistics.AveragedTwoBin(),
    "Spiegelhalter": statistics.Spiegelhalter(),
}
DEFAULT, EVALUATE = "default", "`evaluate`"
WEAK = 5  # models that a default may miss
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


def pvalues(data: cal.Predictions, seed: int) -> dict[str, dict[str, float]]:
    """Return the p-values of a data set by lens and statistic."""
    plan = Plan.of(data, resampling.Exact(), RESAMPLES, seed, None)
    out, families = {}, []
    chosen = [lenses.Canonical()] if data.m == 2 else [lenses.Canonical(), lenses.TopLabel()]
    for lens in chosen:
        problem = plan.look(data, lens)
        default = omnibus(problem.view)
        named = {str(one): one for one in default} | OTHERS
        named |= BINARY if problem.view.m == 2 else {}
        values, nulls = values_and_replicates(problem, list(named.values()), plan)
        some = slice(len(default))
        families.append((np.array(values[some]), nulls[some], omnibus_weights(default)))
        alone = dict(zip(named, pvalue(values, nulls).tolist(), strict=True))
        out[str(lens)] = {DEFAULT: float(pvalue(*combined(*families[-1])))} | alone
    _, evidence = together(families, [lens == lenses.Canonical() for lens in chosen])
    out["both"] = {EVALUATE: float(pvalue(*evidence))}
    return out


def power(source: Source, seed: int, samples: int, *, weak: bool = False) -> tuple[Power, int]:
    """Return how often each test rejects, and the number of samples."""
    rng = np.random.default_rng(seed)
    sets: list[dict[str, dict[str, float]]] = []
    for number in range(samples):
        sets.append(pvalues(source(rng), number))
        if not weak and number + 1 == FEW and _plain(sets):
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


def best(some: Power) -> float:
    """Return how often the best single statistic through either lens rejects."""
    names = (DEFAULT, EVALUATE)
    return max(n for rows in some.values() for name, n in rows.items() if name not in names)


JOBS: list[tuple[str, Source, int, int, bool]] = []


def run(number: int) -> tuple[str, int, Power, int]:
    """Measure one of the models."""
    name, source, seed, samples, weak = JOBS[number]
    rejected, count = power(source, seed, samples, weak=weak)
    print(name, count, round(rejected["both"][EVALUATE]), round(best(rejected)), flush=True)
    return name, source(np.random.default_rng(0)).m, rejected, count


def listed(found: list[tuple[str, int, Power, int]], given: argparse.Namespace) -> list[str]:
    """Return the tables, and the names of models that are not in them."""
    shown: dict[str, tuple[int, Power]] = {}
    plain, unseen = [], []
    for name, m, some, count in found:
        if count < given.samples or some["both"][EVALUATE] >= PLAIN:
            plain.append(name)
        elif best(some) < SEEN:
            unseen.append(name)
        else:
            shown[name] = m, some
    return [
        f"Per cent of {given.samples} samples ({2 * given.samples} of the last {WEAK} models) that"
        f" are rejected at 5 %. Not in the tables: {len(plain)} models that the default rejects in"
        f" {PLAIN} % or more ({', '.join(plain)}), and {len(unseen)} that no statistic rejects in"
        f" {SEEN} % ({', '.join(unseen)}).",
        *("", "All lenses:", "", *against_the_best(shown)),
        *("", "Two outcomes:", "", *table("canonical", 2, shown), *table("top label", 2, shown)),
        *("", "More outcomes, canonical:", "", *table("canonical", 3, shown)),
    ]


def main() -> None:
    """Measure, print and write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--dry", action="store_true", help="print the tables, and write nothing")
    given = parser.parse_args()
    models = [(*one, given.samples, False) for one in sources(given.folder)]
    models += [(*one, 2 * given.samples, True) for one in weak_spots()]
    JOBS.extend(
        (name, source, i, count, weak) for i, (name, source, count, weak) in enumerate(models)
    )
    with get_context("fork").Pool(given.processes) as pool:
        found = pool.map(run, range(len(JOBS)), chunksize=1)
    text = listed(found, given)
    if given.dry:
        print("\n".join(text))
        return
    before, _, after = PAGE.read_text("utf-8").split(MARK)
    PAGE.write_text("\n".join((before + MARK, *text, "", MARK + after)), "utf-8")


if __name__ == "__main__":
    main()
