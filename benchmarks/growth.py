"""How cost grows, how much memory a test takes, and how long the very first call lasts."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import calibrant as cal
from benchmarks import timing
from benchmarks.point_estimates import make_problem
from calibrant import lenses, partitions, resampling, statistics

ROUNDS = 3
MEMORY = 1.5
TOP = lenses.TopLabel()
COUNTS = resampling.Exact(draws="counts")

FEW_SECONDS = 5
START = """
import calibrant as cal
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth, VarianceTree
from calibrant.statistics import ExpectedMiscalibration as Eta
data = cal.datasets.cifar10("resnet")
"""
NUMBA = "numba alone: x[0] + 1"
FIRST = {
    NUMBA: "import numba, numpy; numba.njit(lambda x: x[0] + 1)(numpy.zeros(3))",
    "test, top label": START + "cal.calibration_test(data, Eta(EqualWidth(15)), lens=TopLabel())",
    "test, EqualWidth(10)": START + "cal.calibration_test(data, Eta(EqualWidth(10)))",
    "test, VarianceTree(1000)": START + "cal.calibration_test(data, Eta(VarianceTree(1000)))",
    "classwise": START + "cal.classwise(data)",
    "evaluate": START + "cal.evaluate(data)",
}
UNBUILT = "evaluate, if nothing had been built"
FIRST[UNBUILT] = """
from pathlib import Path
from calibrant.engine import built
built.FOLDER = Path("nowhere")
""" + FIRST["evaluate"]
RESIDENT = """
import sys
import numpy as np
import calibrant as cal
def status(field):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(field))
probs, labels = np.load(sys.argv[1]), np.load(sys.argv[2])
eta = cal.statistics.ExpectedMiscalibration(cal.partitions.EqualWidth(15))
small = cal.Predictions(probs[:1000], labels[:1000])
cal.calibration_test(small, eta, lens=cal.lenses.TopLabel(), rng=0)  # loads the kernels
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins again
before = status("VmRSS")
cal.calibration_test(cal.Predictions(probs, labels), eta, lens=cal.lenses.TopLabel(), rng=0)
print(status("VmHWM") - before)
"""


def data_of(n: int, m: int) -> cal.Predictions:
    problem = make_problem(n, m)
    return cal.Predictions(problem.probs, problem.labels)


def task(
    data: cal.Predictions, k: int, lens: lenses.Lens, n_resamples: int = 999, **settings: Any
) -> Callable[[], object]:
    eta = statistics.ExpectedMiscalibration(partitions.EqualWidth(k))
    chosen = {"lens": lens, "n_resamples": n_resamples, "rng": 0, **settings}
    return lambda: cal.calibration_test(data, eta, **chosen)


def growth() -> str:
    """Return small tables: one thing varies at a time."""
    rows = {n: data_of(n, 10) for n in (1_000, 10_000, 100_000, 1_000_000)}
    classes = {m: data_of(10_000, m) for m in (3, 10, 100, 1000)}
    canonical = lenses.Canonical()
    sweeps = {
        "rows n (top label, EqualWidth(15), B = 999)": {
            f"{n:,}": task(data, 15, TOP) for n, data in rows.items()
        },
        "rows n (canonical, EqualWidth(10), m = 10, B = 999)": {
            f"{n:,}": task(rows[n], 10, canonical) for n in (1_000, 10_000, 100_000)
        },
        "classes m (canonical, EqualWidth(10), n = 10,000, B = 999)": {
            f"{m:,}": task(data, 10, canonical) for m, data in classes.items()
        },
        "cells (top label, EqualWidth, n = 100,000, B = 999)": {
            f"{k:,}": task(rows[100_000], k, TOP) for k in (10, 100, 1000, 10_000)
        },
        "resamples B (top label, EqualWidth(15), n = 100,000)": {
            f"{b:,}": task(rows[100_000], 15, TOP, b) for b in (99, 999, 9_999)
        },
        "resamples B (the same, drawn as counts)": {
            f"{b:,}": task(rows[100_000], 15, TOP, b, resampler=COUNTS)
            for b in (99, 999, 9_999, 99_999)
        },
        "resamples B (canonical, EqualWidth(10), n = 10,000, m = 10)": {
            f"{b:,}": task(rows[10_000], 10, canonical, b) for b in (99, 999, 9_999)
        },
    }
    parts = []
    for title, tasks in sweeps.items():
        best = timing.best(timing.interleaved(tasks, ROUNDS))
        parts.append(
            timing.table([title, *best], [["time", *map(timing.milliseconds, best.values())]])
        )
    return "\n\n".join(parts)


def memory() -> str:
    """Return the peak of a top-label test of a million rows, in units of the input."""
    import numpy as np

    problem = make_problem(1_000_000, 10)
    eta = statistics.ExpectedMiscalibration(partitions.EqualWidth(15))
    data = cal.Predictions(problem.probs, problem.labels)

    def from_arrays() -> None:
        fresh = cal.Predictions(problem.probs, problem.labels)
        cal.calibration_test(fresh, eta, lens=TOP, rng=0)

    task(data, 15, TOP)()
    traced = timing.peak_bytes(task(data, 15, TOP)) / problem.nbytes
    traced_all = timing.peak_bytes(from_arrays) / problem.nbytes
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("probs.npy", "labels.npy")]
        np.save(files[0], problem.probs)
        np.save(files[1], problem.labels)
        on_linux = os.access("/proc/self/clear_refs", os.W_OK)
        found = float(output([sys.executable, "-c", RESIDENT, *files])) if on_linux else 0.0
        resident = found / problem.nbytes
    rows = [
        ["NumPy's allocations, from Predictions", f"{traced:.2f}"],
        ["NumPy's allocations, from arrays", f"{traced_all:.2f}"],
        ["the process (resident), from arrays", f"{resident:.2f}" if on_linux else ""],
    ]
    return "\n\n".join(
        [
            timing.table(["", "inputs"], rows),
            "\n".join(
                [
                    timing.verdict(
                        f"at most {MEMORY:g} inputs, from Predictions", traced <= MEMORY
                    ),
                    timing.verdict(
                        f"at most {MEMORY:g} inputs, from arrays",
                        max(traced_all, resident) <= MEMORY,
                    ),
                ]
            ),
        ]
    )


def output(command: list[str], **variables: str) -> str:
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **variables}
    ).stdout


def first_calls() -> str:
    """Return how long fresh processes take, without and with machine code on disk."""
    first: dict[str, list[float]] = {name: [] for name in FIRST}
    later: dict[str, list[float]] = {name: [] for name in FIRST}
    for _ in range(ROUNDS):
        for name, program in FIRST.items():
            with tempfile.TemporaryDirectory() as folder:
                for runs in (first, later):
                    start = time.perf_counter()
                    output([sys.executable, "-c", program], NUMBA_CACHE_DIR=folder)
                    runs[name].append(time.perf_counter() - start)
    best = timing.best(first)
    again = timing.best(later)
    rows = [
        [
            name,
            f"{seconds:.1f} s",
            f"{seconds / best[NUMBA]:.1f}",
            "" if name == NUMBA else f"{again[name]:.1f} s",
        ]
        for name, seconds in best.items()
    ]
    slowest = max(seconds for name, seconds in best.items() if name != UNBUILT)
    return "\n\n".join(
        [
            timing.table(["", "first ever", "× numba alone", "later process"], rows),
            timing.verdict(f"the first ever call in {FEW_SECONDS} s", slowest <= FEW_SECONDS),
        ]
    )


def report() -> str:
    """Return the section as Markdown."""
    return "\n\n".join(
        [
            "## Growth",
            f"Exact test, float32; the fastest of {ROUNDS} runs. Every row draws a label in every"
            " replicate. Drawn as counts, replicates cost by the cells and not by the rows.",
            growth(),
            "## Memory of a test",
            "Top label, EqualWidth(15), B = 999, 1,000,000 rows × 10 classes, float32: the peak"
            " beyond the input, in units of the input (predictions and labels). *From arrays*"
            " includes the checks of the input, which is not copied.",
            memory(),
            "## The very first call",
            "A whole process on the predictions of a ResNet that come with calibrant (10,000 ×"
            " 10), first with an empty folder for what numba compiles, then with what the first"
            f" one left there; the fastest of {ROUNDS} runs, in turns. Machine code for these"
            " comes with the package and is only loaded; the last row shows what that saves."
            " numba's time for a function of one line says how fast this machine compiles.",
            first_calls(),
        ]
    )
