"""A few hundred round trips, the same in every run; and that one that goes wrong is noticed."""

import json
import subprocess
import sys

import numpy as np
import pytest
import round_trips


def test_what_is_written_is_what_was_read():
    words = [sys.executable, "-W", "ignore", round_trips.__file__, "1", "400"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-300:]
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("ending", round_trips.TEXTS)
def test_another_byte_is_noticed(tmp_path, monkeypatch, ending):
    unpacked = round_trips.unpacked
    monkeypatch.setattr(round_trips, "unpacked", lambda path: unpacked(path) + b" ")
    assert "instead of" in round_trips.text_trip(np.random.default_rng(1), tmp_path, ending)


@pytest.mark.parametrize("ending", round_trips.FRAMES)
def test_another_value_is_noticed(tmp_path, monkeypatch, ending):
    read = round_trips.read_arrow
    monkeypatch.setattr(
        round_trips,
        "read_arrow",
        lambda path: read(path) if path.stem == "in" else read(path).slice(1),
    )
    assert "differ" in round_trips.frame_trip(np.random.default_rng(3), tmp_path, ending)


def test_another_map_is_noticed(tmp_path, monkeypatch):
    load_map = round_trips.load_map
    monkeypatch.setattr(round_trips, "load_map", lambda path: load_map(path) >> load_map(path))
    assert round_trips.map_trip(np.random.default_rng(0), tmp_path).startswith("map: ")
