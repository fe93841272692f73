"""Control characters of files are shown, not sent: to terminals, into tables and onto pages."""

import json
import re

import numpy as np
import polars as pl
import pytest
from command import run, write

from calibrant import Predictions, classwise, reliability_diagram
from calibrant.tables import html, text, visible

EVIL = "cat\x1b]0;owned\x07\x1b[2J\x9b31m\u202edog"
SHOWN = r"cat\u001b]0;owned\u0007\u001b[2J\u009b31m\u202edog"
ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
QUICK = ("--resamples", "19")


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "evil.csv", classes=(EVIL, "other"))


def test_what_is_visible_stays_and_what_is_not_becomes_so():
    assert visible("ä – ±\n", keep="\n") == "ä – ±\n"
    assert visible("a\tb\n\x7f\x85") == r"a\u0009b\u000a\u007f\u0085"
    assert visible(EVIL) == SHOWN
    assert visible("\udcff") == r"\udcff"


COMMANDS = {
    "evaluate": ("evaluate", "FILE", "--lens", "top", *QUICK),
    "a class": ("evaluate", "FILE", "--lens", "class:0", *QUICK),
    "test": ("test", "FILE", *QUICK),
    "recalibrate": ("recalibrate", "FILE", *QUICK),
    "power": ("power", "FILE", *QUICK),
    "json": ("evaluate", "FILE", "--json", *QUICK),
    "no such class": ("evaluate", "FILE", "--lens", "class:nobody"),
    "no such option": ("evaluate", "FILE", "--lens", "x\x1b[2J"),
    "no such column": ("evaluate", "FILE", "--label", "x\x1b[2J"),
    "no such file": ("evaluate", "x\x1b[2J.csv"),
    "groups": ("evaluate", "FILE", "--by", f"prob_{EVIL}", *QUICK),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_sends_them_to_a_terminal(path, name):
    words = [str(path) if word == "FILE" else word for word in COMMANDS[name]]
    found = run(*words)
    assert not ODD.search(found.output + found.stderr), found.output
    if name == "json":
        json.loads(found.stdout)


def test_a_file_with_such_a_name(tmp_path):
    path = write(tmp_path / f"{EVIL}.csv")
    for words in (["evaluate", path], ["plot", path, "-o", tmp_path / f"{EVIL}.html"]):
        found = run(*words, *QUICK)
        assert found.exit_code == 0, found.output
        assert not ODD.search(found.output)


def test_an_error_of_a_file_shows_them(tmp_path):
    (tmp_path / "x.csv").write_text("label,prob_a,prob_b\na\x1b[2J,0.5,0.5\nb,x\x1b[2Jy,0.5\n")
    found = run("evaluate", tmp_path / "x.csv")
    assert found.exit_code == 1
    assert not ODD.search(found.stderr)


@pytest.mark.parametrize("ending", ["html", "svg", "png"])
def test_pictures_show_them(path, tmp_path, ending):
    output = tmp_path / f"plot.{ending}"
    found = run("plot", path, "-o", output, "--lens", "class:0", *QUICK)
    assert found.exit_code == 0, found.output
    if ending != "png":
        assert not ODD.search(output.read_text("utf-8"))


def test_the_report_shows_them(tmp_path):
    path = write(tmp_path / "evil.csv", classes=(EVIL, "b", "c"))
    found = run("report", path, "-o", tmp_path / "r.html", *QUICK)
    assert found.exit_code == 0, found.output
    page = (tmp_path / "r.html").read_text("utf-8")
    assert not ODD.search(page)
    assert SHOWN in page
    assert not ODD.search(found.output)


def test_tables_show_them():
    rows = [[EVIL, "1"], ["b", "2"]]
    assert not ODD.search(text(["lens", "p\x1b"], rows) + html(["lens", "p\x1b"], rows))
    first, _, third, _ = text(["lens", "p"], rows).splitlines()
    assert len(first) == len(third)  # aligned by what is shown
    rng = np.random.default_rng(0)
    data = Predictions(
        rng.dirichlet([1, 1, 1], 60), rng.integers(0, 3, 60), classes=[EVIL, "b", "c"]
    )
    found = classwise(data, n_resamples=19, rng=0)
    assert not ODD.search(found.table() + found._repr_html_())


POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">')


def test_a_plot_has_the_policy_of_the_report(path, tmp_path):
    """Nothing is loaded from anywhere, and no script runs but the one whose digest is named."""
    policies = []
    for command, name in (("plot", "p.html"), ("report", "r.html")):
        run(command, path, "-o", tmp_path / name, *QUICK)
        policies.append(POLICY.search((tmp_path / name).read_text("utf-8"))[1])
    for policy in policies:
        assert "default-src &#39;none&#39;" in policy or "default-src 'none'" in policy
        assert "unsafe-eval" not in policy
    assert (
        len({re.sub(r"sha256-[^'&]+", "", policy).replace("&#39;", "'") for policy in policies})
        == 1
    )
    data = Predictions([0.2, 0.7, 0.6], [0, 1, 1])
    assert POLICY.search(reliability_diagram(data, n_resamples=19, rng=0).figure().html)


def test_parquet_names_too(tmp_path):
    frame = pl.DataFrame({"label": ["a", EVIL], "prob_a": [0.5, 0.25], f"prob_{EVIL}": [0.5, 0.75]})
    frame.write_parquet(tmp_path / "x.parquet")
    found = run("evaluate", tmp_path / "x.parquet", *QUICK)
    assert not ODD.search(found.output + found.stderr)
