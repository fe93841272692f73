"""``calibrant explore``: what it prints, refuses, and how it ends."""

import re
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest
from command import run
from explorer.opened import written


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "must be given, or --demo"),
        (["FILE", "--demo"], "must be given, or --demo"),
        (["FILE", "--json"], "has no meaning here"),
        (["FILE", "--port", "70000"], "must be between 0 and 65535"),
        (["FILE", "--host", "203.0.113.1", "--no-browser"], "cannot be listened to"),
        (["nothing.csv"], "nothing.csv"),
    ],
)
def test_refusals(tmp_path, words, told):
    file = str(written(tmp_path))
    found = run("explore", *(file if word == "FILE" else word for word in words))
    assert found.exit_code != 0
    assert told in " ".join(found.output.split())


@pytest.mark.parametrize(
    ("opened", "holds"),
    [
        ("FILE", ["ward.csv", '<option value="shift">shift</option>']),
        ("--demo", ["Networks on CIFAR-10", '<option value="densenet">densenet</option>']),
    ],
)
def test_it_serves_until_it_is_interrupted(tmp_path, opened, holds):
    file = str(written(tmp_path)) if opened == "FILE" else opened
    words = ["explore", file, "--no-browser", "--port", "0", "--resamples", "99"]
    with subprocess.Popen(
        [sys.executable, "-m", "calibrant", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=None,
    ) as process:
        told = ""
        while "Ctrl-C" not in told:
            line = process.stdout.readline()
            assert line, told
            told += line
        address = re.search(r"http://127\.0\.0\.1:\d+/\S+/", told)[0]
        with urlopen(address) as answer:
            page = answer.read().decode()
        assert all(one in page for one in holds)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
        assert "Ended." in rest
        assert "Traceback" not in told + rest
        assert process.returncode == 0
