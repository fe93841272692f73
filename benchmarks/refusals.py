"""How much work it is to say what is wrong with a damaged CSV file, next to loading it undamaged.

Usage: python -m benchmarks.refusals [ROWS]
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import calibrant as cal

FAULTS: dict[str, tuple[float, Callable[[str], str]]] = {  # where, as a share of the lines; what
    "no fault": (0.5, str),
    "letters in a number": (1.0, lambda line: line.replace(",0.", ",x0.", 1)),
    "too many cells": (1.0, lambda line: f"{line},1,2"),
    "an empty cell": (1.0, lambda line: line[: line.rindex(",") + 1]),
    "a row that sums to more than 1": (1.0, lambda line: line[: line.rindex(",")] + ",0.99"),
    "text after a quote": (1.0, lambda line: line.replace(",", ',"1"x', 1)),
    "a quote that stays open, at the end": (1.0, lambda line: line.replace(",", ',"', 1)),
    "a quote that stays open, at the start": (0.0, lambda line: line.replace(",", ',"', 1)),
}


def seconds(path: Path) -> tuple[float, str]:
    """Return how much work it is to load a file or to refuse it, the least of three, and why."""
    times, why = [], "loaded"
    for _ in range(3):
        start = time.process_time()
        try:
            cal.load(path)
        except ValueError as error:
            why = str(error).removeprefix(f"{path}: ")[:60]
        times.append(time.process_time() - start)
    return min(times), why


def main(n: int) -> None:
    """Print a line for each fault."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(10), n)
    columns = {f"prob_{j}": probs[:, j] for j in range(10)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.csv"
        pl.DataFrame({"label": rng.integers(0, 10, n), **columns}).write_csv(path)
        lines = path.read_text().splitlines()
        for name, (share, damage) in FAULTS.items():
            at = 20 + int(share * (len(lines) - 40))
            path.write_text("\n".join([*lines[:at], damage(lines[at]), *lines[at + 1 :]]))
            took, why = seconds(path)
            print(f"{name:<40}{took:8.2f} s  {why}", flush=True)


if __name__ == "__main__":
    main(int((sys.argv[1:2] or ["300000"])[0]))
