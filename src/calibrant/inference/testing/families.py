"""Families of tests: which statistics are looked at if nobody chooses, and p-values of many."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant.arguments import as_rows
from calibrant.calibration import View
from calibrant.distances import squared_euclidean, total_variation
from calibrant.engine.arrays import Floats
from calibrant.partitions import EqualWidth, Partition, VarianceTree
from calibrant.predictions import Predictions
from calibrant.rows import Rows
from calibrant.statistics import (
    Cox,
    ExpectedMiscalibration,
    KernelMiscalibration,
    Neyman,
    Statistic,
    Surprise,
    WorstClass,
)

BANDWIDTH = 0.1  # in total variation
NARROW, LITTLE = 0.02, 0.25  # bandwidth for two outcomes, and what it counts beside other tests
MANY = 32  # outcomes beyond which cells of several would be too many
ALL_PAIRS = 4_000  # rows up to which the kernel of three outcomes or more looks at all pairs,
PAIRED = 10 * ALL_PAIRS**2  # if these are no more numbers to compare
RANKS = ((50_000, 128), (float("inf"), 64))  # rows, and landmarks that stand for all others
UNITS = 1 << 16  # in the last place
FINE = 40  # times as many columns as tests, from which p-values are fine enough to adjust by
ALONE = 20  # times as many columns as tests, from which one of these alone can show 5 %

Family = tuple[
    Floats, Floats, Floats
]  # tests of one hypothesis (tests,), nulls (tests, B), weights
Evidence = tuple[float, Floats]  # of the data, and of every replicate (B,): larger is stronger


def omnibus(view: View) -> tuple[Statistic, ...]:
    """Return the statistics that are tested together, by the number of outcomes and rows.

    They complement each other. Cox's test sees predictions that are too high or too low as a
    whole, too confident or too timid, and Neyman's smooth test how a curve bends, waves and dips; a
    narrow kernel, which counts a quarter of each, sees what is off within a few points only. For
    more than two outcomes the log loss and the totals of the classes take the place of Cox's
    test; the worst class is one of many that alone is off; the kernel sees whatever neighbours
    have in common. They were chosen by their power on real predictions, see `docs/measures.md`.
    Rows in clusters leave statistics of sums over rows: a tree instead of the kernel, and the
    totals. With weights, kernels pair a row with itself, too: so their unit does not matter. Of
    rows elsewhere there are statistics on cells alone: how far off predictions are as a whole, and
    within 15 intervals, or by the class of a probability of one half or more.
    """
    if not view.rows.held:
        return _on_cells(view.m)
    if view.clusters is not None:
        on_tree = ExpectedMiscalibration(default_tree(view.data), squared_euclidean)
        return on_tree, ExpectedMiscalibration(EqualWidth(1), total_variation)
    unbiased = not view.data.weighted
    if view.m == 2:
        return Cox(), Neyman(), KernelMiscalibration(NARROW, unbiased=unbiased)
    kernel = KernelMiscalibration(BANDWIDTH, unbiased=unbiased)
    if view.n > ALL_PAIRS or view.n**2 * view.m > PAIRED:
        rank = next(rank for rows, rank in RANKS if view.n <= rows)
        kernel = replace(kernel, form="low-rank", rank=rank)
    totals = ExpectedMiscalibration(EqualWidth(1), total_variation)
    return kernel, Surprise(), totals, WorstClass()


def omnibus_weights(statistics: Sequence[Statistic]) -> Floats:
    """Return what each of the statistics of `omnibus` counts beside the others."""
    narrow = [getattr(one, "bandwidth", None) == NARROW for one in statistics]
    return np.where(narrow, LITTLE, 1.0)


def _on_cells(m: int) -> tuple[Statistic, ...]:
    """Return the statistics that are tested together if rows come in batches."""
    whole = ExpectedMiscalibration(EqualWidth(1), total_variation)
    if m > MANY:
        return (whole,)
    parts = EqualWidth(15) if m == 2 else EqualWidth(2)
    return whole, ExpectedMiscalibration(parts, total_variation)


def said_of(rows: Rows) -> str:
    """Return what settings say of the statistics that nobody chose."""
    return "omnibus" if rows.held else "omnibus on bins"


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


def pvalue(observed: ArrayLike, null: Floats) -> Any:
    """Return p = (1 + #{h* ≥ h}) / (B + 1) for observed (…) and null (…, B).

    Values that agree up to rounding count as equal, see `rounding`. The observed value is one
    of the B + 1 possible ones, so p is never 0. What is not a number counts against rejection.

    Examples
    --------
    >>> pvalue(0.3, np.array([0.1, 0.3, 0.2]))
    0.5
    """
    h = np.asarray(observed, np.float64)
    hits = (~(null < (h - rounding(h))[..., None])).sum(axis=-1)
    p = (1 + hits) / (null.shape[-1] + 1)
    return float(p) if p.ndim == 0 else p


def rounding(value: ArrayLike) -> Any:
    """Return how far from `value` numbers may be that differ from it by rounding.

    The same m terms, none of them negative, added in another order differ by at most 2 m
    units in the last place. The limit of 65,536 units, a relative 1e-11, covers 30,000 classes.
    """
    finite = np.isfinite(value)
    return np.where(finite, UNITS * np.spacing(np.abs(np.where(finite, value, 0.0))), 0.0)


def spread(values: Floats, ddof: int = 0) -> float:
    """Return the standard deviation (n,); nan of too few values, or where one is not finite."""
    known = values.size > ddof and np.isfinite(values).all()
    return float(values.std(ddof=ddof)) if known else float("nan")


def summary_of(null: Floats) -> dict[str, float]:
    """Return what dictionaries say of a null distribution (B,)."""
    return {"null_mean": float(null.mean()), "null_sd": spread(null)}


def adjust(values: Floats, null: Floats) -> Floats:
    """Adjust statistics (tests,) with nulls (tests, B): `min_p` of a few, `max_t` of many.

    Under `min_p` the strongest evidence may be worth no more than tests / (B + 1). Beyond one
    in 40 tests are compared by their size instead, so that B need not grow with their number.
    """
    tests, size = null.shape
    return (min_p if FINE * tests <= size + 1 else max_t)(values, null)


def min_p(values: Floats, null: Floats) -> Floats:
    """Adjust a few different statistics (tests,) with nulls (tests, B), by their p-values.

    Every value of a row, observed or drawn, has a p-value: the share of the row that is at least
    as large. The smallest p-value of all that are still in question is compared with the
    smallest ones of the replicates. Rows with the same p-values throughout are the same test,
    and count once without being told so.
    """
    return _step_down(-_pvalues_of_all(values, null))


def combined(values: Sequence[float] | Floats, null: Floats, weights: Floats) -> Evidence:
    r"""Return the evidence of several tests of one hypothesis taken together, and its null (B,).

    .. math:: E_b = \log_{10} \sum_j \frac{w_j}{p_{jb}} \Big/ \sum_j w_j

    Minus the logarithm of the harmonic mean of their p-values. Every value of a test j, observed or
    drawn, has a p-value: the share of its B + 1 values that are at least as large. If the
    hypothesis holds, the B + 1 columns are exchangeable, and E treats all of them alike. So the
    rank of the observed one is an exact p-value, however tests depend on each other. One small
    p-value counts nearly as much as under `min_p`; several that are fairly small add up. Tests with
    the same p-values throughout are the same test, and count once without being told so.

    Where columns are fewer than 20 times the tests, one test alone could not show 5 %: then E is
    the largest statistic, standardised as in `max_t`.

    weights : what each test counts (tests,)

    References
    ----------
    Good (1958), "Significance tests in parallel and in series"; Wilson (2019), "The harmonic mean
    p-value for combining dependent tests".
    """
    family = np.asarray(values, np.float64), null, weights
    return _split(_evidence(family, ranked=_shown_by_ranks(null)))


def together(families: Sequence[Family], implies_all: Sequence[bool]) -> tuple[Floats, Evidence]:
    """Return p-values of hypotheses (families,), adjusted for all, and the evidence of all.

    It is a closed test: a hypothesis is rejected if every intersection of it with others is. All
    tests see the same draws. An intersection is tested by the smallest of its hypotheses' p-values,
    each that of all its tests `combined`; its draws are those of the columns. So steps from the
    smallest p-value down do what testing all intersections would.

    A hypothesis that implies all others is every intersection that it is part of: full
    distributions that are calibrated are so through every lens. It takes one test, which may look
    at all there is: the tests of all hypotheses, `combined`. The others can be rejected only if it
    is, and then by steps among themselves. So whoever shows that confidences are off has shown
    that the distributions are.

    With B + 1 exchangeable columns the test of each hypothesis is exact, and so is that of all
    together; the chance to reject any that holds is at most that of rejecting the intersection of
    those that hold. Of several lenses that are calibrated where the distributions are not, the
    labels of one are distributed as those drawn; how they depend on those of another is taken from
    the draws.

    implies_all : whether a hypothesis implies all others (families,)

    The p-value of the evidence is the smallest of them.
    """
    values, nulls, weights = (np.concatenate(parts) for parts in zip(*families, strict=True))
    ranked, first = _shown_by_ranks(nulls), np.asarray(implies_all, np.bool_)
    rows = [_evidence(family, ranked=ranked) for family in families]
    evidence = np.stack([-pvalues_of_row(row) if ranked else row for row in rows])
    if not first.any():
        return _step_down(evidence), _split(evidence.max(axis=0))
    of_all = _evidence((values, nulls, weights), ranked=ranked)
    p = np.full(len(rows), pvalues_of_row(of_all)[0])
    p[~first] = np.maximum(p[~first], _step_down(evidence[~first]))
    return p, _split(of_all)


def _split(evidence: Floats) -> Evidence:
    """Return the evidence of the data, and that of the replicates."""
    return float(evidence[0]), evidence[1:]


def _shown_by_ranks(null: Floats) -> bool:
    """Whether one of so many tests alone could show 5 % by its rank: nulls (tests, B)."""
    tests, size = null.shape
    return bool(ALONE * tests <= size + 1)


def _evidence(family: Family, *, ranked: bool) -> Floats:
    """Return the evidence of tests of one hypothesis, observed and drawn: (B + 1,)."""
    values, null, weights = family
    if not ranked:
        return np.asarray(_standardised(values, null).max(axis=0))
    p = _pvalues_of_all(values, null)
    different = list({row.tobytes(): j for j, row in enumerate(p)}.values())
    share = weights[different] / weights[different].sum()
    return np.asarray(np.log10((share[:, None] / p[different]).sum(axis=0)))


def max_t(values: Floats, null: Floats) -> Floats:
    """Adjust many statistics that are alike (tests,) with nulls (tests, B), by their size.

    Each is standardised with the mean and spread of its B + 1 values, the observed one among
    them, so that the columns stay exchangeable. Use it where p-values are too coarse to tell
    tests apart: with B = 999 none of 1000 classes could ever be significant by `min_p`.
    """
    return _step_down(_standardised(values, null))


def largest(values: Floats, null: Floats) -> tuple[float, Floats]:
    """Return the largest standardised statistic of `max_t`, and its null (B,)."""
    found = _standardised(values, null).max(axis=0)
    return float(found[0]), found[1:]


def _standardised(values: Floats, null: Floats) -> Floats:
    """Standardise statistics (tests,) and their nulls (tests, B), side by side: (tests, B + 1)."""
    table = np.column_stack((values, null))
    finite = np.isfinite(table)
    known = np.where(finite, table, 0.0)
    count = np.maximum(finite.sum(axis=1, keepdims=True), 1)
    centred = np.where(finite, known - known.sum(axis=1, keepdims=True) / count, 0.0)
    spread = np.sqrt((centred**2).sum(axis=1, keepdims=True) / count)
    standard = np.divide(centred, spread, out=np.zeros_like(table), where=spread > 0)
    return np.where(finite, standard, table)  # what is infinite is the strongest


def holm(p: Floats) -> Floats:
    """Return p-values (tests,) adjusted by Holm's step-down procedure."""
    order = np.argsort(p, kind="stable")
    out = np.empty(p.size)
    out[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return out


def _pvalues_of_all(values: Floats, null: Floats) -> Floats:
    """Return the p-values of statistics and of their nulls, each in its row: (tests, B + 1)."""
    return np.stack([pvalues_of_row(row) for row in np.column_stack((values, null))])


def pvalues_of_row(row: Floats) -> Floats:
    """Return the share of a row that is at least as large as each of its values (B + 1,).

    Values that agree up to rounding count as equal.
    """
    order = np.argsort(row, kind="stable")
    ranked = row[order]
    new = np.ones(row.size, np.bool_)
    with np.errstate(invalid="ignore"):
        close = ranked[1:] - ranked[:-1] <= rounding(ranked[1:])
    new[1:] = ~(close | (ranked[1:] == ranked[:-1]))
    group = np.cumsum(new) - 1
    at_least = row.size - np.flatnonzero(new)
    out = np.empty(row.size)
    out[order] = at_least[group] / row.size
    return out


def _step_down(evidence: Floats) -> Floats:
    """Return adjusted p-values (tests,) from evidence (tests, B + 1), larger is stronger."""
    order = np.argsort(-evidence[:, 0], kind="stable")
    ranked = evidence[order]
    strongest = np.maximum.accumulate(ranked[::-1], axis=0)[::-1]  # of a test and all after it
    slack = rounding(ranked[:, :1])
    share = (strongest >= ranked[:, :1] - slack).mean(axis=1)
    out = np.empty(order.size)
    out[order] = np.maximum.accumulate(share)
    return out
