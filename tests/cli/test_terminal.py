"""What fits the terminal: help, sentences and tables, at 80 columns and in narrower ones."""

import json
import re

import numpy as np
import polars as pl
import pytest
from command import run, write

from calibrant.cli.app import COMMANDS

NAMES = [example.split()[0] for _, example in COMMANDS.values()]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    two, three = folder / "two.csv", folder / "three.csv"
    write(three, 200)
    write(folder / "other.csv", 200, power=2.0)
    rng = np.random.default_rng(0)
    p = rng.random(200)
    frame = {"label": (rng.random(200) < p).astype(int), "prob": p}
    pl.DataFrame({**frame, "sex": ["women", "men"] * 100}).write_csv(two)
    return folder


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("columns", [80, 40])
def test_help_speaks_of_what_people_type(name, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    result = run(name, "--help")
    assert result.exit_code == 0
    assert not re.search(r"<[a-z[]|list\[|x>=|<=x", result.stdout)
    longest = max(len(word) for word in result.stdout.split())
    widest = max(map(len, result.stdout.splitlines()))
    assert widest <= max(columns, longest + 10)  # an option with its choices
    assert not re.search(r"\w-$", result.stdout, re.MULTILINE)  # no word is broken


def test_options_have_values_in_words(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in NAMES:
        for line in run(name, "--help").stdout.splitlines():
            found = re.match(r"  (?:-o, )?(--[a-z-]+)(?: (\S+))?(  |$)", line)
            if found and found[2]:
                assert found[2].isupper() or "|" in found[2], line


COMMANDS_RUN = [
    "evaluate two.csv --by sex --resamples 99",
    "evaluate three.csv --resamples 99",
    "test two.csv --resamples 99",
    "compare three.csv other.csv --resamples 99",
    "power two.csv --temperature 1.5 --resamples 99",
    "recalibrate two.csv --resamples 99",
    "clinical two.csv",
    "verification three.csv",
]


@pytest.mark.parametrize("columns", [80, 50])
@pytest.mark.parametrize("words", COMMANDS_RUN)
def test_nothing_is_wider_than_the_terminal(words, columns, files, monkeypatch):
    monkeypatch.chdir(files)
    monkeypatch.setenv("COLUMNS", str(columns))
    result = run(*words.split())
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= columns


def test_clinical_and_verification_answer_and_write_json(files, monkeypatch):
    monkeypatch.chdir(files)
    assert "events in 200 rows." in run("clinical", "two.csv").stdout
    body = json.loads(run("clinical", "two.csv", "--threshold", "0.2", "--json").stdout)
    assert body["net_benefit"]["thresholds"] == [0.2]
    assert "Brier skill score" in run("verification", "two.csv").stdout
    body = json.loads(
        run("verification", "three.csv", "--climatology", "0.5,0.3,0.2", "--json").stdout
    )
    assert body["climatology"] == [0.5, 0.3, 0.2]
    refused = run("clinical", "two.csv", "--threshold", "40")
    assert "Usage: calibrant clinical FILE [OPTIONS]" in refused.stderr
    assert "--threshold: must be between 0 and 1; found 40." in refused.stderr
    refused = run("verification", "two.csv", "--climatology", "many")
    assert refused.exit_code == 2
    assert "must be numbers, separated by commas; found 'many'." in refused.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("plot two.csv --kind flexible", "Flexible calibration curve"),
        ("plot two.csv --kind decision", "The net benefit is above"),
        ("plot two.csv --style attributes", "bins"),
    ],
)
def test_pictures_of_clinicians_and_forecasters(words, text, files, monkeypatch, tmp_path):
    monkeypatch.chdir(files)
    result = run(*words.split(), "--resamples", "99", "-o", tmp_path / "picture.html")
    assert result.exit_code == 0, result.output
    assert text in result.stdout


def test_pictures_that_cannot_be_drawn_are_refused(files, monkeypatch, tmp_path):
    monkeypatch.chdir(files)
    out = "-o", str(tmp_path / "a.png")
    result = run("plot", "three.csv", "--kind", "decision", *out)
    assert "must name the event for --kind decision: class:NAME." in result.stderr
    result = run("plot", "three.csv", "other.csv", "--kind", "flexible", *out)
    assert "flexible shows one model; found 2." in result.stderr
