"""Sums over rows that several statistics share: each gets what it would get alone."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import engine, lenses, partitions, resampling, statistics
from calibrant.calibration import View
from calibrant.engine import threads
from calibrant.engine.arrays import Replicates
from calibrant.inference.replicates.problem import Plan
from calibrant.statistics.statistic import Drawn, Summed, add_up, batches, counts_of

WHOLE = statistics.ExpectedMiscalibration(partitions.EqualWidth(1))
TOGETHER = (
    statistics.KernelMiscalibration(0.1, form="low-rank", rank=8),
    statistics.Surprise(),
    WHOLE,
    statistics.WorstClass(),
)


def problem(n=1500, m=5, *, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(m), n)
    labels = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    weights = rng.integers(0, 4, n) * 0.7 if weighted else None
    return cal.Predictions(probs, labels, weights=weights)


def nulls(data, some, **settings):
    found = cal.evaluate(data, statistics=some, n_resamples=40, rng=1, **settings)
    return [(row.value, row.null.tobytes()) for row in found.rows]


@pytest.mark.parametrize("count", ["1", "3"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [5, 40])
def test_together_as_alone(monkeypatch, count, weighted, m):
    data = problem(m=m, weighted=weighted)
    asked = {"lenses": [lenses.Canonical(), lenses.TopK(2)]}
    monkeypatch.setenv("CALIBRANT_THREADS", "1")
    alone = [nulls(data, one, **asked) for one in TOGETHER]
    monkeypatch.setenv("CALIBRANT_THREADS", count)
    assert nulls(data, TOGETHER, **asked) == [
        row for rows in zip(*alone, strict=True) for row in rows
    ]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_pass_gives_what_data_sets_give(weighted):
    data = problem(200, 4, weighted=weighted)
    drawn = [resampling.Exact().draw(data, cal.checks.parameters.make_key(1), b) for b in range(3)]
    for statistic in TOGETHER:
        found = cal.calibration_test(data, statistic, n_resamples=3, rng=1)
        assert found.statistic == pytest.approx(statistic(data), rel=1e-13)
        expected = [statistic(one) for one in drawn]
        assert found.null == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_labels_are_drawn_once_for_all(monkeypatch):
    data, asked = problem(600), []
    draw = engine.draws.draw_rows
    count = lambda *args: asked.append(args[1].size * args[2].size) or draw(*args)  # noqa: E731
    monkeypatch.setattr(engine.draws, "draw_rows", count)
    nulls(data, TOGETHER, lenses="canonical")
    assert sum(asked) == 600 * 40
    monkeypatch.setattr(engine.null, "null_totals", None)  # nothing is drawn beside them
    monkeypatch.setattr(engine.null, "add_counts", None)
    nulls(data, TOGETHER, lenses="canonical")


def test_the_data_come_after_the_replicates():
    data = problem(300)
    plan = Plan.of(data, resampling.Exact(), 5, 0, None)
    of = plan.look(data, lenses.Canonical())
    counts = counts_of(of.view)
    assert counts_of(of.view) is counts
    ((found,),) = add_up([counts], Drawn(of.draws.drawing, Replicates(0, 5), data.labels))
    ((alone,),) = add_up([counts], Drawn(of.draws.drawing, Replicates(0, 5)))
    assert (found[:, :-1] == alone).all()
    assert (found[:, -1] == np.bincount(data.labels, minlength=data.m)).all()


def test_statistics_of_sums_take_any_block():
    data = problem(300)
    for statistic in TOGETHER:
        prepared = statistic.prepare(View.of(data))
        assert isinstance(prepared, Summed)
        block = cal.calibration.observed(data)
        assert prepared(block).shape == (1,)
        assert len(list(batches(block, 3))) == 1


def test_progress_is_told_by_rows(monkeypatch):
    monkeypatch.setenv("CALIBRANT_THREADS", "1")
    progress = []
    data = problem(5000)
    cal.evaluate(
        data,
        statistics=TOGETHER[0],
        lenses="canonical",
        n_resamples=50,
        rng=0,
        progress=lambda *done: progress.append(done),
    )
    assert len(progress) >= 5000 // 512
    assert progress == sorted(progress)
    assert progress[-1][0] == progress[-1][1]


@pytest.mark.parametrize("count", ["1", "2", "5"])
def test_threads_fold_all_spans(monkeypatch, count):
    monkeypatch.setenv("CALIBRANT_THREADS", count)
    progress = []
    states = threads.fold(
        list,
        lambda mine, *span: mine.append(span),
        threads.blocks(20, 3),
        lambda *done: progress.append(done),
    )
    assert sorted(span for state in states for span in state) == threads.blocks(20, 3)
    assert len(states) <= int(count)
    assert progress == sorted(progress)
    with pytest.raises(ZeroDivisionError):
        threads.fold(list, lambda *_: 1 / 0, threads.blocks(20, 3))
