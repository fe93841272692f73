"""The exact test against consistency resampling in plain NumPy, and on large data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

import calibrant as cal
from benchmarks import plain, timing
from benchmarks.point_estimates import make_problem
from calibrant import lenses, partitions, resampling, statistics

B = 999
TIMED = 20  # resamples of plain NumPy that are timed; its cost is the same for each
ROUNDS = 3  # of everything
QUICK = 15  # of what takes little time
RATIO = 100.0
SECONDS = 1.0
COUNTS = resampling.Exact(draws="counts")
CHANCE = 6.0  # standard errors by which two means of the same distribution may differ

PLAIN = "plain NumPy, Consistency"
LEAN = "plain NumPy, Consistency, of the confidences alone"
CONSISTENCY = "calibrant, Consistency"
EXACT = "calibrant, Exact"


@final
@dataclass(frozen=True, slots=True)
class Case:
    """Data, what is tested, and the same in plain NumPy."""

    name: str
    data: cal.Predictions
    lens: lenses.Lens
    partition: partitions.Partition
    twin: plain.Simplex | plain.Top
    lean: plain.Interval | None = None

    def test(self, resampler: Any, n_resamples: int = B) -> cal.CalibrationTest:
        statistic = statistics.ExpectedMiscalibration(self.partition)
        return cal.calibration_test(
            self.data,
            statistic,
            lens=self.lens,
            resampler=resampler,
            n_resamples=n_resamples,
            rng=0,
        )


def cases() -> list[Case]:
    uniform = cal.datasets.dirichlet(10_000, 10, rng=0)
    lenet = cal.datasets.cifar10("lenet")
    top, all_classes = lenses.TopLabel(), lenses.Canonical()
    boxes, tree = partitions.EqualWidth(10), partitions.VarianceTree(1000)
    return [
        Case(
            "top label, EqualWidth(10)",
            uniform,
            top,
            boxes,
            plain.Top.of(uniform.probs, 10),
            plain.Interval.of(uniform.probs, 10),
        ),
        Case(
            "canonical, EqualWidth(10), Dirichlet predictions",
            uniform,
            all_classes,
            boxes,
            plain.Simplex.of(uniform.probs, plain.boxes(10)),
        ),
        Case(
            "canonical, EqualWidth(10), predictions of a LeNet",
            lenet,
            all_classes,
            boxes,
            plain.Simplex.of(lenet.probs, plain.boxes(10)),
        ),
        Case(
            "canonical, VarianceTree(1000), Dirichlet predictions",
            uniform,
            all_classes,
            tree,
            plain.Simplex.of(uniform.probs, plain.tree(1000)),
        ),
    ]


def check(case: Case) -> None:
    """The same statistic of the data, and the same distributions up to chance."""
    rng = np.random.default_rng(1)
    exact, consistency = case.test(resampling.Exact()), case.test(resampling.Consistency())
    value = case.twin.statistic(case.data.probs.astype(np.float64), case.data.labels)
    assert abs(value - exact.statistic) < 1e-6, f"{case.name}: {value} and {exact.statistic}"
    same_mean(f"{case.name}, exact", exact.null, case.twin.exact(rng, 100))
    same_mean(f"{case.name}, consistency", consistency.null, case.twin.consistency(rng, 100))
    if case.lean is not None:
        same_mean(f"{case.name}, exact", exact.null, case.lean.exact(rng, 100))
        same_mean(f"{case.name}, lean", consistency.null, case.lean.consistency(rng, 100))


def same_mean(name: str, a: np.ndarray, b: np.ndarray) -> None:
    bound = CHANCE * np.sqrt(a.var() / a.size + b.var() / b.size)
    assert abs(a.mean() - b.mean()) < bound, f"{name}: {a.mean()} and {b.mean()} ± {bound}"


def report() -> str:
    """Return the section as Markdown."""
    text = (
        f"10,000 rows, 10 classes, expected total variation, B = {B}. *Plain NumPy* is consistency"
        f" resampling as one would write it (`benchmarks/plain.py`): {TIMED} resamples are timed"
        f" and scaled to {B}, since each costs the same. Before that, the statistic must agree to"
        " 1e-6 and the means of both null distributions to within chance (six standard errors)."
        f" Tasks take turns; the fastest of {ROUNDS + QUICK} runs counts, of {ROUNDS} for our"
        " Consistency. Exact redraws labels only, so it does less work: its ratio is the gain of"
        " method and compiled code together, that of Consistency the gain of compiled code alone."
        " For the top label one can also drop all but the confidences before resampling; the"
        " table has that, too."
    )
    return "\n\n".join(["## Exact test", text, *(section(case) for case in cases()), large()])


def section(case: Case) -> str:
    check(case)
    rng = np.random.default_rng(2)
    tasks: dict[str, Callable[[], object]] = {
        PLAIN: lambda: case.twin.consistency(rng, TIMED),
        CONSISTENCY: lambda: case.test(resampling.Consistency()),
        EXACT: lambda: case.test(resampling.Exact()),
    }
    if case.lean is not None:
        lean = case.lean
        tasks[LEAN] = lambda: lean.consistency(rng, TIMED)
    seconds = timing.interleaved(tasks, ROUNDS)
    quick = {name: task for name, task in tasks.items() if name != CONSISTENCY}
    for name, runs in timing.interleaved(quick, QUICK).items():
        seconds[name] += runs
    best = timing.best(seconds)
    for name in {PLAIN, LEAN} & set(best):
        best[name] *= B / TIMED
    rows = [[name, timing.milliseconds(s), f"{best[PLAIN] / s:,.1f}"] for name, s in best.items()]
    cells = case.partition.fit(case.lens(case.data)).n_cells
    return "\n\n".join(
        [
            f"### {case.name} ({cells:,} bins)",
            timing.table(["", f"time, B = {B}", "times faster than NumPy"], rows),
            timing.verdict(
                f"the exact test at least {RATIO:g} times as fast",
                best[PLAIN] >= RATIO * best[EXACT],
            ),
        ]
    )


def large() -> str:
    """Measure what must take seconds at most."""
    million = cal.Predictions(*unpack(1_000_000, 10))
    many = cal.Predictions(*unpack(50_000, 1000))
    small = cal.datasets.cifar10("resnet")
    eta = statistics.ExpectedMiscalibration(partitions.EqualWidth(15))
    boxes = statistics.ExpectedMiscalibration(partitions.EqualWidth(10))
    top = lenses.TopLabel()
    tasks: dict[str, Callable[[], object]] = {
        "one pass: probs.max(axis=1), 10⁶ × 10": lambda: million.probs.max(axis=1),
        "top label, 10⁶ × 10, B = 999": lambda: cal.calibration_test(
            million, eta, lens=top, n_resamples=999, rng=0
        ),
        "top label, 10⁶ × 10, B = 99,999, counts": lambda: cal.calibration_test(
            million, eta, lens=top, resampler=COUNTS, n_resamples=99_999, rng=0
        ),
        "canonical, EqualWidth(10), 5·10⁴ × 1000, B = 999": lambda: cal.calibration_test(
            many, boxes, n_resamples=999, rng=0
        ),
        "evaluate, 10⁴ × 10": lambda: cal.evaluate(small, rng=0),
    }
    best = timing.best(timing.interleaved(tasks, 4))
    evaluate = "evaluate, 10⁶ × 10"
    best |= timing.best(timing.interleaved({evaluate: lambda: cal.evaluate(million, rng=0)}, 1))
    rows = [[name, timing.milliseconds(seconds)] for name, seconds in best.items()]
    _, test, more, canonical, few, all_rows = best.values()
    return "\n\n".join(
        [
            "### Large data, and evaluate",
            "float32. From `Predictions`, so with the lens and the partition, without the checks"
            " of the input. The fastest of 4 runs. Labels are drawn by the row; *counts* draws the"
            " events of a cell at once. `evaluate` makes the omnibus tests through both lenses,"
            " kernels included, with B = 999, and says how far off predictions are; of 10⁶ rows"
            " once.",
            timing.table(["", "time"], rows),
            "\n".join(
                [
                    timing.verdict(f"top label, 10⁶ rows, in {SECONDS:g} s", test <= SECONDS),
                    timing.verdict(
                        "B = 99,999 drawn as counts in twice the time of B = 999", more <= 2 * test
                    ),
                    timing.verdict("canonical, 1000 classes, below 60 s", canonical < 60),
                    timing.verdict("evaluate, 10⁴ rows, in 2 s", few <= 2),
                    timing.verdict("evaluate, 10⁶ rows, in a minute", all_rows <= 60),
                ]
            ),
        ]
    )


def unpack(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    problem = make_problem(n, m)
    return problem.probs, problem.labels
