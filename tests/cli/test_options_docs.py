"""docs/cli.md and `--help` name the same options."""

import re

import pytest
from places import ROOT
from typer.main import get_command

from calibrant.cli.app import app

PAGE = (ROOT / "docs" / "cli.md").read_text("utf-8")
OF_TYPER = {"--help", "--install-completion", "--show-completion"}
COMMANDS = get_command(app).commands


def options(command):
    return {name for each in command.params for name in each.opts if name.startswith("--")}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_on_the_page(name):
    assert f"`calibrant {name}" in PAGE
    missing = {one for one in options(COMMANDS[name]) if not re.search(rf"{one}(?![a-z-])", PAGE)}
    assert missing == set()


def test_every_option_of_the_page_exists():
    named = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", PAGE))
    assert named - OF_TYPER - {"--no-browser"} <= set().union(*map(options, COMMANDS.values()))


def test_the_page_and_the_help_of_plot_agree_on_the_lens():
    (lens,) = (one for one in COMMANDS["plot"].params if "--lens" in one.opts)
    assert "all of up to four classes, the predicted class of more" in lens.help
    assert "`plot`: the event of two classes, all classes of three or four, `top` for more" in PAGE
