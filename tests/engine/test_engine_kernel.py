"""Kernels: what they declare is what they take, and in Python they do the same."""

from pathlib import Path

import numpy as np
import pytest

from calibrant import engine
from calibrant.engine.kernel import Kernel


def test_unknown_modules_are_refused():
    with pytest.raises(AttributeError, match=r"module 'calibrant\.engine' has no attribute 'fast'"):
        engine.fast  # noqa: B018


def test_every_compiled_module_can_be_named():
    folder = Path(engine.__file__).parent
    others = {"__init__", "arrays", "build", "kernel", "library", "threads", "tuples"}
    assert {path.stem for path in folder.glob("*.py")} - others == set(engine.COMPILED)
    for name in engine.COMPILED:
        assert getattr(engine, name).__name__ == f"calibrant.engine.{name}"


def test_kernels_are_private():
    """What a user could reach checks its arguments; a compiled loop does not."""
    for name in engine.COMPILED:
        found = vars(getattr(engine, name))
        kernels = [key for key, value in found.items() if isinstance(value, Kernel)]
        assert all(key.startswith("_") for key in kernels), name


def test_helpers_are_plain_functions():
    """Called from Python they run, and give what the compiled ones give."""
    draws, sums, grid = engine.draws, engine.sums, engine.grid
    assert sums.cut(0.75) == (0.75, 0.0, 0.0)
    assert grid.interval(0.35, grid.edges(10)) == 3
    assert engine.resample.times_drawn(np.int64(5), np.array([1, 4, 9])) == 2
    assert engine.tree.extreme(np.array([0.2, 0.7, 0.1]), 0, 3, -1.0) == 0.1
    labels = np.array([0, 2, 1])
    draws.see(np.array([[5, 6, 7]]), 4, labels)
    assert labels.tolist() == [5, 7, 6]
    totals = engine.totals.Totals.zeros(2)
    norm = np.array([[0.5, 0.25], [0.0, 0.0], [4.0, 1.0]])
    engine.totals.collect(norm, 0.5, (0, 3), totals)
    assert totals.expected.tolist() == [[0.25, 0.125], [1.0, 0.5], [2.0, 0.5]]
    assert totals.worst.tolist() == [[0.5, 0.25], [2.0, 1.0], [4.0, 1.0]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_thresholds_in_python_are_those_of_the_compiled_loop(dtype):
    probs = np.random.default_rng(0).dirichlet(np.ones(5), 20).astype(dtype)
    expected = engine.cuts.event_cuts(probs, np.array([2]))
    for i in range(20):
        out = engine.draws.thresholds_room(5)
        engine.draws.thresholds(probs, i, out)
        assert out[1:3].tolist() == expected[i].tolist()
