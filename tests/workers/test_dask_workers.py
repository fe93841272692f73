"""Dask gives the bits that rows in memory give, also if a worker is killed."""

import sys
from pathlib import Path

import numpy as np
import pytest
from clusters import dask_client
from mortal import mortal

sys.path.insert(0, str(Path(__file__).parents[1] / "scanning"))
from folders import predictions, rows_of, table, write

import calibrant as cal
from calibrant.inference.replicates import ways
from calibrant.lenses import Canonical, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Exact
from calibrant.rows import Scan
from calibrant.rows.workers import dask
from calibrant.rows.workers.workers import refuse_version
from calibrant.statistics import ExpectedMiscalibration

pytestmark = pytest.mark.xdist_group("dask")

ETA = ExpectedMiscalibration(EqualWidth(5))
ROWS = rows_of(1_200, weighted=True)


@pytest.fixture(scope="module")
def client():
    with dask_client() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("rows"), table(*ROWS), (300, 301, 800), 150)


@pytest.mark.parametrize("lens", [Canonical(), TopLabel()], ids=str)
def test_row_groups(client, folder, lens):
    scan, done = cal.scan(folder, engine=client), []
    made = [
        cal.calibration_test(
            data, ETA, lens=lens, n_resamples=19, rng=1, progress=lambda *two: done.append(two)
        )
        for data in (predictions(*ROWS), scan)
    ]
    assert made[0].to_dict() == made[1].to_dict()
    assert done[-1][0] == done[-1][1]
    assert repr(scan).endswith(f"on=Dask({client.scheduler.address!r}))")


def test_all_verbs(client, folder):
    both = predictions(*ROWS), cal.scan(folder, engine=client)
    for call in (
        lambda data: cal.classwise(data, n_resamples=9, rng=1).to_dict(),
        lambda data: cal.binwise(data, EqualWidth(3), n_resamples=9, rng=1).to_dict(),
        lambda data: cal.estimate(data, ETA, n_resamples=9, rng=1).replicates.tolist(),
        lambda data: cal.calibration_function(data, EqualWidth(3)).predicted.tolist(),
    ):
        assert call(both[0]) == call(both[1])
    assert np.array_equal(both[1].load().probs, both[0].probs)


def test_an_address_of_a_scheduler(client, folder, monkeypatch):
    address = client.scheduler.address.replace("tcp://", "dask://")
    scan = cal.scan(folder, engine=address)
    try:
        assert (
            cal.classwise(scan, n_resamples=0).mean
            == cal.classwise(predictions(*ROWS), n_resamples=0).mean
        )
    finally:
        scan.workers.client.close()
    monkeypatch.setattr(dask, "PATIENCE", "1s")
    with pytest.raises(ValueError, match=r"none answers at tcp://127\.0\.0\.1:1"):
        cal.scan(folder, engine="dask://127.0.0.1:1")


def test_frames(client, folder):
    dataframe = pytest.importorskip("dask.dataframe")
    frame = dataframe.read_parquet(folder)  # files in their own order: 000, 001, …
    expected = cal.calibration_test(predictions(*ROWS), ETA, n_resamples=19, rng=1).to_dict()
    scan = cal.scan(frame, engine=client)
    assert (scan.n, scan.m) == (1_200, 4)
    assert cal.calibration_test(scan, ETA, n_resamples=19, rng=1).to_dict() == expected
    # The client that is there is taken if none is given; other partitions change nothing.
    other = cal.scan(frame.repartition(npartitions=7))
    assert cal.calibration_test(other, ETA, n_resamples=19, rng=1).to_dict() == expected
    spoilt = frame.assign(prob_0=frame["prob_0"] + 0.5)
    with pytest.raises(ValueError, match=r"sum to 1 in each row; row \d+ of partition \d+"):
        cal.calibration_test(cal.scan(spoilt, engine=client), ETA)


@pytest.mark.parametrize("when", ["before", "merging"])
def test_a_worker_that_is_killed(client, folder, tmp_path, when):
    """Its tasks are done again, also those whose states it held, and every row counts once."""
    scan = mortal(cal.scan(folder, engine=client), tmp_path, when)
    expected = cal.calibration_test(predictions(*ROWS), ETA, n_resamples=19, rng=1).to_dict()
    assert cal.calibration_test(scan, ETA, n_resamples=19, rng=1).to_dict() == expected
    assert len(list(tmp_path.iterdir())) == 3  # the third call was the last one of a worker
    client.wait_for_workers(2, timeout=60)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return rows without weights, in memory and in files."""
    rows = rows_of(1_200)
    folder = write(tmp_path_factory.mktemp("plain"), table(*rows), (500,), 300)
    return predictions(*rows), folder


@pytest.mark.parametrize("when", [None, "splitting", "finishing"])
def test_rows_that_are_moved(client, plain, tmp_path, monkeypatch, when):
    """They go from worker to worker; if one is killed, they are sent again."""
    monkeypatch.setattr(ways, "LIMITS", ways.LIMITS._replace(passes=0))
    data, folder = plain
    scan = cal.scan(folder, engine=client)
    expected = cal.calibration_test(data, ETA, n_resamples=19, rng=1).to_dict()
    scan = scan if when is None else mortal(scan, tmp_path, when)
    assert cal.calibration_test(scan, ETA, n_resamples=19, rng=1).to_dict() == expected
    assert len(list(tmp_path.iterdir())) == (0 if when is None else 3)
    client.wait_for_workers(2, timeout=60)


def test_rows_of_frames_that_are_moved(client, plain, monkeypatch):
    monkeypatch.setattr(ways, "LIMITS", ways.LIMITS._replace(passes=0))
    dataframe = pytest.importorskip("dask.dataframe")
    data, folder = plain
    scan = cal.scan(dataframe.read_parquet(folder), engine=client)
    expected = cal.calibration_test(data, ETA, n_resamples=19, rng=1).to_dict()
    assert cal.calibration_test(scan, ETA, n_resamples=19, rng=1).to_dict() == expected


def test_the_first_bad_row_is_named(client, tmp_path):
    probs, labels, _ = rows_of(400, 3)
    for row in (170, 350):
        probs[row] = 0.1
    folder = write(tmp_path, table(probs, labels), (100, 150, 300), 10)
    with pytest.raises(ValueError, match=r"row 20 of part-002\.parquet \(row 170 of all\)"):
        cal.calibration_test(cal.scan(folder, engine=client), ETA)


def test_counts_need_no_order(client, folder):
    """Frames have one here; what does not need it must not ask for it."""
    rows = ROWS[:2]
    exact = {"lens": TopLabel(), "resampler": Exact(draws="counts"), "rng": 1}
    scan = cal.scan(folder, engine=client)
    plain = Scan(
        type(scan.columns)(**{**_fields(scan.columns), "weight": None}),
        scan.fragments,
        scan.workers,
    )
    assert (
        cal.calibration_test(plain, ETA, **exact).to_dict()
        == cal.calibration_test(predictions(*rows), ETA, **exact).to_dict()
    )


def _fields(columns):
    return {name: getattr(columns, name) for name in columns.__slots__}


def test_versions():
    with pytest.raises(ValueError, match="the worker cannot import calibrant; install it"):
        refuse_version("the worker", None)
    with pytest.raises(ValueError, match=r"the worker has calibrant 0\.0\.1, and here is"):
        refuse_version("the worker", "0.0.1")
    refuse_version("the worker", cal.__version__)


def test_dask_is_named_where_it_is_missing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"needs distributed, .* 'calibrant\[dask\]'\."):
        cal.scan(folder, engine="dask://127.0.0.1:1")
