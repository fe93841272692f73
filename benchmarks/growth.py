"""How cost grows, how much memory a test takes, and what calls cost: the very first, and any."""

import os
import subprocess
import sys
import tempfile
import time
import timeit
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

FEW_SECONDS = 2
MICROSECONDS = 8  # that a call of a typical kernel may take
START = """
import calibrant as cal
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth, VarianceTree
from calibrant.statistics import ExpectedMiscalibration as Eta
data = cal.datasets.cifar10("resnet")
"""
FIRST = {
    "test, top label": START + "cal.calibration_test(data, Eta(EqualWidth(15)), lens=TopLabel())",
    "test, EqualWidth(10)": START + "cal.calibration_test(data, Eta(EqualWidth(10)))",
    "test, VarianceTree(1000)": START + "cal.calibration_test(data, Eta(VarianceTree(1000)))",
    "classwise": START + "cal.classwise(data)",
    "evaluate": START + "cal.evaluate(data)",
}
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
        "bins (top label, EqualWidth, n = 100,000, B = 999)": {
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
    """Return how long fresh processes take."""
    runs: dict[str, list[float]] = {name: [] for name in FIRST}
    for _ in range(ROUNDS):
        for name, program in FIRST.items():
            start = time.perf_counter()
            output([sys.executable, "-c", program])
            runs[name].append(time.perf_counter() - start)
    best = timing.best(runs)
    rows = [[name, f"{seconds:.1f} s"] for name, seconds in best.items()]
    return "\n\n".join(
        [
            timing.table(["", "a fresh process"], rows),
            timing.verdict(f"a first call in {FEW_SECONDS} s", max(best.values()) <= FEW_SECONDS),
        ]
    )


def calls() -> str:
    """Return what it costs to call kernels that have nothing to do."""
    import numpy as np

    from calibrant.engine import grid, line, null, sums
    from calibrant.engine.arrays import Order, Replicates, Source, blank
    from calibrant.engine.draws import replicate_keys

    data = data_of(10, 3)
    keys = replicate_keys(np.uint64(0), Replicates(0, 5))
    order = Order(np.zeros(10, np.int32), np.zeros(1, np.int64))
    cells = null.SortedCells(order, np.zeros(0), 1.0)
    source = Source(data.probs, None, np.uint64(0), 0)
    weighed = data.rows.weights, 0, 0, None
    none = np.zeros(0)
    scores = line.Line(none, none.astype(int), none, none, np.ones((2, 0)))
    tables = sums.FloatSums(np.zeros(4), np.zeros((4, 3)), np.zeros((3, 4, 3)))
    of_rows, cuts = np.zeros(10, np.int32), np.zeros((10, 2), np.int64)
    scratch, totals = null.Scratch.of(3, 3, 5), null.Totals.zeros(5)
    known = blank(line.Walk, scales=2, size=5)
    outcomes = np.zeros((0, 5), np.int32)
    edges, seen = grid.edges(4), np.zeros(4, bool)
    counted = np.zeros((0, 5), np.int64)
    span = 0, 0
    tasks = {
        "grid: 4 arrays": lambda: grid._intervals(data.probs, 0, edges, span, of_rows, seen),
        "counts of events: 6 arrays": lambda: null._event_counts(
            cuts, weighed, order, (np.uint64(0), keys), span, counted
        ),
        "sums: 7 arrays": lambda: sums._add_rows(data.rows, of_rows, span, 0, 1.0, tables),
        "line: 11 arrays": lambda: line._walk_rows(scores, outcomes, (0, True), known),
        "null: 19 arrays": lambda: null._null_totals(
            data.rows, cells, source, (keys, 1.0), (0, 3), scratch, totals
        ),
    }
    best = {
        name: min(timeit.repeat(task, number=1000, repeat=20)) * 1000
        for name, task in tasks.items()
    }
    typical = sorted(best.values())[len(best) // 2]
    rows = [[name, f"{microseconds:.1f} µs"] for name, microseconds in best.items()]
    return "\n\n".join(
        [
            timing.table(["", "a call"], rows),
            timing.verdict(f"a typical call in {MICROSECONDS} µs", typical <= MICROSECONDS),
        ]
    )


def report() -> str:
    """Return the section as Markdown."""
    return "\n\n".join(
        [
            "## Growth",
            f"Exact test, float32; the fastest of {ROUNDS} runs. Every row draws a label in every"
            " replicate. Drawn as counts, their cost depends on the bins, not on the rows.",
            growth(),
            "## Memory of a test",
            "Top label, EqualWidth(15), B = 999, 1,000,000 rows × 10 classes, float32: the peak"
            " beyond the input, in units of the input (predictions and labels). *From arrays*"
            " includes the checks of the input, which is not copied.",
            memory(),
            "## The very first call",
            "A whole process on the predictions of a ResNet that come with calibrant (10,000 ×"
            f" 10); the fastest of {ROUNDS} runs, in turns. Compiled loops come with the package.",
            first_calls(),
            "## A call of a compiled loop",
            "From Python and back, where there is nothing to do; the fastest of 20,000 calls.",
            calls(),
        ]
    )
