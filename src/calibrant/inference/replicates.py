"""Replicates of statistics: where a statistic, a lens and a resampler meet.

The plain definition of replicate b is ``statistic(lens(resampler.draw(data, key, b)))``. The
other ways below avoid doing again what does not change between replicates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import (
    Binned,
    bin_predictions,
    cell_means,
    cell_norms,
)
from calibrant.distances import (
    euclidean,
    from_norms,
    measure,
    squared_euclidean,
    total_variation,
)
from calibrant.engine import threads
from calibrant.inference.arguments import check_resampler
from calibrant.inference.draws import CellDraws, Kinds
from calibrant.lenses import Canonical, Lens
from calibrant.partitions import FromFunction, Partition
from calibrant.predictions import Predictions
from calibrant.resampling import (
    Bootstrap,
    Consistency,
    Exact,
    Resampler,
    draw_times,
    label_key,
)
from calibrant.statistics import CellStatistic, ExpectedMiscalibration, WorstMiscalibration

Floats = NDArray[np.float64]
Statistic = Callable[[Predictions], float]
Progress = Callable[[int, int], None]

DISTANCES = (total_variation, euclidean, squared_euclidean)
SCATTERED = 1 << 20  # probabilities from which on short rows are better read in their order
SHORT = 32  # classes; longer rows are read as fast from anywhere
CROWDED = 32  # rows in a cell, on average, from which on that needs little memory
ROOM = 1 << 21  # numbers in a block of drawn counts or labels


@final
@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Which replicates to make.

    Parameters
    ----------
    resampler : the source of data sets
    n_resamples : how many
    key : of the draws
    progress : called with (done, total)
    """

    resampler: Resampler
    n_resamples: int
    key: np.uint64
    progress: Progress | None = None


def part(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """Report the progress of one of several parts as progress of the whole, in thousandths."""
    if progress is None:
        return None
    return lambda done, total: progress(1000 * number + 1000 * done // total, 1000 * parts)


def check_hypothesis(resampler: Any) -> None:
    """Refuse what is no resampler, and one that does not draw data sets under a hypothesis."""
    check_resampler(resampler)
    if isinstance(resampler, Bootstrap):
        raise ValueError(
            "`resampler` must draw data sets under the hypothesis, as Exact does; Bootstrap"
            " resamples what was observed. Use it in estimate()."
        )


def calibrated(resampler: Resampler) -> bool:
    """Whether the hypothesis is that the model is calibrated, not another one."""
    return isinstance(resampler, Exact | Consistency) and resampler.rho is None


def replicates(
    data: Predictions,
    statistics: Sequence[Statistic],
    lens: Lens,
    plan: Plan,
    binned: Binned | None = None,
) -> Floats:
    """Return the statistics of every replicate: (statistics, n_resamples).

    Statistics on cells that are given together must share one partition; they share draws.
    `binned` saves sorting what the lens shows into cells, where that was done already.
    """
    on_cells = all(isinstance(s, ExpectedMiscalibration | WorstMiscalibration) for s in statistics)
    lens_first = lens.rowwise and _commutes(plan.resampler)
    if not (lens_first or isinstance(lens, Canonical)):
        return _lens_last(data, statistics, lens, plan, on_cells)
    induced = lens(data) if binned is None else binned.data
    if not on_cells:
        return _one_by_one(induced, statistics, Canonical(), plan)
    return _on_cells(induced, cast(Sequence[CellStatistic], statistics), plan, binned)


def _commutes(resampler: Resampler) -> bool:
    """Whether a resampler may draw what a lens of one row for a row has induced.

    Labels drawn from the predictions themselves may, and rows. A hypothesis about the
    predictions, or a resampler of the user's, must see them as they are.
    """
    return calibrated(resampler) or isinstance(resampler, Bootstrap)


def _on_cells(
    data: Predictions,
    statistics: Sequence[CellStatistic],
    plan: Plan,
    binned: Binned | None,
) -> Floats:
    partition = statistics[0].partition
    built_in = all(s.distance in DISTANCES for s in statistics)
    if isinstance(plan.resampler, Exact):
        binned = binned or bin_predictions(data, partition)
        draws = CellDraws.of(binned, plan.resampler.law(data), plan.key, fast=True)
        if built_in:
            found = draws.statistics(plan.n_resamples, _kinds(statistics), plan.progress)
            return found[_places(statistics)]
        return _from_counts(draws, statistics, plan)
    stay = partition.fixed or (isinstance(plan.resampler, Bootstrap) and not plan.resampler.refit)
    if built_in and isinstance(plan.resampler, Bootstrap | Consistency):
        fixed = (binned or bin_predictions(data, partition)) if stay else None
        if isinstance(plan.resampler, Bootstrap) and _better_in_order(fixed):
            return _rows_again(cast(Binned, fixed), statistics, plan)
        return _resampled(data, statistics, plan, fixed)
    if stay and not partition.fixed:
        cells = FromFunction(partition.fit(data).assign)
        statistics = [replace(s, partition=cells) for s in statistics]  # type: ignore[type-var]
    return _threaded(data, statistics, plan)


def _places(statistics: Sequence[CellStatistic]) -> list[int]:
    """Return where statistics stand among the six built-in ones."""
    return [
        DISTANCES.index(s.distance) + 3 * isinstance(s, WorstMiscalibration) for s in statistics
    ]


def _kinds(statistics: Sequence[CellStatistic]) -> Kinds:
    """Return which distances are needed, as the span that holds them."""
    found = [DISTANCES.index(s.distance) for s in statistics]
    return min(found), max(found) + 1


def _from_counts(draws: CellDraws, statistics: Sequence[CellStatistic], plan: Plan) -> Floats:
    """Evaluate any distance on drawn counts, a block of replicates and of cells at a time."""
    binned = draws.binned
    m = binned.data.m
    out = np.empty((len(statistics), plan.n_resamples))
    predicted = cell_means(binned, binned.data.labels, 0, binned.n_cells)[0]
    cells = threads.blocks(binned.n_cells, max(1, ROOM // m))
    size = max(1, ROOM // (cells[0][1] * m))

    blocks = threads.blocks(plan.n_resamples, size)
    for i, (b0, b1) in enumerate(blocks):
        distances = np.zeros((len(statistics), b1 - b0, binned.n_cells))
        for j, (first, last) in enumerate(cells):
            held = binned.mass[first:last] > 0  # rows of weight 0 are absent
            progress = part(plan.progress, i * len(cells) + j, len(blocks) * len(cells))
            observed = draws.frequencies(b0, b1, first, last, progress)[:, held]
            expected = np.broadcast_to(predicted[first:last][held], observed.shape)
            for s, statistic in enumerate(statistics):
                distances[s, :, first:last][:, held] = measure(
                    statistic.distance, observed, expected
                )
        for s, statistic in enumerate(statistics):
            out[s, b0:b1] = statistic.combine(distances[s], binned.mass)
    return out


def _better_in_order(binned: Binned | None) -> bool:
    """Whether reading the rows in their order is faster than cell by cell."""
    if binned is None:
        return False
    data = binned.data
    large = data.probs.size >= SCATTERED and data.m <= SHORT
    return large and CROWDED * binned.n_cells <= data.n


def _rows_again(binned: Binned, statistics: Sequence[CellStatistic], plan: Plan) -> Floats:
    """Return built-in statistics of rows drawn again into the same cells: (statistics, B).

    The rows are read in their order, once for a few replicates. Beside the tables of the
    cells, an eighth of the data on each thread at most, there are the rows' cells and how
    often they were drawn.
    """
    data, side = binned.data, engine.cells.SIDE
    cells = np.empty(data.n, np.int32)
    numbers = np.arange(binned.n_cells, dtype=np.int32)
    cells[binned.rows] = np.repeat(numbers, np.diff(binned.starts))
    out = np.empty((len(statistics), plan.n_resamples))

    def work(b0: int, b1: int) -> None:
        times = np.zeros((data.n, side), np.uint8)  # nobody draws a row 256 times: p < 1e-500
        for first in range(b0, b1, side):
            several = range(first, min(first + side, b1))
            for b in several:
                times[:, b - first] = draw_times(data, plan.key, b)
            norms, mass = _copied_norms(data, times, cells, binned.n_cells)
            for b in several:
                t = b - first
                out[:, b] = _combined(statistics, norms[:, :, t], mass[:, t])

    threads.run(work, threads.blocks(plan.n_resamples, 16), plan.progress)
    return out


def _copied_norms(
    data: Predictions, times: NDArray[np.uint8], cells: NDArray[np.int32], n_cells: int
) -> tuple[Floats, Floats]:
    """Return the norms (2, cells, replicates) and the mass (cells, replicates) of the cells."""
    size = times.shape[1]
    deviation = np.zeros((n_cells, data.m, size))
    mass = np.zeros((n_cells, size))
    engine.cells.add_copies(
        data.probs, data.labels, times, *data.kernel_weights, cells, np.empty(size), deviation, mass
    )
    deviation /= np.where(mass > 0, mass, 1.0)[:, None]
    squares = np.einsum("cjt,cjt->ct", deviation, deviation)
    np.abs(deviation, out=deviation)
    return np.stack((deviation.sum(axis=1), squares)), mass


def _resampled(
    data: Predictions,
    statistics: Sequence[CellStatistic],
    plan: Plan,
    fixed: Binned | None,
) -> Floats:
    """Return built-in statistics of data sets with rows drawn again: (statistics, B).

    Rows are not laid out: one that was drawn twice counts twice. Unless the cells are fixed,
    the partition is fitted to each data set, with these counts as weights.
    """
    partition = statistics[0].partition
    law = plan.resampler.law(data) if isinstance(plan.resampler, Consistency) else None
    labels_key = label_key(plan.key)
    out = np.empty((len(statistics), plan.n_resamples))

    def work(b0: int, b1: int) -> None:
        for b in range(b0, b1):
            times = draw_times(data, plan.key, b)
            weighted = data.weighted_by(times)
            binned = fixed or _bin_drawn(weighted, partition)
            if law is None:
                norms, mass = cell_norms(binned, weighted)
            else:
                norms, mass = _redrawn_norms(binned, data, times, law, labels_key, b)
            out[:, b] = _combined(statistics, norms, mass)

    threads.run(work, threads.blocks(plan.n_resamples, 16), plan.progress)
    return out


def _bin_drawn(data: Predictions, partition: Partition) -> Binned:
    """Do what `bin_predictions` does, without rows of weight 0 unless copying costs too much."""
    if data.probs.size >= SCATTERED:
        return bin_predictions(data, partition)
    drawn = np.flatnonzero(data.weights > 0).astype(np.int32)
    binned = bin_predictions(data.take(drawn), partition)
    return replace(binned, data=data, rows=drawn[binned.rows])


def _combined(statistics: Sequence[CellStatistic], norms: Floats, mass: Floats) -> list[Floats]:
    """Return built-in statistics from the norms (2, cells) and the mass (cells,) of the cells."""
    convert = [cast(Callable[[Floats], Floats], from_norms(s.distance)) for s in statistics]
    return [s.combine(f(norms), mass) for s, f in zip(statistics, convert, strict=True)]


def _redrawn_norms(
    binned: Binned,
    data: Predictions,
    times: NDArray[np.int32],
    law: NDArray[Any],
    key: np.uint64,
    b: int,
) -> tuple[Floats, Floats]:
    """Do what `cell_norms` does, with a new label for every copy of a row."""
    norms = np.empty((2, binned.n_cells))
    mass = np.empty(binned.n_cells)
    engine.null.redrawn_norms(
        data.probs,
        times,
        law,
        *data.kernel_weights,
        binned.rows,
        binned.starts,
        key,
        engine.draws.replicate_keys(key, b, b + 1)[0],
        engine.draws.room(data.m),
        *np.empty((2, data.m)),
        mass,
        norms,
    )
    return norms, mass


def _threaded(data: Predictions, statistics: Sequence[CellStatistic], plan: Plan) -> Floats:
    """Refit the partition in every replicate."""
    out = np.empty((len(statistics), plan.n_resamples))

    def work(b0: int, b1: int) -> None:
        for b in range(b0, b1):
            drawn = plan.resampler.draw(data, plan.key, b)
            binned = statistics[0].prepare(drawn)
            out[:, b] = [s.evaluate(binned, drawn.labels) for s in statistics]

    threads.run(work, threads.blocks(plan.n_resamples, 16), plan.progress)
    return out


def _lens_last(
    data: Predictions, statistics: Sequence[Statistic], lens: Lens, plan: Plan, on_cells: bool
) -> Floats:
    """Look through the lens after the draw, as a lens that mixes rows demands."""
    if not (on_cells and isinstance(plan.resampler, Exact)):
        return _one_by_one(data, statistics, lens, plan)
    cells = cast(Sequence[CellStatistic], statistics)
    binned = cells[0].prepare(lens(data))
    out = np.empty((len(cells), plan.n_resamples))
    for b0, b1 in threads.blocks(plan.n_resamples, max(1, ROOM // data.n)):
        labels = plan.resampler.labels(data, plan.key, b0, b1)
        for b in range(b0, b1):
            seen = lens.relabel(data, labels[b - b0])
            out[:, b] = [s.evaluate(binned, seen) for s in cells]
            if plan.progress is not None:
                plan.progress(b + 1, plan.n_resamples)
    return out


def _one_by_one(
    data: Predictions, statistics: Sequence[Statistic], lens: Lens, plan: Plan
) -> Floats:
    """Follow the plain definition."""
    out = np.empty((len(statistics), plan.n_resamples))
    for b in range(plan.n_resamples):
        drawn = lens(plan.resampler.draw(data, plan.key, b))
        out[:, b] = [number(s(drawn), f"resample {b}") for s in statistics]
        if plan.progress is not None:
            plan.progress(b + 1, plan.n_resamples)
    return out


def number(value: Any, where: str) -> float:
    """Return what a statistic gave as a float, or refuse it."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = None
    if found is None or isinstance(value, str | bytes):
        raise TypeError(
            f"`statistic` must return a number; for {where} it returned {_on_a_line(value)}."
        )
    if np.isnan(found):
        raise ValueError(f"`statistic` must return a number; for {where} it returned nan.")
    return found


def _on_a_line(value: Any) -> str:
    """Write a value of any kind for a sentence."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:60] + "…"
