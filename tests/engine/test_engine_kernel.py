"""Kernels take what they declare, refuse the rest, and do in Python what the library does."""

import gc
import inspect
import threading
from pathlib import Path

import numpy as np
import pytest
import recorded

from calibrant import Predictions, engine
from calibrant.engine.arrays import Order, Replicates, Source
from calibrant.engine.kernel import Declared, Kernel, f8, flatten, i8, kernel

FOLDER = Path(engine.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py") if path.stem != "build")
KERNELS = {
    value.name: value
    for module in MODULES
    for value in vars(getattr(engine, module)).values()
    if isinstance(value, Kernel)
}


@pytest.fixture(scope="module")
def calls():
    return recorded.calls()


def test_unknown_modules_are_refused():
    with pytest.raises(AttributeError, match=r"module 'calibrant\.engine' has no attribute 'fast'"):
        engine.fast  # noqa: B018


def test_every_module_can_be_named():
    for name in MODULES:
        assert getattr(engine, name).__name__ == f"calibrant.engine.{name}"


def test_kernels_that_take_whole_numbers_are_private():
    """What others can reach looks at indices; a compiled loop does not."""
    assert len(KERNELS) > 50
    for name, found in KERNELS.items():
        if not name.partition(".")[2].startswith("_"):
            assert {kind for leaf in found.leaves for kind in leaf.types} <= {"f4", "f8"}


def test_every_kernel_is_called_by_what_is_recorded(calls):
    assert set(calls) == set(KERNELS)


def bits(argument):
    if isinstance(argument, np.ndarray):
        return argument.tobytes()
    return [bits(part) for part in argument] if isinstance(argument, tuple) else argument


def in_python(kernel, types, arguments):
    """Run a kernel as the Python that it is; None becomes an array without entries."""
    chosen = iter(zip(kernel.leaves, types, strict=True))

    def filled(argument):
        if isinstance(argument, tuple):
            parts = [filled(part) for part in argument]
            return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
        leaf, name = next(chosen)
        if argument is None:
            return np.empty((0,) * len(leaf.shape), name)
        if isinstance(argument, np.ndarray) or leaf.types != ("f8",):
            return argument
        return np.float64(argument)

    with np.errstate(all="ignore"):
        return kernel.function(*filled(arguments))


@pytest.mark.parametrize("name", KERNELS)
def test_the_library_does_what_python_does(calls, name):
    """For every choice of types, each number that is returned or written has the same bits."""
    found, kept = calls[name]
    for symbol, types in found.variants.items():
        for arguments in kept:
            with np.errstate(over="ignore"):  # what is too large for the narrow type is infinite
                ours, theirs = (recorded.copied(arguments, types) for _ in range(2))
            assert found(*ours) == in_python(found, types, theirs), symbol
            assert bits(ours) == bits(theirs), symbol


@pytest.mark.parametrize("name", KERNELS)
def test_lengths_that_do_not_fit_are_refused(calls, name):
    """An array that is cut short along an axis whose length another one has, too."""
    found, kept = calls[name]
    values = []
    flatten(kept[0], values)
    pairs = zip(found.leaves, values, strict=True)
    there = [leaf for leaf, value in pairs if value is not None]
    names = [length for each in there for length in each.shape or ()]
    for k, (leaf, value) in enumerate(zip(found.leaves, values, strict=True)):
        for axis, length in enumerate(leaf.shape or ()):
            shared = length.isdigit() or (length != "_" and names.count(length) > 1)
            if shared and value is not None and value.shape[axis] > 0:
                short = np.ascontiguousarray(np.delete(value, 0, axis))
                with pytest.raises(TypeError, match="must be an array of "):
                    run_flat(found, [*values[:k], short, *values[k + 1 :]])


def run_flat(kernel, values):
    """Call a kernel with its numbers and arrays one after the other."""
    refused, found = kernel._run(values)
    if refused:
        kernel._refuse(refused - 1, kernel._converted(values))
    return found


def test_arrays_are_converted_where_nothing_is_lost():
    edges = engine.grid.edges(4)
    probs = np.array([[0.1, 0.9], [0.6, 0.4]])
    others = [np.repeat(probs, 2, axis=1)[:, ::2], np.asfortranarray(probs), probs[::-1][::-1]]
    unaligned = np.zeros(probs.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(2, 2)
    unaligned[...] = probs
    for each in (probs, *others, unaligned, probs.astype(">f8")):
        assert engine.grid.intervals(each, 1, edges)[0].tolist() == [3, 1]


@pytest.mark.parametrize(
    ("probs", "found"),
    [
        (np.ones((2, 2), int), r"found int64 \(2, 2\)"),
        (np.ones((2, 2), np.longdouble), r"found \w+ \(2, 2\)"),
        (np.ones((2, 2), object), r"found object \(2, 2\)"),
        (np.ones((2, 2, 2)), r"found float64 \(2, 2, 2\)"),
    ],
)
def test_arrays_of_other_types_are_refused(probs, found):
    expected = rf"`probs` must be an array of float32 or float64 and shape \(n, m\); {found}"
    with pytest.raises(TypeError, match=expected):
        engine.grid.intervals(probs, 1, engine.grid.edges(4))


@pytest.mark.parametrize("column", [1.0, "1", None, 2**63])
def test_numbers_of_other_types_are_refused(column):
    probs, cells, seen = np.ones((2, 2)), np.zeros(2, np.int32), np.zeros(4, bool)
    with pytest.raises(TypeError, match="`column` must be a number of int64; found"):
        engine.grid._intervals(probs, column, engine.grid.edges(4), (0, 2), cells, seen)


def test_what_cannot_be_written_to_is_refused():
    probs, cells, seen = np.ones((2, 2)), np.zeros(2, np.int32), np.zeros(4, bool)
    cells.flags.writeable = False
    with pytest.raises(TypeError, match="`cells` must be an array of int32"):
        engine.grid._intervals(probs, 1, engine.grid.edges(4), (0, 2), cells, seen)


def test_narrow_and_wide_arguments_become_wide():
    """Rows of float32 that draw from float64, and outcomes that a byte cannot number."""
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(300), 20), rng.integers(0, 300, 20)
    order = engine.sums.sort_rows(np.arange(20, dtype=np.int32) % 3, 3)
    table = np.arange(300)[None]
    found = []
    for rows, source, row_type, outcome_type in [
        (np.float64, np.float64, np.int64, np.int32),
        (np.float64, np.float64, np.int32, np.uint16),
        (np.float32, np.float64, np.int32, np.int64),
    ]:
        data = Predictions(probs.astype(rows), labels).rows
        some = Order(order.rows.astype(row_type), order.starts)
        drawn = Source(probs.astype(source), table.astype(outcome_type), np.uint64(7), 0)
        found.append(engine.null.cell_counts(data, some, drawn, Replicates(0, 4), (0, 3)))
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_kernels_let_other_threads_run():
    """A second thread counts while the first is in one long call."""
    done = threading.Event()
    probs = np.random.default_rng(0).dirichlet(np.ones(30), 3000)
    points = engine.pairs.Points(probs, np.ones(3000))
    chosen = engine.pairs.KernelSum(0, 0, np.ones(1))
    pairs = engine.pairs.Pairs.of(points, np.ascontiguousarray(probs.T), chosen)

    def work():
        engine.pairs._spread(pairs, *np.zeros((3, 3000)))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    turns = 0
    while not done.wait(0.001):
        turns += 1
    thread.join()
    assert turns > 3


def test_arguments_are_let_go():
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 10)
    before = [len(gc.get_referrers(probs)), np.iinfo(np.int64).max]
    for _ in range(3):
        engine.rows.check(probs, 1e-6, 1e-3)
    assert len(gc.get_referrers(probs)) <= before[0]


def test_names_of_leaves_and_variants():
    @kernel(Order, (i8, f8["n"]), Declared(("f4", "f8"), "real")["n 2"], returns=f8)
    def walked(order, pair, probs):  # noqa: ARG001
        return 0.0

    assert [leaf.name for leaf in walked.leaves] == [
        *("order.rows", "order.starts", "pair[0]", "pair[1]", "probs"),
    ]
    endings = [symbol.rpartition("walked_")[2] for symbol in walked.variants]
    assert endings == ["i4_f4", "i4_f8", "i8_f4", "i8_f8"]


def test_helpers_are_plain_functions():
    """Called from Python they run, and give what the compiled ones give."""
    draws, sums, grid = engine.draws, engine.sums, engine.grid
    assert sums.cut(0.75) == (0.75, 0.0, 0.0)
    assert grid.interval(0.35, grid.edges(10)) == 3
    assert draws.reached(np.int64(5), np.array([1, 4, 9])) == 2
    assert engine.tree.extreme(np.array([0.2, 0.7, 0.1]), 0, 3, -1.0) == 0.1
    assert inspect.isfunction(sums.cut)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_thresholds_in_python_are_those_of_the_compiled_loop(dtype):
    probs = np.random.default_rng(0).dirichlet(np.ones(5), 20).astype(dtype)
    expected = engine.draws.event_cuts(probs, np.array([2]))
    for i in range(20):
        cuts = engine.draws.thresholds_scratch(5)
        engine.draws.thresholds(probs, i, cuts)
        assert cuts[1:3].tolist() == expected[i].tolist()
