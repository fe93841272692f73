"""Machine code that was built ahead: that it is taken, for what, and that bits are numba's."""

import ctypes
import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import signatures
from calibrant import engine
from calibrant.engine import ahead, built, flat
from calibrant.engine.compile import DIGEST, SIGNATURES
from calibrant.engine.tuples import Order

BUILT = built.index(built.FOLDER, DIGEST)


def bits(argument):
    if isinstance(argument, np.ndarray):
        return argument.tobytes()
    return [bits(part) for part in argument] if isinstance(argument, tuple) else argument


@pytest.fixture(scope="module")
def calls():
    return signatures.calls()


def test_code_was_built_for_these_kernels():
    """`make test` builds it, and so does installing the package."""
    assert BUILT is not None
    listed = {f"{name} {words}" for name, found in BUILT.kernels.items() for words in found}
    assert listed == set(SIGNATURES.read_text().splitlines())


def test_ordinary_work_is_what_is_built(calls):
    """``python -m benchmarks.signatures`` writes the list again."""
    assert sorted(calls) == SIGNATURES.read_text().splitlines()


def test_bits_are_those_of_numba(calls):
    for line, (kernel, arguments) in calls.items():
        words, _ = flat.flatten(arguments)
        ours, theirs = signatures.copied(arguments), signatures.copied(arguments)
        returned = kernel.entries[words](flat.flatten(ours)[1])
        assert returned == kernel.compiled(*theirs), line
        assert bits(ours) == bits(theirs), line


def test_a_first_call_needs_no_numba():
    code = """
import sys
import numpy as np
import calibrant as cal
rng = np.random.default_rng(0)
for dtype in ("float32", "float64"):
    probs = rng.dirichlet(np.ones(4), 200).astype(dtype)
    cal.evaluate(cal.Predictions(probs, rng.integers(0, 4, 200)), n_resamples=19)
print("llvmlite" in sys.modules, "numba" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "False"]


def test_words_for_arguments():
    order = Order(np.zeros(3, np.int32), np.zeros(2, np.int64))
    words, values = flat.flatten((order, (1, 2.5), None, True, np.uint64(2**63)))
    assert " ".join(words) == "tuples.Order( <i4:1 <i8:1 ) ( i f ) - b u"
    addresses = [id(order.rows)] * 2 + [id(order.starts)] * 2
    assert values == [*addresses, 1, 2.5, True, 2**63]


@pytest.mark.parametrize(
    "argument",
    [
        np.zeros((4, 4)).T[1:],
        np.zeros(9, np.uint8)[1:].view(np.float64),
        np.float32(1.0),
        "text",
    ],
    ids=["not contiguous", "not aligned", "a float32 alone", "text"],
)
def test_other_arguments_have_no_word(argument):
    words, _ = flat.flatten((argument,))
    assert words == (flat.OTHER,)


def test_arguments_of_other_types_are_left_to_numba():
    edges = engine.grid.edges(4)
    probs = np.array([[0.1, 0.9], [0.6, 0.4]])
    strided = np.repeat(probs, 2, axis=1)[:, ::2]
    found = []
    for each in (probs, strided):
        cells, seen = np.zeros(2, np.int32), np.zeros(4, bool)
        engine.grid._intervals(each, 1, edges, (0, 2), cells, seen)
        found.append(cells.tolist())
    assert found == [[3, 1], [3, 1]]


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "0" * 12},
        {"triple": "m68k-unknown-linux-gnu"},
        {"levels": {"x86-64-v9": {"needs": ["avx", "a feature that nobody has"]}}},
        {"layout": 4},
        {"calls": ["exp", "a function that C does not have"]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_code_for_others_is_not_taken(tmp_path, change):
    index = json.loads((built.FOLDER / built.INDEX).read_text())
    (tmp_path / built.INDEX).write_text(json.dumps(index))
    assert built.index(tmp_path, DIGEST).kernels == BUILT.kernels
    built.index.cache_clear()
    (tmp_path / built.INDEX).write_text(json.dumps({**index, **change}))
    assert built.index(tmp_path, DIGEST) is None


def test_a_system_without_these_functions(tmp_path, monkeypatch):
    (tmp_path / built.INDEX).write_text((built.FOLDER / built.INDEX).read_text())
    monkeypatch.setattr(built, "C_LIBRARY", ("exp", "a function that C does not have"))
    assert built.index(tmp_path, DIGEST) is None


def test_versions_of_the_system_do_not_matter(monkeypatch):
    monkeypatch.setattr(built.llvm, "get_default_triple", lambda: "arm64-apple-darwin25.1.0")
    assert built.triple() == "arm64-apple-darwin"


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", None])
def test_an_index_that_cannot_be_read(tmp_path, text):
    if text is not None:
        (tmp_path / built.INDEX).write_text(text)
    assert built.index(tmp_path, DIGEST) is None


def test_the_best_level_that_the_processor_has_is_taken(tmp_path):
    index = json.loads((built.FOLDER / built.INDEX).read_text())
    mine = index["levels"][BUILT.folder.name]
    better = {**mine, "needs": ["a feature that nobody has"]}
    index["levels"] = {"better": better, "mine": mine, "worse": mine}
    (tmp_path / built.INDEX).write_text(json.dumps(index))
    assert built.index(tmp_path, DIGEST).folder == tmp_path / "mine"


@pytest.mark.parametrize("share", [0.5, 0.0, None], ids=["half", "empty", "none"])
def test_damaged_code_is_not_taken(tmp_path, monkeypatch, share):
    (tmp_path / built.INDEX).write_text((built.FOLDER / built.INDEX).read_text())
    if share is not None:
        code = (BUILT.folder / "grid.o").read_bytes()
        (tmp_path / BUILT.folder.name).mkdir()
        (tmp_path / BUILT.folder.name / "grid.o").write_bytes(code[: int(share * len(code))])
    assert built.entries("grid._intervals", DIGEST)
    monkeypatch.setattr(built, "FOLDER", tmp_path)
    assert built.entries("grid._intervals", DIGEST) == {}


def test_a_build_is_written_once(tmp_path, monkeypatch):
    """An interrupted build leaves no index; a finished one is left alone."""
    few = tmp_path / "signatures.txt"
    few.write_text("grid._intervals <f8:2 i <f8:1 ( i i ) <i4:1 |b1:1\n")
    monkeypatch.setattr(ahead, "SIGNATURES", few)
    folder = tmp_path / "machine"
    ahead.build(folder)
    built.index.cache_clear()
    found = built.index(folder, DIGEST)
    assert list(found.kernels) == ["grid._intervals"]
    before = (found.folder / "grid.o").stat().st_mtime_ns
    ahead.build(folder)
    assert (found.folder / "grid.o").stat().st_mtime_ns == before
    built.index.cache_clear()
    few.write_text("grid._no_such_kernel i\n")
    (folder / built.INDEX).write_text("{}")
    with pytest.raises(AttributeError, match="_no_such_kernel"):
        ahead.build(folder)
    assert not (folder / built.INDEX).exists()


def test_a_kernel_that_calls_python_is_not_built():
    module = ahead.llvm.parse_assembly(
        "declare void @numba_unpickle()\n"
        "define void @loop() {\n call void @numba_unpickle()\n ret void\n}"
    )
    with pytest.raises(RuntimeError, match="must do without numba_unpickle"):
        ahead.optimised(module, {"loop"}, "")


def test_a_loop_that_fails_says_so():
    failing = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: 1)
    entry = built._entry(ctypes.cast(failing, ctypes.c_void_p).value, "", "")
    with pytest.raises(RuntimeError, match="A compiled loop has failed"):
        entry([])
