"""Rows that stay in files: what reading in batches costs beside reading alone, and on clusters.

CPU seconds of the process and of all that it started count, since wall times depend on company.
Every task runs once on few rows before, and once on all of them.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks import timing
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth, SimplexBins, VarianceTree
from calibrant.resampling import Exact
from calibrant.statistics import ExpectedMiscalibration

ROWS, CLASSES, GROUP = 10_000_000, 10, 262_144
WIDE_ROWS, WIDE = 200_000, 1000
FEW = 20_000

READ = "read the Parquet with pyarrow, one thread"
STREAM, MEMORY = "in batches", "in memory"
DASK, SPARK, FRAME = "Dask, row groups", "Spark, row groups", "Spark, its own reader"
TOP = "top-label test, drawn as counts, B = 999"
CLASSWISE = "all classes, labels redrawn 999 times"
CANONICAL = "canonical test, labels redrawn 999 times"
MANY = "canonical test on tens of thousands of bins, labels redrawn 999 times"
ANSWER = "`evaluate`, with sizes"
WIDE_READ, WIDE_ESTIMATE = "read 1000 classes in lists", "all of 1000 classes, estimates"

PEAK = r"""
import re, sys
from pathlib import Path
import calibrant as cal
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Exact
from calibrant.statistics import ExpectedMiscalibration
eta, exact = ExpectedMiscalibration(EqualWidth(15)), Exact(draws="counts")
rows = cal.scan(sys.argv[1])
if sys.argv[2] == "evaluate":
    print(cal.evaluate(rows, rng=0))
else:
    print(cal.calibration_test(rows, eta, lens=TopLabel(), resampler=exact, rng=0))
status = Path("/proc/self/status").read_text()
print(int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1e6)
"""

Question = Callable[[Any], Any]


def top(data: Any) -> Any:
    """Test the top label on fifteen cells."""
    eta, exact = ExpectedMiscalibration(EqualWidth(15)), Exact(draws="counts")
    return cal.calibration_test(data, eta, lens=TopLabel(), resampler=exact, rng=0)


def classwise(data: Any) -> Any:
    """Test all classes."""
    return cal.classwise(data, n_resamples=999, rng=0)


def canonical(data: Any) -> Any:
    """Test the vectors on the cells of a probability of one half or more."""
    eta = ExpectedMiscalibration(SimplexBins(2))
    return cal.calibration_test(data, eta, rng=0)


def tree(data: Any) -> Any:
    """Test the top label on a tree whose nodes hold a hundredth of the rows."""
    eta, exact = ExpectedMiscalibration(VarianceTree(data.n // 100)), Exact(draws="counts")
    return cal.calibration_test(data, eta, lens=TopLabel(), resampler=exact, rng=0)


def many_cells(data: Any) -> Any:
    """Test the vectors on so many cells that rows are moved."""
    return cal.calibration_test(data, ExpectedMiscalibration(EqualWidth(10)), rng=0)


def answer(data: Any) -> Any:
    """Test all that `evaluate` does, with sizes."""
    found = cal.evaluate(data, rng=0)
    assert all(verdict.size is not None for verdict in found.verdicts)
    return found


ON_ENGINES = {TOP: top, CLASSWISE: classwise, CANONICAL: canonical}
ELSEWHERE: dict[str, Question] = {
    "top-label test on a tree": tree,
    MANY: many_cells,
    "accuracy, log, Brier and spherical score": cal.scores.all_scores,
    "all classes, estimates": lambda data: cal.classwise(data, n_resamples=0),
}


def report() -> str:
    """Return the section."""
    rows = int(os.environ.get("CALIBRANT_BENCH_ROWS", ROWS))
    with _folders(rows) as (many, few, wide, narrow):
        spent = _of_one_process(many, few)
        _on_dask(spent, many, few)
        _on_spark(spent, many, few)
        spent[ANSWER, STREAM] = cpu(lambda: answer(cal.scan(few)), lambda: answer(cal.scan(many)))
        spent[WIDE_READ, ""] = cpu(lambda: read(narrow), lambda: read(wide))
        estimates = ELSEWHERE["all classes, estimates"]
        small, large = cal.scan(narrow), cal.scan(wide)
        spent[WIDE_ESTIMATE, STREAM] = cpu(lambda: estimates(small), lambda: estimates(large))
        peaks = _peaks(many)
        peak = _peak(many, "evaluate")
    return (
        f"## Rows in files\n\n{rows:,} rows of {CLASSES} classes, float32, ten Parquet files in"
        f" groups of {GROUP:,}, and {WIDE_ROWS:,} rows of {WIDE:,} classes in a column of lists."
        " CPU seconds of the process and of all that it started. Results of all engines were"
        " compared to the last bit on the same rows. The largest memory of a process of its own"
        f" that tests the top label was {peaks[0]:.2f} GB, and {peaks[1]:.2f} GB on ten times as"
        f" many rows; of one that evaluates, {peak:.2f} GB.\n\n{_table(spent, rows)}\n\n"
        + "\n".join(_bars(spent, [*peaks, peak]))
    )


def _of_one_process(many: Path, few: Path) -> dict[tuple[str, str], float]:
    """Return what reading takes, and every question in batches and in memory."""
    spent = {(READ, ""): cpu(lambda: read(few), lambda: read(many))}
    small, large, loaded = cal.scan(few), cal.scan(many), cal.scan(many).load()
    for name, ask in (ON_ENGINES | ELSEWHERE).items():
        spent[name, STREAM] = cpu(lambda: ask(small), lambda: ask(large))  # noqa: B023
        spent[name, MEMORY] = cpu(lambda: ask(small.load()), lambda: ask(loaded))  # noqa: B023
    for ask in ON_ENGINES.values():
        assert ask(small).to_dict() == ask(small.load()).to_dict()
    return spent


def _on_dask(spent: dict[tuple[str, str], float], many: Path, few: Path) -> None:
    """Add what Dask takes, in two processes of one thread."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        _ask_all(spent, DASK, cal.scan(few, engine=client), cal.scan(many, engine=client))


def _on_spark(spent: dict[tuple[str, str], float], many: Path, few: Path) -> None:
    """Add what Spark takes, where there is Java."""
    from pyspark.sql import SparkSession

    if not shutil.which("java"):
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    _ask_all(spent, SPARK, cal.scan(few, engine=session), cal.scan(many, engine=session))
    small, large = (cal.scan(session.read.parquet(str(path))) for path in (few, many))
    spent[TOP, FRAME] = cpu(lambda: top(small), lambda: top(large))
    session.stop()


def _ask_all(
    spent: dict[tuple[str, str], float], engine: str, small: cal.Scan, large: cal.Scan
) -> None:
    """Add what every question takes on an engine, after a look at its bits."""
    for name, ask in ON_ENGINES.items():
        assert ask(small).to_dict() == ask(small.load()).to_dict()
        spent[name, engine] = cpu(lambda: ask(small), lambda: ask(large))  # noqa: B023


def _table(spent: dict[tuple[str, str], float], rows: int) -> str:
    """Return the table."""
    lines = []
    for (name, how), seconds in spent.items():
        wide = name in (WIDE_READ, WIDE_ESTIMATE)
        n, base = (WIDE_ROWS, spent[WIDE_READ, ""]) if wide else (rows, spent[READ, ""])
        label = f"{name}, {how}" if how else name
        lines.append([label, f"{seconds:.2f}", f"{1e6 * seconds / n:.2f}", f"{seconds / base:.1f}"])
    return timing.table(["what", "CPU s", "µs a row", "beside reading"], lines)


def _bars(spent: dict[tuple[str, str], float], peaks: list[float]) -> Iterator[str]:
    """Say which bars are met."""

    def bar(name: str, value: float, most: float) -> str:
        return timing.verdict(f"{name} at most {most:g} times: {value:.2f}", value <= most)

    stream = {name: spent[name, STREAM] for name in ON_ENGINES}
    yield bar("top label in batches, beside reading,", stream[TOP] / spent[READ, ""], 6)
    wide = spent[WIDE_ESTIMATE, STREAM] / spent[WIDE_READ, ""]
    yield bar("estimates of 1000 classes, beside reading,", wide, 2)
    for name in (CLASSWISE, CANONICAL):
        ratio = stream[name] / spent[name, MEMORY]
        yield bar(f"{name}, in batches beside in memory,", ratio, 1.2)
    for engine, most in ((DASK, (2.5, 1.2, 1.5)), (SPARK, (4, 1.3, 1.6))):
        for name, limit in zip(ON_ENGINES, most, strict=True):
            if (name, engine) in spent:
                ratio = spent[name, engine] / stream[name]
                yield bar(f"{name}, {engine} beside batches,", ratio, limit)
    if (TOP, FRAME) in spent:
        yield bar(f"{TOP}, {FRAME} beside batches,", spent[TOP, FRAME] / stream[TOP], 15)
    yield bar(f"{ANSWER} in batches, beside reading,", spent[ANSWER, STREAM] / spent[READ, ""], 8)
    yield bar("memory on ten times the rows,", peaks[1] / peaks[0], 1.15)
    yield timing.verdict("memory at most 0.6 GB", max(peaks) <= 0.6)


def _peaks(many: Path) -> list[float]:
    """Return the memory in GB of a process that tests all rows, and ten times as many."""
    with tempfile.TemporaryDirectory() as name:
        ten = Path(name)
        for copy in range(10):
            for path in many.iterdir():
                (ten / f"{copy}-{path.name}").symlink_to(path)
        return [_peak(folder, "test") for folder in (many, ten)]


def _peak(folder: Path, what: str) -> float:
    """Return the memory in GB of a process of its own."""
    command = [sys.executable, "-c", PEAK, str(folder), what]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1])


@contextlib.contextmanager
def _folders(rows: int) -> Iterator[tuple[Path, Path, Path, Path]]:
    """Write many and few rows of ten classes, and many and few of a thousand."""
    with tempfile.TemporaryDirectory() as name:
        many, few, wide, narrow = (Path(name) / part for part in ("many", "few", "wide", "narrow"))
        write(many, rows)
        write(few, FEW)
        write(wide, WIDE_ROWS, classes=WIDE, lists=True)
        write(narrow, FEW // 10, classes=WIDE, lists=True)
        yield many, few, wide, narrow


def write(folder: Path, rows: int, *, classes: int = CLASSES, lists: bool = False) -> None:
    """Write ten files of uneven length."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rng = np.random.default_rng(0)
    cuts = [rows // 20 * k for k in range(2, 20, 2)]
    for i, part in enumerate(np.array_split(np.arange(rows), cuts)):
        logits = rng.standard_normal((part.size, classes), np.float32) * 2
        probs = np.exp(logits)
        probs /= probs.sum(axis=1, keepdims=True)
        labels = rng.integers(0, classes, part.size)
        columns: dict[str, Any] = {f"prob_{j}": probs[:, j] for j in range(classes)}
        if lists:
            columns = {"probs": pa.FixedSizeListArray.from_arrays(probs.ravel(), classes)}
        whole = pa.table({"label": labels, **columns})
        group = GROUP * CLASSES // classes
        pq.write_table(whole, folder / f"part-{i:02d}.parquet", row_group_size=group)


def read(folder: Path) -> None:
    """Read all columns, a group of rows at a time, and drop them."""
    import pyarrow.parquet as pq

    for path in sorted(folder.iterdir()):
        file = pq.ParquetFile(path)
        for group in range(file.metadata.num_row_groups):
            file.read_row_group(group, use_threads=False)


def cpu(warm: Callable[[], object], call: Callable[[], object]) -> float:
    """Return the CPU seconds of `call` after `warm`, in this process and all below it."""
    warm()
    before = of_tree()
    call()
    time.sleep(0.2)
    return of_tree() - before


def of_tree() -> float:
    """Return the CPU seconds so far of this process and of those that it started."""
    ticks, parents, used = os.sysconf("SC_CLK_TCK"), {}, {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(status.parent.name)] = int(fields[1])
        used[int(status.parent.name)] = sum(map(int, fields[11:15])) / ticks
    mine, new = set(), {os.getpid()}
    while new:
        mine |= new
        new = {child for child, parent in parents.items() if parent in new}
    return sum(used.get(process, 0.0) for process in mine)


if __name__ == "__main__":
    print(report())
