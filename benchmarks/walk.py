"""How many files of the package a call visits, and how many Python calls it makes.

``python -m benchmarks.walk`` prints both for a few verbs, and ``--files`` the files. A reader who
follows a call through the code opens these files. Imports are not counted: each verb is called once
before it is watched.
"""

import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal

HOME = str(Path(cal.__file__).parent) + "/"
DRAWS = {"n_resamples": 99, "rng": 0}
BARS = {"test of the top label": 25, "evaluate": 45}  # files


def calls_of(work: Callable[[], Any]) -> Counter[str]:
    """Return how often functions of each file of the package are called."""
    work()
    found: Counter[str] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(HOME):
            found[path[len(HOME) :]] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def walks(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return the calls that are watched."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(4, 0.5), 2_000)
    labels = (probs.cumsum(axis=1) < rng.random((2_000, 1))).sum(axis=1).clip(0, 3)
    data = cal.Predictions(probs, labels)
    eta = cal.statistics.ExpectedMiscalibration(cal.partitions.EqualWidth(15))
    top = cal.lenses.TopLabel()
    found: dict[str, Callable[[], Any]] = {
        "test of the top label": lambda: cal.calibration_test(data, eta, lens=top, **DRAWS),
        "evaluate": lambda: cal.evaluate(data, **DRAWS),
        "report": lambda: cal.report(data, folder / "report.html", n_resamples=99),
    }
    scan = _scanned(folder / "rows", probs, labels)
    if scan is not None:
        found["test of the top label, scanned"] = lambda: cal.calibration_test(
            scan, eta, lens=top, **DRAWS
        )
    return found


def _scanned(folder: Path, probs: Any, labels: Any) -> Any:
    """Write rows to two files; None without pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return None
    columns = {f"prob_{j}": probs[:, j] for j in range(probs.shape[1])}
    table = pa.table({"label": labels, **columns})
    folder.mkdir()
    for i in range(2):
        pq.write_table(table.slice(1_000 * i, 1_000), folder / f"part-{i}.parquet")
    return cal.scan(folder)


def main() -> int:
    """Print a line for each walk; the exit status is 1 if a bar is missed."""
    warnings.simplefilter("ignore")
    os.environ["CALIBRANT_THREADS"] = "1"  # only this thread is watched
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, work in walks(Path(folder)).items():
            calls = calls_of(work)
            bar = BARS.get(name)
            missed |= bar is not None and len(calls) > bar
            limit = "" if bar is None else f" (at most {bar})"
            print(f"{name}: {len(calls)} files{limit}, {calls.total():,} calls")
            if "--files" in sys.argv:
                for path, count in sorted(calls.items()):
                    print(f"  {count:6,} {path}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
