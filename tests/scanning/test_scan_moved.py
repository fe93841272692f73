"""Cells of which there are very many: their rows are shuffled, and no bit changes."""

import resource
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from folders import predictions, rows_of, table, write

import calibrant as cal
from calibrant.distances import euclidean
from calibrant.engine import threads
from calibrant.inference.replicates import ways
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualMass, EqualWidth, FromFunction, SimplexBins, VarianceTree
from calibrant.rows.passes import Shuffle
from calibrant.rows.workers.local import Futures
from calibrant.rows.workers.workers import split_alone
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration

FEW = {"n_resamples": 19, "rng": 1}
HEAVY = 0  # the bucket of rows that are counted where they are


def limit(monkeypatch, **limits):
    """Let other amounts fit into tables and buckets."""
    monkeypatch.setattr(ways, "LIMITS", ways.LIMITS._replace(**limits))


def first_digits(probs):
    return np.floor(10 * probs[:, 0]) - 0.0 * probs[:, 1]


def names(probs):
    return np.array([f"cell {p:.1f}" for p in probs[:, 0]])


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def both(request, tmp_path):
    """Return the same rows in memory and in files, a fifth of them in one cell."""
    rows = rows_of(dtype=request.param)
    rows[0][::5] = rows[0][0]
    return predictions(*rows), cal.scan(write(tmp_path, table(*rows)))


@pytest.fixture
def buckets(monkeypatch):
    """Move the rows of two cells and more; return the buckets that were finished."""
    found = []
    finish = Shuffle.finish

    def noted(self, bucket, pieces):
        found.append(bucket)
        return finish(self, bucket, pieces)

    monkeypatch.setattr(Shuffle, "finish", noted)
    limit(monkeypatch, passes=0)
    return found


def same(both, statistic, lens=None, **options):
    lens = Canonical() if lens is None else lens
    made = [cal.calibration_test(x, statistic, lens=lens, **FEW, **options) for x in both]
    assert made[0].to_dict() == made[1].to_dict()
    assert made[0].null.std() > 0  # the comparison compares something


@pytest.mark.parametrize(
    ("lens", "partition"),
    [
        (Canonical(), EqualWidth(7)),
        (Canonical(), SimplexBins(6)),
        (Canonical(), VarianceTree(50)),
        (Canonical(), FromFunction(first_digits)),
        (Canonical(), FromFunction(names)),
        (Groups([[0, 1], [2], [3]]), EqualWidth(9)),
        (TopLabel(), EqualWidth(50)),
        (TopLabel(), EqualMass(20)),
        (Marginal(2), VarianceTree(30)),
    ],
    ids=str,
)
def test_same_bits(both, buckets, lens, partition):
    same(both, ExpectedMiscalibration(partition), lens)
    same(both, WorstMiscalibration(partition, euclidean), lens)
    assert set(buckets) - {HEAVY}


@pytest.mark.parametrize("lens", [Canonical(), TopLabel()], ids=str)
@pytest.mark.parametrize("n_owners", [1, 3, 40])
@pytest.mark.parametrize("heaviest", [0, 1, 10_000])
def test_any_heavy_cells_and_any_buckets(both, buckets, monkeypatch, lens, n_owners, heaviest):
    """Who owns which rows decides how long it takes, and nothing else."""
    limit(monkeypatch, owners=(n_owners, 4096), heaviest=heaviest)
    same(both, ExpectedMiscalibration(EqualWidth(8)), lens)
    assert (HEAVY in buckets) == (heaviest > 0 and n_owners > 1)
    assert max(buckets) <= n_owners


def test_all_cells_heavy(both, buckets, monkeypatch):
    limit(monkeypatch, owners=(1_000_000, 1_000_000), heaviest=10_000)
    same(both, ExpectedMiscalibration(EqualWidth(1)))
    assert not buckets  # a single cell is not too many
    same(both, ExpectedMiscalibration(EqualWidth(3)), TopLabel())
    assert set(buckets) == {HEAVY}


def test_several_statistics_of_which_some_have_few_cells(both, buckets):
    fine, one = ExpectedMiscalibration(EqualWidth(8)), ExpectedMiscalibration(EqualWidth(1))
    found = [
        cal.evaluate(x, statistics=[fine, one, WorstMiscalibration(EqualWidth(8))], **FEW)
        for x in both
    ]
    assert [row.to_dict() for row in found[0].rows] == [row.to_dict() for row in found[1].rows]
    assert len(found[0].rows) == 6
    assert buckets


def test_columns_that_number_rows_and_groups_of_rows(buckets, tmp_path):
    """Rows in another order and in other files have the same bits, if a column numbers them."""
    rows = rows_of()
    order = np.random.default_rng(5).permutation(len(rows[1]))
    moved = table(rows[0][order], rows[1][order], rows=order)
    scan = cal.scan(write(tmp_path, moved, (17, 1_500)), row="row")
    same((predictions(*rows), scan), ExpectedMiscalibration(EqualWidth(8)))
    assert buckets


def test_groups_of_rows(buckets, monkeypatch, tmp_path):
    """They are moved as all rows are: tables of their cells have the same bits."""
    half = np.arange(3_000) % 2
    scan = cal.scan(write(tmp_path, table(*rows_of()).append_column("half", [half])))

    def found():
        return cal.slices(scan, "half", lens="canonical", **FEW).to_dict()

    moved = found()
    assert buckets
    limit(monkeypatch, passes=6)
    assert moved == found()


def test_processes(both, monkeypatch):
    """Rows pass through files of the process that asks; few buckets are out at a time."""
    limit(monkeypatch, passes=0)
    limit(monkeypatch, owners=(20, 4096))
    data, scan = both
    done = []
    with ProcessPoolExecutor(2) as pool:
        there = replace(scan, workers=Futures(pool))
        eta = ExpectedMiscalibration(EqualWidth(8))
        found = cal.calibration_test(there, eta, **FEW, progress=lambda *two: done.append(two))
    assert found.to_dict() == cal.calibration_test(data, eta, **FEW).to_dict()
    assert done == sorted(done)
    assert done[-1][0] == done[-1][1]


@pytest.mark.parametrize("passes", [0, 100])
def test_many_outcomes(tmp_path, monkeypatch, passes):
    """Cells of few rows and many outcomes, by moved rows and by tables."""
    limit(monkeypatch, passes=passes)
    rows = rows_of(2_000, 40)
    pair = predictions(*rows), cal.scan(write(tmp_path, table(*rows)))
    same(pair, ExpectedMiscalibration(EqualWidth(20)))
    same(pair, WorstMiscalibration(EqualWidth(20), euclidean))


def test_what_is_not_moved(both, buckets, tmp_path):
    """Weights, lenses that take rows apart and distances that are no norms go by tables."""

    def largest_gap(p, q):
        return np.abs(p - q).max(axis=-1)

    same(both, ExpectedMiscalibration(EqualWidth(4), largest_gap))
    same(both, ExpectedMiscalibration(EqualWidth(4)), Pooled())
    rows = rows_of(weighted=True)
    pair = predictions(*rows), cal.scan(write(tmp_path / "weighted", table(*rows)))
    same(pair, ExpectedMiscalibration(EqualWidth(4)))
    assert not buckets


def test_temporary_files_are_removed(both, monkeypatch, tmp_path):
    limit(monkeypatch, passes=0)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spill"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "spill").mkdir()

    def fails(*_):
        raise ValueError(f"{len(list((tmp_path / 'spill').iterdir()))} folder")

    monkeypatch.setattr(Shuffle, "finish", fails)
    with pytest.raises(ValueError, match="1 folder"):
        cal.calibration_test(both[1], ExpectedMiscalibration(EqualWidth(8)), **FEW)
    assert not list((tmp_path / "spill").iterdir())


def test_a_disk_that_is_full(both, monkeypatch, tmp_path):
    """One sentence, and nothing is left behind."""
    limit(monkeypatch, passes=0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = {path.name for path in tmp_path.iterdir()}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(ValueError, match=r"wait in temporary files in .*\(File too large\)\."):
            cal.calibration_test(both[1], ExpectedMiscalibration(EqualWidth(8)), **FEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {path.name for path in tmp_path.iterdir()} == left


def test_workers_split_rows_without_further_threads():
    """A generator works while it is asked, so it must be asked from within."""

    class Noting:
        def split(self, fragments):
            for fragment in fragments:
                yield fragment, str(getattr(threads._here, "within", False)).encode()

    assert list(split_alone(Noting(), [4, 7])) == [(4, b"True"), (7, b"True")]
    assert not getattr(threads._here, "within", False)
