"""ECE and the other calibration errors that people know: numbers that know their chance level."""

from functools import cached_property
from typing import Any, Self, final

from calibrant.arguments import check_data, takes_arrays
from calibrant.calibration import View
from calibrant.checks.parameters import Rng
from calibrant.inference import CalibrationTest, calibration_test
from calibrant.lenses import Canonical
from calibrant.predictions import Predictions
from calibrant.rows import Scan
from calibrant.statistics.calibration_errors import BINS, NAMED, CalibrationError


@final
class MeasuredError(float):
    """A calibration error, and what a calibrated model would show.

    It is a float, with `.expected`, `.spread`, `.corrected` and `.pvalue`. These are computed when
    first asked for; until then the number keeps its data alive. ``float(error)`` drops them.
    """

    statistic: CalibrationError  # what was measured
    _asked: tuple[Predictions | Scan, dict[str, Any]]  # of what, and how to draw

    def __new__(cls, statistic: CalibrationError, data: Predictions | Scan, **draws: Any) -> Self:
        """Measure an error of data; `draws` are arguments of `calibration_test`."""
        self = super().__new__(cls, statistic(data))
        self.statistic, self._asked = statistic, (data, draws)
        return self

    @cached_property
    def test(self) -> CalibrationTest:
        """The exact test of calibration with this number: `calibration_test`."""
        data, draws = self._asked
        if isinstance(data, Predictions):
            return calibration_test(data, self.statistic, **draws)
        lens = self.statistic.lens_of(View(data)) or Canonical()
        return calibration_test(data, self.statistic.statistic, lens=lens, **draws)

    @property
    def expected(self) -> float:
        """What a calibrated model with these predictions would show, on average."""
        return float(self.test.null.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of what it would show."""
        return float(self.test.null.std())

    @property
    def corrected(self) -> float:
        """The number minus what a calibrated model would show.

        0 on average if the model is calibrated, so it may be negative. If not, it is too low: bins
        that are far off need no correction, and get the same.
        """
        return float(self) - self.expected

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis that the model is calibrated; exact."""
        return self.test.pvalue

    @property
    def sentence(self) -> str:
        """The number in a line: value, bins, and what a calibrated model would show."""
        return self.statistic.sentence(float(self), self.expected)

    def __reduce__(self) -> Any:
        return float, (float(self),)


def _measured(name: str, data: Any, bins: Any, n_bins: Any, **draws: Any) -> MeasuredError:
    """Measure an error on so many bins, by either name of their number."""
    check_data(data, scans=True)
    if n_bins is not None and bins is not None:
        raise ValueError("`bins` and `n_bins` are the same; give one of them.")
    count = BINS if bins is None and n_bins is None else (bins if n_bins is None else n_bins)
    return MeasuredError(NAMED[name](count), data, **draws)


@takes_arrays
def ece(
    data: Predictions | Scan,
    *,
    bins: int | None = None,
    n_bins: int | None = None,
    n_resamples: int = 999,
    rng: Rng = None,
) -> MeasuredError:
    r"""Return the expected calibration error (ECE) on bins of equal width.

    .. math:: \sum_b \frac{n_b}{n} \, |\text{share right in } b - \text{mean confidence in } b|

    Of two outcomes it is about the event and p as it is, so that confidences and whether they
    were right can be handed over; of more, about the predicted class (Guo et al., 2017). The
    number is biased upwards: it also has `.expected`, what a calibrated model would show, with
    `.spread`, the difference `.corrected`, and an exact `.pvalue`.

    Parameters
    ----------
    data : Predictions or Scan
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
    bins : int, default 15
        Number of bins; `n_bins` is the same.
    n_resamples, rng
        As in `calibration_test`, for what a calibrated model would show.

    Returns
    -------
    MeasuredError
        A float.

    Examples
    --------
    >>> confidence, correct = [0.9, 0.6, 0.2, 0.8], [1, 0, 0, 1]
    >>> round(ece(confidence, correct, bins=10), 4)
    0.275
    >>> error = ece([0.3] * 50, [1] * 30 + [0] * 20, rng=0)
    >>> round(error, 3), round(error.expected, 3), error.pvalue
    (0.3, 0.05, 0.001)
    """
    return _measured("ece", data, bins, n_bins, n_resamples=n_resamples, rng=rng)


@takes_arrays
def mce(
    data: Predictions | Scan,
    *,
    bins: int | None = None,
    n_bins: int | None = None,
    n_resamples: int = 999,
    rng: Rng = None,
) -> MeasuredError:
    """Return the maximum calibration error (MCE): the largest deviation of any bin of equal width.

    Of what `ece` is about. Bins with few rows are far off by chance: look at `.expected`.

    Parameters
    ----------
    data, bins, n_bins, n_resamples, rng
        As in `ece`.

    Returns
    -------
    MeasuredError
        A float.

    Examples
    --------
    >>> round(mce([0.9, 0.6, 0.2, 0.8], [1, 0, 0, 1], bins=10), 4)
    0.6
    """
    return _measured("mce", data, bins, n_bins, n_resamples=n_resamples, rng=rng)


@takes_arrays
def ace(
    data: Predictions | Scan,
    *,
    bins: int | None = None,
    n_bins: int | None = None,
    n_resamples: int = 999,
    rng: Rng = None,
) -> MeasuredError:
    """Return the calibration error on bins of equal mass (ACE, adaptive).

    As `ece`, on bins that hold as many rows each, or nearly: equal values stay together.

    Parameters
    ----------
    data, bins, n_bins, n_resamples, rng
        As in `ece`.

    Returns
    -------
    MeasuredError
        A float.

    Examples
    --------
    >>> round(ace([0.9, 0.6, 0.2, 0.8], [1, 0, 0, 1], bins=2), 4)
    0.275
    """
    return _measured("ace", data, bins, n_bins, n_resamples=n_resamples, rng=rng)


@takes_arrays
def rms(
    data: Predictions | Scan,
    *,
    bins: int | None = None,
    n_bins: int | None = None,
    n_resamples: int = 999,
    rng: Rng = None,
) -> MeasuredError:
    """Return the root mean square calibration error on bins of equal width.

    As `ece`, with squares in place of moduli.

    Parameters
    ----------
    data, bins, n_bins, n_resamples, rng
        As in `ece`.

    Returns
    -------
    MeasuredError
        A float.

    Examples
    --------
    >>> round(rms([0.9, 0.6, 0.2, 0.8], [1, 0, 0, 1], bins=10), 4)
    0.3354
    """
    return _measured("rms", data, bins, n_bins, n_resamples=n_resamples, rng=rng)


@takes_arrays
def classwise_ece(
    data: Predictions | Scan,
    *,
    bins: int | None = None,
    n_bins: int | None = None,
    n_resamples: int = 999,
    rng: Rng = None,
) -> MeasuredError:
    """Return the mean over the classes of the ECE of each against the rest (Kull et al., 2019).

    `classwise` has the classes one by one.

    Parameters
    ----------
    data, bins, n_bins, n_resamples, rng
        As in `ece`.

    Returns
    -------
    MeasuredError
        A float.

    Examples
    --------
    >>> round(classwise_ece([[0.5, 0.25, 0.25]] * 2, [0, 1], bins=2), 4)
    0.1667
    """
    return _measured("classwise_ece", data, bins, n_bins, n_resamples=n_resamples, rng=rng)
