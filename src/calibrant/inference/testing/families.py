"""Which lenses and statistics are looked at if nobody chooses: the omnibus test."""

from typing import Any

import numpy as np

from calibrant.arguments import as_lens, as_rows
from calibrant.calibration import View
from calibrant.checks.parameters import brief
from calibrant.distances import squared_euclidean, total_variation
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.partitions import EqualWidth, Partition, VarianceTree
from calibrant.predictions import Predictions
from calibrant.rows import Rows
from calibrant.statistics import (
    Cox,
    ExpectedMiscalibration,
    KernelMiscalibration,
    Statistic,
    Surprise,
)
from calibrant.statistics.spelled import as_statistic

BANDWIDTH = 0.1  # in total variation
MANY = 32  # outcomes beyond which cells of several would be too many
ALL_PAIRS = 4_000  # rows up to which the kernel of three outcomes or more looks at all pairs,
PAIRED = 10 * ALL_PAIRS**2  # if these are no more numbers to compare
RANKS = ((50_000, 128), (float("inf"), 64))  # rows, and landmarks that stand for all others


def omnibus(view: View) -> tuple[Statistic, ...]:
    """Return the statistics that are tested together, by the number of outcomes and rows.

    They complement each other. Cox's test sees predictions that are too high or too low as a
    whole, too confident or too timid; for more than two outcomes the log score and the totals
    of the classes do. The kernel sees whatever neighbours have in common. They were chosen by
    their power on real predictions, see `docs/measures.md`. Rows in clusters leave statistics of
    sums over rows: a tree instead of the kernel, and the totals. Of rows elsewhere there are
    statistics on cells alone: how far off predictions are as a whole, and within 15 intervals, or
    by the class of a probability of one half or more.
    """
    if not view.rows.held:
        return _on_cells(view.m)
    if view.clusters is not None:
        on_tree = ExpectedMiscalibration(default_tree(view.data), squared_euclidean)
        return on_tree, ExpectedMiscalibration(EqualWidth(1), total_variation)
    if view.m == 2:
        return KernelMiscalibration(BANDWIDTH), Cox()
    kernel = KernelMiscalibration(BANDWIDTH)
    if view.n > ALL_PAIRS or view.n**2 * view.m > PAIRED:
        rank = next(rank for rows, rank in RANKS if view.n <= rows)
        kernel = KernelMiscalibration(BANDWIDTH, form="low-rank", rank=rank)
    return kernel, Surprise(), ExpectedMiscalibration(EqualWidth(1), total_variation)


def _on_cells(m: int) -> tuple[Statistic, ...]:
    """Return the statistics that are tested together if rows come in batches."""
    whole = ExpectedMiscalibration(EqualWidth(1), total_variation)
    if m > MANY:
        return (whole,)
    parts = EqualWidth(15) if m == 2 else EqualWidth(2)
    return whole, ExpectedMiscalibration(parts, total_variation)


def said_of(rows: Rows) -> str:
    """Return what settings say of the statistics that nobody chose."""
    return "omnibus" if rows.held else "omnibus on cells"


def chosen_lenses(data: Any, lenses: Any) -> tuple[Lens, ...]:
    """Return what somebody chose; else canonical and, for more than two classes, top label."""
    if lenses is None:
        return (Canonical(),) if data.m == 2 else (Canonical(), TopLabel())
    chosen = (lenses,) if isinstance(lenses, str | Lens) else as_tuple("lenses", lenses)
    return tuple(as_lens(lens, data) for lens in chosen)


def default_tree(data: Predictions) -> Partition:
    """Return a tree that splits nodes of 1000 rows, or of a tenth of all.

    With weights, it splits at what so many rows weigh on average. Those of weight 0 do not
    count.
    """
    n = int(np.count_nonzero(data.weights))
    size = max(2, min(1000, n // 10))
    weight = float(f"{size * data.weights.sum() / n:.3g}") if data.weighted else size
    return VarianceTree(weight)


def default_partitions(data: Any) -> list[Partition]:
    """Return the cells of tables: equal widths and, if all rows are at hand, a tree."""
    rows = as_rows(data)
    if not rows.held:
        return [EqualWidth(10)]
    return [EqualWidth(10), default_tree(rows.at_hand("a tree").given)]


def chosen_statistics(statistics: Any) -> tuple[Statistic, ...] | None:
    """Return what somebody chose to test, functions as statistics; None for the omnibus test."""
    if statistics is None:
        return None
    alone = isinstance(statistics, str | Statistic)
    chosen = (statistics,) if alone else as_tuple("statistics", statistics)
    return tuple(as_statistic(statistic) for statistic in chosen)


def as_tuple(name: str, values: Any) -> tuple[Any, ...]:
    """Return a list as a tuple; refuse an empty one, and what is no list."""
    try:
        found = tuple(values)
    except TypeError:
        found = None
    if found is None or isinstance(values, str):
        raise TypeError(f"`{name}` must be a list; found {brief(values)}.")
    if not found:
        raise ValueError(f"`{name}` must not be empty.")
    return found
