"""Some of the faults of `inject.py`: every write, flush and rename of two commands, and signals."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from command import COMMAND, write

HERE = Path(__file__).parent
CAN_BUILD = shutil.which("cc") or find_spec("ziglang")


@pytest.mark.skipif(sys.platform != "linux", reason="faults are injected into the C library")
@pytest.mark.skipif(not CAN_BUILD, reason="a C compiler builds what lets operations fail")
@pytest.mark.parametrize(
    "options",
    [
        ["--kinds", "WSNC", "plot html", "datasets parquet"],
        ["--kinds", "WSN", "--lasting", "apply csv", "recalibrate"],
        ["--every", "6", "apply csv", "apply parquet", "apply jsonl"],
    ],
    ids=["once", "from then on", "all kinds"],
)
def test_when_an_operation_fails_the_old_file_stands(options):
    words = [sys.executable, str(HERE / "inject.py"), *options]
    env = os.environ.copy()  # without the width that readline hands to children behind our back
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == []


WAIT = (0.05, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3)  # seconds: into Python's start, imports, and the work


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_time_leaves_nothing_behind(tmp_path, sign):
    path = write(tmp_path / "in.csv", n=20_000)
    output = tmp_path / "out.html"
    for seconds in WAIT:
        output.write_text("old")
        words = [*COMMAND, "report", str(path), "-o", str(output), "--resamples", "9999"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(seconds)
        process.send_signal(sign)
        process.communicate(timeout=60)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["in.csv", "out.html"]
        done = process.returncode == 0  # before the signal came
        assert output.read_text("utf-8").startswith("<!DOCTYPE" if done else "old")
