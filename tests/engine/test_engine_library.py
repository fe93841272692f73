"""The library of compiled loops: which one is taken, and how others are refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import calibrant
from calibrant.engine import library


@pytest.fixture
def folder(tmp_path):
    """Return a copy of what was built, to be damaged."""
    return Path(shutil.copytree(library.FOLDER, tmp_path / "machine"))


def change(folder, **values):
    path = folder / library.INDEX
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def levels(folder):
    return json.loads((folder / library.INDEX).read_text())["levels"]


def test_what_was_built_is_for_these_kernels(folder):
    """`make test` builds it, and so does installing the package."""
    assert library.choose(folder).parent == folder


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"digest": 3}'])
def test_an_index_that_cannot_be_read(folder, text):
    (folder / library.INDEX).write_text(text)
    with pytest.raises(ImportError, match=r"index\.json cannot be read \(.*\)\. Install calibrant"):
        library.choose(folder)


def test_no_index(tmp_path):
    with pytest.raises(ImportError, match=r"index\.json is missing: compiled loops were not built"):
        library.choose(tmp_path)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"digest": "0"}, "The kernels have changed since .* was built"),
        ({"machine": "Amiga m68k"}, "was built for Amiga m68k; this is "),
    ],
)
def test_libraries_of_others(folder, values, sentence):
    change(folder, **values)
    with pytest.raises(ImportError, match=sentence):
        library.choose(folder)


def test_the_best_level_that_the_processor_has_is_taken(folder):
    mine = levels(folder)[-1]
    better = {**mine, "file": "better.so", "needs": ["a feature that nobody has"]}
    change(folder, levels=[better, mine, {**mine, "file": "worse.so"}])
    assert library.choose(folder) == folder / mine["file"]
    change(folder, levels=[better])
    with pytest.raises(ImportError, match=r"processor lacks .* needs: a feature that nobody has"):
        library.choose(folder)


def halved(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path):
    code = bytearray(path.read_bytes())
    code[len(code) // 2] ^= 1
    path.write_bytes(code)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (halved, "is damaged"),
        (flipped, "is damaged"),
        (Path.unlink, r"cannot be read \(No such file"),
        (lambda path: path.write_bytes(b""), "is damaged"),
    ],
)
def test_a_damaged_library_is_refused_before_it_is_loaded(folder, damage, sentence):
    for level in levels(folder):
        damage(folder / level["file"])
    with pytest.raises(ImportError, match=rf"{sentence}.*Install calibrant again"):
        library.choose(folder)


def test_the_command_says_it_in_a_sentence(tmp_path):
    """A package whose library was cut off ends with a sentence, not with a signal."""
    package = tmp_path / "calibrant"
    shutil.copytree(Path(calibrant.__file__).parent, package)
    for path in (package / "engine" / "machine").glob("x86*"):
        halved(path)
    run = subprocess.run(
        [sys.executable, "-m", "calibrant", "demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "is damaged. Install calibrant again" in run.stderr
    assert "Traceback" not in run.stderr


def test_neither_numba_nor_llvm_is_loaded():
    code = """
import sys
import numpy as np
import calibrant as cal
rng = np.random.default_rng(0)
for dtype in ("float32", "float64"):
    probs = rng.dirichlet(np.ones(4), 200).astype(dtype)
    cal.evaluate(cal.Predictions(probs, rng.integers(0, 4, 200)), n_resamples=19)
print(sorted({"llvmlite", "numba"} & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]"]
