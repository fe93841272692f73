"""How often limits of sizes and biases hold, for models whose truth is known.

``python examples/sizes.py`` writes the tables of docs/inference.md; ``--sets 50`` draws fewer sets,
``--only weights`` prints one table. Predictions are those of networks that come with the package,
or drawn; labels are drawn from a truth that is a function of them. ``--cifar100 FILE`` names an NPZ
file with `probs` of a network of CIFAR-100; without it, rows that need it are left out.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

import calibrant as cal
from calibrant.inference.testing.families import default_tree
from calibrant.lenses import TopLabel
from calibrant.sizes import CrossFit, Size, bias_of, compare, size_of
from calibrant.statistics import SquaredMiscalibration

TARGET = Path(__file__).parents[1] / "docs" / "inference.md"
EPS = 1e-12
Array = np.ndarray
Draw = Callable[[np.random.Generator, int], Array]
Law = Callable[[Array], Array]


class Setting(NamedTuple):
    """Predictions, the truth as a function of them, and how many rows."""

    name: str
    draw: Draw
    law: Law
    rows: Sequence[int]
    weigh: Draw | None = None


def tempered(p: Array, power: float) -> Array:
    """Return predictions to a power, divided by their sums."""
    found = np.maximum(p, EPS) ** power
    return found / found.sum(axis=1, keepdims=True)


def shifted(p: Array, classes: slice, amount: float) -> Array:
    """Return predictions with other log-odds of some classes."""
    found = np.maximum(p, EPS)
    found[:, classes] *= np.exp(amount)
    return found / found.sum(axis=1, keepdims=True)


def moved(p: Array, power: float = 1.0, constant: float = 0.0) -> Array:
    """Return the probability of an event whose log-odds are multiplied and moved."""
    odds = np.exp(constant) * (p / (1 - p)) ** power
    return odds / (1 + odds)


def rows_of(probs: Array) -> Draw:
    """Draw some rows of predictions that are there."""
    return lambda rng, n: probs[rng.choice(len(probs), n, replace=False)]


def dirichlet(m: int, amount: float) -> Draw:
    """Draw predictions of m classes."""
    return lambda rng, n: rng.dirichlet(np.full(m, amount), n)


def either(p: float) -> Draw:
    """Predict p and 1 - p in turn."""
    return lambda _, n: np.where(np.arange(n) % 2, p, 1 - p)


def same(p: Array) -> Array:
    """Return the truth of a calibrated model."""
    return p


def uniform(rng: np.random.Generator, n: int) -> Array:
    """Draw predictions of an event."""
    return rng.random(n)


def rare(rng: np.random.Generator, n: int) -> Array:
    """Draw predictions of a rare event."""
    return rng.beta(0.5, 20, n)


def sure(rng: np.random.Generator, n: int) -> Array:
    """Draw predictions most of which are close to 0 or 1."""
    return 1 / (1 + np.exp(-6 * rng.standard_normal(n)))


def network(name: str) -> Array:
    """Return the predictions of a network that comes with the package."""
    probs = cal.datasets.cifar10(name).probs.astype(float)
    return probs / probs.sum(axis=1, keepdims=True)


DENSENET, LENET = network("densenet"), network("lenet")
TOP = np.minimum(DENSENET.max(axis=1), 1 - 1e-9)
over, under = partial(tempered, power=0.67), partial(tempered, power=1.5)


def many(cifar100: Array | None) -> list[Setting]:
    """Return the settings of more than two outcomes."""
    three, four = dirichlet(3, 0.5), dirichlet(4, 0.3)
    two_high, ten_high = (
        lambda p: shifted(p, slice(2), -1.0),
        lambda p: shifted(p, slice(10), -1.5),
    )
    found = [
        Setting("three classes, calibrated", three, same, (100, 300, 1000, 5000)),
        Setting("underconfident", three, under, (100, 300, 1000, 5000)),
        Setting("four classes, calibrated", four, same, (100, 300, 1000, 5000)),
        Setting("overconfident", four, over, (100, 300, 1000, 5000)),
        Setting(
            "ten classes of a network, calibrated", rows_of(DENSENET), same, (100, 300, 1000, 5000)
        ),
        Setting("overconfident", rows_of(DENSENET), over, (100, 300, 1000, 5000)),
        Setting("two classes too high", rows_of(DENSENET), two_high, (300, 1000, 5000)),
        Setting("100 classes, calibrated", dirichlet(100, 0.05), same, (300, 1000)),
        Setting("1000 classes, calibrated", dirichlet(1000, 0.005), same, (300,)),
    ]
    if cifar100 is not None:
        draw = rows_of(cifar100)
        found += [
            Setting("CIFAR-100, calibrated", draw, same, (100, 300, 1000, 5000)),
            Setting("CIFAR-100, overconfident", draw, over, (100, 300, 1000, 5000)),
            Setting("CIFAR-100, ten classes too high", draw, ten_high, (1000, 5000)),
        ]
    return found


def doubled(p: Array) -> Array:
    """Return confidences whose errors are twice as many."""
    return 1 - np.minimum(2 * (1 - p), 0.5)


def constant(p: float) -> Draw:
    """Predict the same for all rows."""
    return lambda _, n: np.full(n, p)


EVENTS = [
    Setting("constant 0.99, calibrated", constant(0.99), same, (200,)),
    Setting("constant 0.99, truth 0.97", constant(0.99), lambda p: p - 0.02, (200,)),
    Setting("constant 0.999, calibrated", constant(0.999), same, (200,)),
    Setting("constant 0.002, calibrated", constant(0.002), same, (500,)),
    Setting("confidences of a network, calibrated", rows_of(TOP), same, (100, 300, 1000, 5000)),
    Setting("overconfident", rows_of(TOP), partial(moved, power=0.67), (100, 300, 1000, 5000)),
    Setting("their errors twice as many", rows_of(TOP), doubled, (100, 300, 1000)),
    Setting("a rare event, calibrated", rare, same, (500,)),
    Setting("twice as frequent", rare, lambda p: moved(p, constant=np.log(2)), (500, 2000)),
    Setting("uniform, calibrated", uniform, same, (100, 300, 2000)),
    Setting("overconfident", uniform, partial(moved, power=0.67), (100, 300, 1000, 2000)),
    Setting("underconfident", uniform, partial(moved, power=1.5), (100, 300, 1000, 2000)),
    Setting("too high", uniform, lambda p: moved(p, constant=-0.5), (300, 2000)),
    Setting("sure and wrong", sure, partial(moved, power=0.3), (100, 300, 2000)),
    Setting(
        "a wave of ± 10 points",
        lambda rng, n: rng.uniform(0.1, 0.9, n),
        lambda p: p + 0.1 * np.sin(20 * p),
        (300, 2000),
    ),
    Setting(
        "0.05 and 0.95, truth 0.15 and 0.85",
        either(0.05),
        lambda p: np.where(p < 0.5, 0.15, 0.85),
        (20, 40, 60, 100, 200),
    ),
    Setting(
        "0.02 and 0.98, truth 0.1 and 0.9",
        either(0.02),
        lambda p: np.where(p < 0.5, 0.1, 0.9),
        (60, 200),
    ),
]
WEIGHTS: dict[str, Draw] = {
    "all 100": lambda _, n: np.full(n, 100.0),
    "lognormal": lambda rng, n: rng.lognormal(0, 1, n),
    "2 % of rows 50": lambda rng, n: np.where(rng.random(n) < 0.02, 50.0, 1.0),
    "1 to 3": lambda rng, n: rng.integers(1, 4, n).astype(float),
}
DIRECTIONS = [
    Setting("uniform, calibrated", uniform, same, (50, 300, 2000)),
    Setting("overconfident", uniform, partial(moved, power=0.67), (50, 2000)),
    Setting("underconfident", uniform, partial(moved, power=1.5), (50, 2000)),
    Setting("confidences of a network, calibrated", rows_of(TOP), same, (300,)),
    Setting("a rare event, calibrated", rare, same, (500,)),
    Setting("constant 0.01, calibrated", constant(0.01), same, (100, 1000)),
    Setting(
        "0.05 and 0.95, truth 0.15 and 0.85",
        either(0.05),
        lambda p: np.where(p < 0.5, 0.15, 0.85),
        (60, 200),
    ),
    *(
        Setting(f"uniform, calibrated; weights {name}", uniform, same, (300,), weigh)
        for name, weigh in WEIGHTS.items()
    ),
]


def data_of(setting: Setting, rng: np.random.Generator, n: int) -> tuple[cal.Predictions, Array]:
    """Draw a data set; return it, and how far its truth is off: (n,) of an event, or (n, m)."""
    p = setting.draw(rng, n)
    truth = setting.law(p.copy())
    weights = None if setting.weigh is None else setting.weigh(rng, n)
    if p.ndim == 1:
        labels = rng.random(n) < truth
    else:
        u = rng.random((n, 1))
        labels = np.minimum((truth.cumsum(axis=1) < u).sum(axis=1), p.shape[1] - 1)
    return cal.Predictions(p, labels, weights=weights), p - truth


def size(data: cal.Predictions, seed: int) -> Size:
    """Return what `evaluate` says."""
    top = CrossFit(TopLabel()(data), seed) if data.m > 2 else None
    found = size_of(CrossFit(data, seed), top)
    assert found is not None
    return found


def true_size(data: cal.Predictions, gaps: Array) -> float:
    """Return the root mean square deviation."""
    squares = gaps**2 if gaps.ndim == 1 else (gaps**2).sum(axis=1) / 2
    return float(np.sqrt(np.average(squares, weights=data.weights)))


def former(data: cal.Predictions) -> tuple[float, float]:
    """Return the interval of release 0.2: of the squared miscalibration on a tree."""
    ends = SquaredMiscalibration(default_tree(data)).interval(data, 0.95)
    low, high = (float(np.sqrt(max(0.0, end) / 2)) for end in ends)
    return low, high


def many_outcomes(setting: Setting, n: int, sets: int) -> list[str]:
    """Return a row of the table of more than two outcomes."""
    if n >= 5000 and setting.draw(np.random.default_rng(0), 2).shape[1] >= 100:
        sets = max(1, sets // 3)
    rng, found = np.random.default_rng(n), []
    for seed in range(sets):
        data, gaps = data_of(setting, rng, n)
        one, truth = size(data, seed), true_size(data, gaps)
        found.append((truth, one.value, one.low, one.low > truth + EPS))
    truth, value, low, above = 100 * np.mean(found, axis=0)
    row = [setting.name, f"{n:,}", f"{sets:,}", f"{truth:.1f}", f"{value:.1f}", f"{low:.1f}"]
    return [*row, f"{above:.1f} %"]


def of_an_event(setting: Setting, n: int, sets: int) -> list[str]:
    """Return a row of the table of two outcomes."""
    rng, found = np.random.default_rng(n), []
    for seed in range(sets):
        data, gaps = data_of(setting, rng, n)
        one, truth = size(data, seed), true_size(data, gaps)
        assert one.high is not None
        low, high = former(data)
        holds = one.low <= truth + EPS and truth <= one.high + EPS
        held = low <= truth + EPS and truth <= high + EPS
        above = one.low > truth + EPS
        found.append((truth, holds, above, one.high - one.low, held, high - low))
    truth, holds, above, width, held, wide = 100 * np.mean(found, axis=0)
    row = [setting.name, f"{n:,}", f"{truth:.1f}", f"{holds:.1f} %", f"{above:.1f} %"]
    return [*row, f"{width:.1f}", f"{held:.1f} %", f"{wide:.1f}"]


def with_weights(setting: Setting, n: int, sets: int) -> list[str]:
    """Return a row of the table of weights; the upper limit of more than two outcomes is none."""
    rng, found = np.random.default_rng(n), []
    for seed in range(sets):
        data, gaps = data_of(setting, rng, n)
        one, truth = size(data, seed), true_size(data, gaps)
        holds = one.high is None or truth <= one.high + EPS
        above = one.low > truth + EPS
        found.append((truth, holds and not above, above))
    truth, holds, above = 100 * np.mean(found, axis=0)
    share = f"{holds:.1f} %" if data.m == 2 else ""
    return [setting.name, f"{n:,}", f"{truth:.1f}", share, f"{above:.1f} %"]


def directions(setting: Setting, n: int, sets: int) -> list[str]:
    """Return a row of the table of biases: true ones are covered, and no direction is false."""
    sets = max(sets, 2000 * sets // 300)
    rng, covered, false = np.random.default_rng(n), 0, 0
    for _ in range(sets):
        data, gaps = data_of(setting, rng, n)
        truth, found = float(np.average(gaps, weights=data.weights)), bias_of(data)
        covered += found.low - EPS <= truth <= found.high + EPS
        false += found.low > max(truth, 0) + EPS or found.high < min(truth, 0) - EPS
    shares = f"{100 * covered / sets:.1f} %", f"{100 * false / sets:.1f} %"
    return [setting.name, f"{n:,}", f"{sets:,}", *shares]


class Pair(NamedTuple):
    """Two models of the same rows, as functions of the truth."""

    name: str
    truth: Draw
    models: tuple[Law, Law]
    rows: Sequence[int]


def pairs(cifar100: Array | None) -> list[Pair]:
    """Return the models that are compared."""
    middle = lambda rng, n: rng.uniform(0.1, 0.9, n)  # noqa: E731
    halves = lambda p: shifted(p, slice(5), 1.0), lambda p: shifted(p, slice(5, 10), 1.0)
    lenet = lambda p: tempered(p, 1.7), lambda p: shifted(p, slice(2), 1.2)
    found = [
        Pair("+ 6 and - 6 points", middle, (lambda q: q + 0.06, lambda q: q - 0.06), (300, 1000)),
        Pair("0.99 and 0.97", constant(0.98), (lambda q: q + 0.01, lambda q: q - 0.01), (300,)),
        Pair("both calibrated: p, and 0.5", middle, (same, lambda q: np.full(q.size, 0.5)), (500,)),
        Pair("6 points and 3", middle, (lambda q: q + 0.06, lambda q: q + 0.03), (500, 2000)),
        Pair("ten classes, one half or the other too high", rows_of(DENSENET), halves, (1000,)),
        Pair("ten classes, overconfident; two too high", rows_of(LENET), lenet, (3000, 9000)),
    ]
    if cifar100 is not None:
        for amount in (1.35, 1.5):
            ten = partial(shifted, classes=slice(10), amount=amount)
            models = partial(tempered, power=1.5), lambda q, ten=ten: ten(q.copy())
            name = "CIFAR-100, overconfident; ten classes too high"
            found.append(Pair(name, rows_of(tempered(cifar100, 0.5)), models, (3000, 9000)))
    return found


def compared(pair: Pair, n: int, sets: int) -> list[str]:
    """Return a row of the table of comparisons: named if further off, with a limit above 0."""
    if n >= 3000:
        sets = max(1, sets // 3)
    rng, found = np.random.default_rng(n), []
    for seed in range(sets):
        q = pair.truth(rng, n)
        p = [model(q.copy()) for model in pair.models]
        if q.ndim == 1:
            labels = rng.random(n) < q
        else:
            u = rng.random((n, 1))
            labels = np.minimum((q.cumsum(axis=1) < u).sum(axis=1), q.shape[1] - 1)
        one, other = (cal.Predictions(each, labels) for each in p)
        gaps = [true_size(one, each - q) for each in p]
        if pair.name.startswith("both calibrated"):
            gaps[1] = 0.0  # of a constant: the rate is what it says
        a = CrossFit(one, seed)
        b = CrossFit(other, seed, like=a)
        further = compare(a, b, paired=True)
        named = 0
        if abs(further.value) > 2.24 * further.standard_error:
            named = 1 if further.value > 0 else 2
            worse = size((one, other)[named - 1], seed)
            named = named if worse.low > 0 else 0
        found.append((*gaps, named == 1, named == 2))
    first, second, *named = 100 * np.mean(found, axis=0)
    sizes = f"{first:.1f}", f"{second:.1f}"
    return [pair.name, f"{n:,}", f"{sets:,}", *sizes, *(f"{share:.1f} %" for share in named)]


def tables(cifar100: Array | None) -> dict[str, tuple[list[str], Callable[..., list[str]], list]]:
    """Return header, what makes a row, and settings of each table."""
    above, bins = "limit above the truth", "0.2's covers"
    weighted = [
        Setting(f"{name}: {what}", draw, law, (300,), weigh)
        for name, weigh in WEIGHTS.items()
        for what, draw, law in (
            ("an event, calibrated", uniform, same),
            ("an event, overconfident", uniform, partial(moved, power=0.67)),
            ("ten classes, calibrated", rows_of(DENSENET), same),
            ("ten classes, overconfident", rows_of(DENSENET), over),
        )
    ]
    head = ["rows", "true size"]
    covers = ["interval covers", above]
    return {
        "many": (
            ["more than two outcomes", "rows", "sets", "true size", "estimate", "limit", above],
            many_outcomes,
            many(cifar100),
        ),
        "events": (["an event", *head, *covers, "width", bins, "its width"], of_an_event, EVENTS),
        "weights": (["weights", *head, *covers], with_weights, weighted),
        "directions": (
            ["an event", "rows", "sets", "bias covered", "false direction"],
            directions,
            DIRECTIONS,
        ),
        "compare": (
            [
                "two models",
                "rows",
                "sets",
                "first off",
                "second off",
                "first named",
                "second named",
            ],
            compared,
            pairs(cifar100),
        ),
    }


JOBS: list[Callable[[], list[str]]] = []


def run(number: int) -> list[str]:
    """Make a row."""
    return JOBS[number]()


def table(header: list[str], rows: Sequence[list[str]]) -> str:
    """Write a table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Write the tables into the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--only", help="print this table alone")
    parser.add_argument("--cifar100", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    cifar100 = None
    if given.cifar100 is not None:
        cifar100 = np.load(given.cifar100)["probs"].astype(float)
        cifar100 /= cifar100.sum(axis=1, keepdims=True)
    wanted = tables(cifar100)
    if given.only is not None:
        wanted = {given.only: wanted[given.only]}
    spans = {}
    for name, (_, make, settings) in wanted.items():
        before = len(JOBS)
        JOBS.extend(partial(make, each, n, given.sets) for each in settings for n in each.rows)
        spans[name] = slice(before, len(JOBS))
    with get_context("fork").Pool(given.processes) as pool:
        rows = pool.map(run, range(len(JOBS)), chunksize=1)
    parts = {name: table(wanted[name][0], rows[span]) for name, span in spans.items()}
    if given.only is not None:
        print(parts[given.only])
        return
    text = TARGET.read_text(encoding="utf-8")
    intro = f"{given.sets} data sets per row unless stated; sizes in points."
    sizes = "\n\n".join([intro, *(parts[name] for name in list(parts)[:4])])
    for marker, table in (("<!-- sizes -->", sizes), ("<!-- compared -->", parts["compare"])):
        before, _, after = text.split(marker)
        text = f"{before}{marker}\n{table}\n{marker}{after}"
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
