"""What a recommendation of `recalibrate` does to models whose truth is known.

``python examples/recalibration_harm.py`` writes the tables of docs/recalibration.md;
``--share 0.1`` draws a tenth of the data sets, ``--more 1000`` prints how often intervals cover in
six lines of the second table, from so many other sets. The gain of a calibrator is the fall of its
expected log loss: over the labels of the known truth, on 4,000 predictions that nothing was fitted
to; on 40,000 if an interval must cover it.
"""

import argparse
from collections.abc import Callable, Iterator
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


def calibrated(share: float) -> Iterator[list[str]]:
    """Yield lines of calibrated models: how often they are left alone, and the mean harm."""
    for name, draw in MODELS.items():
        for m in (2, 10):
            left, harm, given = [], [], []
            fresh = draw(np.random.default_rng(99), FRESH, m)
            for n, sets in ROWS.items():
                gains = []
                for seed in range(max(1, int(share * sets))):
                    probs = draw(np.random.default_rng([n, m, seed]), n, m)
                    if rejected(probs, probs, seed):
                        tried = Tried(probs, probs, (fresh, fresh), seed)
                        gains += [tried.gain] if tried.recommended else []
                count = max(1, int(share * sets))
                left.append(f"{1 - len(gains) / count:.1%}")
                harm.append(f"{-sum(gains) / count:.4f}")
                given.append(f"{-np.mean(gains):.3f}" if gains else "–")
            yield [name, str(m), "left alone", *left]
            yield ["", "", "harm", *harm]
            yield ["", "", "harm if not left alone", *given]


def miscalibrated(share: float) -> Iterator[list[str]]:
    """Yield lines of models that are off: how often a calibrator is recommended, and its gain."""
    for model in ("accurate: 1 − Beta(1, 60)", "Dirichlet"):
        for m in (2, 10):
            for name, truth in TRUTHS.items():
                for n, sets in MORE_ROWS.items():
                    yield [model, str(m), name, str(n), *_powers(model, m, truth, n, sets, share)]


def _powers(
    model: str, m: int, truth: Callable[[Array], Array], n: int, sets: int, share: float
) -> list[str]:
    draw = MODELS[model]
    fresh = draw(np.random.default_rng(99), FRESH, m)
    tried = []
    for seed in range(max(1, int(share * sets * (1 if m == 10 else 2)))):
        probs = draw(np.random.default_rng([n, m, seed]), n, m)
        tried.append(Tried(probs, truth(probs), (fresh, truth(fresh)), seed))
    chosen = [each for each in tried if each.recommended]
    many = draw(np.random.default_rng(98), 10 * FRESH, m)
    covered = [each.covered(many, truth(many)) for each in chosen]
    known = [each.gains for each in tried if each.gains]
    best = max(np.mean([gains[name] for gains in known]) for name in known[0])
    return [
        str(len(tried)),
        f"{len(chosen) / len(tried):.1%}",
        f"{np.mean([each.gain for each in tried]):.4f}",
        f"{best:.4f}",
        f"{np.mean(covered):.1%}" if chosen else "–",
    ]


def more(sets: int) -> None:
    """Print how often intervals cover, of sets that the tables do not have."""
    for model, m, name, n in MORE:
        draw, truth = MODELS[model], TRUTHS[name]
        many = draw(np.random.default_rng(98), 10 * FRESH, m)
        covered = []
        for seed in range(1000, 1000 + sets):
            probs = draw(np.random.default_rng([n, m, seed]), n, m)
            tried = Tried(probs, truth(probs), (many[:200], truth(many[:200])), seed)
            covered += [tried.covered(many, truth(many))] if tried.recommended else []
        print(model, m, name, n, f"{np.mean(covered):.1%} of {len(covered)}", flush=True)


def table(header: list[str], lines: Iterator[list[str]]) -> str:
    """Return a table in Markdown, and print its lines as they are found."""
    rows = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for line in lines:
        rows.append("| " + " | ".join(line) + " |")
        print(rows[-1], flush=True)
    return "\n".join(rows)


def main(share: float) -> None:
    """Measure, and write the tables."""
    header = ["calibrated model", "classes", "", *(f"{n:,} rows" for n in ROWS)]
    first = table(header, calibrated(share))
    header = ["predictions", "classes", "off by", "rows", "sets", "recommended", "mean gain"]
    second = table([*header, "best method", "interval covers"], miscalibrated(share))
    before, _, after = TARGET.read_text(encoding="utf-8").split(MARK)
    text = f"{before}{MARK}\n{first}\n\n{second}\n{MARK}{after}"
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the data sets to draw")
    parser.add_argument("--more", type=int, help="sets of six lines, instead of the tables")
    given = parser.parse_args()
    if given.more is None:
        main(given.share)
    else:
        more(given.more)
