"""The types of arguments that ordinary work hands to kernels: code for these is built ahead.

``python -m benchmarks.signatures`` writes them to `engine/signatures.txt`. Other arguments are
served as well; numba then compiles a kernel when it is first called.
"""

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl

import calibrant as cal
from calibrant import lenses, partitions, resampling, statistics
from calibrant.engine.compile import SIGNATURES, Kernel
from calibrant.engine.flat import flatten

FEW = {"n_resamples": 39, "rng": 0}
ON_CELLS = [
    statistics.ExpectedMiscalibration(partitions.EqualWidth(15)),
    statistics.ExpectedMiscalibration(partitions.VarianceTree(50)),
    statistics.WorstMiscalibration(partitions.EqualWidth(10)),
]
OF_ROWS = [
    statistics.KernelMiscalibration(),
    statistics.KernelMiscalibration(0.1),
    statistics.SquaredMiscalibration(partitions.VarianceTree(50)),
]
OF_EVENTS = [
    statistics.ExpectedMiscalibration(partitions.EqualMass(10)),
    statistics.Cox(),
    statistics.SmoothMiscalibration(),
    statistics.CutoffMiscalibration(),
    statistics.AveragedTwoBin(),
]


def problems(n: int, classes: tuple[int, ...]) -> Iterator[cal.Predictions]:
    """Yield problems of so many rows, with and without weights."""
    rng = np.random.default_rng(0)
    for m, dtype, weighted in product(classes, (np.float32, np.float64), (False, True)):
        probs = rng.dirichlet(np.ones(m), n)
        labels = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
        weights = rng.integers(1, 4, n) if weighted else None
        yield cal.Predictions(probs.astype(dtype), labels, weights=weights)


def work(data: cal.Predictions, folder: Path) -> None:
    """Do what people do."""
    cal.evaluate(data, **FEW)
    cal.classwise(data, **FEW)
    for lens in (lenses.Canonical(), lenses.TopLabel(), lenses.Marginal(1)):
        of_events = OF_EVENTS if lens(data).m == 2 else []
        for statistic in (*ON_CELLS, *OF_ROWS, *of_events):
            cal.calibration_test(data, statistic, lens=lens, **FEW)
        for statistic in ON_CELLS:
            cal.estimate(data, statistic, lens=lens, **FEW)
        cal.calibration_test(
            data, ON_CELLS[0], lens=lens, resampler=resampling.Consistency(), **FEW
        )
        cal.cellwise(data, partitions.EqualWidth(5), lens=lens, **FEW)
    for lens in (lenses.TopK(1), lenses.Groups([[0], range(1, data.m)])):
        cal.evaluate(data, lenses=lens, statistics=ON_CELLS, **FEW)
    cal.compare({"one": data, "other": data}, **FEW)
    cal.slices(data, {"half": np.arange(data.n) % 2}, **FEW)
    cal.recalibrate(data, **FEW)
    cal.report(data, folder / "report.html", **FEW)


def many_rows(data: cal.Predictions, folder: Path) -> None:
    """Do what takes another way with many rows, and what people do with files of them."""
    cal.evaluate(data, **FEW)
    path = folder / "predictions.parquet"
    columns = {f"prob_{j}": data.probs[:, j] for j in range(data.m)}
    pl.DataFrame({**columns, "label": data.labels}).write_parquet(path)
    scanned = cal.scan(path)
    cal.classwise(scanned, **FEW)
    for lens, statistic in product((lenses.Canonical(), lenses.TopLabel()), ON_CELLS):
        cal.calibration_test(scanned, statistic, lens=lens, **FEW)


def do_everything() -> None:
    """Do all of it, on all problems."""
    with tempfile.TemporaryDirectory() as folder:
        for data in problems(300, (2, 3, 40, 300)):
            work(data, Path(folder))
        for data in problems(10_000, (10,)):
            many_rows(data, Path(folder))


def calls() -> dict[str, tuple[Kernel, Any]]:
    """Return a call for each signature: a kernel, and the arguments that it was called with.

    A signature is the name of a kernel with words for the types of its arguments.
    """
    found: dict[str, tuple[Kernel, Any]] = {}
    run = Kernel.__call__

    def call(kernel: Kernel, *arguments: Any) -> Any:
        words, _ = flatten(arguments)
        signature = f"{kernel.name} {' '.join(words)}"
        if signature not in found:
            found[signature] = kernel, copied(arguments)
        return run(kernel, *arguments)

    with mock.patch.object(Kernel, "__call__", call):
        do_everything()
    return found


def copied(argument: Any) -> Any:
    """Return the same arrays, in other memory."""
    if isinstance(argument, np.ndarray):
        return argument.copy()
    if isinstance(argument, tuple):
        parts = [copied(part) for part in argument]
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    return argument


if __name__ == "__main__":
    SIGNATURES.write_text("".join(f"{line}\n" for line in sorted(calls())))
