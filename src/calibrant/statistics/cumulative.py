"""How far the sum of residuals gets when rows are added in the order of their predictions."""

from abc import abstractmethod
from dataclasses import dataclass
from math import erfc, exp, pi, sqrt
from typing import Any, final

import numpy as np

from calibrant import engine
from calibrant.calibration import Block, View
from calibrant.predictions import Predictions
from calibrant.statistics.statistic import Evaluate, Floats, Statistic, Ties

EQUAL = 1e-12  # statistics that differ by less count as equal
TERMS = 12  # of series whose terms fall like exp(-k^2)


class PathStatistic(Statistic):
    """How far the path of the cumulative residuals gets, over the number of rows."""

    __slots__ = ()

    @abstractmethod
    def reach(self, paths: Any) -> Floats:
        """Return how far each of `engine.line.Paths` gets: (size,)."""

    @abstractmethod
    def brownian_pvalue(self, x: float) -> float:
        """Return the chance that Brownian motion on [0, 1] gets as far as x."""

    def prepare(self, view: View) -> Evaluate:
        """Sort the rows by their predictions."""
        ties = Ties.of(self, view)
        return lambda block: np.asarray(self.reach(ties.paths(block)) / ties.total)

    def asymptotic_pvalue(self, data: Predictions) -> float:
        """Return the p-value if the path were Brownian motion, which it nearly is for many rows.

        Conservative where predictions tie.

        Examples
        --------
        >>> data = Predictions([0.1, 0.2, 0.3, 0.4] * 10, [0, 0, 0, 1] * 10)
        >>> round(CutoffMiscalibration().asymptotic_pvalue(data), 6)
        0.093323
        >>> round(KolmogorovMiscalibration().asymptotic_pvalue(data), 6)
        0.046684
        """
        value, scale = self(data), Ties.of(self, View.of(data)).path_scale
        if scale > 0.0:
            return self.brownian_pvalue(value / scale)
        return 0.0 if value > 0.0 else 1.0  # a path that cannot move


@final
@dataclass(frozen=True, slots=True)
class CutoffMiscalibration(PathStatistic):
    r"""The range of the cumulative residuals, which is the cutoff calibration error.

    .. math:: \max_v C(v) - \min_v C(v), \qquad C(v) = \frac1n \sum_{i : p_i \le v} (y_i - p_i)

    C begins at 0, and rows with equal predictions enter together. It is Kuiper's statistic, and
    equals the largest :math:`|\frac1n \sum_{p_i \in I} (y_i - p_i)|` over all intervals I: how far
    off the number of events is among the rows between two cutoffs.

    Notes
    -----
    Biased upwards: a calibrated model has about 1.6 times the root of Σ p (1 - p), over n. So
    compare it with its distribution under calibration, not with 0. No bins and no width are to be
    chosen. A replicate costs one sweep over the predictions. A weight of 2 counts as the row twice.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu (2022), "Metrics of calibration for
    probabilistic predictions". Rossellini and others (2025), for cutoffs.

    Examples
    --------
    >>> data = Predictions([0.25, 0.25, 0.5, 0.75], [1, 0, 0, 1])
    >>> CutoffMiscalibration()(data)
    0.125
    """

    def reach(self, paths: Any) -> Floats:
        return np.asarray(paths.largest - paths.smallest)

    def brownian_pvalue(self, x: float) -> float:
        r"""Return the chance that the range of Brownian motion on [0, 1] reaches x.

        .. math:: P(\max W - \min W \ge x) = 8 \sum_{k \ge 1} (-1)^{k - 1} k \bar\Phi(k x)

        For small x the series of the complement in exp(-(2k + 1)² π² / (2 x²)) is used. Feller
        (1951), "The asymptotic distribution of the range of sums of independent random variables".
        """
        if x <= 0.0:
            return 1.0
        if x > 1.5:
            terms = [(1.0 if k % 2 else -1.0) * k * _above(k * x) for k in range(1, 2 * TERMS)]
            return 8.0 * sum(terms)
        odd = range(1, 2 * TERMS, 2)
        return 1.0 - 8.0 * sum(_decay(k / x) * (1.0 / (x * x) + 1.0 / (k * pi) ** 2) for k in odd)

    def __str__(self) -> str:
        return "cutoff miscalibration"


@final
@dataclass(frozen=True, slots=True)
class KolmogorovMiscalibration(PathStatistic):
    r"""The largest modulus of the cumulative residuals.

    .. math:: \max_v |C(v)|, \qquad C(v) = \frac1n \sum_{i : p_i \le v} (y_i - p_i)

    C begins at 0, and rows with equal predictions enter together.

    Notes
    -----
    Biased upwards: a calibrated model has about 1.25 times the root of Σ p (1 - p), over n. It is
    between half of `CutoffMiscalibration` and all of it, and differs for p and 1 - p. Its
    distribution under calibration is known exactly: `exact_pvalue`. A weight of 2 counts as the
    row twice.

    References
    ----------
    Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu (2022), "Metrics of calibration for
    probabilistic predictions".

    Examples
    --------
    >>> data = Predictions([0.25, 0.25, 0.5, 0.75], [1, 0, 0, 1])
    >>> KolmogorovMiscalibration()(data)
    0.125
    """

    def reach(self, paths: Any) -> Floats:
        return np.asarray(np.maximum(paths.largest, -paths.smallest))

    def exact_pvalue(self, data: Predictions) -> float:
        """Return the chance of a statistic as large if labels are drawn from the predictions.

        What `calibration_test` simulates, without chance: over rows in the order of their
        predictions, the distribution of the number of events among paths that have not reached
        the level; what reaches it, at the end of equal predictions, is added up. Statistics
        within 1e-12 count as equal. It costs n times the width of the band, which is n times
        the statistic. Weights must be whole numbers; 2 stands for two rows, each with an outcome
        of its own.

        Examples
        --------
        >>> KolmogorovMiscalibration().exact_pvalue(Predictions([0.5, 0.5], [1, 1]))
        0.5
        """
        ties = Ties.of(self, View.of(data))
        broken = data.weights[data.weights % 1.0 != 0.0]
        if broken.size:
            raise ValueError(
                f"`exact_pvalue` needs weights that are whole numbers; found {broken[0]:g}. Use"
                " `calibration_test`, which takes any."
            )
        sizes = ties.mass.astype(np.int64)
        level = (self(data) - EQUAL) * ties.total
        return min(
            engine.poisson_binomial.reach(ties.values, sizes, ties.predicted_so_far, level), 1.0
        )

    def brownian_pvalue(self, x: float) -> float:
        r"""Return the chance that the largest modulus of Brownian motion on [0, 1] reaches x.

        .. math:: P(\max |W| \ge x) = 4 \sum_{k \ge 0} (-1)^k \bar\Phi((2k + 1) x)

        For small x the series of the complement in exp(-(2k + 1)² π² / (8 x²)) is used.
        """
        if x <= 0.0:
            return 1.0
        odd = range(1, 2 * TERMS, 2)
        signs = [1.0 if k % 4 == 1 else -1.0 for k in odd]
        if x > 1.0:
            return 4.0 * sum(sign * _above(k * x) for sign, k in zip(signs, odd, strict=True))
        terms = [sign * _decay(0.5 * k / x) / k for sign, k in zip(signs, odd, strict=True)]
        return 1.0 - 4.0 / pi * sum(terms)

    def __str__(self) -> str:
        return "Kolmogorov miscalibration"


@final
@dataclass(frozen=True, slots=True)
class AveragedTwoBin(Statistic):
    r"""The squared error of two bins, averaged over the point q at which they meet.

    .. math:: \frac1{n^2} \int_0^1 \Big(\sum_{p_i < q} r_i\Big)^2
        + \Big(\sum_{p_i \ge q} r_i\Big)^2 dq
        = \frac1{n^2} \sum_{i,j} r_i r_j (1 - |p_i - p_j|), \qquad r = y - p

    Notes
    -----
    Biased upwards by the variance of the labels: a calibrated model has a mean of `null_mean`,
    which does not vanish. But the bias does not depend on what is predicted in place of the true
    probabilities, so nobody gains in expectation by reporting others: the measure is *truthful*.
    It is half of the biased squared kernel calibration error of (p, 1 - p) with the kernel
    ``1 - |p - q|``. Nothing is to be chosen. A replicate costs one sweep over the different
    predictions. A weight of 2 counts as the row twice.

    References
    ----------
    Hartline, Hu and Wu (2026), on truthful calibration measures.

    Examples
    --------
    >>> AveragedTwoBin()(Predictions([0.25, 0.75], [0, 0]))
    0.203125
    """

    def prepare(self, view: View) -> Evaluate:
        ties = Ties.of(self, view)
        everything = float(ties.predicted_so_far[-1])

        def evaluate(block: Block) -> Floats:
            # With C the path and R its end, the integral of C² + (R - C)²; below the first
            # prediction C is 0. None of the terms can be much larger than their sum.
            paths = ties.paths(block)
            end = paths.events - everything
            found = end * end - 2.0 * end * paths.area + 2.0 * paths.square
            return np.asarray(found / ties.total**2)

        return evaluate

    def null_mean(self, data: Predictions) -> float:
        r"""Return the mean if labels are drawn from the predictions, :math:`\sum p (1 - p) / n^2`.

        With weights it is :math:`\sum w^2 p (1 - p) / (\sum w)^2`: a row has one outcome.

        Examples
        --------
        >>> AveragedTwoBin().null_mean(Predictions([0.25, 0.75], [0, 0]))
        0.09375
        """
        ties = Ties.of(self, View.of(data))
        return float(ties.variance.sum()) / ties.total**2

    def __str__(self) -> str:
        return "averaged two-bin miscalibration"


def _above(x: float) -> float:
    """Return the chance that a standard normal number exceeds x."""
    return 0.5 * erfc(x / sqrt(2.0))


def _decay(x: float) -> float:
    return exp(-0.5 * (pi * x) ** 2)
