"""A server of Spark Connect gives the bits that rows in memory give.

In a process of its own: a session of Connect and a plain one do not go together.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scanning"))
from folders import predictions, rows_of, table, write

import calibrant as cal
from calibrant.partitions import EqualWidth
from calibrant.statistics import ExpectedMiscalibration

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
import calibrant as cal
from calibrant.inference.replicates import ways
from calibrant.partitions import EqualWidth
from calibrant.statistics import ExpectedMiscalibration

session = SparkSession.builder.remote("local[2]").getOrCreate()
eta, found = ExpectedMiscalibration(EqualWidth(5)), []
files = cal.scan(sys.argv[1], engine=session)
frame = cal.scan(session.read.parquet(sys.argv[1]), row="row")
for passes in (1, 0):  # by tables of cells, and by rows that are moved
    ways.LIMITS = ways.LIMITS._replace(passes=passes)
    for scan in (files, frame):
        test = cal.calibration_test(scan, eta, n_resamples=19, rng=1)
        found.append([test.statistic, test.null.tolist()])
print(json.dumps([type(session).__module__, found]))
session.stop()
"""


def test_connect(tmp_path):
    pytest.importorskip("pyspark")
    pytest.importorskip("grpc")
    if shutil.which("java") is None:
        pytest.skip("needs Java, which is not there")
    rows = rows_of(600)
    folder = write(tmp_path, table(*rows, rows=np.arange(600)), (200,), 300)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    module, found = json.loads(run.stdout.splitlines()[-1])
    eta = ExpectedMiscalibration(EqualWidth(5))
    test = cal.calibration_test(predictions(*rows), eta, n_resamples=19, rng=1)
    assert "connect" in module
    assert found == [[test.statistic, test.null.tolist()]] * 4
