"""How far the sum of residuals gets when rows are added in the order of their predictions."""

from dataclasses import dataclass
from math import inf
from typing import final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, View
from calibrant.predictions import Predictions
from calibrant.statistics.brownian import modulus_pvalue, range_pvalue
from calibrant.statistics.statistic import Evaluate, Statistic
from calibrant.statistics.ties import Ties

Floats = NDArray[np.float64]

EQUAL = 1e-12  # statistics that differ by less count as equal


@final
@dataclass(frozen=True, slots=True)
class CutoffMiscalibration(Statistic):
    r"""The range of the cumulative residuals, which is the cutoff calibration error.

    .. math:: \max_v C(v) - \min_v C(v), \qquad C(v) = \frac1n \sum_{i : p_i \le v} (y_i - p_i)

    C begins at 0, and rows with equal predictions enter together. It is Kuiper's statistic, and
    equals the largest :math:`|\frac1n \sum_{p_i \in I} (y_i - p_i)|` over all intervals I: how far
    off the number of events is among the rows between two cutoffs.

    Notes
    -----
    Biased upwards: a calibrated model has about 1.6 times the root of Σ p (1 - p), over n. So
    compare it with its distribution under calibration, not with 0. Nothing is to be chosen: no
    bins, no width. A replicate costs one sweep over the different predictions. A weight of 2
    counts as the row twice.

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

    def prepare(self, view: View) -> Evaluate:
        """Sort the rows by their predictions."""
        ties = Ties.of(self, view)

        def evaluate(block: Block) -> Floats:
            paths = ties.paths(block)
            return np.asarray((paths.largest - paths.smallest) / ties.total)

        return evaluate

    def asymptotic_pvalue(self, data: Predictions) -> float:
        """Return the p-value if the path were Brownian motion, which it nearly is for many rows.

        Conservative where predictions tie. It takes a weight of 2 for two rows, each with an
        outcome of its own; `calibration_test` does not, and is exact.

        Examples
        --------
        >>> data = Predictions([0.1, 0.2, 0.3, 0.4] * 10, [0, 0, 0, 1] * 10)
        >>> round(CutoffMiscalibration().asymptotic_pvalue(data), 6)
        0.093323
        """
        return range_pvalue(_standardised(self, data))

    def __str__(self) -> str:
        return "cutoff miscalibration"


@final
@dataclass(frozen=True, slots=True)
class KolmogorovMiscalibration(Statistic):
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

    def prepare(self, view: View) -> Evaluate:
        """Sort the rows by their predictions."""
        ties = Ties.of(self, view)

        def evaluate(block: Block) -> Floats:
            paths = ties.paths(block)
            return np.asarray(np.maximum(paths.largest, -paths.smallest) / ties.total)

        return evaluate

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
        return min(engine.paths.reach(ties.values, sizes, ties.predicted_so_far, level), 1.0)

    def asymptotic_pvalue(self, data: Predictions) -> float:
        """Return the p-value if the path were Brownian motion, which it nearly is for many rows.

        Conservative where predictions tie. It takes a weight of 2 for two rows, each with an
        outcome of its own.

        Examples
        --------
        >>> data = Predictions([0.1, 0.2, 0.3, 0.4] * 10, [0, 0, 0, 1] * 10)
        >>> round(KolmogorovMiscalibration().asymptotic_pvalue(data), 6)
        0.046684
        """
        return modulus_pvalue(_standardised(self, data))

    def __str__(self) -> str:
        return "Kolmogorov miscalibration"


def _standardised(statistic: Statistic, data: Predictions) -> float:
    """Return a statistic in units of the path's scale; of a path that cannot move, 0 or inf."""
    value, scale = statistic(data), Ties.of(statistic, View.of(data)).path_scale
    if scale > 0.0:
        return value / scale
    return inf if value > 0.0 else 0.0
