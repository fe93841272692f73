"""How the command starts: help, version, completion, and how fast."""

import os
import re
import subprocess
import sys
from importlib.metadata import version

import pytest
from command import COMMAND, run, run_process

COMMANDS = [
    *("evaluate", "test", "compare", "plot", "report", "recalibrate", "apply", "demo", "datasets"),
]


def test_help_lists_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_an_example(name):
    result = run(name, "--help")
    assert result.exit_code == 0
    assert f"Example: calibrant {name}" in " ".join(result.stdout.split())


def test_no_command_shows_the_help():
    result = run()
    assert result.exit_code == 2
    assert "Usage" in result.output


def test_version():
    assert run("--version").stdout.strip() == version("calibrant")
    assert run_process("--version").stdout.strip() == version("calibrant")


@pytest.mark.parametrize(
    ("shell", "word"), [("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "--no-files")]
)
def test_completion(shell, word):
    # typer looks for the shell that it was called from; tests may have been called from none.
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    result = run_process("--show-completion", shell, env=named)
    assert result.returncode == 0, result.stderr
    assert "calibrant" in result.stdout.lower()
    assert word in result.stdout


def test_completion_completes():
    words = {
        "_CALIBRANT_COMPLETE": "complete_bash",
        "COMP_WORDS": "calibrant ev",
        "COMP_CWORD": "1",
    }
    program = "from calibrant.cli import app; app(prog_name='calibrant')"
    result = subprocess.run(
        [sys.executable, "-c", program], env=words, capture_output=True, text=True, check=False
    )
    assert result.stdout.split() == ["evaluate"]


def test_help_starts_at_once():
    """In half a second of work, however many programs share the machine."""
    times = []
    for _ in range(7):
        before = children_seconds()
        subprocess.run([*COMMAND, "--help"], check=True, capture_output=True)
        times.append(children_seconds() - before)
    assert min(times) < 0.5


def children_seconds():
    """Return what programs that were called and have ended took of the processors."""
    used = os.times()
    return used.children_user + used.children_system


def test_help_loads_no_library_that_computes():
    program = (
        "import sys; from typer.testing import CliRunner; from calibrant.cli import app;"
        "assert CliRunner().invoke(app, ['evaluate', '--help']).exit_code == 0;"
        "heavy = ('numpy', 'numba', 'polars', 'matplotlib');"
        "print([name for name in heavy if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == "[]"
