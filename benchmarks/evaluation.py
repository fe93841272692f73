"""What the answer itself costs: `evaluate` of few and many rows and classes.

``python -m benchmarks.evaluation`` prints the section alone.
"""

import gc
import os
import time
from collections.abc import Callable
from typing import NamedTuple
from unittest import mock

import calibrant as cal
from benchmarks import timing
from benchmarks.point_estimates import make_problem
from calibrant import lenses, partitions, statistics

ETA = statistics.ExpectedMiscalibration(partitions.EqualWidth(15))


class Setting(NamedTuple):
    """Rows and classes, and what may be reached: seconds on two cores, and in top-label tests."""

    n: int
    m: int
    seconds: float
    tests: float | None = None

    @property
    def name(self) -> str:
        return f"{self.n:,} × {self.m:,}"


SETTINGS = (
    Setting(10_000, 10, 0.25),
    Setting(100_000, 10, 1.5),
    Setting(1_000_000, 10, 8.0, 40.0),
    Setting(50_000, 1000, 5.0, 250.0),
)


class Cost(NamedTuple):
    """Seconds of the clock, and of all processors."""

    wall: float
    cpu: float


def cost(task: Callable[[], object], rounds: int) -> Cost:
    """Return the least wall time, and the least time of all processors, of some rounds."""
    found = []
    for _ in range(rounds):
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        task()
        found.append(Cost(time.perf_counter() - wall, time.process_time() - cpu))
    return Cost(min(one.wall for one in found), min(one.cpu for one in found))


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


def report() -> str:
    if not same_bits():
        raise AssertionError("the number of threads changes the answer")
    lines, bars = [], []
    for setting in SETTINGS:
        data = data_of(setting)
        rounds = 3 if setting.n * setting.m < 10**7 else 1
        one = cost(lambda data=data: cal.calibration_test(data, ETA, lens=lenses.TopLabel()), 3)
        answer = cost(lambda data=data: cal.evaluate(data, rng=0), rounds)
        times = answer.wall / one.wall
        lines.append(
            [
                setting.name,
                f"{answer.wall:.2f} s",
                f"{answer.cpu:.2f} s",
                timing.milliseconds(one.wall),
                f"{times:.0f}",
            ]
        )
        claim = f"{setting.name}: at most {setting.seconds:g} s on two cores"
        bars.append(timing.verdict(claim, answer.wall <= setting.seconds))
        if setting.tests is not None:
            claim = f"{setting.name}: at most {setting.tests:g} top-label tests"
            bars.append(timing.verdict(claim, times <= setting.tests))
    header = ("`evaluate`", "wall", "processors", "one exact top-label test", "times")
    return "\n".join(
        [
            "## The answer",
            "",
            "`evaluate` with all it says: six tests or more with 999 resamples each, sizes, and",
            "what would have been seen. Beside it one exact test of the top label in the same run.",
            "",
            timing.table(header, lines),
            "",
            *bars,
        ]
    )


if __name__ == "__main__":
    print(report())
