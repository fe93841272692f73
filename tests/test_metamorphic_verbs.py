"""Every verb gives the same numbers for data that say the same in other words.

Rows or classes in another order, each row twice in place of a weight of 2, an event and its
complement. Draws belong to rows and classes by their number, so what is drawn changes with
their order: compared is what no draw has a part in. That the unit of weights does not matter, draws
and all, is in test_metamorphic.py.
"""

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions, recalibration
from calibrant.distances import total_variation
from calibrant.partitions import EqualWidth
from calibrant.resampling import Shifted, Tempered
from calibrant.statistics import ExpectedMiscalibration

DRAWN = {"n_resamples": 19, "rng": 5}
PLAIN = ExpectedMiscalibration(EqualWidth(5), total_variation)
NAMES = ["a", "b", "c"]
HALVES = np.arange(120) % 2


def model(m, weights=None):
    """Return predictions with neither ties nor certainty, and names."""
    rng = np.random.default_rng([17, m])
    probs = rng.dirichlet(np.full(m, 0.7), 120) * 0.98 + 0.02 / m
    labels = (probs.cumsum(axis=1) < rng.random((120, 1))).sum(axis=1)
    return Predictions(probs, labels, classes=NAMES[:m], weights=weights)


def rows_of(tests):
    """Return the statistics of tests."""
    return [row.value for row in tests]


def amount(verdict):
    """Return how far off, with limits, and by how much too high for the last of two classes."""
    size = [x for x in (verdict.size, *verdict.interval) if x is not None]
    if verdict.bias is None:
        return size
    low, high = verdict.bias_interval
    if verdict.subject.endswith("“a”"):  # the complement
        return [*size, -verdict.bias, -high, -low]
    return [*size, verdict.bias, low, high]


def evaluated(data, _):
    found = cal.evaluate(data, **DRAWN)
    return [*rows_of(found.rows), *map(amount, found.verdicts), found.ece.value]


def of_tests(data, _):
    found = cal.calibration_test(data, **DRAWN)
    return [rows_of(found.parts), cal.calibration_test(data, PLAIN, lens="top", **DRAWN).statistic]


def compared(data, _):
    sharp = data.probs**1.5 / (data.probs**1.5).sum(axis=1, keepdims=True)
    found = cal.compare({"plain": data, "sharp": data.with_probs(sharp)}, **DRAWN)
    scores = [list(each.values()) for each in found.scores.values()]
    return [*scores, *((one.value, one.standard_error) for one in found.differences)]


def sliced(data, groups):
    found = cal.slices(data, {"half": groups}, least=5, **DRAWN)
    return [rows_of(found.tests), *(amount(row.verdict) for row in found.rows)]


def powers(data, _):
    ways = {"confident": Tempered(1.5), "high": Shifted(data.classes.index("a"), -0.5)}
    return [(row.size, abs(row.bias or 0.0)) for row in cal.power(data, ways, **DRAWN).rows]


def recalibrated(data, _):
    """Plain fits, and the scores of the model as it is."""
    row = cal.recalibrate(data, n_resamples=19, rng=5).rows[0]
    maps = [recalibration.Temperature().fit(data), recalibration.Vector().fit(data)]
    order, place = np.argsort(data.classes), [NAMES.index(name) for name in data.classes]
    new = np.array([[0.2, 0.8]] if data.m == 2 else [[0.2, 0.1, 0.7]])[:, place]
    return [row.log_score, row.brier_score, *(each(new)[:, order] for each in maps)]


def by_class(data, _):
    found = cal.classwise(data, **DRAWN)
    return [dict(zip(found.classes, found.values, strict=True))[name] for name in NAMES[: data.m]]


def drawn_as(diagram):
    """Return the points of a diagram of the top label, and of one of its bins."""

    def points(data, _):
        series = diagram(data, lens="top", **DRAWN).to_dict()["series"][0]
        if "x" in series:
            return [series["x"], series["y"]]
        return [series["predicted"], series["observed"]]

    return points


# What is said of a verb's numbers if each row is there twice, instead of weighing 2. Evidence and
# limits differ, and so do directions and bandwidths that are learned from more rows.
TWICE = {
    "evaluate": lambda data, _: [
        *(v.bias for v in cal.evaluate(data, **DRAWN).verdicts if v.bias is not None),
        cal.evaluate(data, **DRAWN).ece.value,
    ],
    "calibration_test": lambda data, _: of_tests(data, None)[1:],
    "compare": lambda data, _: compared(data, None)[:2],
    "slices": lambda data, groups: [
        row.verdict.bias for row in cal.slices(data, {"half": groups}, least=5, **DRAWN).rows
    ],
}
VERBS = {
    "ece": lambda data, _: [cal.ece(data), cal.mce(data), cal.rms(data), cal.classwise_ece(data)],
    "calibration_test": of_tests,
    "estimate": lambda data, _: [cal.estimate(data, PLAIN, lens="top", **DRAWN).value],
    "evaluate": evaluated,
    "compare": compared,
    "slices": sliced,
    "power": powers,
    "recalibrate": recalibrated,
    "classwise": by_class,
    "smooth": drawn_as(cal.smooth_diagram),
    "isotonic": drawn_as(cal.isotonic_diagram),
    "cumulative": drawn_as(cal.cumulative_diagram),
    "reliability": drawn_as(cal.reliability_diagram),
}


def flat(found):
    """Return all numbers in their order."""
    if isinstance(found, list | tuple | np.ndarray):
        return [number for part in found for number in flat(part)]
    return [float(found)]


def same(found, expected):
    """Compare to 1e-9: limits come from searches that stop at 1e-12, and roots from squares."""
    assert flat(found) == pytest.approx(flat(expected), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("verb", VERBS)
def test_the_order_of_rows(verb, m):
    data, order = model(m), np.random.default_rng(3).permutation(120)
    same(VERBS[verb](data.take(order), HALVES[order]), VERBS[verb](data, HALVES))


@pytest.mark.parametrize("order", [[1, 0], [2, 0, 1]], ids=["complement", "three classes"])
@pytest.mark.parametrize("verb", VERBS)
def test_the_order_of_classes(verb, order):
    """Of two, the event changes places with its complement."""
    data = model(len(order))
    labels = [NAMES[label] for label in data.labels]
    moved = Predictions(data.probs[:, order], labels, classes=[NAMES[j] for j in order])
    same(VERBS[verb](moved, HALVES), VERBS[verb](data, HALVES))


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "smooth"])
def test_each_row_twice(verb, m):
    values, rows = TWICE.get(verb, VERBS[verb]), np.repeat(np.arange(120), 2)
    same(values(model(m).take(rows), HALVES[rows]), values(model(m, np.full(120, 2.0)), HALVES))


def test_another_label_would_be_noticed():
    data = model(3)
    other = data.with_labels((data.labels + (np.arange(120) == 7)) % 3)
    for verb, values in VERBS.items():
        if verb != "power":  # it does not look at outcomes
            with pytest.raises(AssertionError):
                same(values(other, HALVES), values(data, HALVES))
