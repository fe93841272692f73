"""From predictions to curves: isotonic, smooth and cumulative, with bands of the exact null."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import takes_models
from calibrant.calibration import isotonic, observed
from calibrant.checks.parameters import Rng, brief, positive
from calibrant.diagrams.along import runs
from calibrant.diagrams.bands import (
    Binomial,
    Even,
    band_of,
    check_level,
    confidence_band,
    group_ends,
    of_groups,
)
from calibrant.diagrams.curve import (
    CUMULATIVE,
    ISOTONIC,
    SMOOTH,
    CurveDiagram,
    CurveSeries,
    Kind,
)
from calibrant.diagrams.diagram import (
    Models,
    chosen_lens,
    first,
    look,
    named,
    refuse_clusters,
    subject_of,
)
from calibrant.inference.replicates.problem import Plan, Problem, Progress
from calibrant.lenses import Lens
from calibrant.partitions import FromFunction
from calibrant.resampling import Exact
from calibrant.statistics import Block
from calibrant.statistics.smooth import (
    expected_width,
    smoothed_mass,
    smoothed_residuals,
    squared_mass,
)
from calibrant.statistics.statistic import BY_EVENT, Ties
from calibrant.words import ALPHA

Floats = NDArray[np.float64]
Make = Callable[[str, Problem, Plan, float], CurveSeries]

POINTS = 256  # of a curve, about
BINS = 50  # of the histogram of predictions
WIDER, NARROWEST = 2.0, 0.03  # width of the kernel: a picture shows no finer detail
FEWEST_ROWS = 1.0  # within the kernel, for a point to be drawn
SHORTEST = 0.002  # piece of a smooth curve that is more than a point
ROUNDING = 1e-14  # of a smoothed density, beside the largest one


@takes_models
def isotonic_diagram(
    data: Models,
    *,
    lens: Lens | str | None = None,
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> CurveDiagram:
    r"""Draw the increasing calibration curve that fits the outcomes best (CORP).

    This is the isotonic regression of outcomes on predictions; there are no bins to choose. Above
    65,536 different predictions, p-values and the consistency band use groups of neighbours.

    Parameters
    ----------
    data : Predictions or mapping of str to Predictions
        The predictions; more than one model, by name, for one picture.
    lens : Lens, optional
        What aspect is shown; it must leave two outcomes. Default: the event of two classes, the
        top label of more.
    n_resamples, level, rng, progress
        As in `reliability_diagram`; the level is that of the bands.

    Returns
    -------
    CurveDiagram
        The curve at no more than a few hundred predictions. ``band.pointwise`` is the consistency
        band: a calibrated model's curve is within it, at each prediction by itself, with
        probability `level`. ``confidence`` is another thing, a band that holds all of the true
        calibration curve with probability `level`, if that curve increases.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers", PNAS.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.2] * 50 + [0.8] * 50, [0, 1] * 25 + [1] * 40 + [0] * 10)
    >>> diagram = isotonic_diagram(data, rng=0)
    >>> diagram.series[0].y.tolist()
    [0.5, 0.8]
    >>> print(diagram)
    isotonic curve (CORP), p ≤ 0.001 for the whole curve
    """
    plan = Plan.of(first(data), Exact(), n_resamples, rng, progress)
    return _diagram(ISOTONIC, _isotonic_series, data, lens, plan, level)


@takes_models
def smooth_diagram(
    data: Models,
    *,
    lens: Lens | str | None = None,
    bandwidth: float | None = None,
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> CurveDiagram:
    r"""Draw a smooth calibration curve: frequency over prediction, both smoothed by a kernel.

    .. math:: x(t) = \frac{\sum_i K_s(t, p_i) p_i}{\sum_i K_s(t, p_i)}, \qquad
        y(t) = \frac{\sum_i K_s(t, p_i) y_i}{\sum_i K_s(t, p_i)}

    K_s is the Gaussian density of width s in t - p, reflected at 0 and 1. Both are means over the
    same rows, so y is between 0 and 1, and x is what a calibrated model makes of it on average.

    Parameters
    ----------
    data, lens, n_resamples, level, rng, progress
        As in `isotonic_diagram`.
    bandwidth : float, optional
        The width s. Default: about twice the smooth miscalibration that a calibrated model with
        these predictions would have, at least 0.03. A width that was chosen with a look at the
        outcomes, such as `SmoothMiscalibration` of the data, makes the bands approximate.

    Returns
    -------
    CurveDiagram
        The curve where there are predictions, with their density; predictions that are all but
        equal, far from others, give a point. ``band.pointwise`` holds at each point by itself.
        Points are judged beside what chance does to each: by a likelihood ratio, as if their
        frequency came from as many rows as have the same variance. If s is the
        `SmoothMiscalibration` of the data, the mean distance to the diagonal, weighted with the
        density, is s too.

    References
    ----------
    Błasiok and Nakkiran (2024), "Smooth ECE: Principled reliability diagrams via kernel
    smoothing".

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.2] * 50 + [0.8] * 50, [0, 1] * 25 + [1] * 40 + [0] * 10)
    >>> print(smooth_diagram(data, rng=0))
    smooth curve, p ≤ 0.001 for the whole curve
    """
    width = None if bandwidth is None else float(positive("bandwidth", bandwidth))
    if width is not None and not 1e-3 <= width <= 1:
        raise ValueError(f"`bandwidth` must be from 0.001 to 1; found {brief(bandwidth)}.")
    make = partial(_smooth_series, width=width)
    plan = Plan.of(first(data), Exact(), n_resamples, rng, progress)
    return _diagram(SMOOTH, make, data, lens, plan, level, bandwidth=width)


@takes_models
def cumulative_diagram(
    data: Models,
    *,
    lens: Lens | str | None = None,
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> CurveDiagram:
    r"""Draw the running sum of observed minus predicted, with rows sorted by prediction.

    .. math:: C(v) = \frac1n \sum_{i : p_i \le v} (y_i - p_i)

    over the share of the rows with :math:`p_i \le v`. Read its slope: it is how far off the rows
    are there. There are no bins or widths to choose.

    Parameters
    ----------
    data, lens, n_resamples, level, rng, progress
        As in `isotonic_diagram`.

    Returns
    -------
    CurveDiagram
        The curve at no more than a few hundred predictions. ``band.whole`` is around 0 and equally
        wide everywhere: the whole curve of a calibrated model is within it with probability
        `level`. It is left where Kolmogorov's test rejects.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu (2022), "Metrics of calibration for
    probabilistic predictions".

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.2] * 50 + [0.8] * 50, [0, 1] * 25 + [1] * 40 + [0] * 10)
    >>> diagram = cumulative_diagram(data, rng=0)
    >>> diagram.series[0].x.tolist(), diagram.series[0].y.round(3).tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.15, 0.15])
    """
    plan = Plan.of(first(data), Exact(), n_resamples, rng, progress)
    return _diagram(CUMULATIVE, _cumulative_series, data, lens, plan, level)


def _diagram(
    kind: Kind,
    make: Make,
    data: Models,
    lens: Lens | str | None,
    plan: Plan,
    level: float,
    **chosen: float | None,
) -> CurveDiagram:
    models = named(data)
    lens = chosen_lens(models, lens)
    check_level(level, plan.n_resamples)
    refuse_clusters("A curve", plan.resampler)
    looked = look(models, lens, plan)
    seen = looked[0][1].seen
    if seen.event is None:
        raise ValueError(
            f"A curve needs a problem with two outcomes; found {seen.m}. Look through a lens such"
            " as `TopLabel()` or `Marginal(…)`."
        )
    return CurveDiagram(
        kind=kind,
        series=tuple(make(*each, level) for each in looked),
        classes=seen.classes,
        event=seen.event,
        settings=plan.settings(lens=lens, level=level, alpha=ALPHA, **chosen),
        subject=subject_of(lens, looked[0][1]),
    )


def _ties(problem: Problem) -> Ties:
    event = problem.seen.event
    assert event is not None
    return Ties(problem.view.cells(BY_EVENT[event]), event)


def _squared_weights(problem: Problem, ties: Ties) -> Floats:
    """Return the sums of the squared weights of rows with equal predictions (predictions,)."""
    if not problem.seen.weighted:
        return ties.mass
    found = np.bincount(ties.cells.of_rows, problem.seen.weights**2, ties.values.size)
    return np.asarray(found, np.float64)


def _isotonic_series(name: str, problem: Problem, plan: Plan, level: float) -> CurveSeries:
    """Return the isotonic regression, at no more than POINTS predictions."""
    ties = _ties(problem)
    losses = np.zeros((2, ties.values.size))
    held = np.flatnonzero(ties.mass > 0)
    at = held[_spread_out(ties.values[held])]

    def evaluate(block: Block) -> Floats:
        found: Floats = ties.pools(block, losses).values(at)
        return found

    groups = of_groups(problem, ties, at)
    y, band = band_of(groups or evaluate, problem, plan, level)
    if groups is not None:
        y = evaluate(observed(problem.seen))[0]
    x = ties.values[at]
    bars = np.histogram(ties.values, BINS, (0.0, 1.0), weights=ties.mass)[0]
    nearest = np.searchsorted((x[1:] + x[:-1]) / 2, ties.values)
    confidence = None
    if problem.lens.rowwise:
        squares = _squared_weights(problem, ties)[held]
        found = isotonic(problem.seen, ties.event)
        confidence = confidence_band(found, squares, level, x)
    return CurveSeries(
        name=name,
        x=x,
        y=y,
        predictions=x,
        shares=np.bincount(nearest, ties.mass, x.size) / ties.total,
        band=band,
        density=np.asarray(bars / ties.total),
        confidence=confidence,
    )


def _spread_out(values: Floats) -> NDArray[np.int64]:
    """Choose at most POINTS of sorted values: evenly by their rank, and over the line."""
    if values.size <= POINTS:
        return np.arange(values.size)
    ranks = np.linspace(0, values.size - 1, POINTS // 2).round().astype(np.int64)
    places = np.linspace(values[0], values[-1], POINTS // 2)
    return np.unique(np.concatenate((ranks, np.searchsorted(values, places))))


def _smooth_series(
    name: str, problem: Problem, plan: Plan, level: float, width: float | None
) -> CurveSeries:
    """Return the frequency smoothed by a kernel, where there are predictions."""
    ties = _ties(problem)
    variance = _squared_weights(problem, ties) * ties.values * (1 - ties.values) / ties.total**2
    if width is None:
        width = max(WIDER * expected_width(float(np.sqrt(variance.sum()))), NARROWEST)
    density, predicted = (
        smoothed_mass(ties.values, each / ties.total, width, POINTS)
        for each in (ties.mass, ties.predicted)
    )
    shares = density * (2 * np.sqrt(np.pi) * width)
    shown, gaps = _shown(shares * problem.seen.n >= FEWEST_ROWS, predicted, density)
    # Rounding is no deviation: neither of predictions that are certain, nor of their frequency.
    small = ROUNDING * density.max() / density[shown]
    x = np.maximum.accumulate(predicted[shown] / density[shown])
    variance = squared_mass(ties.values, variance, width, POINTS)[shown] / density[shown] ** 2
    expected = np.clip(x, small, 1 - small)
    rows = expected * (1 - expected) / np.maximum(variance, (100 * small) ** 2)

    def evaluate(block: Block) -> Floats:
        off = smoothed_residuals(ties, block, width, POINTS)[:, shown] / density[shown]
        return np.clip(x + off, 0.0, 1.0)

    y, band = band_of(evaluate, problem, plan, level, Binomial(expected, rows))
    return CurveSeries(
        name=name,
        x=x,
        y=y,
        predictions=x,
        shares=np.minimum(shares[shown], 1.0),
        band=band,
        density=(density[1:] + density[:-1]) / (2 * POINTS),
        gaps=gaps,
    )


def _shown(
    enough: NDArray[np.bool_], predicted: Floats, density: Floats
) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Return the points that are shown, and which of them begin another piece.

    Of a piece that is too short to be seen as a line the point with most rows is left.
    """
    pieces = []
    for start, stop in runs(enough):
        first, last = (predicted[i] / density[i] for i in (start, stop - 1))
        most = start + int(np.argmax(density[start:stop]))
        alone = last - first < SHORTEST
        pieces.append(np.array([most]) if alone else np.arange(start, stop))
    ends = np.cumsum([piece.size for piece in pieces])
    return np.concatenate(pieces), tuple(ends[:-1].tolist())


def _cumulative_series(name: str, problem: Problem, plan: Plan, level: float) -> CurveSeries:
    """Return the sums of residuals, after no more than POINTS groups of predictions."""
    ties = _ties(problem)
    ends = group_ends(ties.mass, POINTS)
    last = ties.values[ends]

    def group(probs: Floats) -> NDArray[np.int64]:
        return np.searchsorted(last, probs[:, ties.event].astype(np.float64))

    cells = problem.view.cells(FromFunction(group))
    predicted = np.cumsum(np.add.reduceat(ties.predicted, np.concatenate(([0], ends[:-1] + 1))))

    def evaluate(block: Block) -> Floats:
        events = block.events(cells, 0, cells.n_cells).T
        off = (np.cumsum(events, axis=1) - predicted) / ties.total
        return np.concatenate((np.zeros((block.size, 1)), off), axis=1)

    y, band = band_of(evaluate, problem, plan, level, Even(ends.size + 1))
    x = np.concatenate(([0.0], np.cumsum(cells.mass) / ties.total))
    return CurveSeries(
        name=name,
        x=x,
        y=y,
        predictions=np.concatenate((ties.values[:1], last)),
        shares=np.diff(x, prepend=0.0),
        band=band,
    )
