"""The recipes of CONTRIBUTING: what is written as they say works everywhere, and fast."""

import re
from dataclasses import dataclass
from time import perf_counter
from typing import final

import apart
import careless
import numpy as np
import pytest
from places import ROOT

from calibrant import (
    Predictions,
    binwise,
    calibration_test,
    classwise,
    estimate,
    evaluate,
    recalibrate,
    reliability_diagram,
)
from calibrant.checks.parameters import make_key
from calibrant.distances import ONE, SQUARED, from_norm, squared_euclidean, total_variation
from calibrant.lenses import Canonical, Groups, Induced, Lens, Outcomes, Pooled, TopLabel
from calibrant.partitions import EqualWidth, VarianceTree
from calibrant.recalibration import LogLinearMap, load_map  # noqa: F401 (printed code needs it)
from calibrant.recalibration.map import present_rows  # noqa: F401
from calibrant.resampling import Bootstrap, Consistency, Exact, Resampler
from calibrant.statistics import ExpectedMiscalibration, Statistic, grid

RNG = np.random.default_rng(0)
N = 120
DATA = Predictions(RNG.dirichlet(np.ones(4), N), RNG.integers(0, 4, N))
WEIGHTED = Predictions(DATA.probs, DATA.labels, weights=RNG.integers(0, 3, N))
SEED = 5
KEY = make_key(SEED)
ETA = ExpectedMiscalibration(EqualWidth(4))


def plain(data, statistic, resampler, lens, size):
    """Return replicates by their definition."""
    return [statistic(lens(resampler.draw(data, KEY, b))) for b in range(size)]


# The code that is printed in CONTRIBUTING


def printed():
    """Return the classes that CONTRIBUTING defines, by name."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    found = {}
    for block in re.findall(r"^ *```python\n(.*?)```", page, re.DOTALL | re.MULTILINE):
        indent = re.match(" *", block).group()
        code = "\n".join(line.removeprefix(indent) for line in block.splitlines())
        exec(code, globals() | {"__name__": __name__}, found)
    return found


# A statistic


CALLS = []  # of `prepare`


@final
@dataclass(frozen=True, slots=True)
class ClassTotals(Statistic):
    """Largest difference between how often a class occurs and how often it was predicted."""

    def prepare(self, view):
        CALLS.append(view)
        data = view.data
        cells = view.cells(EqualWidth(1))
        expected = data.weights @ data.probs.astype(float)

        def evaluate(block):
            return np.abs(block.counts(cells, 0, 1)[:, 0] - expected).max(axis=-1)

        return evaluate


@final
@dataclass(frozen=True, slots=True)
class MeanSurprise(Statistic):
    """Mean probability that the outcome was not given; it looks at labels, one set at a time."""

    def prepare(self, view):
        CALLS.append(view)
        probs, rows, weights = view.data.probs, np.arange(view.data.n), view.data.weights

        def evaluate(block):
            hits = [probs[rows, labels] for labels in block.labels()]
            return np.array([1 - np.average(hit, weights=weights) for hit in hits])

        return evaluate


def class_totals(data):
    """The formula in plain NumPy."""
    observed = np.bincount(data.labels, data.weights, data.m)
    return float(np.abs(observed - data.weights @ data.probs.astype(float)).max())


def mean_surprise(data):
    hits = data.probs[np.arange(data.n), data.labels]
    return float(1 - np.average(hits, weights=data.weights))


STATISTICS = [(ClassTotals(), class_totals), (MeanSurprise(), mean_surprise)]
LENSES = [Canonical(), TopLabel(), Groups([[0, 1], [2], [3]]), Pooled()]


@pytest.mark.parametrize("data", [DATA, WEIGHTED], ids=["plain", "weights"])
@pytest.mark.parametrize("lens", LENSES, ids=str)
@pytest.mark.parametrize(("statistic", "function"), STATISTICS, ids=["totals", "surprise"])
def test_a_statistic(statistic, function, lens, data):
    # A function is called with whole data sets; sums of 480 numbers, in another order.
    close = {"rtol": 1e-12, "atol": 1e-12}
    for resampler in (Exact(), Consistency()):
        how = {"lens": lens, "resampler": resampler, "n_resamples": 19, "rng": SEED}
        CALLS.clear()
        found = calibration_test(data, statistic, **how)
        assert found.statistic == pytest.approx(function(lens(data)), rel=1e-12)
        np.testing.assert_allclose(
            found.null, calibration_test(data, function, **how).null, **close
        )
        np.testing.assert_allclose(found.null, plain(data, statistic, resampler, lens, 19), **close)
    for resampler in (Bootstrap(), Bootstrap(refit=False), Exact()):
        how = {"lens": lens, "resampler": resampler, "n_resamples": 9, "rng": SEED}
        found = estimate(data, statistic, **how)
        assert found.value == pytest.approx(function(lens(data)), rel=1e-12)
        expected = estimate(data, function, **how).replicates
        np.testing.assert_allclose(found.replicates, expected, **close)


@pytest.mark.parametrize("lens", LENSES, ids=str)
@pytest.mark.parametrize("statistic", [ClassTotals(), MeanSurprise()], ids=["totals", "surprise"])
def test_what_depends_on_the_predictions_is_done_once(statistic, lens):
    for n_resamples in (1, 999):
        CALLS.clear()
        calibration_test(DATA, statistic, lens=lens, n_resamples=n_resamples, rng=0)
        assert len(CALLS) == 1


def test_the_statistic_that_is_printed():
    statistic = printed()["ClassTotals"]()
    found = calibration_test(DATA, statistic, n_resamples=19, rng=SEED)
    expected = calibration_test(DATA, class_totals, n_resamples=19, rng=SEED)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12)
    np.testing.assert_allclose(found.null, expected.null, rtol=1e-12)


@pytest.mark.parametrize("own", [ClassTotals(), MeanSurprise()], ids=["totals", "surprise"])
def test_a_statistic_of_the_users_is_as_fast_as_a_built_in_one(own):
    """Not more than ten times slower; the fastest of three, taking turns."""
    data = Predictions(RNG.dirichlet(np.ones(10), 10_000), RNG.integers(0, 10, 10_000))
    statistics = {"own": own, "built-in": ExpectedMiscalibration(EqualWidth(10))}
    times = {name: [] for name in statistics}
    for statistic in statistics.values():
        calibration_test(data, statistic, n_resamples=9, rng=0)  # compiles
    for _ in range(3):
        for name, statistic in statistics.items():
            start = perf_counter()
            calibration_test(data, statistic, n_resamples=999, rng=0)
            times[name].append(perf_counter() - start)
    assert min(times["own"]) <= 10 * min(times["built-in"]), times


# A distance


@from_norm(ONE, 0.25)
def quarter(p, q):
    """A quarter of the 1-norm, and it says so."""
    return 0.25 * np.abs(p - q).sum(axis=-1)


def silent_quarter(p, q):
    """The same, and it does not."""
    return 0.25 * np.abs(p - q).sum(axis=-1)


@from_norm(SQUARED, 3.0)
def thrice(p, q):
    return 3 * np.square(p - q).sum(axis=-1)


def largest_gap(p, q):
    """No norm that loops compute."""
    return np.abs(p - q).max(axis=-1)


BUILT_IN = {
    quarter: lambda value: 0.5 * value(total_variation),
    silent_quarter: lambda value: 0.5 * value(total_variation),
    thrice: lambda value: 3 * value(squared_euclidean),
}


@pytest.mark.parametrize("data", [DATA, WEIGHTED], ids=["plain", "weights"])
@pytest.mark.parametrize("lens", LENSES, ids=str)
@pytest.mark.parametrize("distance", [quarter, silent_quarter, thrice, largest_gap])
def test_a_distance(distance, lens, data):
    partition = EqualWidth(3)

    def test_of(some):
        statistic = ExpectedMiscalibration(partition, some)
        return calibration_test(data, statistic, lens=lens, n_resamples=19, rng=SEED)

    def replicates_of(some):
        statistic = ExpectedMiscalibration(partition, some)
        return estimate(data, statistic, lens=lens, n_resamples=9, rng=SEED).replicates

    found = test_of(distance)
    statistic = ExpectedMiscalibration(partition, distance)
    np.testing.assert_array_equal(found.null, plain(data, statistic, Exact(), lens, 19))
    if distance in BUILT_IN:
        expected = BUILT_IN[distance]
        np.testing.assert_allclose(found.null, expected(lambda d: test_of(d).null), rtol=1e-12)
        np.testing.assert_allclose(replicates_of(distance), expected(replicates_of), rtol=1e-11)
    chosen = {"lenses": [lens], "statistics": grid([partition], [distance])}
    rows = evaluate(data, **chosen, n_resamples=19, rng=SEED).rows
    assert [row.value for row in rows] == [found.statistic]
    np.testing.assert_array_equal(rows[0].null, found.null)
    assert rows[0].to_dict()["distance"] == distance.__name__.replace("_", " ")


@pytest.mark.parametrize("distance", [quarter, largest_gap])
def test_a_distance_of_every_class(distance):
    found = classwise(DATA, EqualWidth(5), distance, n_resamples=9, rng=SEED)
    statistic = ExpectedMiscalibration(EqualWidth(5), distance)
    for j in range(4):
        lens = Induced(lambda y, _, j=j: int(y != j), 2)
        # Of a function psi the two probabilities are sums, here of a single one.
        assert found.values[j] == pytest.approx(statistic(lens(DATA)), rel=1e-12)


# A resampler


@final
@dataclass(frozen=True, slots=True)
class Jackknife(Resampler):
    """Leave out row b of n."""

    def times(self, data, key, b):  # noqa: ARG002
        return (np.arange(data.n) != b % data.n).astype(np.int32)


@final
@dataclass(frozen=True, slots=True)
class Flattened(Resampler):
    """Labels of a model that is a little less sure than its predictions."""

    share: float = 0.1

    def distributions(self, data):
        flat = (1 - self.share) * data.probs.astype(float) + self.share / data.m
        return flat / flat.sum(axis=1, keepdims=True)


@final
@dataclass(frozen=True, slots=True)
class Halves(Resampler):
    """Every other row twice, with labels drawn from the predictions."""

    def distributions(self, data):
        return data.probs

    def times(self, data, key, b):  # noqa: ARG002
        return (2 * ((np.arange(data.n) + b) % 2)).astype(np.int32)


@final
@dataclass(frozen=True, slots=True)
class Rotated(Resampler):
    """Whole data sets: labels drawn from the predictions, each moved to the next class."""

    def draw(self, data, key, b):
        return data.with_labels((Exact().draw(data, key, b).labels + 1) % data.m)


RESAMPLERS = [Flattened(), Halves(), Rotated()]


@pytest.mark.parametrize("data", [DATA, WEIGHTED], ids=["plain", "weights"])
@pytest.mark.parametrize("lens", LENSES, ids=str)
@pytest.mark.parametrize("resampler", RESAMPLERS, ids=repr)
def test_a_resampler_under_a_hypothesis(resampler, lens, data):
    how = {"resampler": resampler, "n_resamples": 9, "rng": SEED}
    for statistic in (ETA, ExpectedMiscalibration(VarianceTree(30), largest_gap), mean_surprise):
        found = calibration_test(data, statistic, lens=lens, **how)
        np.testing.assert_array_equal(found.null, plain(data, statistic, resampler, lens, 9))
        assert not found.calibrated or isinstance(resampler, Halves)
    rows = evaluate(data, lenses=[lens], statistics=grid([EqualWidth(4)]), **how).rows
    null = calibration_test(data, ETA, lens=lens, **how).null
    np.testing.assert_array_equal(rows[0].null, null)


@pytest.mark.parametrize("lens", LENSES[:3], ids=str)
@pytest.mark.parametrize("resampler", RESAMPLERS[:2], ids=repr)
def test_a_resampler_of_cells(resampler, lens):
    found = binwise(DATA, EqualWidth(2), lens=lens, resampler=resampler, n_resamples=19, rng=SEED)
    assert np.isfinite(found.largest).all()
    assert (found.adjusted_pvalues > 0).all()
    seen = lens(DATA)
    if seen.m <= 4:
        picture = reliability_diagram(
            DATA, lens=lens, resampler=resampler, n_resamples=19, rng=SEED
        )
        assert picture.series[0].cells.function.n_cells >= 1


@pytest.mark.parametrize("lens", LENSES, ids=str)
def test_a_resampler_of_rows(lens):
    for statistic in (ETA, ExpectedMiscalibration(VarianceTree(30)), mean_surprise):
        found = estimate(DATA, statistic, lens=lens, resampler=Jackknife(), n_resamples=N, rng=SEED)
        expected = plain(DATA, statistic, Jackknife(), lens, N)
        np.testing.assert_allclose(found.replicates, expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"`resampler` must draw labels under .* Jackknife keeps"):
        calibration_test(DATA, ETA, resampler=Jackknife())


def test_the_resampler_that_is_printed():
    found = estimate(DATA, ETA, resampler=printed()["Jackknife"](), n_resamples=9, rng=SEED)
    expected = estimate(DATA, ETA, resampler=Jackknife(), n_resamples=9, rng=SEED)
    np.testing.assert_array_equal(found.replicates, expected.replicates)


# A lens


@final
@dataclass(frozen=True, slots=True)
class Near(Lens):
    """Whether the class is the predicted one or next to it: psi = 0 if |y - top| <= 1, else 1."""

    def __call__(self, data):
        classes = np.arange(data.m)
        near = np.abs(classes - data.probs.argmax(axis=1)[:, None]) <= 1  # (n, m)
        p = np.minimum((data.probs * near).sum(axis=1), 1)
        probs = np.stack((p, 1 - p), axis=1).astype(data.probs.dtype)
        labels = (~near[np.arange(data.n), data.labels]).astype(np.int32)
        return data.induced(probs, labels, ("near", "far"))

    def __str__(self):
        return "near the predicted class"


@final
@dataclass(frozen=True, slots=True)
class Parity(Lens):
    """Even or odd, and it knows what it makes of every class: psi = y mod 2."""

    def __call__(self, data):
        groups = [data.probs[:, start::2].sum(axis=1, dtype=float) for start in (0, 1)]
        probs = np.stack(groups, axis=1).astype(data.probs.dtype)
        return data.induced(probs, (data.labels % 2).astype(np.int32), ("even", "odd"))

    def outcomes(self, data):
        return Outcomes(table=(np.arange(data.m) % 2)[None])

    def __str__(self):
        return "parity"


@final
@dataclass(frozen=True, slots=True)
class First(Lens):
    """Class 0 against the rest, as an event."""

    def __call__(self, data):
        p = data.probs[:, 0]
        probs = np.stack((p, 1 - p), axis=1)
        return data.induced(probs, (data.labels != 0).astype(np.int32), ("first", "other"))

    def outcomes(self, data):  # noqa: ARG002
        return Outcomes(event=np.array([0]))

    def __str__(self):
        return "the first class"


def near(y, mu):
    return int(abs(y - int(np.argmax(mu))) > 1)


OWN_LENSES = [(Near(), near), (Parity(), lambda y, _: y % 2), (First(), lambda y, _: int(y != 0))]


@pytest.mark.parametrize("data", [DATA, WEIGHTED], ids=["plain", "weights"])
@pytest.mark.parametrize(("lens", "psi"), OWN_LENSES, ids=["near", "parity", "first"])
def test_a_lens(lens, psi, data):
    seen, induced = lens(data), Induced(psi, 2)(data)
    np.testing.assert_array_equal(seen.labels, induced.labels)
    np.testing.assert_allclose(seen.probs, induced.probs, rtol=0, atol=1e-15)
    for through in (lens, Groups([[0], [1], [3], [2]]) >> lens, lens >> Pooled()):
        for resampler in (Exact(), Consistency(), Bootstrap()):
            for statistic in (ETA, ExpectedMiscalibration(VarianceTree(30), largest_gap)):
                found = estimate(
                    data, statistic, lens=through, resampler=resampler, n_resamples=9, rng=SEED
                ).replicates
                expected = plain(data, statistic, resampler, through, 9)
                if isinstance(resampler, Bootstrap):
                    np.testing.assert_allclose(found, expected, rtol=1e-12)
                else:
                    np.testing.assert_array_equal(found, expected)
    test = calibration_test(data, ETA, lens=lens, n_resamples=19, rng=SEED)
    chosen = {"lenses": [lens], "statistics": grid([EqualWidth(4)])}
    rows = evaluate(data, **chosen, n_resamples=19, rng=SEED).rows
    np.testing.assert_array_equal(rows[0].null, test.null)
    assert rows[0].to_dict()["lens"] == str(lens)
    assert test.settings["lens"] == str(lens)


@pytest.mark.parametrize(("lens", "psi"), OWN_LENSES, ids=["near", "parity", "first"])
def test_a_lens_of_cells_and_diagrams(lens, psi):
    partition = EqualWidth(4)
    found = binwise(DATA, partition, lens=lens, n_resamples=19, rng=SEED)
    same = binwise(DATA, partition, lens=Induced(psi, 2), n_resamples=19, rng=SEED)
    # The induced predictions of both are rounded differently, and the labels are the same.
    np.testing.assert_allclose(found.largest, same.largest, rtol=1e-10)
    picture = reliability_diagram(DATA, lens=lens, n_resamples=19, rng=SEED)
    assert picture.classes == lens(DATA).classes
    assert re.search(r"bins (is|are) significant at 5%", str(picture))


# Mistakes


@pytest.fixture(scope="module")
def outcomes():
    """Return what became of every careless object, each tried in a process of its own."""
    return apart.outcomes(ROOT / "tests" / "careless.py")


@pytest.mark.parametrize("name", careless.CALLS)
def test_what_breaks_the_rules_is_refused(outcomes, name):
    assert outcomes[name].startswith("refused"), outcomes[name]


def test_labels_are_drawn_from_distributions():
    with pytest.raises(
        ValueError,
        match=r"`From.distributions` must return probabilities that sum to 1; row 0 is \[nan, nan",
    ):
        calibration_test(DATA, ETA, resampler=careless.From(lambda p: p * np.nan))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (lambda p: p.tolist(), "list"),
        (lambda p: p[:3], r"float64 of shape \(3, 4\)"),
        (lambda p: np.rint(p).astype(int), "int64 of shape"),
    ],
    ids=["a list", "few rows", "integers"],
)
def test_distributions_are_floats_of_one_shape(given, found):
    match = rf"`From.distributions` must return floats of shape \(120, 4\); it returned {found}"
    with pytest.raises(TypeError, match=match):
        calibration_test(DATA, ETA, resampler=careless.From(given))


def test_a_zero_may_have_a_sign():
    probs = np.zeros((50, 40))
    probs[:, 0] = 1.0
    signed = careless.From(lambda p: np.where(p > 0, p, -0.0))
    assert calibration_test(Predictions(probs, [0] * 50), ETA, resampler=signed).pvalue == 1.0


def test_a_statistic_gives_a_number_for_each_replicate():
    with pytest.raises(
        ValueError,
        match=r"`statistic` must give a number for each of \d+ replicates; it gave shape \(1,\)\.",
    ):
        calibration_test(DATA, careless.Few(), n_resamples=20)


# A partition


@final
@dataclass(frozen=True, slots=True)
class Sure:
    """Two cells: whether any outcome was given more than a limit."""

    limit: float

    @property
    def fixed(self):
        return True

    def fit(self, data):
        return self.locate(data)[0]

    def locate(self, data):
        names = np.unique(data.probs.max(axis=1) > self.limit)
        fitted = FittedSure(self.limit, tuple(names.tolist()))
        return fitted, fitted.assign(data.probs)

    def __str__(self):
        return f"sure above {self.limit}"


@final
@dataclass(frozen=True, slots=True)
class FittedSure:
    """Those of both cells that hold rows."""

    limit: float
    names: tuple[bool, ...]

    @property
    def n_cells(self):
        return len(self.names)

    def assign(self, probs):
        place = {name: c for c, name in enumerate(self.names)}
        return np.array([place.get(bool(p.max() > self.limit), -1) for p in probs], np.int32)


@pytest.mark.parametrize("lens", LENSES, ids=str)
def test_a_partition(lens):
    statistic = ExpectedMiscalibration(Sure(0.6))
    for resampler in (Exact(), Consistency(), Bootstrap(), Bootstrap(refit=False)):
        found = estimate(DATA, statistic, lens=lens, resampler=resampler, n_resamples=9, rng=SEED)
        expected = plain(DATA, statistic, resampler, lens, 9)
        np.testing.assert_allclose(found.replicates, expected, rtol=1e-12)
    cells = binwise(DATA, Sure(0.6), lens=lens, n_resamples=19, rng=SEED)
    assert cells.function.n_cells == 2
    chosen = {"lenses": [lens], "statistics": grid([Sure(0.6)])}
    rows = evaluate(DATA, **chosen, n_resamples=9, rng=SEED).rows
    assert rows[0].to_dict()["partition"] == "sure above 0.6"


# A method of recalibration


def test_the_method_that_is_printed(tmp_path):
    method = printed()["PriorShift"]()
    data = Predictions([0.5] * 4 + [0.75] * 4, [1, 1, 1, 0] * 2)
    found = recalibrate(data, [method], folds=2, n_resamples=19, rng=SEED)
    # class 0 was predicted 3 times and occurred 2 times, class 1 5 and 6 times
    odds = (6 / 5) / (2 / 3)
    fitted = found.map("prior shift")
    assert fitted([0.5])[0, 1] == pytest.approx(odds / (1 + odds))
    fitted.save(tmp_path / "map.json")
    np.testing.assert_array_equal(load_map(tmp_path / "map.json")(data.probs), fitted(data.probs))
