"""``calibrant watch``: every row once, whatever happens."""

import json
import os
import sys

import numpy as np
import pytest
from command import run, run_process
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli import app
from calibrant.monitor.journal import Journal

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
    assert run("watch", file, "--state", state).output == ""
    file.write_text(HEADER + text)
    assert "70 new rows; no alarm after 120 rows" in run("watch", file, "--state", state).output
    whole = tmp_path / "whole.json"
    run("watch", file, "--state", whole)
    assert monitor_of(whole).to_dict() == monitor_of(state).to_dict()


def test_a_line_that_is_being_written_waits(tmp_path):
    file, state = tmp_path / "rows.csv", tmp_path / "state.json"
    file.write_text("label,pr")
    assert run("watch", file, "--state", state).output == ""
    file.write_text(f"{HEADER}1,0.9\n0,0.2\n1,0.9")
    assert "2 new rows" in run("watch", file, "--state", state).output
    file.write_text(f"{HEADER}1,0.9\n0,0.2\n1,0.95\n")
    assert "1 new rows" in run("watch", file, "--state", state).output
    assert monitor_of(state).bias == pytest.approx((0.9 + 0.2 + 0.95 - 2) / 3)


def test_new_files_of_a_folder_are_read_and_renamed_ones_are_not(tmp_path):
    folder, state = tmp_path / "rows", tmp_path / "state.json"
    folder.mkdir()
    (folder / "1.csv").write_text(HEADER + lines(30, seed=1))
    (folder / "notes.md").write_text("not rows")
    assert "30 new rows" in run("watch", folder, "--state", state).output
    (folder / "1.csv").rename(folder / "0.csv")
    (folder / "2.csv").write_text(HEADER + lines(20, seed=2))
    found = run("watch", folder, "--state", state).output
    assert found.count("new rows") == 1
    assert "20 new rows; no alarm after 50 rows" in found


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
    assert run("watch", file, "--state", state).exit_code == 3
    found = run("watch", file, "--state", state, "--chart", "chart.gif")
    assert found.exit_code == 2


def test_standard_input_is_followed(tmp_path):
    state = tmp_path / "state.json"
    found = CliRunner().invoke(
        app, ["watch", "-", "--follow", "--state", str(state)], input=HEADER + lines(2500)
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


class Killed(BaseException):
    """As if the process had been ended."""


def test_killed_at_every_write_no_row_is_lost_or_counted_twice(tmp_path, monkeypatch):
    folder = tmp_path / "rows"
    folder.mkdir()
    for k in range(3):
        (folder / f"{k}.csv").write_text(HEADER + lines(40 + k, seed=k))
    whole = tmp_path / "whole.json"
    assert run("watch", folder, "--state", whole).exit_code == 0
    calls = {"left": 0}

    def mortal(function):
        def call(*arguments, **options):
            calls["left"] -= 1
            if calls["left"] == 0:
                raise Killed
            found = function(*arguments, **options)
            calls["left"] -= 1
            if calls["left"] == 0:
                raise Killed
            return found

        return call

    kills = 0
    for at in range(1, 40):
        state = tmp_path / f"state{at}.json"
        with monkeypatch.context() as patched:
            for owner, name in ((os, "fsync"), (os, "replace"), (os, "chmod"), (os, "rename")):
                patched.setattr(owner, name, mortal(getattr(owner, name)))
            calls["left"] = at
            killed = False
            try:
                watch_all(folder, state)
            except Killed:
                killed = True
        kills += killed
        watch_all(folder, state)
        assert monitor_of(state).to_dict() == monitor_of(whole).to_dict()
    assert kills >= 12


def watch_all(folder, state):
    from calibrant.monitor.journal import files_in

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
    import subprocess

    ended = subprocess.run([sys.executable, "-c", code, str(folder), str(state)], check=False)
    assert ended.returncode == -9
    assert monitor_of(state).n == 100
    assert run_process("watch", folder, "--state", state).returncode == 0
    assert monitor_of(state).n == 200
