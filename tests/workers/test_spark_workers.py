"""Spark gives the bits that rows in memory give, also if workers are killed."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clusters import spark_session
from mortal import mortal

sys.path.insert(0, str(Path(__file__).parents[1] / "scanning"))
from folders import predictions, rows_of, table, write

import calibrant as cal
from calibrant.inference.replicates import ways
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Exact
from calibrant.rows.workers import as_workers, spark
from calibrant.statistics import ExpectedMiscalibration

pytestmark = pytest.mark.xdist_group("spark")

ETA = ExpectedMiscalibration(EqualWidth(5))
ROWS = rows_of(1_200)
WHOLE = ExpectedMiscalibration(EqualWidth(1))
NUMBERS = np.arange(1_200)
COUNTS = {"lens": TopLabel(), "resampler": Exact(draws="counts"), "rng": 1}
LABELS = {"n_resamples": 19, "rng": 1}


@pytest.fixture(scope="module")
def session():
    with spark_session() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    whole = table(*ROWS, rows=NUMBERS)
    return write(tmp_path_factory.mktemp("rows"), whole, (500,), 300)


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
    assert (numbered.n, numbered.m, numbered.classes) == (1_200, 4, ("0", "1", "2", "3"))
    assert cal.calibration_test(numbered, ETA, **LABELS).to_dict() == expected[0]
    plain = cal.scan(frame.drop("row"))
    assert cal.calibration_test(plain, ETA, **COUNTS).to_dict() == expected[1]
    with pytest.raises(ValueError, match="`row` must name a column of unique whole numbers"):
        cal.calibration_test(plain, ETA)


def test_groups_of_a_frame(session, folder):
    """A column that nobody asked for before is read from the frame, too."""
    frame = session.read.parquet(str(folder))
    frame = frame.withColumn("even", frame["row"] % 2)
    found = cal.slices(cal.scan(frame, row="row"), "even", **LABELS)
    assert [(row.group, row.n) for row in found.rows] == [("0", 600), ("1", 600)]
    even = NUMBERS % 2 == 0
    alone = cal.calibration_test(
        predictions(*ROWS).weighted_by(even), WHOLE, lens=TopLabel(), **LABELS
    )
    assert found.rows[0].verdict.pvalue <= 1
    assert found.rows[0].verdict.bias == pytest.approx(_bias(even), abs=1e-12)
    assert alone.statistic == pytest.approx(abs(_bias(even)), abs=1e-12)


def _bias(rows):
    probs, labels, _ = ROWS
    probs = predictions(*ROWS).probs.astype(float)
    top = probs.argmax(axis=1)
    return float((probs.max(axis=1) - (top == labels))[rows].mean())


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


def test_a_python_worker_that_is_killed(session, folder, expected, tmp_path):
    """Its task is done again, and every row counts once."""
    scan = mortal(cal.scan(folder, engine=session), tmp_path, "after")
    assert cal.calibration_test(scan, ETA, **LABELS).to_dict() == expected[0]
    assert len(list(tmp_path.iterdir())) == 3  # the third call was the last one of a worker


def test_an_executor_that_is_killed_after_a_shuffle(session, folder, expected, tmp_path):
    """What it had sorted for others is lost, and done again before its own task is."""
    frame = session.read.parquet(str(folder)).repartition(3, "row")
    scan = mortal(cal.scan(frame, row="row"), tmp_path, "before", executor=True)
    assert cal.calibration_test(scan, ETA, **LABELS).to_dict() == expected[0]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.fixture
def moves(monkeypatch):
    """Move the rows of two cells and more, to four owners."""
    monkeypatch.setattr(ways, "LIMITS", ways.LIMITS._replace(passes=0, owners=(4, 4096)))


@pytest.mark.usefixtures("moves")
def test_rows_that_are_moved(session, folder, expected):
    scan = cal.scan(folder, engine=session)
    assert cal.calibration_test(scan, ETA, **LABELS).to_dict() == expected[0]
    frame = session.read.parquet(str(folder)).repartition(5)
    assert cal.calibration_test(cal.scan(frame, row="row"), ETA, **LABELS).to_dict() == expected[0]


@pytest.mark.usefixtures("moves")
@pytest.mark.parametrize("executor", [False, True], ids=["python", "executor"])
@pytest.mark.parametrize("when", ["splitting", "finishing"])
def test_a_worker_that_is_killed_before_and_after_the_shuffle(
    session, folder, expected, tmp_path, when, executor
):
    """Rows that it sent, or was sent, are sent again; every row counts once."""
    place = {"number": 2, "executor": executor}
    scan = mortal(cal.scan(folder, engine=session), tmp_path, when, **place)
    assert cal.calibration_test(scan, ETA, **LABELS).to_dict() == expected[0]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("moves")
def test_a_file_that_vanishes_before_its_rows_are_moved(session, tmp_path):
    """The sentence comes back through the shuffle."""
    folder = write(tmp_path, table(*ROWS), (500,), 300)
    scan = cal.scan(folder, engine=session)
    plain = scan.workers.reduce

    class Late(type(scan.workers)):
        def reduce(self, *arguments):
            found = plain(*arguments)
            (folder / "part-001.parquet").unlink()
            return found

    scan = replace(scan, workers=Late(session))
    with pytest.raises(ValueError, match=r"part-001\.parquet"):
        cal.calibration_test(scan, ETA, **LABELS)


def test_spark_is_named_where_it_is_missing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ImportError, match=r"needs pyspark, .* 'calibrant\[spark\]'\."):
        cal.scan(folder, engine="spark://127.0.0.1:1")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("No module named 'calibrant'", "a Spark executor cannot import calibrant"),
        ("No module named 'calibrant.new'", "a Spark executor has calibrant of another version"),
        (
            "Can't get attribute 'New' on <module 'calibrant.rows'",
            "a Spark executor has calibrant of another version",
        ),
    ],
)
def test_executors_without_this_calibrant(error, sentence):
    class Frame:
        def mapInArrow(self, *_):  # noqa: N802
            raise RuntimeError(error)

    with pytest.raises(ValueError, match=sentence):
        spark.collected(Frame(), None)


def test_an_address_of_connect(monkeypatch):
    """Connect has sessions of its own, which are asked for by `remote`."""

    class Builder:
        def remote(self, address):
            self.address = address
            return self

        def getOrCreate(self):  # noqa: N802
            return self

    module = type(sys)("pyspark.sql")
    module.SparkSession = type("SparkSession", (), {"builder": Builder()})
    monkeypatch.setitem(sys.modules, "pyspark.sql", module)
    workers = as_workers("sc://127.0.0.1:15002")
    assert workers.session.address == "sc://127.0.0.1:15002"
    assert workers._cores() == 8  # it does not tell


def test_states_of_another_version():
    row = {"number": 0, "version": "0.0.1", "error": None, "state": b""}
    with pytest.raises(ValueError, match=r"a Spark executor has calibrant 0\.0\.1"):
        spark.merged([row], max)


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        (None, "Executors start python3, and here is .*: set PYSPARK_PYTHON to the Python that"),
        ("/other/python", "PYSPARK_PYTHON is /other/python, another Python than the driver's"),
        (sys.executable, "are installed here.$"),
    ],
)
def test_the_likely_cause_is_another_python(monkeypatch, python, sentence):
    class Frame:
        def mapInArrow(self, *_):  # noqa: N802
            raise RuntimeError("ModuleNotFoundError: No module named 'calibrant'")

    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if python is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", python)
    with pytest.raises(ValueError, match=sentence):
        spark.collected(Frame(), None)
