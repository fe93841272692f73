"""The page about the architecture is true to the code."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from places import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]


def layers_of_the_page():
    """Return the names of the modules of each line of the picture."""
    block = re.search(r"```\n(__main__\n.*?)```", PAGE, re.DOTALL).group(1)
    lines = [re.split(r" {2,}", line)[0] for line in block.strip().splitlines()]
    return [set(line.split(" | ")) for line in lines]


def layers_of_the_linter():
    (contract,) = [c for c in CONTRACTS if c.get("containers") == ["calibrant"]]
    return [set(line.split(" | ")) for line in contract["layers"]]


def test_the_picture_shows_the_layers_that_are_checked():
    assert layers_of_the_page() == layers_of_the_linter()


@pytest.mark.parametrize("call", ["calibration_test", "report"])
def test_the_way_of_a_call_leads_through_modules_that_know_each_other(call):
    table = PAGE.split(f"## One call: `{call}`")[1].split("\n## ")[0]
    steps = re.findall(r"\| `([a-z_.]+)` \|$", table, re.MULTILINE)
    assert len(steps) >= 5
    seen = []
    for step in steps:
        module = import_module(f"calibrant.{step}")
        assert module.__doc__
        if seen:
            sources = [import_module(f"calibrant.{known}").__file__ for known in seen]
            assert any(names(source, step) for source in sources), step
        seen.append(step)


def names(source, step):
    """Return whether a file imports the module of a step, or the package that it is in."""
    text = Path(source).read_text()
    package, _, module = step.partition(".")
    here = rf"from calibrant\.{package}(\.{module})? import|{package}\.{module}\.|\b{module}\("
    return bool(re.search(here, text))


def test_what_the_page_answers_is_there():
    rows = re.findall(r"^\| (.+\?) \| `([a-z_/]+\.py)` \|$", PAGE, re.MULTILINE)
    assert len(rows) >= 10
    for question, path in rows:
        assert (ROOT / "src" / "calibrant" / path).is_file(), question
