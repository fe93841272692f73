"""What a recommendation of `recalibrate` does to models whose truth is known.

``python examples/recalibration_harm.py`` writes the tables of docs/recalibration.md;
``--share 0.1`` draws a tenth of the data sets, ``--jobs 16`` works in so many processes, and
``--more 1000`` prints how often intervals cover in six lines of the second table, from so many
other sets. The gain of a calibrator is the fall of its expected log loss: over the labels of the
known truth, on 4,000 predictions that nothing was fitted to; on 40,000 if an interval must cover
it.
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import calibrant as cal
from calibrant.recalibration import Map

TARGET = Path(__file__).parents[1] / "docs" / "recalibration.md"
MARK = "<!-- harm -->"
Array = np.ndarray

# Rows, and data sets of calibrated models; then of others, twice as many for two classes.
ROWS = {5: 600, 10: 600, 20: 600, 50: 600, 100: 600, 200: 600, 500: 400, 1000: 300, 5000: 100}
MORE_ROWS = {200: 80, 1000: 40, 5000: 30}
FRESH = 4000  # predictions, and ten times as many where an interval must cover


def others(rng: np.random.Generator, mass: Array, m: int) -> Array:
    """Return what is left of rows for m - 1 classes, divided at random."""
    return mass[:, None] * (rng.dirichlet(np.ones(m - 1), len(mass)) if m > 2 else 1.0)


def sure(errors: float) -> Callable[[np.random.Generator, int, int], Array]:
    """Return a draw of rows with confidence 1 - Beta(1, errors) in a random class."""

    def draw(rng: np.random.Generator, n: int, m: int) -> Array:
        mass = rng.beta(1, errors, n)
        rows = np.column_stack((1 - mass, others(rng, mass, m)))
        return np.take_along_axis(rows, rng.permuted(np.tile(np.arange(m), (n, 1)), axis=1), axis=1)

    return draw


def dirichlet(rng: np.random.Generator, n: int, m: int) -> Array:
    """Return rows of a Dirichlet distribution of concentration 0.5."""
    rows = np.maximum(rng.dirichlet(np.full(m, 0.5), n), 1e-12)
    return rows / rows.sum(axis=1, keepdims=True)


def rare(rng: np.random.Generator, n: int, m: int) -> Array:
    """Return rows in which all classes but the first together have probability Beta(1, 99)."""
    mass = rng.beta(1, 99, n)
    return np.column_stack((1 - mass, others(rng, mass, m)))


MODELS = {
    "accurate: 1 − Beta(1, 60)": sure(60),
    "Dirichlet": dirichlet,
    "rare events: Beta(1, 99)": rare,
    "nearly always right: 1 − Beta(1, 1000)": sure(1000),
}


def tempered(temperature: float) -> Callable[[Array], Array]:
    """Return the truth of predictions that this temperature corrects."""

    def truth(p: Array) -> Array:
        powers = np.maximum(p, 1e-300) ** (1 / temperature)
        return powers / powers.sum(axis=1, keepdims=True)

    return truth


def one_too_high(p: Array) -> Array:
    """Return the truth of predictions whose first class has log-odds that are too high by 1."""
    found = p * np.where(np.arange(p.shape[1]) == 0, np.exp(-1.0), 1.0)
    return found / found.sum(axis=1, keepdims=True)


TRUTHS = {
    "temperature 1.2": tempered(1.2),
    "temperature 1.5": tempered(1.5),
    "temperature 2": tempered(2.0),
    "one class too high": one_too_high,
}


MORE = (
    ("accurate: 1 − Beta(1, 60)", 2, "temperature 1.2", 5000),
    ("Dirichlet", 10, "temperature 1.5", 200),
    ("Dirichlet", 10, "temperature 2", 1000),
    ("accurate: 1 − Beta(1, 60)", 10, "temperature 1.2", 5000),
    ("accurate: 1 − Beta(1, 60)", 10, "temperature 1.5", 5000),
    ("accurate: 1 − Beta(1, 60)", 10, "temperature 2", 5000),
)


class Tried:
    """What `recalibrate` makes of one data set, and what that does to fresh rows."""

    def __init__(self, probs: Array, truth: Array, fresh: tuple[Array, Array], seed: int) -> None:
        """Draw labels and recalibrate; where it cannot, or no test rejects, nothing is changed."""
        rng = np.random.default_rng(seed)
        labels = (rng.random((len(probs), 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
        classes = [str(j) for j in range(probs.shape[1])]
        data = cal.Predictions(probs, labels, classes=classes)
        self.gains: dict[str, float] = {}
        self.gain, self.recommended = 0.0, False
        try:
            self._judge(cal.recalibrate(data, n_resamples=99, rng=seed), fresh)
        except ValueError:  # too few outcomes of a second class
            return

    def _judge(self, found: cal.Recalibration, fresh: tuple[Array, Array]) -> None:
        self.gains = {row.name: gain(row.map, *fresh) for row in found.rows[1:]}
        self.recommended = found.row().method is not None
        if self.recommended:
            self.gain = self.gains[found.recommended]
            self.map, self.interval = found.map(), found.row().log_change.interval

    def covered(self, probs: Array, truth: Array) -> bool:
        """Say whether the interval of what was recommended has its gain."""
        low, high = self.interval
        return low <= -gain(self.map, probs, truth) <= high


def gain(fitted: Map, probs: Array, truth: Array) -> float:
    """Return by how much a calibrator lowers the expected log loss."""
    before, after = (np.log(np.maximum(p, 1e-300)) for p in (probs, fitted(probs)))
    return float((truth * (after - before)).sum(axis=1).mean())


def rejected(probs: Array, truth: Array, seed: int) -> bool:
    """Say whether the model's own test rejects: without that `recalibrate` leaves it as it is."""
    rng = np.random.default_rng(seed)
    labels = (rng.random((len(probs), 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    data = cal.Predictions(probs, labels, classes=[str(j) for j in range(probs.shape[1])])
    return cal.calibration_test(data, n_resamples=99, rng=seed).pvalue <= 0.05


def harmed(model: str, m: int, n: int, seed: int) -> float | None:
    """Return the gain of what a calibrated model is recommended, or None if it is left alone."""
    draw = MODELS[model]
    probs = draw(np.random.default_rng([n, m, seed]), n, m)
    if not rejected(probs, probs, seed):
        return None
    fresh = draw(np.random.default_rng(99), FRESH, m)
    tried = Tried(probs, probs, (fresh, fresh), seed)
    return tried.gain if tried.recommended else None


def calibrated(share: float, pool: Executor) -> Iterator[list[str]]:
    """Yield lines of calibrated models: how often they are left alone, and the mean harm."""
    for name in MODELS:
        for m in (2, 10):
            left, harm, given = [], [], []
            for n, sets in ROWS.items():
                count = max(1, int(share * sets))
                found = pool.map(partial(harmed, name, m, n), range(count), chunksize=8)
                gains = [gain for gain in found if gain is not None]
                left.append(f"{1 - len(gains) / count:.1%}")
                harm.append(f"{-sum(gains) / count:.4f}")
                given.append(f"{-np.mean(gains):.3f}" if gains else "–")
            yield [name, str(m), "left alone", *left]
            yield ["", "", "harm", *harm]
            yield ["", "", "harm if not left alone", *given]


def miscalibrated(share: float, pool: Executor) -> Iterator[list[str]]:
    """Yield lines of models that are off: how often a calibrator is recommended, and its gain."""
    for model in ("accurate: 1 − Beta(1, 60)", "Dirichlet"):
        for m in (2, 10):
            for name in TRUTHS:
                for n, sets in MORE_ROWS.items():
                    seeds = range(max(1, int(share * sets * (1 if m == 10 else 2))))
                    yield [model, str(m), name, str(n), *_powers((model, m, name, n), seeds, pool)]


Line = tuple[str, int, str, int]  # model, classes, truth, rows


def repaired(line: Line, seed: int) -> tuple[dict[str, float], float, bool | None]:
    """Return the gains of all methods and of the recommended one, and if its interval covers."""
    model, m, name, n = line
    draw, truth = MODELS[model], TRUTHS[name]
    probs = draw(np.random.default_rng([n, m, seed]), n, m)
    fresh = draw(np.random.default_rng(99), FRESH, m)
    tried = Tried(probs, truth(probs), (fresh, truth(fresh)), seed)
    if not tried.recommended:
        return tried.gains, 0.0, None
    many = draw(np.random.default_rng(98), 10 * FRESH, m)
    return tried.gains, tried.gain, tried.covered(many, truth(many))


def _powers(line: Line, seeds: range, pool: Executor) -> list[str]:
    tried = list(pool.map(partial(repaired, line), seeds))
    covered = [covers for _, _, covers in tried if covers is not None]
    known = [gains for gains, _, _ in tried if gains]
    best = max(np.mean([gains[name] for gains in known]) for name in known[0])
    return [
        str(len(tried)),
        f"{len(covered) / len(tried):.1%}",
        f"{np.mean([gain for _, gain, _ in tried]):.4f}",
        f"{best:.4f}",
        f"{np.mean(covered):.1%}" if covered else "–",
    ]


def more(sets: int, pool: Executor) -> None:
    """Print how often intervals cover, of sets that the tables do not have."""
    for line in MORE:
        tried = pool.map(partial(repaired, line), range(1000, 1000 + sets), chunksize=4)
        covered = [covers for _, _, covers in tried if covers is not None]
        print(*line, f"{np.mean(covered):.1%} of {len(covered)}", flush=True)


def table(header: list[str], lines: Iterator[list[str]]) -> str:
    """Return a table in Markdown, and print its lines as they are found."""
    rows = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for line in lines:
        rows.append("| " + " | ".join(line) + " |")
        print(rows[-1], flush=True)
    return "\n".join(rows)


def main(share: float, pool: Executor) -> None:
    """Measure, and write the tables."""
    header = ["calibrated model", "classes", "", *(f"{n:,} rows" for n in ROWS)]
    first = table(header, calibrated(share, pool))
    header = ["predictions", "classes", "off by", "rows", "sets", "recommended", "mean gain"]
    second = table([*header, "best method", "interval covers"], miscalibrated(share, pool))
    before, _, after = TARGET.read_text(encoding="utf-8").split(MARK)
    text = f"{before}{MARK}\n{first}\n\n{second}\n{MARK}{after}"
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the data sets to draw")
    parser.add_argument("--more", type=int, help="sets of six lines, instead of the tables")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    with ProcessPoolExecutor(given.jobs) as workers:
        if given.more is None:
            main(given.share, workers)
        else:
            more(given.more, workers)
