import ast
import importlib
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

import calibrant
from calibrant import distances, lenses, partitions, scores, statistics

HEAVY = {"numba", "llvmlite", "matplotlib", "jinja2", "typer", "rich"}
HEAVY |= {"narwhals", "polars", "pandas", "pyarrow", "torch", "scipy", "sklearn"}
FOREIGN = ("calibrant.device.", "calibrant.engine.build")  # torch, numba
FOREIGN += ("calibrant.lightning", "calibrant.torch", "calibrant.transformers")


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_importing_loads_nothing_heavy():
    code = "import sys, calibrant; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = set(run(code).split())
    assert "calibrant" in loaded
    assert not loaded & (HEAVY | {"numpy"})


def test_naming_everything_loads_nothing_heavy():
    code = """
import sys, calibrant
for name in calibrant.__all__:
    getattr(calibrant, name)
print(*sorted({name.split('.')[0] for name in sys.modules}))
"""
    loaded = set(run(code).split())
    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_importing_a_module_does_not_hide_a_function():
    code = """
import calibrant, calibrant.reporting, calibrant.loading, calibrant.diagrams, calibrant.inference
print(callable(calibrant.report), callable(calibrant.load), "report" in dir(calibrant))
"""
    assert run(code).split() == ["True"] * 3


def test_arrays_need_no_frame_library():
    code = """
import sys
from calibrant import Predictions
Predictions([0.5, 0.25], [0, 1])
print(*sorted({name.split('.')[0] for name in sys.modules}))
"""
    assert not set(run(code).split()) & {"narwhals", "polars", "pandas", "pyarrow", "torch"}


def public_modules():
    found = [getattr(calibrant, name) for name in calibrant.__all__]
    return [calibrant, *(each for each in found if inspect.ismodule(each))]


@pytest.mark.parametrize("module", public_modules(), ids=lambda module: module.__name__)
def test_what_is_public_is_shown_and_nothing_else(module):
    assert sorted(module.__all__) == sorted(set(module.__all__))
    assert all(hasattr(module, name) for name in module.__all__)
    shown = [name for name in dir(module) if not name.startswith("_")]
    assert shown == sorted(module.__all__)


def test_scikit_learn_s_part_shows_its_public_names():
    pytest.importorskip("sklearn")
    names = ["CalibrationScorer", "Recalibrated", "ReliabilityDisplay"]
    assert dir(importlib.import_module("calibrant.sklearn")) == names


def test_types_are_those_that_users_give():
    """One run of mypy, which keeps what it knows of the package for the next."""
    pytest.importorskip("mypy")
    check = [sys.executable, "-m", "mypy", str(ROOT / "tests" / "typed_calls.py")]
    done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Success"), done.stdout
    importlib.import_module("typed_calls")  # and the calls work


def test_type_checkers_know_the_public_names_and_no_others():
    tree = ast.parse(Path(calibrant.__file__).read_text())
    (known,) = (node for node in tree.body if ast.unparse(node).startswith("if TYPE_CHECKING"))
    names = {(one.module, alias.name) for one in known.body for alias in one.names}
    assert sorted(name for _, name in names) == sorted(calibrant.__all__)
    for module, name in names:  # and the homes are the same
        owner = importlib.import_module(module)
        assert getattr(owner, name) is getattr(calibrant, name)


def test_the_names_of_the_map():
    wanted = {
        lenses: "Canonical TopLabel TopK Marginal Groups Pooled Induced",
        partitions: "EqualWidth SimplexBins EqualMass VarianceTree",
        distances: "total_variation euclidean squared_euclidean",
        statistics: "ExpectedMiscalibration WorstMiscalibration",
        scores: "log_score brier_score spherical_score accuracy",
        calibrant: "Predictions calibration_function CalibrationFunction",
    }
    for module, names in wanted.items():
        assert not [name for name in names.split() if not hasattr(module, name)]


def test_no_public_name_looks_like_a_test():
    for module in (calibrant, lenses, partitions, distances, statistics, scores):
        assert not [name for name in vars(module) if name.lower().startswith("test")]


def test_every_module_and_every_public_function_has_a_docstring():
    for info in pkgutil.walk_packages(calibrant.__path__, "calibrant."):
        if info.name.startswith(FOREIGN):
            source = Path(importlib.util.find_spec(info.name).origin).read_text()
            assert ast.get_docstring(ast.parse(source)), info.name
        else:
            assert importlib.import_module(info.name).__doc__, info.name
    for module in (calibrant, lenses, partitions):
        assert all(getattr(module, name).__doc__ for name in module.__all__)


def test_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert calibrant.__version__ == version("calibrant")


def test_types_are_shipped():
    from importlib.resources import files

    assert files("calibrant").joinpath("py.typed").is_file()
