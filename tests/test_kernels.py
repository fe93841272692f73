"""Each compiled loop against the same in NumPy or plain Python."""

import threading
from hashlib import sha256
from math import fsum
from pathlib import Path

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from calibrant import engine
from calibrant.checks import arrays
from calibrant.engine import aligned, threads
from calibrant.partitions import grid

RNG = np.random.default_rng(0)


def test_unknown_kernels_are_refused():
    with pytest.raises(AttributeError, match=r"module 'calibrant\.engine' has no attribute 'fast'"):
        engine.fast  # noqa: B018


def test_stored_machine_code_is_named_after_all_sources():
    jit = engine.cells.sort
    folder = Path(engine.__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    assert jit.py_func.__qualname__ == f"sort_{sha256(sources).hexdigest()[:12]}"


def intervals(p, k):
    """Return the interval of each number."""
    keys = np.zeros((len(p), 1), np.uint64)
    engine.grid.box_keys(np.array(p)[:, None], 0, 1, grid.edges(k), 1, keys)
    return keys[:, 0].tolist()


@given(st.lists(st.floats(0, 1), min_size=1), st.integers(1, 200))
def test_interval(p, k):
    assert intervals(p, k) == [oracles.interval(x, k) for x in p]


def test_interval_on_and_beside_every_edge():
    for k in range(1, 400):
        edges = np.arange(k + 1) / k
        for p in (np.nextafter(edges, -1).clip(0), edges, np.nextafter(edges, 2).clip(max=1)):
            expected = (np.searchsorted(edges, p, side="right") - 1).clip(max=k - 1)
            assert intervals(p, k) == expected.tolist()


BIG = st.integers(0, 2**64 - 1)


@given(st.integers(1, 4).flatmap(lambda w: st.lists(st.tuples(*w * [st.integers(0, 2) | BIG]))))
def test_equal_keys_have_one_rank(keys):
    width = len(keys[0]) if keys else 1
    found, ranks = grid.ranked(np.array(keys, np.uint64).reshape(-1, width))
    different = sorted(set(keys))
    assert [tuple(key) for key in found.tolist()] == different
    assert ranks.tolist() == [different.index(key) for key in keys]


def test_many_keys_have_different_ranks():
    keys = np.arange(20_000, dtype=np.uint64)[::-1, None] << np.uint64(40)
    found, ranks = grid.ranked(keys)
    np.testing.assert_array_equal(ranks, np.arange(20_000)[::-1])
    np.testing.assert_array_equal(found, keys[::-1])


@pytest.mark.parametrize("base", [1, 2, 3, 10, 999, 2**31, 2**33])
def test_digits_fit_into_words(base):
    per_word, keys = grid.empty_keys(3, 7, base)
    assert base**per_word <= 2**64
    assert keys.shape[1] * per_word >= 7
    assert not keys.any()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_sort_is_stable(values):
    cells = np.array(oracles.ranked(values), np.int32)
    starts = np.zeros(cells.max() + 3, np.int64)
    rows = np.empty(cells.size, np.int32)
    engine.cells.sort(cells, starts, rows)
    assert rows.tolist() == np.argsort(cells, kind="stable").tolist()
    assert starts[:-1].tolist() == [0, *np.bincount(cells).cumsum().tolist()]


def by_cell(data, k=3):
    """Return the rows sorted by cell, where each cell begins, and the oracle's sums."""
    cells = np.array(oracles.equal_width(data, k), np.int32)
    starts = np.zeros(cells.max() + 3, np.int64)
    rows = np.empty(data.n, np.int32)
    engine.cells.sort(cells, starts, rows)
    return rows, starts[:-1], oracles.cell_table(data, cells.tolist())


@given(problems())
def test_summaries(data):
    rows, starts, table = by_cell(data)
    count = starts.size - 1
    predicted, observed = RNG.random((2, count, data.m))  # what was there before is forgotten
    cells = np.empty((3, count))
    common = (data.probs, data.labels, *data.kernel_weights, rows, starts)
    engine.cells.summaries(*common, 0, count, predicted, observed, 1, cells)
    for c in range(count):
        nothing = (0.0, [0.0] * data.m, [0.0] * data.m)
        total, p, o = table.get(c, nothing)
        assert cells[0, c] == total
        # A dozen additions of numbers below 1, each rounded once.
        mass = total or 1.0
        np.testing.assert_allclose(predicted[c] / mass, p, atol=1e-14)
        np.testing.assert_allclose(observed[c] / mass, o, atol=1e-14)
        gap = [a - b for a, b in zip(o, p, strict=True)]
        assert cells[1, c] == pytest.approx(fsum(map(abs, gap)), abs=1e-13)
        assert cells[2, c] == pytest.approx(fsum(d * d for d in gap), abs=1e-13)


@given(problems(), st.data())
def test_summaries_of_some_cells_without_their_tables(data, draw):
    rows, starts, _ = by_cell(data)
    count = starts.size - 1
    first = draw.draw(st.integers(0, count - 1))
    last = draw.draw(st.integers(first + 1, count))
    common = (data.probs, data.labels, *data.kernel_weights, rows, starts)
    whole, part = np.zeros((2, 3, count))
    engine.cells.summaries(*common, 0, count, *np.empty((2, count, data.m)), 1, whole)
    engine.cells.summaries(*common, first, last, *np.empty((2, 1, data.m)), 0, part)
    np.testing.assert_array_equal(part[:, first:last], whole[:, first:last])
    assert not part[:, :first].any()
    assert not part[:, last:].any()


@given(problems())
def test_groups(data):
    group_of = np.arange(data.m, dtype=np.int32) % 2
    out = np.empty((data.n, 2), data.probs.dtype)
    engine.lens.group(data.probs, 0, data.n, group_of, np.empty(out.shape[1]), out)
    expected = [[fsum(p[0::2]), fsum(p[1::2])] for p in data.probs.tolist()]
    np.testing.assert_allclose(out, expected, rtol=2 * np.finfo(out.dtype).eps)


@pytest.mark.parametrize("shape", [1, 7, (3, 5), (2, 1000)])
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8])
def test_room_begins_with_a_cache_line(shape, dtype):
    found = [aligned.zeros(shape, dtype) for _ in range(20)]
    for array in found:
        assert array.ctypes.data % 64 == 0
        assert array.dtype == dtype
        assert array.shape == np.zeros(shape).shape
        assert array.flags.c_contiguous
        assert (array == 0).all()
        array[...] = 1  # they share no memory
    assert all((array == 1).all() for array in found)


# Threads


@given(st.integers(0, 1000), st.integers(1, 300))
def test_blocks_cover_everything_once(total, size):
    spans = threads.blocks(total, size)
    assert [i for start, stop in spans for i in range(start, stop)] == list(range(total))
    assert all(stop - start <= size for start, stop in spans)


def test_row_blocks_are_at_least_one_row():
    assert threads.row_blocks((3, 10**7)) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5", " "])
def test_refuses_a_bad_number_of_threads(monkeypatch, asked):
    monkeypatch.setenv("CALIBRANT_THREADS", asked)
    with pytest.raises(
        ValueError, match=rf"`CALIBRANT_THREADS` must be a whole number from 1; found '{asked}'"
    ):
        threads.count()


def test_the_number_of_threads(monkeypatch):
    monkeypatch.delenv("CALIBRANT_THREADS", raising=False)
    assert threads.count() >= 1
    monkeypatch.setenv("CALIBRANT_THREADS", "3")
    assert threads.count() == 3


@pytest.mark.parametrize("count", ["1", "2"])
def test_work_is_done_once_by_the_threads_that_were_asked_for(monkeypatch, count):
    monkeypatch.setenv("CALIBRANT_THREADS", count)
    done, names = [], set()

    def work(start, stop):
        done.append((start, stop))
        names.add(threading.current_thread())

    threads.run(work, threads.blocks(100, 7))
    assert sorted(done) == threads.blocks(100, 7)
    assert (threading.main_thread() in names) == (count == "1")
    assert len(names) <= int(count)


@pytest.mark.parametrize("count", ["1", "2"])
def test_errors_come_out_of_threads(monkeypatch, count):
    monkeypatch.setenv("CALIBRANT_THREADS", count)

    def work(start, _):
        if start == 14:
            raise ZeroDivisionError("row 14")

    with pytest.raises(ZeroDivisionError, match="row 14"):
        threads.run(work, threads.blocks(100, 7))


def test_tolerances_cover_the_rounding_they_are_for():
    half_ulp, bfloat16_half_ulp = np.finfo(np.float16).eps / 2, 2.0**-9
    assert half_ulp < arrays.TOLERANCE
    assert bfloat16_half_ulp < arrays.BFLOAT16_TOLERANCE
