"""Data sets that say the same in other words give the same numbers, to 1e-12.

Random data sets, the same in every run: with ties and vertices, in both precisions, of two to five
classes. Each is told in another order of rows or classes, with copies in place of weights, under
other names, or in two parts; and every statistic through every lens must not notice. `make fuzz`
tries more of them, with LAWS_SEED and LAWS_SETS.
"""

import os

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions, accuracy, brier_score, lenses, log_score, spherical_score
from calibrant import statistics as st
from calibrant.calibration import CellSums, Gathered
from calibrant.distances import squared_euclidean, total_variation
from calibrant.partitions import EqualMass, EqualWidth, SimplexBins, VarianceTree
from calibrant.sizes import CrossFit, bias_of, compare, size_of

SEED = int(os.environ.get("LAWS_SEED", "41"))
SETS = int(os.environ.get("LAWS_SETS", "10"))
SCORES = (log_score, brier_score, spherical_score, accuracy)
CELLS = (EqualWidth(10), SimplexBins(4), VarianceTree(12), VarianceTree(8, "median"))
TREES = CELLS[2:]  # whose cells do not depend on the order of classes
ALL = (
    *(st.ExpectedMiscalibration(cells, total_variation) for cells in CELLS),
    *(st.WorstMiscalibration(cells, squared_euclidean) for cells in CELLS),
    *(st.SquaredMiscalibration(cells) for cells in CELLS),
    st.KernelMiscalibration(0.1),
    st.KernelMiscalibration(0.1, kernel="gaussian", distance="euclidean", unbiased=False),
    st.Surprise(),
    st.WorstClass(),
)
OF_TWO = (
    *(st.ExpectedMiscalibration(EqualMass(7)), st.Cox(), st.Spiegelhalter(), st.AveragedTwoBin()),
    *(st.Neyman(), st.SmoothMiscalibration(), st.CutoffMiscalibration()),
    st.KolmogorovMiscalibration(),
    *(st.ScoreMiscalibration(brier_score), st.ScoreMiscalibration(log_score)),
)
# In standard deviations: a row of weight 2 has one outcome, two rows have two.
EVIDENCE = st.Cox, st.Neyman, st.Spiegelhalter, st.Surprise, st.WorstClass


def data_set(rng, *, weighted=False, ties=True):
    """Return predictions in a random form, of which the last row has its outcome likely."""
    m, n = int(rng.integers(2, 6)), int(rng.integers(20, 90))
    probs = rng.dirichlet(np.full(m, rng.choice([0.2, 1.0, 5.0])), n)
    if ties and rng.random() < 0.6:
        probs = rng.multinomial(20, probs) / 20
    labels = (rng.random((n, 1)) > 0.9 * probs.cumsum(axis=1)[:, :-1]).sum(axis=1)
    probs = probs.astype(rng.choice([np.float32, np.float64])) if ties else probs
    weights = rng.integers(1, 4, n) if weighted else None
    return Predictions(probs, labels, weights=weights)


def views(m):
    """Return lenses on m classes."""
    found = [lenses.Canonical(), lenses.TopLabel(), lenses.Pooled()]
    found += [lenses.Marginal(j) for j in range(m)]
    if m > 2:
        found += [lenses.TopK(2), lenses.Groups([[0, 1], range(2, m)])]
    return found


def measured(data, statistics=(*ALL, *OF_TWO), through=None):
    """Return every statistic through every lens, and the scores."""
    found = {}
    for lens in views(data.m) if through is None else through:
        seen = lens(data)
        for k, statistic in enumerate(statistics):
            if seen.m == 2 or statistic not in OF_TWO:
                found[f"{k} {statistic} through {lens}"] = statistic(seen)
    return found | {score.__name__: score(data) for score in SCORES}


def same(found, expected):
    """Compare to 1e-12: relative where values are large, since log scores and Cox's test may be."""
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.fixture(params=range(SETS))
def rng(request):
    return np.random.default_rng([SEED, request.param])


def test_the_order_of_rows(rng):
    data = data_set(rng, weighted=rng.random() < 0.5)
    same(measured(data.take(rng.permutation(data.n))), measured(data))


def test_copies_for_weights(rng):
    data = data_set(rng, weighted=True)
    rows = rng.permutation(np.repeat(np.arange(data.n), data.weights.astype(int)))
    copies = Predictions(data.probs[rows], data.labels[rows])
    statistics = [one for one in (*ALL, *OF_TWO) if not isinstance(one, EVIDENCE)]
    same(measured(copies, statistics), measured(data, statistics))


def test_other_names(rng):
    data = data_set(rng)
    names = [f"class {chr(122 - j)}" for j in range(data.m)]
    named = Predictions(data.probs, [names[y] for y in data.labels], classes=names)
    assert list(measured(named).values()) == list(measured(data).values())


def test_the_order_of_classes(rng):
    data = data_set(rng, ties=False)
    order = rng.permutation(data.m)
    place = np.argsort(order)
    moved = Predictions(data.probs[:, order], place[data.labels])
    symmetric = [s for s in ALL if getattr(s, "partition", TREES[0]) in TREES]
    for a, b in (
        (lenses.Canonical(), lenses.Canonical()) if data.m > 2 else (lenses.TopLabel(),) * 2,
        (lenses.TopLabel(), lenses.TopLabel()),
        *((lenses.Marginal(j), lenses.Marginal(int(place[j]))) for j in range(data.m)),
    ):
        statistics = symmetric if isinstance(a, lenses.Canonical) else (*ALL, *OF_TWO)
        found, expected = measured(moved, statistics, [b]), measured(data, statistics, [a])
        same(list(found.values()), list(expected.values()))


def test_the_order_of_classes_with_ties(rng):
    """Variances of coarse probabilities tie often; higher moments then decide, not the order."""
    data = data_set(rng)
    order = rng.permutation(data.m)
    moved = Predictions(data.probs[:, order], np.argsort(order)[data.labels])
    eta = st.ExpectedMiscalibration(VarianceTree(12), total_variation)
    lens = lenses.Canonical() if data.m > 2 else lenses.Pooled()  # of two, one class is the event
    same(eta(lens(moved)), eta(lens(data)))


def test_two_parts(rng):
    data = data_set(rng)
    cut = int(rng.integers(1, data.n))
    order = rng.permutation(data.n)
    parts = [data.take(order[:cut]), data.take(order[cut:])]
    for score in SCORES:
        share = cut / data.n
        merged = share * score(parts[0]) + (1 - share) * score(parts[1])
        assert merged == pytest.approx(score(data), rel=1e-12, abs=1e-12)
    for partition in CELLS:
        cells = Gathered(data, partition)
        first, second = (
            CellSums.of(part, cells.of_rows[rows], cells.n_cells)
            for part, rows in zip(parts, (order[:cut], order[cut:]), strict=True)
        )
        merged = second.merge(first).finish()
        gaps = total_variation(merged.observed, merged.predicted)
        expected = st.ExpectedMiscalibration(partition, total_variation)(data)
        assert merged.mass @ gaps / data.n == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_another_number_would_be_noticed():
    data = data_set(np.random.default_rng(3), weighted=True)
    other = data.with_labels((data.labels + (np.arange(data.n) == 7)) % data.m)
    found, expected = measured(other), measured(data)
    assert any(abs(found[name] - expected[name]) > 1e-6 for name in found)
    with pytest.raises(AssertionError):
        same(found, expected)


def amounts(data):
    """Return sizes, biases and a comparison with a sharper model, through lenses."""
    found = {}
    for lens in (lenses.Canonical(), lenses.TopLabel()):
        seen = lens(data)
        fit = CrossFit(seen, 7)
        top = CrossFit(lenses.TopLabel()(seen), 7) if seen.m > 2 else None
        sharper = seen.probs.astype(float) ** 1.5
        other = seen.with_probs(sharper / sharper.sum(axis=1, keepdims=True))
        found[str(lens)] = [
            *(x for x in size_of(fit, top) if x is not None),
            *(bias_of(seen) if seen.m == 2 else ()),
            *compare(fit, CrossFit(other, 7, like=fit), paired=True),
        ]
    return found


def two_outcomes(rng):
    """Return an event, and its complement."""
    p = rng.random(80)
    if rng.random() < 0.5:
        p = np.round(p, 1)
    occurred, weights = rng.random(80) < p**2, rng.lognormal(0, 1, 80)
    mine = Predictions(p, occurred, weights=weights)
    return mine, Predictions(1 - p, ~occurred, weights=weights)


def test_amounts_and_the_order_of_rows(rng):
    data = data_set(rng, weighted=rng.random() < 0.5)
    same_amounts(amounts(data.take(rng.permutation(data.n))), amounts(data))


def test_amounts_and_the_order_of_classes(rng):
    data = data_set(rng, ties=False)
    order = rng.permutation(data.m) if data.m > 2 else np.arange(2)
    moved = Predictions(data.probs[:, order], np.argsort(order)[data.labels])
    same_amounts(amounts(moved), amounts(data))


def test_amounts_and_the_unit_of_weights(rng):
    data = data_set(rng, weighted=True)
    data = data.weighted_by(rng.lognormal(0, 1, data.n))
    for unit in (100.0, 0.3, 1e-6):
        same_amounts(amounts(data.weighted_by(np.full(data.n, unit))), amounts(data))


def test_amounts_of_an_event_and_of_its_complement(rng):
    mine, other = two_outcomes(rng)
    a, b = bias_of(mine), bias_of(other)
    assert (a.value, a.low, a.high) == pytest.approx((-b.value, -b.high, -b.low), abs=1e-9)
    fits = CrossFit(mine, 3), CrossFit(other, 3)
    assert size_of(fits[0]) == pytest.approx(size_of(fits[1]), rel=1e-6, abs=1e-9)


def same_amounts(found, expected):
    """Compare to 1e-9: limits come from searches that stop at 1e-12, and roots from squares."""
    assert found.keys() == expected.keys()
    for lens, numbers in expected.items():
        assert found[lens] == pytest.approx(numbers, rel=1e-9, abs=1e-9)


DRAWN = {"n_resamples": 19, "rng": 5}
PLAIN = st.ExpectedMiscalibration(EqualWidth(5), total_variation)
VERBS = {
    "ece": cal.ece,
    "calibration_test": lambda data: cal.calibration_test(data, **DRAWN),
    "test of bins": lambda data: cal.calibration_test(data, PLAIN, **DRAWN),
    "estimate": lambda data: cal.estimate(data, PLAIN, **DRAWN),
    "evaluate": lambda data: cal.evaluate(data, **DRAWN),
    "compare": lambda data: cal.compare(
        {"one": data, "other": data.with_probs(data.probs[:, ::-1].copy())}, **DRAWN
    ),
    "recalibrate": lambda data: cal.recalibrate(data, rng=5),
    "classwise": lambda data: cal.classwise(data, **DRAWN),
    "slices": lambda data: cal.slices(data, {"half": np.arange(data.n) % 2}, least=5, **DRAWN),
    "power": lambda data: cal.power(data, **DRAWN),
    "smooth": lambda data: cal.smooth_diagram(data, lens="top", **DRAWN),
    "isotonic": lambda data: cal.isotonic_diagram(data, lens="top", **DRAWN),
    "cumulative": lambda data: cal.cumulative_diagram(data, lens="top", **DRAWN),
    "reliability": lambda data: cal.reliability_diagram(data, lens="top", **DRAWN),
    "class_diagram": lambda data: cal.class_diagram(data, **DRAWN),
    "binwise": lambda data: cal.binwise(data, EqualWidth(5), lens="top", **DRAWN),
}


def plain(value, path=""):
    """Return what a result says, by the way to each number; what bins weigh has a unit."""
    value = value.to_dict() if hasattr(value, "to_dict") else value
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    else:
        return {path: value}
    found = {}
    for key, each in items:
        if key not in ("counts", "n"):
            found |= plain(each, f"{path}.{key}")
    return found


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("verb", VERBS)
def test_verbs_do_not_notice_the_unit_of_weights(verb, m):
    generator = np.random.default_rng([SEED, 99])
    probs = generator.dirichlet(np.full(m, 0.7), 120)
    labels = (probs.cumsum(axis=1) < generator.random((120, 1))).sum(axis=1)
    data = Predictions(probs, labels, weights=generator.lognormal(0, 1, 120))
    found, expected = (
        plain(VERBS[verb](data.weighted_by(np.full(120, unit)))) for unit in (1.0, 100.0)
    )
    assert found.keys() == expected.keys()
    for path, value in expected.items():
        if isinstance(value, float):
            assert found[path] == pytest.approx(value, rel=1e-9, abs=1e-12, nan_ok=True), path
        else:
            assert found[path] == value, path
