"""Scanned rows give the bits that rows in memory give, for everything that takes a Scan."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from folders import predictions, rows_of, table, write

import calibrant as cal
from calibrant import engine
from calibrant.checks.parameters import make_key
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopK, TopLabel
from calibrant.partitions import EqualMass, EqualWidth, FromFunction, SimplexBins
from calibrant.resampling import Exact
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration

LENSES = {
    "canonical": Canonical(),
    "top": TopLabel(),
    "class": Marginal(2),
    "groups": Groups([[0, 1], [2], [3]]),
    "top 2": TopK(2),
    "chain": Groups([[0, 1], [2, 3]]) >> TopLabel(),
    "pooled": Pooled(),
}


def largest_gap(p, q):
    return np.abs(p - q).max(axis=-1)


def sure(probs):
    return probs.max(axis=1) > 0.6


ROWS = ("float32", "float64", "float32 weighted")
DISTANCES = (total_variation, euclidean, total_variation)
STATISTICS = (
    ExpectedMiscalibration(EqualWidth(5), total_variation),
    ExpectedMiscalibration(SimplexBins(3), euclidean),
    WorstMiscalibration(EqualWidth(2), largest_gap),
    ExpectedMiscalibration(FromFunction(sure), total_variation),
)


@pytest.fixture(scope="module", params=ROWS)
def both(request, tmp_path_factory):
    """Return the same rows in memory and in files."""
    kind, _, weighted = request.param.partition(" ")
    rows = rows_of(dtype=np.dtype(kind).type, weighted=bool(weighted))
    folder = write(tmp_path_factory.mktemp("scan"), table(*rows))
    return predictions(*rows), cal.scan(folder)


def pairs():
    """Return rows, lens and statistic such that every two of them come together once."""
    for i, lens in enumerate(LENSES):
        for j, statistic in enumerate(STATISTICS):
            yield pytest.param(ROWS[(i + j) % 3], lens, statistic, id=f"{lens}-{statistic}")


@pytest.mark.parametrize(("both", "lens", "statistic"), list(pairs()), indirect=["both"])
def test_tests(both, lens, statistic):
    data, scan = both
    if data.weighted and not LENSES[lens].rowwise:
        with pytest.raises(ValueError, match="must keep a row for a row"):
            cal.calibration_test(scan, statistic, lens=LENSES[lens])
        return
    made = [
        cal.calibration_test(rows, statistic, lens=LENSES[lens], n_resamples=19, rng=1)
        for rows in both
    ]
    assert made[0].to_dict() == made[1].to_dict()
    if isinstance(statistic, ExpectedMiscalibration):
        assert len(set(made[0].null)) > 5  # the comparison compares something


def test_another_hypothesis(both):
    def hotter(probs):
        powers = np.sqrt(probs.astype(float))
        return powers / powers.sum(axis=1, keepdims=True)

    eta = ExpectedMiscalibration(EqualWidth(5))
    made = [
        cal.calibration_test(
            rows, eta, lens=TopLabel(), resampler=Exact(hotter), n_resamples=19, rng=1
        )
        for rows in both
    ]
    assert made[0].to_dict() == made[1].to_dict()
    assert not made[1].calibrated


@pytest.mark.parametrize("lens", ["top", "class"])
def test_counts_of_cells(both, lens):
    data, _ = both
    exact = Exact(draws="counts")
    calls = [
        lambda rows=rows: cal.calibration_test(
            rows, ExpectedMiscalibration(EqualWidth(15)), lens=LENSES[lens], resampler=exact, rng=1
        )
        for rows in both
    ]
    if data.weighted:
        for call in calls:
            with pytest.raises(ValueError, match="`draws` must be 'labels' here"):
                call()
        return
    memory, scanned = (call() for call in calls)
    assert memory.to_dict() == scanned.to_dict()
    settings = {"lens": LENSES[lens], "resampler": exact, "n_resamples": 99, "rng": 1}
    cells = [cal.binwise(rows, EqualWidth(4), **settings) for rows in both]
    assert cells[0].to_dict() == cells[1].to_dict()
    assert cells[0].largest.tolist() == cells[1].largest.tolist()


@pytest.mark.parametrize("lens", ["top", "groups", "canonical"])
def test_standard_errors(both, lens):
    for statistic in (
        ExpectedMiscalibration(EqualWidth(3)),
        WorstMiscalibration(SimplexBins(2), euclidean),
    ):
        made = [
            cal.estimate(rows, statistic, lens=LENSES[lens], n_resamples=19, rng=1) for rows in both
        ]
        assert made[0].value == made[1].value
        assert made[0].replicates.tolist() == made[1].replicates.tolist()


@pytest.mark.parametrize(("lens", "k"), [("top", 15), ("class", 4), ("chain", 1)])
def test_bins_of_equal_mass(both, lens, k):
    """Found digit by digit, in two passes of 32 bits and four of 64."""
    eta = ExpectedMiscalibration(EqualMass(k))
    made = [
        cal.calibration_test(rows, eta, lens=LENSES[lens], n_resamples=9, rng=1) for rows in both
    ]
    assert made[0].to_dict() == made[1].to_dict()
    cells = [
        cal.binwise(rows, EqualMass(k), lens=LENSES[lens], n_resamples=9, rng=1) for rows in both
    ]
    assert cells[0].to_dict() == cells[1].to_dict()
    lows = [one.function.fitted.lows for one in cells]
    assert lows[0].dtype == lows[1].dtype
    assert lows[0].tolist() == lows[1].tolist()


def test_an_empty_replicate_is_the_data(tmp_path):
    """Of one row, a share 1/e of the replicates has none."""
    rows = rows_of(1)
    both = predictions(*rows), cal.scan(write(tmp_path, table(*rows), ()))
    eta = ExpectedMiscalibration(EqualWidth(2))
    made = [cal.estimate(one, eta, lens=TopLabel(), n_resamples=30, rng=0) for one in both]
    drawn = [engine.resample.poisson_times(1, 0, make_key(0), b)[0] for b in range(30)]
    assert 0 in drawn
    assert made[0].replicates.tolist() == made[1].replicates.tolist()


@pytest.mark.parametrize("distance", [total_variation, largest_gap])
def test_classes(both, distance):
    made = [cal.classwise(rows, EqualWidth(7), distance, n_resamples=19, rng=1) for rows in both]
    assert made[0].to_dict() == made[1].to_dict()
    alone = [cal.classwise(rows, EqualWidth(7), distance, n_resamples=0) for rows in both]
    assert alone[0].values.tolist() == alone[1].values.tolist() == made[0].values.tolist()


@pytest.mark.parametrize("lens", ["top", "class", "groups", "canonical"])
def test_cells(both, lens):
    made = [
        cal.binwise(rows, EqualWidth(4), lens=LENSES[lens], n_resamples=19, rng=1) for rows in both
    ]
    assert made[0].to_dict() == made[1].to_dict()
    assert made[0].spread.tolist() == made[1].spread.tolist()
    assert [one.tolist() for one in made[0].simultaneous(0.9)] == [
        one.tolist() for one in made[1].simultaneous(0.9)
    ]


@pytest.mark.parametrize("lens", ["top", "groups"])
def test_diagrams(both, lens):
    made = [
        cal.reliability_diagram(rows, lens=LENSES[lens], n_resamples=19, rng=1) for rows in both
    ]
    assert made[0].to_dict() == made[1].to_dict()


def test_calibration_functions(both):
    made = [cal.calibration_function(rows, SimplexBins(3)) for rows in both]
    for name in ("mass", "predicted", "observed", "counts", "classes", "event"):
        assert np.array_equal(getattr(made[0], name), getattr(made[1], name)), name
    points = both[0].probs[:50]
    assert np.array_equal(made[0](points), made[1](points))


def test_evaluations(both):
    data, scan = both
    found = cal.evaluate(scan, n_resamples=99, rng=1)
    again = cal.evaluate(
        data,
        lenses=[Canonical()],
        statistics=[row.statistic for row in found.rows[:2]],
        n_resamples=99,
        rng=1,
    )
    for mine, theirs in zip(found.rows, again.rows, strict=False):
        assert mine.null.tolist() == theirs.null.tolist()
        assert mine.value == theirs.value
    assert found.settings["statistics"] == "omnibus on bins"
    assert str(found).count("root mean square") == 2
    top = cal.evaluate(data, lenses=[TopLabel()], n_resamples=99, rng=1).verdicts[0]
    # One is a dot product in double precision, the other exact.
    assert found.verdicts[1].bias == pytest.approx(top.bias, abs=1e-13)
    assert found.verdicts[1].direction == top.direction


@pytest.mark.parametrize("lens", ["top", "canonical"])
@pytest.mark.parametrize("widths", [(4, 2, 1), (3, 5), (5, 5)], ids=str)
def test_cells_that_lie_in_others_and_such_that_do_not(both, lens, widths):
    """Labels are drawn once for nested cells, and apart for others."""
    tested = [
        ExpectedMiscalibration(EqualWidth(k), d) for k, d in zip(widths, DISTANCES, strict=False)
    ]
    made = [
        cal.evaluate(rows, lenses=LENSES[lens], statistics=tested, n_resamples=19, rng=1).rows
        for rows in both
    ]
    for mine, theirs in zip(*made, strict=True):
        assert mine.null.tolist() == theirs.null.tolist()
        assert mine.to_dict() == theirs.to_dict()


def test_tests_of_several_statistics(both):
    _, scan = both
    found = cal.calibration_test(scan, n_resamples=19, rng=1)
    assert [part.statistic for part in found.parts] == [
        "expected total variation on one bin",
        "expected total variation on 2 equal widths",
    ]


def test_loaded_rows_are_those_in_memory(both):
    data, scan = both
    loaded = scan.load()
    assert np.array_equal(loaded.probs, data.probs)
    assert loaded.probs.dtype == data.probs.dtype
    assert np.array_equal(loaded.labels, data.labels)
    assert np.array_equal(loaded.weights, data.weights)
    assert (scan.n, scan.m, scan.classes) == (data.n, data.m, data.classes)
    assert len(scan) == data.n


@pytest.mark.parametrize("pool", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_executors(tmp_path, pool):
    rows = rows_of(weighted=True)
    folder = write(tmp_path, table(*rows))
    eta = ExpectedMiscalibration(EqualWidth(5))
    expected = cal.calibration_test(predictions(*rows), eta, n_resamples=19, rng=1)
    done = []
    with pool(2) as executor:
        scan = cal.scan(folder, engine=executor)
        found = cal.calibration_test(
            scan, eta, n_resamples=19, rng=1, progress=lambda *two: done.append(two)
        )
    assert found.to_dict() == expected.to_dict()
    assert done == sorted(done)
    assert done[-1][0] == done[-1][1]


def test_user_written_statistics_on_counts(both):
    """The recipe of CONTRIBUTING, with what it needs of predictions taken from the cells."""
    from calibrant.statistics import Statistic

    class ClassTotals(Statistic):
        def prepare(self, shared):
            cells = shared.cells(EqualWidth(1))

            def evaluate(block):
                return np.abs(block.counts(cells, 0, 1)[:, 0] - cells.predictions[0]).max(axis=-1)

            return evaluate

    made = [cal.calibration_test(rows, ClassTotals(), n_resamples=19, rng=1) for rows in both]
    assert made[0].null.tolist() == made[1].null.tolist()
    assert made[0].statistic == made[1].statistic


@pytest.mark.parametrize("weighted", [False, True])
def test_many_classes(tmp_path, weighted):
    """More outcomes than are added up one after the other, in cells of many and of few rows."""
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.full(40, 0.3), 2_000)
    weights = rng.random(2_000) if weighted else None
    rows = probs, rng.integers(0, 40, 2_000), weights
    both = predictions(*rows), cal.scan(write(tmp_path, table(*rows, form="fixed"), (600,)))
    for statistic, lens in (
        (ExpectedMiscalibration(EqualWidth(1)), Canonical()),
        (ExpectedMiscalibration(EqualWidth(2), euclidean), Canonical()),
        (WorstMiscalibration(EqualWidth(4), squared_euclidean), Canonical()),
        (ExpectedMiscalibration(EqualWidth(10)), TopLabel()),
        (ExpectedMiscalibration(EqualWidth(2)), TopK(3)),
    ):
        made = [
            cal.calibration_test(one, statistic, lens=lens, n_resamples=19, rng=1) for one in both
        ]
        assert made[0].to_dict() == made[1].to_dict()
        made = [cal.estimate(one, statistic, lens=lens, n_resamples=19, rng=1) for one in both]
        assert made[0].to_dict() == made[1].to_dict()
    made = [cal.classwise(one, n_resamples=19, rng=1) for one in both]
    assert made[0].to_dict() == made[1].to_dict()


def test_passes_over_blocks_of_replicates(both, monkeypatch):
    """Tables that have no room for all replicates are filled in several passes."""
    from calibrant.inference.replicates import ways

    data, scan = both
    eta = ExpectedMiscalibration(EqualWidth(5))
    expected = cal.calibration_test(data, eta, n_resamples=99, rng=1)
    cells = cal.calibration_function(scan, EqualWidth(5)).n_cells
    monkeypatch.setattr(ways, "LIMITS", ways.LIMITS._replace(table=40 * cells * data.m, passes=3))
    found = cal.calibration_test(scan, eta, n_resamples=99, rng=1)
    assert found.to_dict() == expected.to_dict()
    monkeypatch.setattr(ways, "LIMITS", ways.LIMITS._replace(table=31 * cells * data.m, passes=99))
    if not scan.weighted:  # rows are shuffled instead
        found = cal.calibration_test(scan, eta, n_resamples=99, rng=1)
        assert found.to_dict() == expected.to_dict()
    with pytest.raises(ValueError, match="the tables of this test are too large"):
        cal.estimate(scan, eta, n_resamples=99, rng=1)
