"""Files that a command writes."""

from pathlib import Path

import pytest

from calibrant import report
from calibrant.checks.files import whole_file


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "a.txt"

    def fail():
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []
    with whole_file(path) as temporary:
        temporary.write_text("whole")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "whole"
    assert path.stat().st_mode & 0o777 != 0o600  # the rights of other files, not of temporary ones


def test_a_report_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(ValueError, match=r"`title` must be text that UTF-8 can hold"):
        report([0.2, 0.9], [0, 1], path, title="\ud800", n_resamples=1)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(OSError, match="No space left"):
        report([0.2, 0.9], [0, 1], path, n_resamples=1)
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]
    assert path.read_bytes() == b"old"


def test_a_device_is_not_replaced():
    with whole_file(Path("/dev/null")) as temporary:
        assert temporary == Path("/dev/null")
