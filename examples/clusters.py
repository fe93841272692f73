"""Count how often calibrated models whose rows depend on each other are rejected at 5 %.

Each row has a label from its prediction, but rows of one cluster depend on each other. Also counts
how often intervals of biases and sizes cover. Writes the tables into docs/inference.md.

Usage: python examples/clusters.py [--sets 1000] [--only levels|intervals|most]
``--only most`` prints the level of the worst case, from 8,000 data sets if ``--sets`` is 1000.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr

from calibrant import Predictions, calibration_test, slices
from calibrant.sizes import CrossFit, bias_of, compare, size_of

PAGE = Path(__file__).parents[1] / "docs" / "inference.md"
MARKS = ("<!-- clusters -->", "<!-- intervals of clusters -->")


def ten_rows(clusters: int) -> np.ndarray:
    """Return clusters of ten rows each."""
    return np.repeat(np.arange(clusters), 10)


def unequal(clusters: int) -> np.ndarray:
    """Return clusters of 1 to about 60 rows; each set has the same sizes."""
    sizes = np.exp(1.5 + 1.3 * np.random.default_rng(7).standard_normal(clusters))
    return np.repeat(np.arange(clusters), np.maximum(1, sizes.round()).astype(int))


def uniform(rng: np.random.Generator, of_rows: np.ndarray) -> np.ndarray:
    """Predict anything."""
    return rng.random(of_rows.max() + 1)[of_rows]


def uniform_rows(rng: np.random.Generator, of_rows: np.ndarray) -> np.ndarray:
    """Predict anything, of each row by itself."""
    return rng.random(of_rows.size)


def five(rng: np.random.Generator, of_rows: np.ndarray) -> np.ndarray:
    """Predict 5 % on average, the same within a cluster."""
    return rng.beta(1, 20, of_rows.max() + 1)[of_rows]


def one(_: np.random.Generator, of_rows: np.ndarray) -> np.ndarray:
    """Predict 1 %."""
    return np.full(of_rows.size, 0.01)


def accurate(rng: np.random.Generator, of_rows: np.ndarray) -> np.ndarray:
    """Predict one of two classes with a confidence of 99 % on average."""
    p = rng.beta(1, 99, of_rows.size)
    return np.where(rng.random(p.size) < 0.5, p, 1 - p)


def uniforms(rng: np.random.Generator, of_rows: np.ndarray, how: str) -> np.ndarray:
    """Draw uniform numbers that depend on each other within clusters."""
    own, shared = rng.random(of_rows.size), rng.random(of_rows.max() + 1)[of_rows]
    if how == "latent correlation":
        noise = rng.standard_normal(of_rows.max() + 1)[of_rows]
        return ndtr(np.sqrt(0.2) * noise + np.sqrt(0.8) * rng.standard_normal(of_rows.size))
    share = {"independent": 0.0, "half share a label": 0.5, "one label a cluster": 1.0}[how]
    return np.where(rng.random(of_rows.size) < share, shared, own)


class Case(NamedTuple):
    """How data are drawn."""

    name: str
    predict: object
    how: str
    sizes: object = ten_rows
    weighted: bool = False
    truth: object = None  # of predictions

    def draw(self, rng: np.random.Generator, clusters: int) -> Predictions:
        """Draw a data set."""
        of_rows = self.sizes(clusters)
        p = self.predict(rng, of_rows)
        true = p if self.truth is None else self.truth(p)
        labels = (uniforms(rng, of_rows, self.how) < true).astype(int)
        weights = rng.exponential(size=p.size) ** 2 if self.weighted else None
        return Predictions(p, labels, clusters=of_rows, weights=weights)

    def __str__(self) -> str:
        kind = ", unequal clusters" if self.sizes is unequal else ""
        return f"{self.name}, {self.how}{kind}{', weights' if self.weighted else ''}"


HOWS = ("independent", "latent correlation", "half share a label", "one label a cluster")
LEVELS = [
    *((Case("any risk", uniform, how), (6, 20, 100)) for how in HOWS[2:]),
    (Case("any risk", uniform_rows, HOWS[1]), (6, 20, 100)),
    (Case("any risk", uniform, HOWS[2], unequal), (20, 100)),
    *((Case("1 % risk", one, how), (50, 100, 300)) for how in HOWS),
    (Case("1 % risk", one, HOWS[1], unequal), (300, 1000)),
    (Case("1 % risk", one, HOWS[2]), (1000,)),
    (Case("1 % risk", one, HOWS[0], weighted=True), (300,)),
    (Case("5 % risk", five, HOWS[3]), (30, 100, 300, 1000)),
    (Case("5 % risk", five, HOWS[2], unequal), (300,)),
    *((Case("confidence 99 %", accurate, how), (100, 300)) for how in HOWS[:2]),
]
MORE = ((600, 607, 2500), (1000, 1, 8000), (1500, 1507, 2500), (2500, 2507, 2500))
SLICED = [
    (Case("four groups, 1 % risk", one, HOWS[0]), (100, 300)),
    (Case("four groups, any risk", uniform_rows, HOWS[1]), (100,)),
]


def overconfident(p: np.ndarray) -> np.ndarray:
    """Return a truth that lies nearer to one half."""
    return expit(logit(p) / 1.5)


COVERED = [
    (Case("any risk", uniform, HOWS[2]), (20, 100)),
    (Case("any risk, overconfident", uniform_rows, HOWS[1], truth=overconfident), (100,)),
    (Case("any risk", uniform, HOWS[2], unequal), (100,)),
    (Case("1 % risk", one, HOWS[0]), (100,)),
    (Case("1 % risk", one, HOWS[1]), (100,)),
    (Case("1 % risk", one, HOWS[2]), (300,)),
    (Case("1 % risk", one, HOWS[3]), (100,)),
    (Case("1 % risk, truth 2 %", one, HOWS[1], truth=lambda p: 2 * p), (300,)),
    (Case("5 % risk", five, HOWS[3]), (30, 100)),
    (Case("5 % risk", five, HOWS[2], weighted=True), (100,)),
    (Case("confidence 99 %", accurate, HOWS[1]), (100,)),
]


FURTHER = 2.2414  # standard errors from which `compare` may name a model as further off


def levels(trials: int) -> Iterator[str]:
    """Yield how often calibrated models are rejected, with clusters and without."""
    yield "| case | clusters | rejected | cannot tell | as if independent |"
    yield "|---|--:|--:|--:|--:|"
    for case, counts in LEVELS:
        for clusters in counts:
            rng, found = np.random.default_rng(0), np.zeros(3)
            for trial in range(trials):
                data = case.draw(rng, clusters)
                test = calibration_test(data, n_resamples=199, rng=trial)
                found[:2] += test.pvalue <= 0.05, not test.decided
                if trial % 10 == 0:
                    alone = Predictions(data.probs, data.labels, weights=data.weights)
                    found[2] += 10 * (
                        calibration_test(alone, n_resamples=199, rng=trial).pvalue <= 0.05
                    )
            rejected, unclear, naive = 100 * found / trials
            yield line(
                str(case), clusters, f"{rejected:.1f} %", f"{unclear:.1f} %", f"{naive:.0f} %"
            )
    for case, counts in SLICED:
        for clusters in counts:
            rng, found, few = np.random.default_rng(0), np.zeros(2), trials // 4
            for trial in range(few):
                data = case.draw(rng, clusters)
                groups = {"group": np.arange(data.n) % 4}
                rows = slices(data, groups, n_resamples=199, rng=trial).rows
                off = [row.verdict.rejected for row in rows]
                found += any(off), np.mean([not row.verdict.decided for row in rows])
            shown = (f"{100 * share:.1f} %" for share in found / few)
            yield line(f"{case} ({few} sets)", clusters, *shown, "")


def most(share: float) -> None:
    """Print the level where it is largest, from more data sets: clusters, seed, number of sets."""
    case = Case("1 % risk", one, HOWS[2])
    for clusters, seed, sets in MORE:
        rng, found, count = np.random.default_rng(seed), 0, max(1, int(share * sets))
        for trial in range(count):
            test = calibration_test(case.draw(rng, clusters), n_resamples=199, rng=trial)
            found += test.pvalue <= 0.05
        line(str(case), clusters, f"{found} of {count}", f"{100 * found / count:.1f} %")


def intervals(trials: int) -> Iterator[str]:
    """Yield how often intervals cover, and how wide they are, in percentage points."""
    yield "| case | clusters | bias covered | width | size covered | width | told apart |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for case, counts in COVERED:
        for clusters in counts:
            yield coverage(case, clusters, trials)


def coverage(case: Case, clusters: int, trials: int) -> str:
    """Return how often intervals cover, and how often one of two alike models is named."""
    rng, held = np.random.default_rng(0), np.zeros(3)
    many = case.predict(rng, case.sizes(100_000 if case.sizes is ten_rows else 10_000))
    true = many if case.truth is None else case.truth(many)
    bias, size = np.mean(many - true), np.sqrt(np.mean((many - true) ** 2))
    widths = np.zeros((trials, 2))
    for trial in range(trials):
        data = case.draw(rng, clusters)
        (_, low, high), (_, least, most) = bias_of(data), size_of(CrossFit(data, trial))
        widths[trial] = high - low, most - least
        shift = np.where(rng.random(data.n) < 0.5, 0.2, -0.2)
        p = data.probs[:, 1]
        models = (data.with_probs(both(expit(logit(p) + sign * shift))) for sign in (1, -1))
        first = CrossFit(next(models), trial)
        second = CrossFit(next(models), trial, like=first)
        difference, error = compare(first, second, paired=True)
        held += low <= bias <= high, least <= size <= most, abs(difference) > FURTHER * error
    covered = [f"{100 * share:.1f} %" for share in held / trials]
    wide = [f"{100 * width:.1f}" for width in np.median(widths, axis=0)]
    return line(str(case), clusters, covered[0], wide[0], covered[1], wide[1], covered[2])


def both(p: np.ndarray) -> np.ndarray:
    """Return probabilities of both outcomes."""
    return np.stack((1 - p, p), axis=1)


def line(*cells: object) -> str:
    """Return a line of a table, and print it."""
    text = f"| {' | '.join(map(str, cells))} |"
    print(text, flush=True)
    return text


def put(mark: str, note: str, lines: Iterator[str]) -> None:
    """Put a table between its marks on the page."""
    before, _, after = PAGE.read_text("utf-8").split(mark)
    PAGE.write_text("\n".join((before + mark, note, "", *lines, "", mark + after)), "utf-8")


def main() -> None:
    """Print the tables, and put them between their marks on the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=1000, help="a fifth of them for intervals")
    parser.add_argument("--only", choices=["levels", "intervals", "most"])
    given = parser.parse_args()
    few = max(1, given.sets // 5)
    if given.only == "most":
        most(given.sets / 1000)
        return
    if given.only != "intervals":
        note = (
            f"Calibrated models, {given.sets} data sets (a tenth of them as if independent);"
            " clusters of ten rows, B = 199."
        )
        put(MARKS[0], note, levels(given.sets))
    if given.only != "levels":
        note = f"Intervals of 95 %, {few} data sets; widths are medians, in percentage points."
        put(MARKS[1], note, intervals(few))


if __name__ == "__main__":
    main()
