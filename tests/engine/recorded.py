"""Calls of kernels that ordinary work makes, kept to be made again in other ways."""

import tempfile
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl

import calibrant as cal
from calibrant import lenses, partitions, resampling, statistics
from calibrant.engine.kernel import Kernel

FEW = {"n_resamples": 3, "rng": 0}
ON_CELLS = [
    statistics.ExpectedMiscalibration(partitions.EqualWidth(5)),
    statistics.ExpectedMiscalibration(partitions.VarianceTree(5)),
    statistics.WorstMiscalibration(partitions.SimplexCells(2)),
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


def calls():
    """Return the arguments of up to three calls of each kernel, by its name."""
    found = {}
    run = Kernel.__call__

    def call(kernel, *arguments):
        kept = found.setdefault(kernel.name, (kernel, []))[1]
        if len(kept) < 3:
            kept.append(copied(arguments))
        return run(kernel, *arguments)

    with mock.patch.object(Kernel, "__call__", call), tempfile.TemporaryDirectory() as folder:
        for data in problems():
            work(data, Path(folder))
    return found


def copied(argument, change=np.copy):
    """Return the same arrays in other memory, changed on the way."""
    if isinstance(argument, np.ndarray):
        return change(argument)
    if isinstance(argument, tuple):
        parts = [copied(part, change) for part in argument]
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    return argument
