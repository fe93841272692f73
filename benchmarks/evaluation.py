"""What the answer itself costs: `evaluate` of few and many rows and classes, and the report.

``python -m benchmarks.evaluation`` prints the section alone; ``CALIBRANT_BENCH_ROWS=1000000`` lets
growth and memory end at a million rows instead of ten.
"""

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import calibrant as cal
from benchmarks import timing
from benchmarks.point_estimates import make_problem
from calibrant import lenses, partitions, statistics

ETA = statistics.ExpectedMiscalibration(partitions.EqualWidth(15))
TWICE = 2.0  # of `evaluate`, that the report may take
QUIET = 1.0  # seconds without a sign of progress
INPUTS = 1.5  # of memory, beyond the input
PROPORTION = 1.1  # seconds a row beside those of fewer rows: what noise may add
ROWS = 10_000_000


class Setting(NamedTuple):
    """Rows and classes, and what may be reached: seconds on two cores, and in top-label tests."""

    n: int
    m: int
    seconds: float
    tests: float | None = None
    report: bool = False

    @property
    def name(self) -> str:
        return f"{self.n:,} × {self.m:,}"


SETTINGS = (
    Setting(10_000, 10, 0.25),
    Setting(100_000, 10, 1.5),
    Setting(1_000_000, 10, 8.0, 40.0, report=True),
    Setting(50_000, 1000, 5.0, 250.0, report=True),
)

# A process of its own, with the predictions in its memory, prints seconds of all processors, and
# how far the peak of its memory is above what it held before, in bytes.
GROWN = """
import sys, time
import calibrant as cal
from benchmarks.evaluation import Setting, data_of
def status(field):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(field))
cal.evaluate(data_of(Setting(1000, 10, 0.0)), rng=0)  # loads the kernels
data = data_of(Setting(int(sys.argv[1]), 10, 0.0))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins again
before, began = status("VmRSS"), time.process_time()
cal.evaluate(data, rng=0)
print(time.process_time() - began, status("VmHWM") - before, data.probs.nbytes + data.labels.nbytes)
"""


class Cost(NamedTuple):
    """Seconds of the clock, and of all processors, and the longest without a sign of progress."""

    wall: float
    cpu: float
    quiet: float = 0.0


def cost(task: Callable[[Any], object], rounds: int) -> Cost:
    """Return the least of each that a task takes in some rounds; it takes a progress to tell."""
    found = []
    for _ in range(rounds):
        gc.collect()
        cpu, times = time.process_time(), [time.perf_counter()]
        task(lambda *_, times=times: times.append(time.perf_counter()))
        cpu, times = time.process_time() - cpu, [*times, time.perf_counter()]
        quiet = max(b - a for a, b in pairwise(times))
        found.append(Cost(times[-1] - times[0], cpu, quiet))
    return Cost(*map(min, zip(*found, strict=True)))


def same_bits() -> bool:
    """Whether one thread and three give the same answer."""
    data = data_of(Setting(6_000, 10, 0.0))
    answers = []
    for threads in ("1", "3"):
        with mock.patch.dict(os.environ, CALIBRANT_THREADS=threads):
            found = cal.evaluate(data, rng=0)
        answers.append((found.to_dict(), [row.null.tobytes() for row in found.rows]))
    return answers[0] == answers[1]


def data_of(setting: Setting) -> cal.Predictions:
    problem = make_problem(setting.n, setting.m)
    return cal.Predictions(problem.probs, problem.labels)


def answers() -> str:
    """Return what `evaluate` and reports take, beside a test."""
    lines, bars = [], []
    for setting in SETTINGS:
        data = data_of(setting)
        few = setting.n * setting.m < 10**7
        one = cost(lambda _, data=data: cal.calibration_test(data, ETA, lens=lenses.TopLabel()), 3)
        answer = cost(
            lambda progress, data=data: cal.evaluate(data, rng=0, progress=progress), 1 + 2 * few
        )
        lines.append(_line(f"`evaluate` {setting.name}", answer, one))
        times = answer.wall / one.wall
        claim = f"{setting.name}: at most {setting.seconds:g} s on two cores"
        bars.append(timing.verdict(claim, answer.wall <= setting.seconds))
        if setting.tests is not None:
            claim = f"{setting.name}: at most {setting.tests:g} top-label tests"
            bars.append(timing.verdict(claim, times <= setting.tests))
        bars.append(_moving(setting.name, answer))
        if setting.report:
            page = cost(lambda progress, data=data: _report(data, progress), 1)
            lines.append(_line(f"`report` {setting.name}", page, one))
            claim = f"report {setting.name}: at most {TWICE:g} times `evaluate`"
            ratio = page.cpu / answer.cpu
            bars.append(timing.verdict(f"{claim}: {ratio:.2f}", ratio <= TWICE))
            bars.append(_moving(f"report {setting.name}", page))
    header = ("", "wall", "processors", "quiet", "one exact top-label test", "times")
    return "\n".join([timing.table(header, lines), "", *bars])


def _line(name: str, found: Cost, one: Cost) -> list[str]:
    times = [f"{found.wall:.2f} s", f"{found.cpu:.2f} s", timing.milliseconds(found.quiet)]
    return [name, *times, timing.milliseconds(one.wall), f"{found.wall / one.wall:.0f}"]


def _moving(name: str, found: Cost) -> str:
    claim = f"{name}: progress moves at least every {QUIET:g} s: {found.quiet:.2f} s"
    return timing.verdict(claim, found.quiet <= QUIET)


def _report(data: cal.Predictions, progress: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cal.report(data, Path(folder) / "report.html", rng=0, progress=progress)


def grown() -> str:
    """Return what ten and a hundred times as many rows take, in time and in memory."""
    most = int(os.environ.get("CALIBRANT_BENCH_ROWS", ROWS))
    rows = [n for n in (100_000, 1_000_000, 10_000_000) if n <= most]
    each = [_grown(n) for n in rows]
    lines = [
        [f"{n:,} × 10", f"{cpu:.1f} s", f"{1e6 * cpu / n:.1f} µs", f"{peak:.2f}"]
        for n, (cpu, peak) in zip(rows, each, strict=True)
    ]
    a_row = [cpu / n for n, (cpu, _) in zip(rows, each, strict=True)]
    ratio, peak = max(a_row[1:]) / a_row[0], max(peak for _, peak in each[1:])
    header = ("`evaluate`", "processors", "a row", "inputs of memory")
    return "\n".join(
        [
            timing.table(header, lines),
            "",
            timing.verdict(
                f"from {rows[0]:,} to {rows[-1]:,} rows, time grows at most in proportion:"
                f" {ratio:.2f}",
                ratio <= PROPORTION,
            ),
            timing.verdict(f"at most {INPUTS:g} inputs of memory: {peak:.2f}", peak <= INPUTS),
        ]
    )


def _grown(n: int) -> tuple[float, float]:
    """Return the seconds of all processors, and the inputs of memory, of a process of its own."""
    command = [sys.executable, "-c", GROWN, str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    cpu, peak, size = map(float, done.stdout.split())
    return cpu, peak / size


def report() -> str:
    if not same_bits():
        raise AssertionError("the number of threads changes the answer")
    return "\n".join(
        [
            "## The answer",
            "",
            "`evaluate` with all it says: six tests or more with 999 resamples each, sizes, and",
            "what would have been seen; and `report`, which begins with it. Beside them one exact",
            "test of the top label in the same run. *Quiet* is the longest time without a sign of",
            "progress.",
            "",
            answers(),
            "",
            "Each number of rows in a process of its own; memory is what it held at most beyond",
            "the predictions and labels, in units of these.",
            "",
            grown(),
        ]
    )


if __name__ == "__main__":
    print(report())
