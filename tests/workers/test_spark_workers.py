"""Spark gives the bits that rows in memory give, also if a Python worker is killed."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from clusters import spark_session

sys.path.insert(0, str(Path(__file__).parents[1] / "scanning"))
from folders import predictions, rows_of, table, write

import calibrant as cal
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Exact
from calibrant.statistics import ExpectedMiscalibration
from calibrant.workers import spark

pytestmark = pytest.mark.xdist_group("spark")

ETA = ExpectedMiscalibration(EqualWidth(5))
ROWS = rows_of(3_000)
NUMBERS = np.arange(3_000)
COUNTS = {"lens": TopLabel(), "resampler": Exact(draws="counts"), "rng": 1}
LABELS = {"n_resamples": 19, "rng": 1}


@pytest.fixture(scope="module")
def session():
    with spark_session() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    whole = table(*ROWS, rows=NUMBERS)
    return write(tmp_path_factory.mktemp("rows"), whole, (700, 701, 2_000), 300)


@pytest.fixture(scope="module")
def expected():
    data = predictions(*ROWS)
    return (
        cal.calibration_test(data, ETA, **LABELS).to_dict(),
        cal.calibration_test(data, ETA, **COUNTS).to_dict(),
    )


def test_row_groups(session, folder, expected):
    scan, done = cal.scan(folder, engine=session), []
    found = cal.calibration_test(scan, ETA, **LABELS, progress=lambda *two: done.append(two))
    assert found.to_dict() == expected[0]
    assert done[-1][0] == done[-1][1]
    assert cal.calibration_test(scan, ETA, **COUNTS).to_dict() == expected[1]
    assert repr(scan).endswith("on=Spark())")


def test_frames(session, folder, expected):
    """Their rows have no order, so a column numbers them; counts need no numbers."""
    frame = session.read.parquet(str(folder)).repartition(5)
    numbered = cal.scan(frame, row="row")
    assert (numbered.n, numbered.m, numbered.classes) == (3_000, 4, ("0", "1", "2", "3"))
    assert cal.calibration_test(numbered, ETA, **LABELS).to_dict() == expected[0]
    plain = cal.scan(frame.drop("row"))
    assert cal.calibration_test(plain, ETA, **COUNTS).to_dict() == expected[1]
    with pytest.raises(ValueError, match="`row` must name a column of unique whole numbers"):
        cal.calibration_test(plain, ETA)


def test_a_bad_row_is_named(session, tmp_path):
    probs, labels, _ = rows_of(400, 3)
    for row in (170, 350):
        probs[row] = 0.1
    folder = write(tmp_path, table(probs, labels), (100, 150, 300), 10)
    with pytest.raises(ValueError, match=r"row 20 of part-002\.parquet \(row 170 of all\)"):
        cal.calibration_test(cal.scan(folder, engine=session), ETA)
    frame = session.read.parquet(str(folder))
    with pytest.raises(
        ValueError, match=r"sum to 1 in each row; row \d+ of batch \d+ of partition"
    ):
        cal.calibration_test(cal.scan(frame), ETA, **COUNTS)


def deadly(mark):
    """Return a reduction that kills its own Python process, once.

    A class of this function travels by value: executors do not know this file.
    """

    class Deadly:
        def zero(self):
            return [0, 0]

        def update(self, state, batch):
            if batch.first >= 1_000:
                try:
                    os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    os.kill(os.getpid(), signal.SIGKILL)
            return [state[0] + batch.data.n, state[1] + int(batch.data.labels.sum())]

        def merge(self, a, b):
            return [a[0] + b[0], a[1] + b[1]]

    return Deadly()


def test_a_worker_that_is_killed(session, folder, tmp_path):
    """Its task is done again, and every row counts once."""
    mark = tmp_path / "killed"
    scan = cal.scan(folder, engine=session)
    assert scan.add_up(deadly(str(mark))) == [3_000, int(ROWS[1].sum())]
    assert mark.exists()


def test_spark_is_named_where_it_is_missing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(
        ImportError, match=r"`pyspark` cannot be imported; install calibrant\[spark"
    ):
        cal.scan(folder, engine="spark://127.0.0.1:1")


def test_executors_without_calibrant():
    class Frame:
        def mapInArrow(self, *_):  # noqa: N802
            raise RuntimeError("ModuleNotFoundError: No module named 'calibrant'")

    with pytest.raises(ValueError, match="a Spark executor cannot import calibrant"):
        spark.collected(Frame(), None)
    row = {"number": 0, "version": "0.0.1", "error": None, "state": b""}
    with pytest.raises(ValueError, match=r"a Spark executor has calibrant 0\.0\.1"):
        spark.merged([row], max)
