"""The scripts of the gallery run, and what docs/diagrams.md shows is what they make."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "diagrams.md").read_text()
SCRIPTS = re.findall(r"\(\.\./examples/(\w+)\.py\)", PAGE)


def test_the_page_has_the_scripts():
    assert len(SCRIPTS) == len(set(SCRIPTS)) >= 5


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_make_their_pictures(name, tmp_path):
    script = ROOT / "examples" / f"{name}.py"
    assert len(script.read_text().splitlines()) < 40
    subprocess.run(
        [sys.executable, "-W", "error", script, tmp_path],
        check=True,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", SCRIPTS)
def test_pictures_are_in_the_documentation_and_small(name):
    assert f"(figures/{name}.png)" in PAGE
    assert (ROOT / "docs" / "figures" / f"{name}.png").stat().st_size < 150_000
