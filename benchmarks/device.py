"""Tensors on a GPU: the same bits as on the CPU, and how long a test takes.

``python -m benchmarks.device``, on a machine with a GPU, writes a section of ``docs/device.md``.
Probabilities are quotients of whole numbers, so that every machine makes the same ones.
"""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import calibrant as cal
from benchmarks import timing
from calibrant import distances, lenses, partitions, statistics

TARGET = Path(__file__).parents[1] / "docs" / "device.md"
HEADING = "## Measured"
ROUNDS = 20


class Setting(NamedTuple):
    """A test on made-up data: n rows of m classes, the more peaked the higher the power."""

    n: int
    m: int
    lens: Any
    k: int
    distance: Any = distances.total_variation
    dtype: Any = np.float32
    power: int = 2
    weighted: bool = False
    worst: bool = False
    cut: Any = partitions.EqualWidth
    n_resamples: int = 999

    def arrays(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Any]:
        rng = np.random.default_rng(self.n + self.m)
        drawn = (1 << 20) // rng.integers(1, 1 << 20, (self.n, self.m))
        drawn **= self.power
        drawn[::12] = 1 + drawn[::12] % 8  # flat rows, which share cells
        probs = (drawn / drawn.sum(axis=1, keepdims=True)).astype(self.dtype)
        probs[: self.m] = np.eye(self.m)[: self.n]  # certain rows
        sums = drawn.cumsum(axis=1)
        labels = (sums <= rng.integers(0, sums[:, -1])[:, None]).sum(axis=1)
        return probs, labels, rng.integers(0, 5, self.n) / 2 if self.weighted else None

    def test(self, data: Any) -> Any:
        kind = statistics.WorstMiscalibration if self.worst else statistics.ExpectedMiscalibration
        statistic = kind(self.cut(self.k), self.distance)
        return cal.calibration_test(
            data, statistic, lens=self.lens, n_resamples=self.n_resamples, rng=0
        )


CANONICAL, TOP, CLASS = lenses.Canonical(), lenses.TopLabel(), lenses.Marginal(1)
EUCLIDEAN, SQUARED = distances.euclidean, distances.squared_euclidean
LARGE = (Setting(50_000, 1000, CANONICAL, 10), Setting(1_000_000, 10, TOP, 15, power=1))
SETTINGS = (
    *LARGE,
    Setting(50_000, 1000, TOP, 15),
    Setting(20_000, 1000, CANONICAL, 3, EUCLIDEAN, np.float64),
    Setting(20_000, 1000, CANONICAL, 2, weighted=True),
    Setting(20_000, 1000, CANONICAL, 10, SQUARED, worst=True),
    Setting(20_000, 100, CANONICAL, 10, EUCLIDEAN),
    Setting(20_000, 100, CANONICAL, 4, weighted=True, dtype=np.float64),
    Setting(20_000, 100, CANONICAL, 10, power=1),
    Setting(20_000, 100, CANONICAL, 1, EUCLIDEAN, power=1),
    Setting(20_000, 33, CANONICAL, 2, EUCLIDEAN, worst=True),
    Setting(100_000, 10, CANONICAL, 10, EUCLIDEAN),
    Setting(100_000, 10, CANONICAL, 10, weighted=True),
    Setting(100_000, 10, CANONICAL, 5, SQUARED, np.float64),
    Setting(100_000, 10, CLASS, 15, EUCLIDEAN, worst=True),
    Setting(100_000, 10, TOP, 1000, weighted=True),
    Setting(100_000, 3, CANONICAL, 10, dtype=np.float64, n_resamples=2500),
    Setting(100_000, 3, CANONICAL, 20, cut=partitions.SimplexBins),
    Setting(20_000, 100, CANONICAL, 3, EUCLIDEAN, cut=partitions.SimplexBins),
    Setting(100_000, 2, CANONICAL, 10, EUCLIDEAN),
    Setting(100_000, 2, TOP, 100, SQUARED, weighted=True),
    Setting(999, 2, CANONICAL, 30, dtype=np.float64, n_resamples=19),
    Setting(5, 3, CANONICAL, 10, EUCLIDEAN, n_resamples=99),
)


def same_bits(setting: Setting) -> bool:
    """Whether a GPU gives every bit of what the CPU gives."""
    import torch

    probs, labels, weights = setting.arrays()
    here = setting.test(cal.Predictions(probs, labels, weights=weights))
    given = [None if a is None else torch.from_numpy(a).cuda() for a in (probs, labels, weights)]
    there = setting.test(cal.Predictions(given[0], given[1], weights=given[2]))
    same = there.statistic == here.statistic and there.null.tobytes() == here.null.tobytes()
    if not same or there.pvalue != here.pvalue:
        print(setting, "differs by", np.abs(there.null - here.null).max(), flush=True)
    return bool(same and there.pvalue == here.pvalue)


def seconds(task: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median time of a task on an otherwise idle GPU."""
    import torch

    runs = []
    for _ in range(rounds + 3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        task()
        torch.cuda.synchronize()
        runs.append(time.perf_counter() - start)
    return median(runs[3:])


def copy_rate() -> float:
    """Return how many bytes a second the card reads and writes when it copies."""
    import torch

    here = torch.randint(0, 1 << 30, (1 << 28,), device="cuda")
    there = torch.empty_like(here)
    return 2 * here.numel() * 8 / seconds(lambda: there.copy_(here))


def peak_bytes(task: Callable[[], object]) -> int:
    """Return the most memory of the GPU that a task held beyond what was there before."""
    import torch

    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    task()
    return int(torch.cuda.max_memory_allocated() - before)


def measured(setting: Setting, rate: float) -> tuple[float, list[str]]:
    """Return the time from tensors to a result, and a row of the table."""
    import torch

    arrays = setting.arrays()[:2]
    probs, labels = (torch.from_numpy(array).cuda() for array in arrays)
    data, host = cal.Predictions(probs, labels), cal.Predictions(*arrays)
    whole = seconds(lambda: setting.test(cal.Predictions(probs, labels)))
    row = [
        f"{setting.lens}, {setting.n:,} × {setting.m}, EqualWidth({setting.k}), B = 999",
        timing.milliseconds(whole),
        timing.milliseconds(seconds(lambda: setting.test(data))),
        timing.milliseconds(seconds(lambda: setting.test(host), 3)),
        f"{probs.numel() * 4 / rate * 1e3:.2f} ms",
        f"{setting.n * setting.n_resamples / whole:.1e}",
        f"{peak_bytes(lambda: setting.test(data)) / 1e9:.1f} GB",
    ]
    return whole, row


def answers(setting: Setting) -> tuple[bool, list[str]]:
    """Return whether `ece` and `evaluate` have the bits of the CPU, and a row of times."""
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    arrays = setting.arrays()[:2]
    probs, labels = (torch.from_numpy(array).cuda() for array in arrays)
    how = {"num_classes": setting.m, "n_bins": 15}
    there, host = cal.Predictions(probs, labels), cal.Predictions(*arrays)
    found = [cal.evaluate(data, rng=0) for data in (there, host)]
    nulls = [[row.null.tobytes() for row in one.rows] for one in found]
    same = float(cal.ece(there)) == float(cal.ece(host)) and nulls[0] == nulls[1]
    row = [
        f"{setting.n:,} × {setting.m}",
        timing.milliseconds(seconds(lambda: float(cal.ece(probs, labels)))),
        timing.milliseconds(
            seconds(lambda: float(multiclass_calibration_error(probs, labels, **how)))
        ),
        timing.milliseconds(seconds(lambda: cal.evaluate(there, rng=0), 1)),
        timing.milliseconds(seconds(lambda: cal.evaluate(host, rng=0), 1)),
    ]
    return same and found[0].to_dict() == found[1].to_dict(), row


def measure() -> None:
    """Compare bits, take times and write them into the page."""
    import torch

    same = sum(map(same_bits, SETTINGS))
    alike, of_answers = zip(*map(answers, LARGE), strict=True)
    names = ["", "`ece` from tensors", "torchmetrics", "`evaluate`", "`evaluate` of arrays"]
    rate = copy_rate()
    taken, rows = zip(*(measured(setting, rate) for setting in LARGE), strict=True)
    day, cores = datetime.now(UTC).date().isoformat(), len(os.sched_getaffinity(0))
    header = ["", "from tensors", "from Predictions", f"{cores} CPU cores"]
    header += ["reading the tensor", "draws a second", "memory"]
    found = [
        f"Written by `benchmarks/device.py` on {day}: {torch.cuda.get_device_name()}, torch"
        f" {torch.__version__}. It copies {rate / 1e12:.1f} TB/s, bytes read and written, and"
        f" *reading the tensor* takes as long as that allows. Median of {ROUNDS} runs, until the"
        " result is on the host; *from tensors* checks them first. *Memory* of the GPU is beyond"
        " the tensors.",
        timing.table(header, rows),
        timing.table(names, of_answers),
        "\n".join(
            [
                timing.verdict(
                    f"statistic, null distribution and p-value of {same} of {len(SETTINGS)}"
                    " settings have the bits of the CPU",
                    same == len(SETTINGS),
                ),
                timing.verdict("`ece` and `evaluate` have the bits of the CPU", all(alike)),
                timing.verdict("canonical, 1000 classes, within 40 ms", taken[0] <= 0.040),
                timing.verdict("top label, 10⁶ rows, within 10 ms", taken[1] <= 0.010),
            ]
        ),
    ]
    text = TARGET.read_text(encoding="utf-8").split(HEADING)[0]
    TARGET.write_text(text + "\n\n".join([HEADING, *found]) + "\n", encoding="utf-8")
    print(report())


def report() -> str:
    """Return what was measured when there was a GPU."""
    return "## On a GPU" + TARGET.read_text(encoding="utf-8").split(HEADING)[1].rstrip()


if __name__ == "__main__":
    measure()
