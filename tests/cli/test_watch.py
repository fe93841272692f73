"""``calibrant watch``: every row once, whatever happens."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from command import run, run_process
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli import app
from calibrant.monitor.journal import Journal, files_in

HEADER = "label,prob\n"


def lines(n, power=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p**power).astype(int)
    return "".join(f"{a},{b!r}\n" for a, b in zip(y, p.tolist(), strict=True))


def monitor_of(state):
    return cal.Monitor.from_dict(json.loads(state.read_text())["monitor"])


def test_a_growing_file_is_read_once(tmp_path):
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    text = lines(120)
    file.write_text(HEADER + "".join(text.splitlines(True)[:50]))
    found = run("watch", file, "--state", state)
    assert found.exit_code == 0, found.output
    assert f"{file}: 50 new rows; no alarm after 50 rows" in found.output
    again = run("watch", file, "--state", state)
    assert again.output.startswith("no new rows; no alarm after 50 rows")
    file.write_text(HEADER + text)
    assert "70 new rows; no alarm after 120 rows" in run("watch", file, "--state", state).output
    whole = tmp_path / "whole.json"
    run("watch", file, "--state", whole)
    assert monitor_of(whole).to_dict() == monitor_of(state).to_dict()


def test_a_line_that_is_being_written_waits(tmp_path):
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text("label,pr")
    assert run("watch", file, "--state", state).output == "no new rows; no rows yet\n"
    file.write_text(f"{HEADER}1,0.9\n0,0.2\n1,0.9")
    assert "2 new rows" in run("watch", file, "--state", state).output
    file.write_text(f"{HEADER}1,0.9\n0,0.2\n1,0.95\n")
    assert "1 new row; no alarm" in run("watch", file, "--state", state).output
    assert monitor_of(state).bias == pytest.approx((0.9 + 0.2 + 0.95 - 2) / 3)


def test_new_files_of_a_folder_are_read_and_renamed_ones_are_not(tmp_path, monkeypatch):
    folder, state = tmp_path / "rows", tmp_path / "state.json"
    folder.mkdir()
    (folder / "1.csv").write_text(HEADER + lines(30, seed=1))
    (folder / "notes.md").write_text("not rows")
    assert "30 new rows" in run("watch", folder, "--state", state).output
    (folder / "1.csv").rename(folder / "0.csv")
    (folder / "2.csv").write_text(HEADER + lines(20, seed=2))
    (folder / "3.csv").write_text(HEADER + lines(30, seed=3))  # as many rows as the first
    found = run("watch", folder, "--state", state).output
    assert found.count("new row") == 2
    assert "30 new rows; no alarm after 80 rows" in found
    (folder / "0.csv").rename(folder / "4.csv")
    assert "no new rows" in run("watch", folder, "--state", state).output
    monkeypatch.chdir(folder)
    assert "no new rows" in run("watch", "2.csv", folder / "3.csv", "--state", state).output


def test_a_folder_may_hold_all_formats_and_nights_without_rows(tmp_path):
    folder, state = tmp_path / "rows", tmp_path / "state.json"
    folder.mkdir()
    with gzip.open(folder / "1.csv.gz", "wt") as file:
        file.write(HEADER + lines(30, seed=1))
    rows = pl.read_csv((HEADER + lines(20, seed=2)).encode())
    rows.clear().write_parquet(folder / "2.parquet")
    (folder / "3.csv").write_text("")
    rows.write_parquet(folder / "4.parquet")
    found = run("watch", folder, "--state", state)
    assert found.exit_code == 0, found.output
    assert "1.csv.gz: 30 new rows" in found.output
    assert "4.parquet: 20 new rows; no alarm after 50 rows" in found.output
    assert run("watch", folder / "2.parquet", "--state", state).output.startswith("no new rows")


@pytest.mark.parametrize("text", ["1,0.9\n", "0,0.01\n" * 40])
def test_files_that_are_alike_by_chance_all_count(tmp_path, text):
    folder, state = tmp_path / "rows", tmp_path / "state.json"
    folder.mkdir()
    for k in range(3):
        (folder / f"{k}.csv").write_text(HEADER + text)
        run("watch", folder, "--state", state)
    assert monitor_of(state).n == 3 * text.count("\n")


def test_rows_that_changed_are_refused(tmp_path):
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text(HEADER + lines(30, seed=1))
    run("watch", file, "--state", state)
    file.write_text(HEADER + lines(40, seed=2))
    found = run("watch", file, "--state", state)
    assert found.exit_code == 1
    assert "first 30 rows were read before and have changed since" in found.output


def test_an_alarm_is_exit_code_3_and_a_chart(tmp_path):
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text(HEADER + lines(2000, power=2.5))
    for name in ("watch.html", "watch.svg", "watch.png"):
        chart = tmp_path / name
        found = run("watch", file, "--state", tmp_path / f"{name}.json", "--chart", chart)
        assert found.exit_code == 3, found.output
        assert chart.stat().st_size > 1000
    found = run("watch", file, "--state", state, "--json")
    body = json.loads(found.output)
    assert body["alarm"] < 300
    assert body["rows"] == body["n"] == 2000
    assert body["direction"] == "high"
    later = run("watch", file, "--state", state, "--json", "--chart", tmp_path / "later.html")
    line = json.loads(later.output)
    assert (later.exit_code, line["source"], line["rows"]) == (3, None, 0)
    assert line["alarm"] == body["alarm"]
    assert (tmp_path / "later.html").stat().st_size > 1000
    found = run("watch", file, "--state", state, "--chart", "chart.gif")
    assert found.exit_code == 2


def test_standard_input_is_followed(tmp_path):
    state = tmp_path / "state.json"
    found = CliRunner().invoke(
        app, ["watch", "-", "--follow", "--state", str(state)], input=HEADER + lines(2500) + "1,0."
    )
    assert found.exit_code == 0, found.output
    assert found.output.count("standard input: 1,000 new rows") == 2
    assert "standard input: 500 new rows; no alarm after 2,500 rows" in found.output
    text = "".join(f'{{"label": 1, "prob": {k / 100}}}\n' for k in range(1, 100))
    found = CliRunner().invoke(
        app, ["watch", "-", "--follow", "--state", str(tmp_path / "other.json")], input=text
    )
    assert "99 new rows; alarm" in found.output
    assert run("watch", "-", "--state", state).exit_code == 2


def test_damaged_states_are_refused(tmp_path):
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text(HEADER + lines(30))
    state.write_text("{}")
    found = run("watch", file, "--state", state)
    assert (found.exit_code, "not the state of a monitor" in found.output) == (1, True)
    state.unlink()
    run("watch", file, "--state", state)
    body = json.loads(state.read_text())
    body["files"][str(file)][0] = 3
    state.write_text(json.dumps(body))
    found = run("watch", file, "--state", state)
    assert (found.exit_code, "is damaged" in found.output) == (1, True)
    state.write_text("[" * 100_000)
    found = run("watch", file, "--state", state)
    assert (found.exit_code, "is not the state of a monitor" in found.output) == (1, True)


def test_rows_that_lack_a_value_are_counted_once(tmp_path):
    folder, state = tmp_path / "rows", tmp_path / "state.json"
    folder.mkdir()
    text = f"{HEADER}1,0.9\n,0.2\n{lines(20)}"
    (folder / "1.csv").write_text(text)
    refused = run("watch", folder, "--state", state)
    assert (refused.exit_code, "Leave out such rows" in refused.output) == (1, True)
    found = run("watch", folder, "--state", state, "--drop-missing").output
    assert "21 new rows" in found
    assert "1 row with missing values left out" in found
    (folder / "1.csv").rename(folder / "0.csv")
    with open(folder / "0.csv", "a") as file:
        file.write(",0.4\n1,0.5\n")
    found = run("watch", folder, "--state", state, "--drop-missing").output
    assert "1 new row;" in found
    assert "2 rows with missing values left out" in found
    assert "no new rows" in run("watch", folder, "--state", state, "--drop-missing").output
    assert monitor_of(state).missing == 2
    (folder / "0.csv").write_text(text.replace(",0.2\n", "1,0.2\n", 1))  # known by now
    found = run("watch", folder, "--state", state, "--drop-missing")
    assert (found.exit_code, "have changed since" in found.output) == (1, True)


def test_a_night_of_one_outcome_needs_the_names_of_both(tmp_path):
    state = tmp_path / "state.json"
    for name, label in (("1", "ok"), ("2", "fraud")):
        (tmp_path / f"{name}.csv").write_text(f"label,prob_fraud\n{label},0.2\n")
    named = ("--classes", "ok,fraud")
    assert run("watch", tmp_path / "1.csv", "--state", state, *named).exit_code == 0
    found = run("watch", tmp_path / "2.csv", "--state", state)
    assert (found.exit_code, "Name them with --classes" in found.output) == (1, True)
    assert "1 new row" in run("watch", tmp_path, "--state", state, *named).output
    assert monitor_of(state).n == 2


def test_settings_belong_to_a_state(tmp_path):
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text(HEADER + lines(30))
    settings = ("--alpha", "0.01", "--lens", "top", "--lens", "class:1", "--run-length", 0)
    assert run("watch", file, "--state", state, *settings).exit_code == 0
    monitor = monitor_of(state)
    assert (monitor.alpha, monitor.run_length) == (0.01, None)
    assert run("watch", file, "--state", state).exit_code == 0
    assert run("watch", file, "--state", state, *settings).exit_code == 0
    found = run("watch", file, "--state", state, "--alpha", "0.05")
    assert found.exit_code == 2
    assert "is settled when a state begins" in found.output
    assert "has 0.01; found 0.05" in found.output
    assert run("watch", file, "--state", state, "--lens", "top").exit_code == 2
    assert run("watch", file, "--state", state, "--run-length", 1000).exit_code == 2


def test_the_state_may_be_in_the_folder_that_is_watched(tmp_path):
    (tmp_path / "1.csv").write_text(HEADER + lines(30))
    (tmp_path / ".calibrant-1.json").write_text("{")  # of a command that was killed
    for text in ("30 new rows", "no new rows"):
        found = run("watch", tmp_path, "--state", tmp_path / "state.json")
        assert (found.exit_code, text in found.output) == (0, True)


class Killed(BaseException):
    """As if the process had been ended."""


class Mortal:
    """Functions that end the process before or after the one of a number, counted from 1."""

    def __init__(self, at):
        self.left = at

    def tick(self):
        self.left -= 1
        if self.left == 0:
            raise Killed

    def of(self, function):
        def call(*arguments, **options):
            self.tick()
            found = function(*arguments, **options)
            self.tick()
            return found

        return call


def is_killed(at, folder, state, monkeypatch):
    """Watch a folder, be killed at a write, and say whether that was so."""
    mortal = Mortal(at)
    with monkeypatch.context() as patched:
        for name in ("fsync", "replace", "chmod", "rename"):
            patched.setattr(os, name, mortal.of(getattr(os, name)))
        try:
            watch_all(folder, state)
        except Killed:
            return True
    return False


def test_killed_at_every_write_no_row_is_lost_or_counted_twice(tmp_path, monkeypatch):
    folder = tmp_path / "rows"
    folder.mkdir()
    for k in range(3):
        (folder / f"{k}.csv").write_text(HEADER + lines(40 + k, seed=k))
    whole = tmp_path / "whole.json"
    assert run("watch", folder, "--state", whole).exit_code == 0
    kills = 0
    for at in range(1, 40):
        state = tmp_path / f"state{at}.json"
        kills += is_killed(at, folder, state, monkeypatch)
        watch_all(folder, state)
        assert monitor_of(state).to_dict() == monitor_of(whole).to_dict()
    assert kills >= 12


def watch_all(folder, state):
    journal = Journal.open(state, cal.Monitor)
    for file in files_in([folder]):
        journal.read(file, cal.load)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_process_leaves_a_state_that_goes_on(tmp_path):
    folder, state = tmp_path / "rows", tmp_path / "state.json"
    folder.mkdir()
    for k in range(4):
        (folder / f"{k}.csv").write_text(HEADER + lines(50, seed=k))
    code = (
        "import os, signal, sys; from pathlib import Path; import calibrant as cal;"
        "from calibrant.monitor.journal import Journal, files_in;"
        "journal = Journal.open(Path(sys.argv[2]), cal.Monitor);"
        "files = files_in([Path(sys.argv[1])]);"
        "[journal.read(file, cal.load) for file in files[:2]];"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL);"
        "journal.read(files[2], cal.load)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(folder), str(state)], check=False)
    assert ended.returncode == -9
    assert monitor_of(state).n == 100
    assert run_process("watch", folder, "--state", state).returncode == 0
    assert monitor_of(state).n == 200
