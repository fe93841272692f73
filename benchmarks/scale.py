"""Rows that stay in files: what reading in batches costs beside reading alone, and on clusters.

CPU seconds of the process and its children count, since wall times depend on company.
"""

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROWS, CLASSES, GROUP = 10_000_000, 10, 262_144


def report() -> str:
    """Return the section."""
    import calibrant as cal
    from calibrant.lenses import TopLabel
    from calibrant.partitions import EqualWidth, VarianceTree
    from calibrant.resampling import Exact
    from calibrant.statistics import ExpectedMiscalibration

    rows = int(os.environ.get("CALIBRANT_BENCH_ROWS", ROWS))
    eta, exact = ExpectedMiscalibration(EqualWidth(15)), Exact(draws="counts")

    tree = ExpectedMiscalibration(VarianceTree(rows // 100))

    def top(data, statistic=eta):
        return cal.calibration_test(data, statistic, lens=TopLabel(), resampler=exact, rng=0)

    folder = Path(tempfile.mkdtemp())
    try:
        write(folder, rows)
        scan, data = cal.scan(folder), cal.scan(folder).load()
        assert top(scan).to_dict() == top(data).to_dict()
        times = {
            "read the Parquet with pyarrow": cpu(lambda: read(folder)),
            "top-label test in batches, any number of resamples": cpu(lambda: top(scan)),
            "the same in memory": cpu(lambda: top(data)),
            "top-label test on a tree in batches": cpu(lambda: top(scan, tree)),
            "accuracy, log, Brier and spherical score": cpu(lambda: cal.scores.all_scores(scan)),
            "all classes in batches, estimates": cpu(lambda: cal.classwise(scan, n_resamples=0)),
            "the same, with labels redrawn 99 times": cpu(
                lambda: cal.classwise(scan, n_resamples=99, rng=0)
            ),
        }
        times |= {f"top-label test on {name}": spent for name, spent in on_clusters(folder, top)}
    finally:
        shutil.rmtree(folder)
    base = next(iter(times.values()))
    lines = [
        f"| {name} | {spent:.2f} | {1e6 * spent / rows:.2f} | {spent / base:.1f} |"
        for name, spent in times.items()
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return (
        f"## Rows in files\n\n{rows:,} rows of {CLASSES} classes, float32, ten Parquet files in"
        f" groups of {GROUP:,}. Results were compared to the last bit first; the second of two"
        f" calls is timed. The largest memory was {peak:.1f} GB, with the rows loaded once.\n\n"
        "| what | CPU s | µs a row | beside reading |\n|---|---|---|---|\n" + "\n".join(lines)
    )


def write(folder: Path, rows: int) -> None:
    """Write ten files of uneven length."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    for i, part in enumerate(
        np.array_split(np.arange(rows), [rows // 20 * k for k in range(2, 20, 2)])
    ):
        logits = rng.standard_normal((part.size, CLASSES), np.float32) * 2
        probs = np.exp(logits)
        probs /= probs.sum(axis=1, keepdims=True)
        labels = rng.integers(0, CLASSES, part.size)
        columns = {f"prob_{j}": probs[:, j] for j in range(CLASSES)}
        whole = pa.table({"label": labels, **columns})
        pq.write_table(whole, folder / f"part-{i:02d}.parquet", row_group_size=GROUP)


def read(folder: Path) -> None:
    """Read all columns, a group of rows at a time, and drop them."""
    import pyarrow.parquet as pq

    for path in sorted(folder.iterdir()):
        file = pq.ParquetFile(path)
        for group in range(file.metadata.num_row_groups):
            file.read_row_group(group, use_threads=False)


def on_clusters(folder: Path, top: Callable) -> list[tuple[str, float]]:
    """Return the CPU seconds of the same test on Dask and Spark, where they are installed."""
    import calibrant as cal

    found = []
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return found
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        scan = cal.scan(folder, engine=client)
        found.append(("Dask, row groups", cpu(lambda: top(scan))))
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return found
    if shutil.which("java"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = builder.getOrCreate()
        scan, frame = cal.scan(folder, engine=session), cal.scan(session.read.parquet(str(folder)))
        found.append(("Spark, row groups", cpu(lambda: top(scan))))
        found.append(("Spark, its own reader", cpu(lambda: top(frame))))
        session.stop()
    return found


def cpu(call: Callable[[], object]) -> float:
    """Return the CPU seconds of the second of two calls, in this process and all below it."""
    call()
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
