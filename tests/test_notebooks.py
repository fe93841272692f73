"""Cells of the notebooks run in their order, as they do when the site is built."""

import re

import matplotlib as mpl
import pytest
from places import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.md"))
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```", re.DOTALL | re.MULTILINE)


def cells(path):
    return CELL.findall(path.read_text("utf-8"))


def run(name, capsys):
    """Run a notebook, and return its variables and what it printed."""
    mpl.use("Agg")
    if name == "network":
        pytest.importorskip("torch")
    space = {}
    for cell in cells(ROOT / "docs" / "notebooks" / f"{name}.md"):
        exec(compile(cell, name, "exec"), space)
    mpl.pyplot.close("all")
    return space, capsys.readouterr().out


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS if cells(path)] == ["classifier", "network", "year"]


def test_a_classifier_is_repaired(capsys):
    space, printed = run("classifier", capsys)
    assert printed.startswith("The probabilities of “1” are")
    assert "Use temperature" in printed
    before, after = (
        space["cal"].evaluate(probs, space["y"][4000:], rng=0).verdicts[0].size
        for probs in (space["model"].predict_proba(space["x"][4000:]), space["repaired"])
    )
    assert after < before / 3


def test_a_network_is_found_overconfident(capsys):
    space, printed = run("network", capsys)
    assert "overconfident" in printed
    assert space["axes"].get_xlabel() == "confidence"


def test_a_year_has_its_alarm(capsys):
    space, printed = run("year", capsys)
    assert "month  8: no alarm\nmonth  9: alarm at row 8,927\n" in printed
    assert space["monitor"].alarm > 7000
    low, high = space["monitor"].since_interval
    assert low <= 7000 <= high
