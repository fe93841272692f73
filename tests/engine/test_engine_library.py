"""The library of compiled loops: which one is taken, and how others are refused."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import calibrant
from calibrant.engine import library

CALL = """
import sys
import zipfile
from pathlib import Path
import numpy as np
from calibrant.engine import library, rows
library.FOLDER = Path(sys.argv[1])
try:
    print(rows.top_classes(np.array([[0.2, 0.8]]), 1).tolist())
except ImportError as error:
    print(error)
"""


@pytest.fixture
def folder(tmp_path):
    """Return a copy of what was built, to be damaged."""
    return Path(shutil.copytree(library.FOLDER, tmp_path / "machine"))


def index(folder):
    return json.loads((folder / library.INDEX).read_text())


def change(folder, **values):
    (folder / library.INDEX).write_text(json.dumps({**index(folder), **values}))


def call(folder):
    """Return what a process says that calls a kernel; a signal would end it."""
    run = subprocess.run(
        [sys.executable, "-c", CALL, str(folder)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run
    return run.stdout.strip()


def test_what_was_built_is_for_these_kernels(folder):
    """`make test` builds it, and so does installing the package."""
    assert library.choose(folder).parent == folder
    assert call(folder) == "[[1]]"


def flipped(where):
    def flip(path):
        code = bytearray(path.read_bytes())
        code[int(where * (len(code) - 1))] ^= 1
        path.write_bytes(code)

    return flip


def replaced(path):
    path.unlink()
    path.mkdir()


DAMAGED = {
    "cut in half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "cut by a byte": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "a bit of the head": flipped(0.00001),
    "a bit of the code": flipped(0.5),
    "the last bit": flipped(1.0),
    "empty": lambda path: path.write_bytes(b""),
    "a text": lambda path: path.write_text("import this\n"),
}
UNREADABLE = {"missing": Path.unlink, "a folder": replaced}


@pytest.mark.parametrize("how", [*DAMAGED, *UNREADABLE])
def test_a_damaged_library_is_refused_before_it_is_loaded(folder, how):
    for level in index(folder)["levels"]:
        (DAMAGED | UNREADABLE)[how](folder / level["file"])
    said = call(folder)
    assert said.startswith(str(folder))
    assert ("is damaged. " if how in DAMAGED else "cannot be read (") in said
    assert said.endswith(library.REMEDY)


def test_one_level_in_place_of_another_is_refused(folder):
    first, *others = (folder / level["file"] for level in index(folder)["levels"])
    for other in others:
        shutil.copy(other, first)
        assert "is damaged" in call(folder) or library.choose(folder) != first


TEXTS = {
    "empty": "",
    "half": '{"digest": "3", "mach',
    "no object": "[]",
    "nothing in it": "{}",
    "deep": "[" * 100_000,
    "no levels": '{"machine": "", "digest": "", "levels": []}',
    "levels of nothing": '{"machine": "", "digest": "", "levels": 3}',
    "a level without a file": '{"machine": "", "digest": "", "levels": [{"needs": []}]}',
    "needs of nothing": '{"machine": "", "digest": "", "levels": [{"file": "", "needs": 3}]}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_index_that_cannot_be_read(folder, text):
    (folder / library.INDEX).write_text(text)
    said = call(folder)
    assert said.startswith(f"{folder / library.INDEX} cannot be read (")
    assert said.endswith(library.REMEDY)


def test_an_index_of_bytes(folder):
    (folder / library.INDEX).write_bytes(b"\xff\xfe\0")
    assert "cannot be read (UnicodeDecodeError" in call(folder)


@pytest.mark.parametrize("damage", [shutil.rmtree, lambda path: (path / library.INDEX).unlink()])
def test_no_index(folder, damage):
    damage(folder)
    said = call(folder)
    assert "index.json is missing: compiled loops were not built. Install calibrant" in said


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"digest": "0"}, "The kernels have changed since {folder} was built. Install"),
        ({"machine": "Amiga m68k"}, "{folder} was built for Amiga m68k; this is "),
        ({"machine": 3}, "{folder} was built for 3; this is "),
    ],
)
def test_libraries_of_others(folder, values, sentence):
    change(folder, **values)
    assert call(folder).startswith(sentence.format(folder=folder))


def test_the_best_level_that_the_processor_has_is_taken(folder):
    mine = index(folder)["levels"][-1]
    better = {**mine, "file": "better.so", "needs": ["a feature that nobody has"]}
    change(folder, levels=[better, mine, {**mine, "file": "worse.so"}])
    assert library.choose(folder) == folder / mine["file"]
    change(folder, levels=[better])
    assert "The processor lacks what" in call(folder)
    with pytest.raises(ImportError, match=r"processor lacks .* needs: a feature that nobody has"):
        library.choose(folder)


def test_what_old_versions_of_numpy_do_not_name_is_known_by_what_they_do(folder, monkeypatch):
    """NumPy 2.0 knows AVX2, which no processor has without the others."""
    names = import_module("numpy._core._multiarray_umath").__cpu_features__
    for name in library.IMPLIED:
        monkeypatch.delitem(names, name, raising=False)
    needed = {**index(folder)["levels"][-1], "needs": ["AVX2", *library.IMPLIED]}
    change(folder, levels=[needed])
    for has in (True, False):
        monkeypatch.setitem(names, "AVX2", has)
        if has:
            assert library.choose(folder) == folder / needed["file"]
        else:
            with pytest.raises(ImportError, match="processor lacks"):
                library.choose(folder)


def test_the_command_says_it_in_a_sentence(tmp_path):
    """A package whose library was cut off ends with a sentence, not with a signal."""
    package = tmp_path / "calibrant"
    shutil.copytree(Path(calibrant.__file__).parent, package)
    for level in index(package / "engine" / "machine")["levels"]:
        DAMAGED["cut in half"](package / "engine" / "machine" / level["file"])
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
import zipfile
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


def test_every_byte_of_the_index_may_be_another(folder):
    """The libraries are still refused by name, or the right one is taken."""
    path = folder / library.INDEX
    content = path.read_bytes()
    right = library.choose(folder)
    files = {folder / level["file"] for level in index(folder)["levels"]}
    for at in range(len(content)):
        for other in (content[at] ^ 1, 0, 0xFF, ord('"')):
            path.write_bytes(content[:at] + bytes([other]) + content[at + 1 :])
            try:
                found = library.choose(folder)
            except library.LibraryError:
                continue
            assert found in files
    path.write_bytes(content)
    assert library.choose(folder) == right


def test_a_library_that_may_not_be_read(folder, monkeypatch):
    read = Path.read_bytes

    def refuse(self):
        if self.suffix != ".py":
            raise PermissionError(13, "Permission denied", str(self))
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(library.LibraryError, match=r"cannot be read \(Permission denied\)\. Inst"):
        library.choose(folder)


def test_a_package_in_an_archive_says_that_its_library_cannot_be_read(tmp_path):
    source = Path(calibrant.__file__).parent
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as archive:
        for file in source.rglob("*"):
            if file.suffix in (".py", ".json", ".css", ".js", ".html", ".j2"):
                archive.write(file, Path("calibrant") / file.relative_to(source))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import calibrant\n"
        "assert calibrant.__file__.startswith(sys.argv[1]), calibrant.__file__\n"
        "try:\n    calibrant.ece([0.25, 0.75], [0, 1])\n"
        "except ImportError as error:\n    print(error)\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "package.zip")]
    run = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "cannot be read" in run.stdout
    assert run.stdout.strip().endswith(library.REMEDY)
