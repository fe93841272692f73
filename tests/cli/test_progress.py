"""The bar for work that takes long."""

import io
import logging
import time

from calibrant.cli.output import progress_after


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_silent_without_a_terminal(capsys):
    with progress_after(0.0, "work") as report:
        assert report is None
    assert capsys.readouterr().err == ""


def test_progress_shows_on_a_terminal(monkeypatch):
    page = Terminal()
    monkeypatch.setattr("sys.stderr", page)
    with progress_after(0.0, "resampling") as report:
        report(1, 2)
    assert "resampling" in page.getvalue()
    quiet = Terminal()
    monkeypatch.setattr("sys.stderr", quiet)
    with progress_after(60.0, "resampling") as report:
        report(1, 2)
    assert "resampling" not in quiet.getvalue()


def test_progress_shows_work_that_has_not_reported_yet(monkeypatch):
    page = Terminal()
    monkeypatch.setattr("sys.stderr", page)
    with progress_after(0.01, "reading"):
        for _ in range(1000):  # ten seconds at most
            if "reading" in page.getvalue():
                break
            time.sleep(0.01)
    assert "reading" in page.getvalue()


def test_what_the_library_notes_stands_beside_the_bar(monkeypatch):
    page = Terminal()
    monkeypatch.setattr("sys.stderr", page)
    log = logging.getLogger("calibrant")
    before = log.level, list(log.handlers)
    with progress_after(0.0, "resampling") as report:
        log.debug("compiling for this machine, once")
        report(1, 2)
    assert "resampling (compiling for this machine, once)" in page.getvalue()
    assert (log.level, list(log.handlers)) == before
