"""Tables at any width, progress, and files that are whole."""

import io
import time
import warnings

import pytest
from rich.console import Console

from calibrant.cli import output
from calibrant.inference.evaluation import HEADER

ROW = ["canonical", "variance tree of 1000", "total variation", "2049", "0.2129 ± 0.0034"]
ROW += ["0.2080 ± 0.0019", "0.007", "0.028"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, width, terminal=True, header=HEADER, rows=(ROW, ROW), heading=(0, 1)):
    page = io.StringIO()
    console = Console(
        file=page, width=width, force_terminal=terminal, highlight=False, color_system=None
    )
    monkeypatch.setattr(output, "_console", lambda: console)
    output.print_table("Expected miscalibration", header, rows, heading)
    return page.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_tables_fit_the_terminal(monkeypatch, width):
    lines = shown(monkeypatch, width)
    assert max(map(len, lines)) <= width
    assert lines[0] == "Expected miscalibration"
    assert ("canonical, variance tree of 1000" in lines) == (width < 110)


def test_tables_of_models_fit_the_terminal(monkeypatch):
    rows = [["lenet", *ROW], ["densenet", *ROW]]
    lines = shown(monkeypatch, 80, header=["model", *HEADER], rows=rows, heading=(1, 2, 3))
    assert max(map(len, lines)) <= 80
    assert lines.count("canonical, variance tree of 1000, total variation") == 1


def test_a_pipe_gets_one_line_for_each_row(monkeypatch):
    lines = shown(monkeypatch, 80, terminal=False)
    assert [line for line in lines if line.startswith("canonical")] == [
        "  ".join([*ROW[:3], " 2049", *ROW[4:7], "     0.028"])
    ] * 2


def test_the_first_column_is_aligned_to_the_left(monkeypatch):
    lines = shown(monkeypatch, 80, header=["model", "p"], rows=[["../a.csv", "1"], ["7", "0.25"]])
    assert lines[3:5] == ["../a.csv     1", "7         0.25"]


def test_letters_that_a_font_does_not_have_are_no_warning(recwarn):
    with output.one_sentence_errors():
        warnings.warn("Glyph 20013 missing from font(s) DejaVu Sans.", UserWarning, stacklevel=1)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="other"), output.one_sentence_errors():
        warnings.warn("other", UserWarning, stacklevel=1)


def test_progress_is_silent_without_a_terminal(capsys):
    with output.progress_after(0.0, "work") as tell:
        assert tell is None
    assert capsys.readouterr().err == ""


def test_progress_shows_on_a_terminal(monkeypatch):
    page = Terminal()
    monkeypatch.setattr("sys.stderr", page)
    with output.progress_after(0.0, "resampling") as tell:
        tell(1, 2)
    assert "resampling" in page.getvalue()
    quiet = Terminal()
    monkeypatch.setattr("sys.stderr", quiet)
    with output.progress_after(60.0, "resampling") as tell:
        tell(1, 2)
    assert "resampling" not in quiet.getvalue()


def test_progress_shows_work_that_has_not_told_anything_yet(monkeypatch):
    page = Terminal()
    monkeypatch.setattr("sys.stderr", page)
    with output.progress_after(0.01, "reading"):
        for _ in range(1000):  # ten seconds at most
            if "reading" in page.getvalue():
                break
            time.sleep(0.01)
    assert "reading" in page.getvalue()


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "a.txt"

    def fail():
        with output.whole_file(path) as temporary:
            temporary.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []
    with output.whole_file(path) as temporary:
        temporary.write_text("whole")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "whole"
    assert path.stat().st_mode & 0o777 != 0o600  # the rights of other files, not of temporary ones
