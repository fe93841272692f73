"""Statistics that are sums over rows: of proper scores, and of the cases of each class."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import erfc, inf, sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, View, observed
from calibrant.partitions import EqualWidth
from calibrant.predictions import Predictions
from calibrant.scores import Score, brier_score, event_losses, least_loss
from calibrant.statistics.statistic import (
    Array,
    Evaluate,
    Floats,
    RowSums,
    Statistic,
    Summed,
    Sums,
    Ties,
    counts_of,
    spans,
    unit_for,
)

MOST = 1 << 14  # replicates at a time
ABREAST = 1 << 17  # probabilities whose logarithms are taken at a time
SMALL = 1e-3  # below it, h of `WorstClass` is taken from its series
LEAST = 1e-150  # a variance below which nothing is expected to occur
EPS = float(np.finfo(float).eps)
LARGEST = 746.0  # -log of the smallest number above 0


class SignedStatistic(Statistic):
    """The modulus of a number that is above 0 if predictions are overconfident."""

    __slots__ = ()

    @abstractmethod
    def signed(self, view: View) -> Evaluate:
        """Do what `prepare` does, for the number with its sign."""

    def prepare(self, view: View) -> Evaluate:
        """Do what depends on the predictions alone."""
        signed = self.signed(view)
        if isinstance(signed, Summed):
            return replace(signed, finish=lambda sums: np.abs(signed.finish(sums)))
        return lambda block: np.abs(signed(block))

    def z(self, data: Predictions) -> float:
        """Return it with its sign: above 0 if predictions are overconfident."""
        return float(self.signed(View.of(data))(observed(data))[0])


@final
@dataclass(frozen=True, slots=True)
class Spiegelhalter(SignedStatistic):
    r"""Spiegelhalter's test: how far the Brier score is from what the model expects.

    .. math:: z = \frac{\sum_i w_i (y_i - p_i) (1 - 2 p_i)}
              {\sqrt{\sum_i w_i^2 (1 - 2 p_i)^2 p_i (1 - p_i)}}

    Notes
    -----
    Under calibration z has mean 0 and variance 1. It is positive if predictions are overconfident,
    negative if they are underconfident. It looks at one number: deviations whose contributions
    cancel go unnoticed, such as those that mirror each other at 1/2. If no prediction can move it
    (each is 0, 1/2 or 1), it is 0 when all predictions of 0 and 1 are right, and infinite
    otherwise. The unit of weights does not matter.

    References
    ----------
    Spiegelhalter (1986), "Probabilistic prediction in patient management and clinical trials".

    Examples
    --------
    >>> data = Predictions([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 0])
    >>> round(Spiegelhalter()(data), 6)
    2.201127
    >>> round(Spiegelhalter().z(Predictions([0.2, 0.8], [0, 1])), 6)
    -0.707107
    """

    def signed(self, view: View) -> Evaluate:
        ties = Ties.of(self, view)
        factors = 1.0 - 2.0 * ties.values
        scale = sqrt((factors**2 * ties.variance).sum())

        def evaluate(block: Block) -> Floats:
            (sums,) = ties.sums(block, factors[None])
            if scale > 0.0:
                return np.asarray(sums / scale)
            return np.where(sums == 0.0, 0.0, inf)

        return evaluate

    def pvalue(self, data: Predictions) -> float:
        """Return the two-sided p-value of z as a standard normal number.

        Examples
        --------
        >>> round(Spiegelhalter().pvalue(Predictions([0.2, 0.8], [0, 1])), 6)
        0.4795
        """
        return erfc(self(data) / sqrt(2.0))

    def __str__(self) -> str:
        return "Spiegelhalter's z"


@final
@dataclass(frozen=True, slots=True)
class Surprise(SignedStatistic):
    r"""How far the log loss is from what the model expects, in standard deviations.

    .. math:: \frac{|\sum_i w_i (-\log p_{i, y_i} - H(p_i))|}
              {\sqrt{\sum_i w_i^2 \mathrm{Var}_{p_i}(\log p_i)}}, \qquad
              H(p) = -\sum_k p_k \log p_k

    Notes
    -----
    It is the score test of the temperature: large if predictions are over- or underconfident as a
    whole, for any number of classes, with one degree of freedom. It sees nothing else. An outcome
    that was given probability 0 makes it infinite. The unit of weights does not matter.

    Examples
    --------
    >>> unsure = Predictions([[0.6, 0.3, 0.1]] * 40, [0] * 34 + [1] * 5 + [2])
    >>> round(Surprise()(unsure), 3), round(Surprise().z(unsure), 3)
    (2.88, -2.88)
    """

    def signed(self, view: View) -> Evaluate:
        data = view.data
        expected, variance = view.remember("surprise", lambda: _expected(data))
        scale = float(np.sqrt(variance)) if variance > 0 else 1.0

        rows = SurpriseSums(data)

        def finish(sums: Sums) -> Floats:
            with np.errstate(invalid="ignore"):
                return np.asarray((rows.value(sums) - expected) / scale)

        return Summed(rows, finish)

    def __str__(self) -> str:
        return "log loss against expectation"


def _expected(data: Predictions) -> tuple[float, float]:
    """Return mean and variance of the summed surprise, if calibrated."""
    means, squares = np.empty(data.n), np.empty(data.n)
    for first, last in spans(data.n, data.m):
        p, surprise, _ = _logs(data, slice(first, last))
        means[first:last] = (p * surprise).sum(axis=1)
        squares[first:last] = (p * surprise**2).sum(axis=1)
    mean = float((data.weights * means).sum())
    return mean, float((data.weights**2 * (squares - means**2)).sum())


@final
class SurpriseSums(RowSums):
    """The summed surprise, and how often what was given probability 0 occurs, in two words each."""

    most = MOST

    def __init__(self, data: Predictions) -> None:
        self.data, self.n = data, data.n
        self.step = max(1, ABREAST // data.m)
        self.unit = unit_for(LARGEST * max(1.0, float(data.weights.max())))

    def start(self, size: int) -> Sums:
        """Return the sums of no rows."""
        return tuple(np.zeros((4, size), np.int64))

    def add(self, sums: Sums, first: int, last: int, outcomes: Array) -> None:
        """Add the surprise of rows."""
        _, surprise, never = _logs(self.data, slice(first, last))
        weights = self.data.weights[first:last, None]
        table = np.rint(weights * surprise / self.unit).astype(np.int64)
        engine.pairs.add_entries(table, outcomes, engine.pairs.Words(*sums[:2]))
        if never.any():
            zeros = never.astype(np.int64)
            engine.pairs.add_entries(zeros, outcomes, engine.pairs.Words(*sums[2:]))

    def value(self, sums: Sums) -> Floats:
        """Return the summed surprise of each replicate: (size,)."""
        words, impossible = engine.pairs.Words(*sums[:2]), engine.pairs.Words(*sums[2:])
        return np.where(impossible.value > 0, inf, words.value * self.unit)


def _logs(data: Predictions, rows: slice) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return probabilities of rows, -log of those above 0, and which are 0 in rows that count."""
    p = np.array(data.probs[rows], np.float64)
    if data.event is not None:
        p[:, 1 - data.event] = 1.0 - p[:, data.event]
    zero = p <= 0
    surprise = -np.log(np.where(zero, 1.0, p))
    return p, surprise, zero & (data.weights[rows, None] > 0)


@final
@dataclass(frozen=True, slots=True)
class ScoreMiscalibration(Statistic):
    r"""What a proper score would gain from the best increasing function of the predictions.

    .. math:: MCB = S(p) - S(q)

    q is the isotonic regression of the outcomes on the predictions p of the event. It is the part
    of the score that `scores.decompose` calls miscalibration.

    Parameters
    ----------
    score : function, default brier_score
        `scores.brier_score`, which adds up both outcomes and so gives twice the value for the event
        alone, or `scores.log_score`.

    Notes
    -----
    Biased upwards: q also fits noise, and a calibrated model has a value of the order of n^(-2/3).
    So compare it with its distribution under calibration, not with 0. Nothing is to be chosen but
    the score. It does not see what no increasing function can repair. A replicate costs one sweep
    over the different predictions. A weight of 2 counts as the row twice.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers", PNAS.

    Examples
    --------
    >>> round(ScoreMiscalibration()(Predictions([0.1, 0.4, 0.5, 0.8], [0, 1, 0, 1])), 6)
    0.08
    """

    score: Score = brier_score

    def __post_init__(self) -> None:
        event_losses(self.score, np.array([0.5]))  # refuses another score

    def prepare(self, view: View) -> Evaluate:
        ties = Ties.of(self, view)
        losses = event_losses(self.score, ties.values)

        def evaluate(block: Block) -> Floats:
            pools = ties.pools(block, losses)
            exist = pools.exist
            some = slice(exist.shape[1])
            events = np.where(exist, pools.events[:, some], 0.0)
            mass = np.where(exist, pools.mass[:, some], 1.0)
            best = least_loss(self.score, events, mass)
            gains = np.where(exist, pools.loss[:, some], 0.0) - best
            # None is negative but for rounding; added in one order, however many others have.
            return np.cumsum(np.maximum(gains, 0.0), axis=1)[:, -1] / ties.total

        return evaluate

    def __str__(self) -> str:
        score = "Brier score" if self.score is brier_score else "log loss"
        return f"miscalibration of the {score}"


@final
@dataclass(frozen=True, slots=True)
class WorstClass(Statistic):
    r"""How often a class occurs against how often it was predicted, of the worst class.

    .. math:: \max_k \frac{V_k}{c_k^2} h\Big(\frac{c_k D_k}{V_k}\Big), \qquad
        h(u) = (1 + u) \log(1 + u) - u

    D is the sum of w (y - p), V = Σ w² p (1 - p) its variance if calibrated, and c the ratio of its
    third moment, Σ w³ p (1 - p) (1 - 2 p), to V.

    Notes
    -----
    It is D² / (2 V), half of the squared score of a shift of the class's log-odds, corrected for
    skewness by the Poisson number with the same three moments: of a class with one predicted case,
    three cases are no wonder, and three too few of ten are more of one than three too many. So
    rare and frequent classes compare. One class of many that is off stands out here, while sums
    over classes drown it. A class whose V is 0 counts as 0 if D is, else the statistic is
    infinite. The unit of weights does not matter.

    Examples
    --------
    >>> data = Predictions([[0.5, 0.4, 0.1]] * 40, [0] * 20 + [1] * 10 + [2] * 10)
    >>> round(WorstClass()(data), 4)
    3.6208
    """

    def prepare(self, view: View) -> Evaluate:
        data = view.data
        cells = view.cells(EqualWidth(1))
        variance, third = view.remember("worst class", lambda: _moments(data))

        def finish(sums: Sums) -> Floats:
            off = sums[0].T - cells.predictions[0]
            return np.asarray(_deviances(off, variance, third).max(axis=1))

        return Summed(counts_of(view), finish)

    def __str__(self) -> str:
        return "worst class"


def _moments(data: Predictions) -> tuple[Floats, Floats]:
    """Return the second and the third moment of each class's total, if calibrated: (m,) each."""
    variance, third = np.zeros(data.m), np.zeros(data.m)
    for first, last in spans(data.n, data.m):
        p = data.probs[first:last].astype(np.float64)
        weights = data.weights[first:last, None]
        spread = weights**2 * (p * (1.0 - p))
        variance += spread.sum(axis=0)
        third += (weights * spread * (1.0 - 2.0 * p)).sum(axis=0)
    return variance, third


def _deviances(off: Floats, variance: Floats, third: Floats) -> Floats:
    """Return V / c² h(c D / V) for deviations (size, m), as D² / V times h(u) / u²."""
    v = np.maximum(variance, LEAST)
    u = off / v * (third / v)
    near = np.abs(u) < SMALL
    x = np.where(near, 1.0, u)
    rising = np.where(x > -1.0, (1.0 + x) * np.log1p(np.maximum(x, -1.0 + EPS)), 0.0)
    series = 1 / 2 - u * (1 / 6 - u * (1 / 12 - u / 20))
    with np.errstate(over="ignore"):
        found = off * off / v * np.where(near, series, (rising - x) / (x * x))
    return np.where((variance == 0.0) & (off != 0.0), np.inf, found)
