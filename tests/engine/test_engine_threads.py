"""Blocks of work: every span is done once, by as many threads as were asked for."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.engine import threads


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
    assert threading.main_thread() in names or count == "2"
    assert len(names) <= int(count)
    assert not getattr(threads._here, "within", False)


def test_two_threads_work_at_the_same_time(monkeypatch):
    monkeypatch.setenv("CALIBRANT_THREADS", "2")
    both = threading.Barrier(2, timeout=60)
    threads.run(lambda *_: both.wait(), [(0, 1), (1, 2)])


@pytest.mark.parametrize("interrupted", [threading.main_thread, None])
def test_an_interrupt_ends_the_work(monkeypatch, interrupted):
    monkeypatch.setenv("CALIBRANT_THREADS", "2")
    both, done = threading.Barrier(2, timeout=60), []

    def work(start, _):
        if start < 2:  # the first span of each thread
            both.wait()
            is_main = threading.current_thread() is threading.main_thread()
            if is_main == (interrupted is not None):
                raise KeyboardInterrupt
        done.append(start)

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        threads.run(work, threads.blocks(10_000, 1))
    assert len(done) < 10_000
    assert threading.active_count() == before
    assert not getattr(threads._here, "within", False)


@pytest.mark.parametrize("count", ["1", "2"])
def test_errors_come_out_of_threads(monkeypatch, count):
    monkeypatch.setenv("CALIBRANT_THREADS", count)

    def work(start, _):
        if start == 14:
            raise ZeroDivisionError("row 14")

    with pytest.raises(ZeroDivisionError, match="row 14"):
        threads.run(work, threads.blocks(100, 7))


@given(st.integers(0, 1000), st.integers(1, 300), st.sampled_from(("1", "3", "64")))
def test_even_blocks_give_every_thread_work(total, most, count):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRANT_THREADS", count)
        spans = threads.even_blocks(total, most)
    assert [i for start, stop in spans for i in range(start, stop)] == list(range(total))
    assert all(stop - start <= most for start, stop in spans)
    assert len(spans) >= min(int(count), total) / 2  # the last ones may be left out by rounding


def test_few_numbers_are_not_worth_a_thread(monkeypatch):
    monkeypatch.setenv("CALIBRANT_THREADS", "4")
    assert threads.even_blocks(90, 1000, 100) == [(0, 90)]
    assert threads.even_blocks(150, 1000, 100) == [(0, 100), (100, 150)]
    assert len(threads.even_blocks(4000, 5000, 100)) == 4
    assert threads.even_blocks(20, 7, 100) == threads.blocks(20, 7)


@pytest.mark.parametrize("count", ["1", "2"])
def test_progress_is_told_after_every_span(monkeypatch, count):
    monkeypatch.setenv("CALIBRANT_THREADS", count)
    progress = []
    spans = threads.blocks(20, 7)
    threads.run(lambda *_: None, spans, lambda *done: progress.append(done))
    assert progress == [(7, 20), (14, 20), (20, 20)]
    progress.clear()
    threads.run_here(lambda *_: None, spans, lambda *done: progress.append(done))
    assert progress == [(7, 20), (14, 20), (20, 20)]


def test_work_within_a_block_has_no_threads_of_its_own(monkeypatch):
    monkeypatch.setenv("CALIBRANT_THREADS", "2")
    inner = []

    def work(*_):
        here = threading.current_thread()
        threads.run(lambda *_: inner.append(threading.current_thread() is here), [(0, 1), (1, 2)])

    threads.run(work, threads.blocks(4, 1))
    assert inner == [True] * 8


def test_no_work():
    threads.run(lambda *_: 1 / 0, [])
