"""Tables at any width."""

import io

import pytest
from rich.console import Console

from calibrant.cli import output

HEADER = ["lens", "partition", "distance", "cells", "estimate", "if calibrated", "p", "adjusted p"]
ROW = ["canonical", "tree of 1000", "total variation", "2049", "0.2129 ± 0.0034"]
ROW += ["0.2080 ± 0.0019", "0.007", "0.028"]


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
    assert ("canonical, tree of 1000" in lines) == (width < 100)


def test_tables_of_models_fit_the_terminal(monkeypatch):
    rows = [["lenet", *ROW], ["densenet", *ROW]]
    lines = shown(monkeypatch, 80, header=["model", *HEADER], rows=rows, heading=(1, 2, 3))
    assert max(map(len, lines)) <= 80
    assert lines.count("canonical, tree of 1000, total variation") == 1


def test_a_pipe_gets_one_line_for_each_row(monkeypatch):
    lines = shown(monkeypatch, 80, terminal=False)
    assert [line for line in lines if line.startswith("canonical")] == [
        "  ".join([*ROW[:3], " 2049", *ROW[4:7], "     0.028"])
    ] * 2


def test_the_first_column_is_aligned_to_the_left(monkeypatch):
    lines = shown(monkeypatch, 80, header=["model", "p"], rows=[["../a.csv", "1"], ["7", "0.25"]])
    assert lines[3:5] == ["../a.csv     1", "7         0.25"]


def test_where_one_heading_is_not_enough_the_words_of_a_row_stand_above_it(monkeypatch):
    header = ["lens", "statistic", "value", "p"]
    rows = [["top", "a long name of a statistic", "1.5", "0.25"], ["top", "another", "20", "1"]]
    lines = shown(monkeypatch, 16, header=header, rows=rows, heading=(0,))
    assert lines[1] == "value     p"
    assert lines[3:7] == [
        "top, a long name of a statistic",
        "  1.5  0.25",
        "top, another",
        "   20     1",
    ]


def test_in_a_list_every_number_has_its_name(monkeypatch):
    header = ["region", "rows", "p"]
    rows = [["age < 40", "1,000,000,000", "1"]]
    lines = shown(monkeypatch, 12, header=header, rows=rows, heading=(0,))
    assert lines[1:4] == ["age < 40", "  rows: 1,000,000,000", "  p: 1"]


@pytest.mark.parametrize("columns", [None, "40"])
def test_a_line_is_broken_only_where_lines_end(monkeypatch, capsys, columns):
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    output.echo("day.csv: 1,000 new rows; alarm at row 140: an outcome occurred")
    assert len(capsys.readouterr().out.splitlines()) == (1 if columns is None else 2)
