"""How often do tests reject models that are calibrated? Writes a table and a figure for the docs.

Labels are drawn from the predictions themselves, so every model is calibrated and a test at the
5 % level should reject 5 % of the data sets. ``Exact`` redraws labels only; ``Consistency``, the
procedure of the paper, also draws the predictions with replacement.

Usage: python examples/size_of_the_tests.py [number of data sets]
"""

import csv
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from scipy.stats import beta

import calibrant as cal
from calibrant import partitions, resampling, statistics

TARGET = Path(__file__).parents[1] / "docs" / "figures"
ALPHA = 0.05
RESAMPLES = 99  # ALPHA * (RESAMPLES + 1) is whole, so that the level can be met exactly
TESTS = {"exact": resampling.Exact(), "consistency": resampling.Consistency()}


@final
@dataclass(frozen=True, slots=True)
class Case:
    """What predictions there are, and which cells."""

    name: str
    draw: Callable[[np.random.Generator], cal.Predictions]
    partition: partitions.Partition
    refit: bool = True  # whether the partition is fitted again to drawn predictions

    def cells(self, data: cal.Predictions) -> partitions.Partition:
        """Return the partition for these data."""
        return self.partition if self.refit else kept(self.partition, data)

    def __str__(self) -> str:
        return f"{self.partition}{'' if self.refit else ', kept'}"


def kept(partition: partitions.Partition, data: cal.Predictions) -> partitions.Partition:
    """Return the cells that `partition` makes of `data`, whatever data they are used for."""
    return partitions.FromFunction(partition.fit(data).assign)


def dirichlet(n: int, m: int) -> Callable[[np.random.Generator], cal.Predictions]:
    """Return a source of calibrated models of uniformly distributed predictions."""
    return lambda rng: cal.datasets.dirichlet(n, m, rng=rng)


def redrawn(name: str) -> Callable[[np.random.Generator], cal.Predictions]:
    """Return a source of a network's predictions, with labels drawn from them."""
    data = cal.datasets.cifar10(name)
    return lambda rng: resampling.Exact().draw(data, rng.integers(2**64, dtype=np.uint64), 0)


CASES = (
    *(
        Case(f"Dirichlet, m = {m}, n = 1000", dirichlet(1000, m), partitions.EqualWidth(10))
        for m in (2, 3, 5, 10)
    ),
    Case("Dirichlet, m = 10, n = 2000", dirichlet(2000, 10), partitions.VarianceTree(20)),
    Case("Dirichlet, m = 10, n = 2000", dirichlet(2000, 10), partitions.VarianceTree(20), False),
    Case("LeNet, m = 10, n = 10000", redrawn("lenet"), partitions.EqualWidth(10)),
)


def measure(case: Case, data_sets: int, seed: int) -> dict[str, str | int | float]:
    """Test many calibrated data sets; return a line of the table."""
    rng = np.random.default_rng(seed)
    cells, values = np.empty(data_sets), np.empty(data_sets)
    rejected = dict.fromkeys(TESTS, 0)
    null_means = {name: np.empty(data_sets) for name in TESTS}
    for i in range(data_sets):
        data = case.draw(rng)
        partition = case.cells(data)
        statistic = statistics.ExpectedMiscalibration(partition)
        cells[i] = partition.fit(data).n_cells
        for name, resampler in TESTS.items():
            found = cal.calibration_test(
                data, statistic, resampler=resampler, n_resamples=RESAMPLES, rng=rng
            )
            values[i] = found.statistic
            rejected[name] += found.pvalue <= ALPHA
            null_means[name][i] = found.null.mean()
    line: dict[str, str | int | float] = {
        "predictions": case.name,
        "partition": str(case),
        "mean_cells": round(float(cells.mean()), 1),
        "data_sets": data_sets,
        "n_resamples": RESAMPLES,
        "mean_statistic": round(float(values.mean()), 5),
    }
    for name in TESTS:
        low, high = binomial_interval(rejected[name], data_sets)
        line |= {
            f"{name}_rejected": rejected[name],
            f"{name}_rate": round(rejected[name] / data_sets, 5),
            f"{name}_low": round(low, 5),
            f"{name}_high": round(high, 5),
            f"{name}_null_mean": round(float(null_means[name].mean()), 5),
        }
    return line


def binomial_interval(hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of Clopper and Pearson for a probability."""
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits == n else float(beta.ppf(1 - tail, hits + 1, n - hits))
    return low, high


def markdown(lines: list[dict[str, str | int | float]]) -> str:
    """Return the table of the docs."""

    def rate(line: dict[str, str | int | float], name: str) -> str:
        values = [100 * float(line[f"{name}_{part}"]) for part in ("rate", "low", "high")]
        return "{:.1f} % ({:.1f}–{:.1f})".format(*values)

    def shift(line: dict[str, str | int | float], name: str) -> str:
        ratio = float(line[f"{name}_null_mean"]) / float(line["mean_statistic"])
        return f"{100 * (ratio - 1):+.1f} %"

    header = [
        "| predictions | partition | bins | exact rejects | consistency rejects | exact, shift"
        " | consistency, shift |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    rows = (
        [
            str(line["predictions"]),
            str(line["partition"]),
            f"{line['mean_cells']:.0f}",
            *(rate(line, name) for name in TESTS),
            *(shift(line, name) for name in TESTS),
        ]
        for line in lines
    )
    return "\n".join([*header, *(f"| {' | '.join(row)} |" for row in rows)])


def draw_figure(lines: list[dict[str, str | int | float]], path: Path) -> None:
    """Draw rejection rates, and the means of the null distributions against the true one."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "calibrant"  # the same file every time
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (rates, means) = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    places = np.arange(len(lines))[::-1]
    for name, colour, shift in (("exact", "#0072b2", 0.12), ("consistency", "#d55e00", -0.12)):
        rate = np.array([line[f"{name}_rate"] for line in lines], float)
        low = np.array([line[f"{name}_low"] for line in lines], float)
        high = np.array([line[f"{name}_high"] for line in lines], float)
        label = "exact test" if name == "exact" else "consistency resampling"
        rates.errorbar(
            100 * rate,
            places + shift,
            xerr=100 * np.stack((rate - low, high - rate)),
            fmt="o",
            color=colour,
            capsize=3,
            label=label,
        )
        truth = np.array([line["mean_statistic"] for line in lines], float)
        null = np.array([line[f"{name}_null_mean"] for line in lines], float)
        means.plot(100 * (null / truth - 1), places + shift, "o", color=colour)
    rates.axvline(100 * ALPHA, color="0.6", linewidth=1, zorder=0)
    means.axvline(0, color="0.6", linewidth=1, zorder=0)
    rates.set_xlim(-3, 103)
    rates.set_xlabel("calibrated models rejected at the 5 % level (%)")
    means.set_xlabel("mean of the null against the truth (%)")
    rates.set_yticks(places, [f"{line['predictions']}\n{line['partition']}" for line in lines])
    rates.legend(loc="upper right", frameon=False)
    for axes in (rates, means):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def main(data_sets: int = 400) -> None:
    """Measure every case, print the table and write it with its figure."""
    lines: list[dict[str, str | int | float]] = []
    for seed, case in enumerate(CASES):
        lines.append(measure(case, data_sets, seed))
        print(
            f"{case.name:28} {case!s:26} {lines[-1]['mean_cells']:8} cells,"
            f" rejected: exact {lines[-1]['exact_rate']:6.1%},"
            f" consistency {lines[-1]['consistency_rate']:6.1%}",
            flush=True,
        )
    TARGET.mkdir(parents=True, exist_ok=True)
    with (TARGET / "size-of-tests.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    draw_figure(lines, TARGET / "size-of-tests.svg")
    print(f"\n{markdown(lines)}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
