"""Building the library: what is refused, and how a failure is told."""

import sys

import pytest

numba = pytest.importorskip("numba")  # builds the package, and does not come with it

from calibrant.engine import build, library  # noqa: E402
from calibrant.engine.kernel import f8, kernel, out  # noqa: E402


@kernel(f8["n"], out(f8["n"]), f8, returns=f8)
def _scaled(x, y, scale):
    for i in range(x.shape[0]):
        y[i] = scale * x[i]
    return scale


@kernel(f8["n"])
def _printed(x):
    print(x.shape[0])


def test_a_kernel_becomes_machine_code(tmp_path):
    (symbol,) = _scaled.variants
    code = build.optimised(build.Entry(_scaled, symbol).compiled(), symbol, "")
    (tmp_path / "scaled.o").write_bytes(code)
    path = build.link([tmp_path / "scaled.o"], tmp_path / "scaled.so")
    assert symbol.encode() in path.read_bytes()


def test_a_kernel_that_needs_python_is_not_built():
    (symbol,) = _printed.variants
    module = build.Entry(_printed, symbol).compiled()
    with pytest.raises(RuntimeError, match="_printed must do without "):
        build.optimised(module, symbol, "")


def test_a_linker_that_fails_is_quoted(tmp_path):
    with pytest.raises(RuntimeError, match=r"could not link kernels\.so:\n.*missing\.o"):
        build.link([tmp_path / "missing.o"], tmp_path / "kernels.so")


def test_without_a_linker(monkeypatch):
    monkeypatch.setattr(build, "find_spec", lambda _: None)
    monkeypatch.setenv("CC", "my-compiler")
    assert build.linker() == ["my-compiler"]
    monkeypatch.delenv("CC")
    monkeypatch.setattr(build.shutil, "which", lambda _: None)
    with pytest.raises(RuntimeError, match="A linker is needed: install ziglang, or a C compiler"):
        build.linker()


def test_what_was_built_is_left_alone():
    before = (library.FOLDER / library.INDEX).stat().st_mtime_ns
    build.build()
    assert (library.FOLDER / library.INDEX).stat().st_mtime_ns == before


def test_an_interrupted_build_leaves_no_index(tmp_path, monkeypatch):
    (tmp_path / library.INDEX).write_text("{}")
    monkeypatch.setattr(build, "compile_all", lambda _: sys.exit("interrupted"))
    with pytest.raises(SystemExit, match="interrupted"):
        build.build(tmp_path)
    assert not (tmp_path / library.INDEX).exists()
