"""Tables as text, lines, HTML and data frames."""

import sys

import pandas as pd
import polars as pl
import pytest

from calibrant import tables

HEADER = ["name", "x"]
ROWS = [["long name", "1"], ["b", "20"]]


def test_words_are_aligned_to_the_left_and_numbers_to_the_right():
    assert tables.text(HEADER, ROWS).splitlines() == [
        "name        x",
        "---------  --",
        "long name   1",
        "b          20",
    ]


def test_columns_of_words_that_look_like_numbers():
    found = tables.lines(["model", "p"], [["7", "1"], ["../a", "2"]], words=1, rule="=")
    assert found == ["model  p", "=====  =", "7      1", "../a   2"]


def test_headings_stand_above_their_rows():
    rows = [["a", "x", "1"], ["b", "x", "2"], ["c", "y", "3"]]
    top, groups = tables.grouped(["model", "lens", "p"], rows, [1])
    assert top == ["model  p", "-----  -"]
    assert groups == [("x", ["a      1", "b      2"]), ("y", ["c      3"])]


class Wide(tables.Tabular):
    note = "What is said below."

    def lines(self):
        return ["name", *"abc"], [["one", *["1" * 20] * 3], ["two", *["2" * 20] * 3]]


@pytest.mark.parametrize(("terminal", "columns", "rows"), [(0, 40, 4), (1, 200, 4), (1, 40, 8)])
def test_a_table_fits_a_terminal_and_ends_with_its_note(monkeypatch, terminal, columns, rows):
    monkeypatch.setattr("sys.stdout.isatty", lambda: bool(terminal))
    monkeypatch.setenv("COLUMNS", str(columns))
    *lines, last = Wide().table().splitlines()
    assert (len(lines), last) == (rows, "What is said below.")
    assert max(map(len, lines)) <= (columns if terminal else 80)


def test_html_is_escaped():
    assert tables.html(["a", "b"], [["<&", "1"]]) == (
        '<table><thead><tr><th scope="col" style="text-align:right">a</th>'
        '<th scope="col" style="text-align:right">b</th></tr></thead>'
        '<tbody><tr><th scope="row" style="text-align:right">&lt;&amp;</th>'
        '<td style="text-align:right">1</td></tr></tbody></table>'
    )


def test_cards_name_the_columns_of_numbers():
    assert tables.cards(["model", '"p"'], [["7", "1"]], 1, caption="a < b") == (
        '<table class="cards"><caption>a &lt; b</caption><thead><tr><th scope="col" class="word">'
        'model</th><th scope="col">&quot;p&quot;</th></tr></thead><tbody><tr><th scope="row"'
        ' class="word">7</th><td data-name="&quot;p&quot;">1</td></tr></tbody></table>'
    )


def test_groups_of_columns_have_a_head_of_their_own():
    table = tables.cards(["model", "p", "q"], [["a", "1", "2"]], 1, groups=[("", 1), ("<top>", 2)])
    assert (
        '<tr><td colspan="1"></td><th scope="colgroup" colspan="2">&lt;top&gt;</th></tr>' in table
    )
    assert '<td data-name="&lt;top&gt;: p">1</td><td data-name="&lt;top&gt;: q">2</td>' in table


RECORDS = [{"step": 1, "p": 0.5, "name": None}, {"step": 2, "p": 1, "name": "a"}]


@pytest.mark.parametrize(("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_a_frame_has_a_column_for_each_key(backend, kind):
    found = tables.frame(RECORDS, backend)
    assert isinstance(found, kind)
    assert list(found.columns) == ["step", "p", "name"]
    assert found["step"].to_list() == [1, 2]
    assert found["p"].to_list() == [0.5, 1.0]
    assert found["name"].to_list()[1] == "a"
    assert tables.frame([], backend).shape == (0, 0)


def test_the_default_is_pandas_where_it_was_imported(monkeypatch):
    assert isinstance(tables.frame(RECORDS), pd.DataFrame)
    monkeypatch.delitem(sys.modules, "pandas")
    assert isinstance(tables.frame(RECORDS), pl.DataFrame)


def test_unknown_backends_are_refused():
    with pytest.raises(
        ValueError, match=r"`backend` must be 'pandas', 'polars' or None; found 'R'"
    ):
        tables.frame(RECORDS, "R")


def test_a_backend_that_is_not_installed(monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setattr(tables, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match="'pandas' is not installed; install pandas, or choose"):
        tables.frame(RECORDS, "pandas")
