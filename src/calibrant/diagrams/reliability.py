"""From predictions to a reliability diagram, §4.4."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.checks.parameters import fraction
from calibrant.checks.seeds import Rng
from calibrant.diagrams.diagram import Floats, ReliabilityDiagram, Series
from calibrant.diagrams.problems import Models, chosen_lens, first, look, named
from calibrant.inference.replicates.plan import Plan, Progress, part
from calibrant.inference.replicates.problem import Problem
from calibrant.inference.testing.binwise import of_problem
from calibrant.lenses import Lens
from calibrant.partitions import EqualWidth, Partition, SimplexCells
from calibrant.resampling import Exact, Resampler
from calibrant.spelling import as_partition
from calibrant.verbs import takes_models

ALPHA = 0.05  # family-wise level at which a cell counts as off
MOST_BINS = 50  # of the histogram: more are too thin to be seen
OTHER_BINS = 20  # of the histogram, where the cells have no equal widths
LARGEST = 4  # outcomes that can be drawn: a tetrahedron has four corners


@takes_models
def reliability_diagram(
    data: Models,
    *,
    lens: Lens | str | None = None,
    partition: Partition | str | None = None,
    resampler: Resampler | str = Exact(),
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> ReliabilityDiagram:
    """Compute a reliability diagram of two, three or four outcomes.

    A cell counts as off at the family-wise level 0.05; see `ReliabilityDiagram.marked_at`.

    Parameters
    ----------
    data : Predictions, Scan, or mapping of str to such
        The predictions; more than one model, by name, for one picture of two outcomes.
    lens : Lens or str, optional
        What aspect of the predictions is shown. Default: canonical for up to four classes, and for
        two of several models; else the top label.
    partition : Partition, optional
        The cells. Default: EqualWidth(10) for two outcomes, SimplexCells(5) for three,
        SimplexCells(4) for four.
    resampler : Resampler, default Exact()
        What draws data sets under the hypothesis of calibration.
    n_resamples : int, default 999
        Number of data sets drawn.
    level : float, default 0.9
        Level of the consistency limits; 0.9 gives the 5th and 95th percentile.
    rng : int, numpy.random.Generator or None, default None
        Seed, generator, or None for fresh entropy.
    progress : function of (done, total), optional
        Called now and then.

    Returns
    -------
    ReliabilityDiagram
        The diagram as data, with its settings.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.2] * 100 + [0.8] * 100, [0, 1] * 50 + [1] * 80 + [0] * 20)
    >>> print(reliability_diagram(data, rng=0))
    reliability diagram of 2 outcomes: 1 of 2 cells is off at 5% (family-wise)
    """
    models = named(data, scans=True)
    plan = Plan.of(first(models), resampler, n_resamples, rng, progress)
    chosen = chosen_lens(models, lens, LARGEST)
    problems = look(models, chosen, plan)
    seen = next(iter(problems.values())).view
    _check_number_of_outcomes(seen.m, len(models))
    cut = as_partition(default_partition(seen.m) if partition is None else partition)
    edges = _edges(cut)
    series = []
    for i, (name, problem) in enumerate(problems.items()):
        mine = replace(plan, progress=part(progress, i, len(models)))
        histogram = _histogram(problem, edges)
        cells = of_problem(problem, cut, mine, fraction("level", level))
        corners = cut.vertices(cells.function.fitted) if isinstance(cut, SimplexCells) else None
        series.append(Series(name, cells, histogram(), corners))
    return ReliabilityDiagram(
        series=tuple(series),
        classes=seen.classes,
        event=seen.event or 0,
        edges=edges,
        settings=plan.settings(lens=chosen, partition=cut, level=level, alpha=ALPHA),
        subject=chosen.subject,
    )


def default_partition(m: int) -> Partition:
    """Return the cells of a diagram of m outcomes."""
    if m == 2:
        return EqualWidth(10)
    return SimplexCells(5 if m == 3 else 4)


def _check_number_of_outcomes(m: int, n_models: int) -> None:
    if m > LARGEST:
        raise ValueError(
            f"A diagram shows at most four outcomes; found {m}. Look through a lens: `TopLabel()`"
            " or `Marginal(…)` for one dimension, `TopK(2)` or `Groups(…)` of three groups for"
            " two, `Groups(…)` of four for three."
        )
    if n_models > 1 and m > 2:
        raise ValueError(
            f"Models can share a picture only if there are two outcomes; found {m}. Draw one"
            " diagram for each."
        )


def _edges(partition: Partition) -> Floats:
    """Return the limits of the bins of the histogram: those of EqualWidth, to the last bit."""
    bins = OTHER_BINS
    if isinstance(partition, EqualWidth):
        bins = min(partition.k, MOST_BINS)
    return np.arange(bins + 1) / bins


def _histogram(problem: Problem, edges: Floats) -> Callable[[], Floats | None]:
    """Return what gives the shares of the rows between edges; None if there are more outcomes.

    The cells of scanned rows are asked for at once, and looked at when they were found.
    """
    if problem.view.m != 2:
        return lambda: None
    if problem.rows.held:
        seen = problem.seen
        weights = seen.weights if seen.weighted else None
        counts = np.histogram(seen.probs[:, seen.event], edges, weights=weights)[0]
        return lambda: np.asarray(counts / counts.sum())
    cells: Any = problem.view.cells(EqualWidth(edges.size - 1))

    def shares() -> Floats:
        out = np.zeros(edges.size - 1)
        out[cells.fitted.keys[:, 0].astype(int)] = cells.proportions
        return out

    return shares
