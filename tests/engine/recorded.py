"""Calls of kernels, kept to be made again in other ways."""

import tempfile
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl

import calibrant as cal
from calibrant import engine, lenses, partitions, resampling, statistics
from calibrant.engine.arrays import Replicates, Source
from calibrant.engine.kernel import Kernel

FEW = {"n_resamples": 3, "rng": 0}
ON_CELLS = [
    statistics.ExpectedMiscalibration(partitions.EqualWidth(5)),
    statistics.ExpectedMiscalibration(partitions.VarianceTree(5)),
    statistics.WorstMiscalibration(partitions.SimplexBins(2)),
]
OF_ROWS = [
    statistics.KernelMiscalibration(),
    statistics.KernelMiscalibration(0.1),
    statistics.SquaredMiscalibration(partitions.VarianceTree(5)),
]
OF_EVENTS = [
    statistics.ExpectedMiscalibration(partitions.EqualMass(3)),
    statistics.Cox(),
    statistics.SmoothMiscalibration(),
    statistics.CutoffMiscalibration(),
    statistics.AveragedTwoBin(),
]


def problems():
    """Yield small problems of few and of many classes, with and without weights."""
    rng = np.random.default_rng(0)
    for (n, m), weighted in product([(30, 2), (30, 3), (12, 40)], (False, True)):
        probs = rng.dirichlet(np.ones(m), n)
        labels = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
        yield cal.Predictions(probs, labels, weights=rng.integers(1, 4, n) if weighted else None)


def work(data, folder):
    """Do what people do."""
    cal.evaluate(data, **FEW)
    cal.classwise(data, **FEW)
    for lens in (lenses.Canonical(), lenses.TopLabel(), lenses.Marginal(1)):
        of_events = OF_EVENTS if lens(data).m == 2 else []
        for statistic in (*ON_CELLS, *OF_ROWS, *of_events):
            cal.calibration_test(data, statistic, lens=lens, **FEW)
        cal.estimate(data, ON_CELLS[0], lens=lens, **FEW)
        again = {"resampler": resampling.Consistency(), **FEW}
        cal.calibration_test(data, ON_CELLS[0], lens=lens, **again)
    for lens in (lenses.TopK(1), lenses.Groups([[0], range(1, data.m)])):
        cal.evaluate(data, lenses=lens, statistics=ON_CELLS, **FEW)
    path = folder / "predictions.parquet"
    columns = {f"prob_{j}": data.probs[:, j] for j in range(data.m)}
    pl.DataFrame({**columns, "label": data.labels}).write_parquet(path)
    scanned = cal.scan(path)
    cal.classwise(scanned, **FEW)
    for lens, statistic in product((lenses.Canonical(), lenses.TopLabel()), ON_CELLS):
        cal.calibration_test(scanned, statistic, lens=lens, **FEW)


def work_with_few_rows(data):
    """Call functions of the engine that only more rows, or rarer settings, lead to."""
    rows, (n, m), key = data.rows, data.probs.shape, np.uint64(5)
    cells = (np.arange(n) % 4).astype(np.int32)
    order, p = engine.sums.sort_rows(cells, 4), np.ascontiguousarray(data.probs[:, 0])
    of_entries, offsets = np.zeros((n, m), np.uint8), 2 * np.arange(m + 1)
    engine.classes.class_sums(rows, of_entries, offsets, 4.0)
    tables = engine.sums.CellTables(np.zeros((4, m)), np.zeros((4, m)), 1)
    engine.sums.by_cell(rows, order, (0, 4), tables, engine.sums.CellNorms(*np.zeros((3, 4))))
    engine.rows.top_classes(data.probs, 2)
    engine.tree.grow(rows, (0, m), 5.0, medians=True)
    source = Source(data.probs, None, key, 0)
    engine.draws.draw_labels(source, Replicates(0, 3))
    engine.draws.draw_copies(source, cells, 1)
    engine.resample.poisson_times(n, 3, key, 2)
    engine.poisson_binomial.block_counts(p, 8)
    engine.poisson_binomial.power_sums(p, cells, 4)
    engine.poisson_binomial.add_values(p, cells, 4)
    events, mass = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]]), np.array([2.0, 3.0, 1.0])
    engine.line.pool(events, mass, np.ones((2, 3)), 0, engine.line.Pools.start(2))
    engine.poisson_binomial.reach(np.array([0.2, 0.7]), np.array([3, 2]), np.array([0.6, 2.0]), 1.2)
    engine.line.pair_sum(p, p)
    work_with_regions(n)


def work_with_regions(n):
    """Call what a search of regions calls."""
    layout = engine.regions.Layout.of([3, 2], [(0, 1)])
    codes = np.stack((np.arange(n) % 3, np.arange(n) % 2), axis=1).astype(np.uint8)
    for dtype in (np.int32, np.int64):
        values = (np.arange(3 * n).reshape(n, 3) % 5).astype(dtype)
        table = engine.regions.tables(codes, layout, values)
        engine.regions.accumulate(layout, table)
        corners = layout.corners(
            np.zeros(2, int), np.zeros((2, 2), int), np.array([[3, 2], [1, 1]])
        )
        family = engine.regions.Family(corners, np.array([9.5, 2.5]), np.array([0.5, 1.0]))
        engine.regions.step_down(family, np.array([2.0, 1.0]), table)


def work_with_kernels(data):
    """Call what a kernel statistic of many rows calls."""
    points = engine.pairs.Points(data.probs, np.ones(data.n))
    for kind, distance in product((0, 1), (0, 1)):
        chosen = engine.pairs.KernelSum(kind, distance, np.array([0.1, 0.4]))
        engine.pairs.spread(points, chosen)
        engine.median.median_distance(points, distance)
        engine.median._next(points, distance, 0)
    marks = engine.landmarks.place(data.probs[:5], chosen)
    unit = engine.landmarks.unit_for(points.weights, chosen)
    seen = engine.landmarks.see(points, marks, chosen, unit)
    outcomes = np.stack([data.labels, data.labels[::-1]], axis=1)
    sums = np.zeros((2, *marks.columns.shape), np.int64)
    engine.landmarks.hashes(data.probs, 3)
    engine.landmarks.add_features(seen.units, outcomes, sums)
    engine.landmarks.add_own(points, seen.own, outcomes, 2.0**40, np.zeros(2, np.int64))
    expected = engine.landmarks.expected(data.probs, seen.units)
    engine.landmarks.squared_lengths(sums, expected)


def work_with_streams(data):
    """Watch rows through lenses of two and of more outcomes, with a detector of changes."""
    for lens in (None, "top"):
        cal.Monitor(lens).update(data)
    p = np.random.default_rng(2).random(300)  # a tree of the detector has begun
    cal.Monitor().update(p, np.random.default_rng(3).random(300) < p)


def calls():
    """Return kernels with the arguments of up to four calls of each, by name."""
    found = {}
    run = Kernel.__call__

    def call(kernel, *arguments):
        kept = found.setdefault(kernel.name, (kernel, []))[1]
        if len(kept) < 4:
            kept.append(copied(arguments))
        return run(kernel, *arguments)

    with mock.patch.object(Kernel, "__call__", call), tempfile.TemporaryDirectory() as folder:
        for data in problems():
            work(data, Path(folder))
            work_with_few_rows(data)
        rng = np.random.default_rng(1)
        work_with_kernels(cal.Predictions(rng.dirichlet(np.ones(3), 100), np.arange(100) % 3))
        work_with_streams(cal.Predictions(rng.dirichlet(np.ones(3), 40), np.arange(40) % 3))
    return found


def copied(arguments, types=None):
    """Return the same numbers in other memory; arrays that share memory do so again.

    types : of each number or array in turn, if they are to be others
    """
    return _copied(arguments, iter(types) if types else None, {})


def _copied(argument, types, memory):
    if isinstance(argument, tuple):
        parts = [_copied(part, types, memory) for part in argument]
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    name = next(types) if types else None
    if not isinstance(argument, np.ndarray):
        return argument
    dtype = np.dtype(name or argument.dtype)
    where = argument.ctypes.data, argument.size
    if where not in memory or not argument.size:
        memory[where] = argument.astype(dtype)
    return memory[where].view(dtype).reshape(argument.shape)
