"""What cannot be added up over rows is refused before any is read."""

import sys

import pytest
from folders import rows_of, table, write

import calibrant as cal
from calibrant.lenses import Canonical, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualMass, EqualWidth, SimplexBins, VarianceTree
from calibrant.resampling import Bootstrap, Consistency, Exact
from calibrant.rows import Scan, fragments
from calibrant.statistics import (
    AveragedTwoBin,
    Cox,
    CutoffMiscalibration,
    ExpectedMiscalibration,
    KernelMiscalibration,
    KolmogorovMiscalibration,
    Neyman,
    SmoothMiscalibration,
    Spiegelhalter,
    SquaredMiscalibration,
    Surprise,
    WorstClass,
)

ETA = ExpectedMiscalibration(EqualWidth(4))


@pytest.fixture
def scan(tmp_path, monkeypatch):
    """Return a scan whose rows cannot be read."""
    folder = write(tmp_path, table(*rows_of(100, 3)), (40,))
    monkeypatch.setattr(fragments.Fragment, "tables", lambda *_: pytest.fail("rows were read"))
    return cal.scan(folder)


@pytest.fixture
def weighted(tmp_path, monkeypatch):
    folder = write(tmp_path / "weighted", table(*rows_of(100, 3, weighted=True)), (40,))
    monkeypatch.setattr(fragments.Fragment, "tables", lambda *_: pytest.fail("rows were read"))
    return cal.scan(folder)


@pytest.mark.parametrize(
    "statistic",
    [
        AveragedTwoBin(),
        Cox(),
        CutoffMiscalibration(),
        KernelMiscalibration(0.1),
        KolmogorovMiscalibration(),
        Neyman(),
        SmoothMiscalibration(),
        Spiegelhalter(),
        Surprise(),
        WorstClass(),
    ],
    ids=str,
)
def test_statistics_of_rows(scan, statistic):
    with pytest.raises(ValueError, match=r"`statistic` looks at rows, .*scan\.load\(\)"):
        cal.calibration_test(scan, statistic, lens=TopLabel())


def test_statistics_that_need_rows_of_cells(tmp_path):
    scan = cal.scan(write(tmp_path, table(*rows_of(100, 3)), (40,)))
    with pytest.raises(ValueError, match="`statistic` looks at rows"):
        cal.calibration_test(scan, SquaredMiscalibration(EqualWidth(3)), lens=TopLabel())


def test_functions(scan):
    with pytest.raises(ValueError, match="`statistic` looks at rows"):
        cal.calibration_test(scan, cal.brier_score)
    with pytest.raises(ValueError, match="looks at rows"):
        cal.estimate(scan, cal.brier_score)


def test_trees_of_medians(scan):
    partition = VarianceTree(10, "median")
    for call in (
        lambda: cal.calibration_test(scan, ExpectedMiscalibration(partition)),
        lambda: cal.binwise(scan, partition),
        lambda: cal.calibration_function(scan, partition),
        lambda: cal.reliability_diagram(scan, partition=partition, lens=TopLabel()),
    ):
        with pytest.raises(ValueError, match="`partition` must split at means for scanned data"):
            call()


def test_partitions_that_look_at_the_rows(scan):
    class Mine:
        fixed = False

        def fit(self, data):
            return EqualWidth(2).fit(data)

        def locate(self, data):
            return EqualWidth(2).locate(data)

    with pytest.raises(ValueError, match="must not depend on the rows for scanned data"):
        cal.binwise(scan, Mine())


def test_partitions_of_classes(scan):
    with pytest.raises(ValueError, match=r"must be EqualWidth\(…\) for all classes"):
        cal.classwise(scan, SimplexBins(3))
    with pytest.raises(ValueError, match=r"must be EqualWidth\(…\) for all classes"):
        cal.classwise(scan, EqualMass(3))


def test_resamplers(scan):
    with pytest.raises(
        ValueError, match=r"must be Exact\(\) or Bootstrap\(\) .* Consistency looks"
    ):
        cal.calibration_test(scan, ETA, resampler=Consistency())
    with pytest.raises(ValueError, match="must draw labels under the hypothesis"):
        cal.calibration_test(scan, ETA, resampler=Bootstrap())
    with pytest.raises(ValueError, match="must keep a row for a row"):
        cal.estimate(scan, ETA, lens=Pooled())
    mine = ExpectedMiscalibration(EqualWidth(3), lambda p, q: abs(p - q).max(axis=-1))
    with pytest.raises(ValueError, match="where rows are drawn again, looks at rows"):
        cal.estimate(scan, mine)


@pytest.mark.parametrize("lens", [Canonical(), Pooled()], ids=str)
def test_counts_of_more_outcomes(scan, lens):
    with pytest.raises(ValueError, match="`draws` must be 'labels' here"):
        cal.calibration_test(scan, ETA, lens=lens, resampler=Exact(draws="counts"))


def test_counts_with_weights(weighted):
    with pytest.raises(ValueError, match="`draws` must be 'labels' here"):
        cal.calibration_test(weighted, ETA, lens=TopLabel(), resampler=Exact(draws="counts"))
    with pytest.raises(
        ValueError, match="must keep a row for a row where scanned rows have weights"
    ):
        cal.calibration_test(weighted, ETA, lens=Pooled())


class Unordered:
    """Workers whose fragments have no order."""

    ordered = False

    def reduce(self, *_):
        pytest.fail("rows were read")


def test_rows_without_numbers(scan):
    frame = Scan(scan.columns, scan.fragments, Unordered())
    sentence = "`row` must name a column of unique whole numbers for this test"
    for call in (
        lambda: cal.calibration_test(frame, ETA),
        lambda: cal.estimate(frame, ETA),
        lambda: cal.evaluate(frame),
        lambda: cal.classwise(frame),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()


@pytest.mark.parametrize(
    "verb",
    [
        cal.compare,
        cal.recalibrate,
        cal.isotonic_diagram,
        cal.smooth_diagram,
        cal.cumulative_diagram,
        cal.score_plane,
    ],
)
def test_verbs_that_need_all_rows(scan, verb):
    argument = {"a": scan, "b": scan} if verb is cal.compare else scan
    with pytest.raises(TypeError, match=r"this needs all rows at once.*scan\.load\(\)"):
        verb(argument)


def test_reports_on_several_scans(scan, tmp_path):
    with pytest.raises(TypeError, match="this needs all rows at once"):
        cal.report({"a": scan, "b": scan}, tmp_path / "report.html")
    assert not list(tmp_path.glob("*.html"))


def test_groups_by_columns_that_are_not_there(scan):
    with pytest.raises(ValueError, match=r"`by` must name columns of the files .* 'sex' not among"):
        cal.slices(scan, "sex")
    with pytest.raises(TypeError, match="`by` must be a dict of columns"):
        cal.slices(scan, {"sex": ["f", "m"]})


def test_what_a_lens_refuses(scan):
    with pytest.raises(ValueError, match="'dog' is not among"):
        cal.calibration_test(scan, ETA, lens=Marginal("dog"))


def test_engines(tmp_path):
    folder = write(tmp_path, table(*rows_of(10, 3)), ())
    with pytest.raises(TypeError, match="`engine` must be None, an Executor, a Dask client"):
        cal.scan(folder, engine=7)


def test_pyarrow_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"batches needs pyarrow, .* 'calibrant\[scale\]'\."):
        cal.scan(tmp_path)
