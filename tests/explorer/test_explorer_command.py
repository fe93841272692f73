"""``calibrant explore``: what it prints, refuses, and how it ends."""

import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from html import unescape
from urllib.request import urlopen

import polars as pl
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


@contextmanager
def served(*words):
    """Serve with the command; yield the address and the process, and what it said so far."""
    words = ["explore", *words, "--no-browser", "--port", "0", "--resamples", "99"]
    with subprocess.Popen(
        [sys.executable, "-m", "calibrant", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        told = ""
        while "Ctrl-C" not in told:
            line = process.stdout.readline()
            assert line, told
            told += line
        try:
            yield re.search(r"http://127\.0\.0\.1:\d+/\S+", told)[0], process, told
        finally:
            process.send_signal(signal.SIGINT)


def read(address):
    """Return a page as text."""
    with urlopen(address) as answer:
        return unescape(answer.read().decode())


@pytest.mark.parametrize(
    ("opened", "holds"),
    [
        ("FILE", ["ward.csv", '<option value="shift">shift</option>']),
        ("--demo", ["Networks on CIFAR-10", '<option value="densenet">densenet</option>']),
    ],
)
def test_it_serves_until_it_is_interrupted(tmp_path, opened, holds):
    file = str(written(tmp_path)) if opened == "FILE" else opened
    with served(file) as (address, process, told):
        page = read(address)
        assert all(one in page for one in holds)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
        assert "Ended." in rest
        assert "Traceback" not in told + rest
        assert process.returncode == 0


def test_how_a_file_is_read_is_reproduced(tmp_path):
    """The program and the commands read it as the explorer did: its label, percent and region."""
    frame = pl.read_csv(written(tmp_path))
    frame = frame.select((100 * pl.col("prob")).alias("risk"), pl.col("label").alias("died"))
    frame.write_csv(tmp_path / "risk.csv")
    options = ["--label", "died", "--probs", "risk", "--percent", "--region", "1 > 0.2"]
    with served(str(tmp_path / "risk.csv"), *options, "--seed", "3") as (address, _, _):
        assert "region=1+%3E+0.2" in address
        start, query = address.split("?")
        shown = read(f"{start}panel/verdict?{query}")
        verdict = re.search(r'class="verdict[^"]*">(.*?)(?: <span|</p>)', shown)[1]
        told = read(f"{start}panel/below?{query}&tab=code")
        diagram = read(f"{start}panel/diagram?{query}")
    python, command = (
        re.search(rf'id="{name}">(.*?)</pre>', told, re.S)[1] for name in ("python", "command")
    )
    ran = execute([sys.executable, "-c", python], tmp_path)
    assert ran.splitlines()[0] in diagram
    assert verdict in ran
    ran = execute([sys.executable, "-m", *shlex.split(command.splitlines()[0])], tmp_path)
    assert verdict.partition(":")[0] in " ".join(ran.split())


def execute(words, folder):
    """Run a program in a folder and return what it printed."""
    ran = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
