"""Calibration errors as other software computes them, so that a number of a paper can be had again.

Each function returns an ordinary statistic: a function of Predictions with a null distribution and
an exact test. Its text names the software and its version, and stands in the settings of a result.
They differ at limits of bins, at ties, at 0 and 1, at empty bins, and in what they look at:
docs/conventions.md has a table, and says which of them are wrong. For a number of your own, use
`calibrant.ece` and its relatives.
"""

from dataclasses import dataclass
from typing import Literal, TypeVar, final

import numpy as np

from calibrant.checks.parameters import one_of
from calibrant.conventions import bins as _bins
from calibrant.conventions.bins import BinnedError, Bins
from calibrant.conventions.curves import GridSmooth, LowessError
from calibrant.conventions.regression import LogisticCalibration
from calibrant.distances import total_variation
from calibrant.lenses import Lens, Outcomes, Pooled, TopLabel
from calibrant.predictions import Predictions
from calibrant.statistics.calibration_errors import CalibrationError
from calibrant.statistics.classwise import ClasswiseMiscalibration
from calibrant.statistics.statistic import Statistic

__all__ = [
    "VERSIONS", "guo", "helm", "hosmer_lemeshow", "hosmer_lemeshow_pvalue", "mapie", "netcal",
    "probmetrics", "pycalib", "relplot", "scikit_learn", "torchmetrics", "uncertainty_calibration",
    "val_prob", "val_prob_ci",
]  # fmt: skip

VERSIONS = {  # that were compared, or whose source was read
    "torchmetrics": "1.9",
    "probmetrics": "1.3",
    "netcal": "1.4",
    "scikit-learn": "1.9",
    "MAPIE": "1.6",
    "PyCalib": "0.1.0.dev6",
    "uncertainty-calibration": "0.1.4",
    "relplot": "1.0.3",
    "HELM with uncertainty-calibration": "0.1.4",
    "val.prob of rms": "8.1-2",
    "val.prob.ci.2": "0.1.1",
    "hoslem.test of ResourceSelection": "0.2-7",
}
T = TypeVar("T")
Norm = Literal["l1", "l2", "max"]

NORMS = {
    "l1": ("ECE", _bins.mean),
    "l2": ("RMSCE", _bins.root_mean_square),
    "max": ("MCE", _bins.largest),
}
NETCAL = {"ECE": _bins.mean, "MCE": _bins.largest, "ACE": _bins.mean_of_bins}


def __dir__() -> list[str]:
    return __all__


def _of(
    software: str, name: str, statistic: Statistic, settings: str, **more: object
) -> CalibrationError:
    whose = f"{software} {VERSIONS[software]}" if software in VERSIONS else software
    return CalibrationError(name, statistic, settings, software=whose, **more)  # type: ignore[arg-type]


def _chosen(name: str, given: str, known: dict[str, T]) -> T:
    """Return what a word stands for; refuse another."""
    one_of(name, given, known)
    return known[given]


def torchmetrics(n_bins: int = 15, norm: Norm = "l1") -> CalibrationError:
    """Return `torchmetrics.classification.CalibrationError`.

    The event of two classes, the predicted class of more. Bins are closed on the left, and 1 has
    one of its own. Limits are multiples of a rounded step, in single precision for more than two
    classes, where confidences are rounded to it, too: 0.2 of 15 bins is 0.20000002.

    Parameters
    ----------
    n_bins : int, default 15
        Number of bins.
    norm : {"l1", "l2", "max"}, default "l1"
        ECE, its root mean square, or the worst bin.

    Examples
    --------
    >>> error = torchmetrics(n_bins=2)
    >>> print(error)
    ECE as torchmetrics 1.9 computes it, 2 bins
    >>> round(error(Predictions([0.25, 0.25, 0.55, 0.75, 0.75], [0, 0, 1, 1, 1])), 4)
    0.29
    """
    name, combine = _chosen("norm", norm, NORMS)
    cut = Bins(_bins.torch_widths, n_bins, "left", "torch")
    return _of("torchmetrics", name, BinnedError(cut, combine), f"{n_bins} bins")


def probmetrics(n_bins: int = 15, norm: Norm = "l1") -> CalibrationError:
    """Return `probmetrics.metrics.CalibrationError`: torchmetrics after clipping.

    Probabilities are cut at 1e-7 and divided by their sum, so 1 lies in the last bin. Classes that
    do not occur among the labels are left out by probmetrics, which no calibrated model can
    expect; here they stay.

    Parameters
    ----------
    n_bins, norm
        As in `torchmetrics`.
    """
    name, combine = _chosen("norm", norm, NORMS)
    cut = Bins(_bins.torch_widths, n_bins, "left", "torch", 1e-7)
    statistic = BinnedError(cut, combine)
    return _of("probmetrics", name, statistic, f"{n_bins} bins", through=ClippedTop(1e-7))


def netcal(
    bins: int = 10,  # as netcal calls it
    measure: Literal["ECE", "MCE", "ACE"] = "ECE",
    equal_intervals: bool = True,
) -> CalibrationError:
    """Return `netcal.metrics.ECE`, `MCE` or `ACE`.

    The event of two classes, the predicted class of more. Bins are closed on the left, the last one
    on both sides. ACE is the mean over the bins that hold rows, each of them alike.

    Parameters
    ----------
    bins : int, default 10
        Number of bins.
    measure : {"ECE", "MCE", "ACE"}, default "ECE"
        What is done with them.
    equal_intervals : bool, default True
        Whether they are of equal width, or between quantiles.
    """
    combine = _chosen("measure", measure, NETCAL)
    draw = _bins.numpy_widths if equal_intervals else _bins.percentiles
    kind = "bins" if equal_intervals else "quantile bins"
    statistic = BinnedError(Bins(draw, bins, "left"), combine)
    return _of("netcal", measure, statistic, f"{bins} {kind}")


def guo(n_bins: int = 15) -> CalibrationError:
    """Return the ECE of the temperature-scaling code of Guo et al. (2017).

    Always the predicted class, of two classes, too. Bins are closed on the right, in single
    precision.

    Parameters
    ----------
    n_bins : int, default 15
        Number of bins.
    """
    cut = Bins(_bins.open_widths, n_bins, "right", "single")
    whose = "the temperature-scaling code of Guo et al. 2017"
    return _of(whose, "ECE", BinnedError(cut), f"{n_bins} bins", look="top")


def scikit_learn(
    n_bins: int = 5,
    strategy: Literal["uniform", "quantile"] = "uniform",
    weighted: bool = True,
) -> CalibrationError:
    """Return the ECE of the bins of `sklearn.calibration.calibration_curve`.

    The event of two classes, the predicted class of more. Bins are closed on the right, the first
    one on both sides. The curve comes without counts, so that many take the plain mean of its
    points, in which a bin of one row counts as much as one of a thousand: ``weighted=False``.

    Parameters
    ----------
    n_bins : int, default 5
        Number of bins.
    strategy : {"uniform", "quantile"}, default "uniform"
        Equal widths, or between percentiles.
    weighted : bool, default True
        Whether bins count by their rows, or each of them alike.
    """
    known = {"uniform": _bins.numpy_widths, "quantile": _bins.percentiles}
    cut = Bins(_chosen("strategy", strategy, known), n_bins, "right")
    name = "ECE" if weighted else "mean deviation of the curve"
    statistic = BinnedError(cut, _bins.mean if weighted else _bins.mean_of_bins)
    return _of("scikit-learn", name, statistic, f"{n_bins} {strategy} bins")


def mapie(
    num_bins: int = 50,
    split_strategy: Literal["uniform", "quantile", "array split"] = "uniform",
) -> CalibrationError:
    """Return `mapie.metrics.calibration.expected_calibration_error`.

    The event of two classes, the predicted class of more. Bins are closed on the right. "uniform"
    makes one bin fewer than it is asked for, and one for 0. "quantile" does so with the smallest
    prediction. "array split" cuts where the order of rows says, so that the number depends on it.

    Parameters
    ----------
    num_bins : int, default 50
        Number of bins that is asked for.
    split_strategy : {"uniform", "quantile", "array split"}, default "uniform"
        How bins are found.
    """
    known = {
        "uniform": _bins.pointed_widths,
        "quantile": _bins.pointed_percentiles,
        "array split": _bins.row_splits,
    }
    cut = Bins(_chosen("split_strategy", split_strategy, known), num_bins, "right")
    return _of("MAPIE", "ECE", BinnedError(cut), f"{num_bins} {split_strategy} bins")


def pycalib(
    measure: Literal[
        "conf_ECE", "conf_MCE", "binary_ECE", "binary_MCE", "classwise_ECE", "ECE"
    ] = "conf_ECE",
    bins: int = 15,
) -> CalibrationError:
    """Return a measure of `pycalib.metrics`.

    ``"conf_…"`` is of the predicted class, of two classes, too; bins are closed on the right, and
    their limits are added up, so that rounding may leave a value at a limit out, or count it twice.
    ``"binary_…"`` is of the event, with bins closed on the left; "classwise_ECE" is its mean over
    all classes. "ECE" takes all n · m probabilities together.

    Parameters
    ----------
    measure : str, default "conf_ECE"
        Name of the function.
    bins : int, default 15
        Number of bins.
    """
    added, left = (
        Bins(_bins.added_widths, bins, "right"),
        Bins(_bins.stretched_widths, bins, "left"),
    )
    known: dict[str, tuple[Statistic, dict[str, object]]] = {
        "conf_ECE": (BinnedError(added), {"look": "top"}),
        "conf_MCE": (BinnedError(added, _bins.largest), {"look": "top"}),
        "binary_ECE": (BinnedError(left), {}),
        "binary_MCE": (BinnedError(left, _bins.largest), {}),
        "classwise_ECE": (ClasswiseMiscalibration(left, total_variation), {"look": "all"}),
        "ECE": (BinnedError(added), {"look": "always", "through": Pooled()}),
    }
    statistic, more = _chosen("measure", measure, known)
    return _of("PyCalib", measure, statistic, f"{bins} bins", **more)


def uncertainty_calibration(
    measure: Literal["ece", "ece_em", "l2", "l2_debiased"] = "ece", num_bins: int = 15
) -> CalibrationError:
    """Return `calibration.get_ece`, `get_ece_em` or `lower_bound_scaling_top_ce` (Kumar et al.).

    The event of two classes, the predicted class of more. Bins are closed on the right: equal
    widths for "ece", equal masses for the others. "l2_debiased" is cut at 0 before the root.

    Parameters
    ----------
    measure : {"ece", "ece_em", "l2", "l2_debiased"}, default "ece"
        What is computed.
    num_bins : int, default 15
        Number of bins.
    """
    known = {
        "ece": ("ECE", _bins.quotient_widths, _bins.mean, "bins"),
        "ece_em": ("ECE", _bins.midpoints, _bins.mean, "bins of equal mass"),
        "l2": ("L2 error", _bins.midpoints, _bins.root_mean_square, "bins of equal mass"),
        "l2_debiased": ("debiased L2 error", _bins.midpoints, _bins.debiased, "bins of equal mass"),
    }
    name, draw, combine, kind = _chosen("measure", measure, known)
    statistic = BinnedError(Bins(draw, num_bins, "right"), combine)
    return _of("uncertainty-calibration", name, statistic, f"{num_bins} {kind}")


def helm(measure: Literal["ece_10_bin", "ece_1_bin"] = "ece_10_bin") -> CalibrationError:
    """Return the calibration error of HELM (Liang et al., 2022).

    `get_ece_em` of uncertainty-calibration on the largest probability: always the predicted class.

    Parameters
    ----------
    measure : {"ece_10_bin", "ece_1_bin"}, default "ece_10_bin"
        Ten bins of equal mass, or one.
    """
    count = _chosen("measure", measure, {"ece_10_bin": 10, "ece_1_bin": 1})
    statistic = BinnedError(Bins(_bins.midpoints, count, "right"))
    kind = "bins of equal mass" if count > 1 else "bin"
    return _of(
        "HELM with uncertainty-calibration", measure, statistic, f"{count} {kind}", look="top"
    )


def relplot() -> CalibrationError:
    """Return `relplot.smECE` (Błasiok and Nakkiran, 2024), as it is computed on a grid.

    Mass at 0 and 1 is lost there: `statistics.SmoothMiscalibration` is right.
    """
    return _of("relplot", "smECE", GridSmooth(), "Gaussian kernel")


def val_prob(
    measure: Literal["Eavg", "E50", "E90", "Emax", "ICI", "Intercept", "Slope"] = "Eavg",
) -> CalibrationError:
    """Return a measure of Harrell's `rms::val.prob`, of the event.

    "Eavg" is the mean of ``|p - lowess(p)|`` over the rows, and with this curve the same as "ICI",
    the integrated calibration index; "E50" and "E90" are quantiles, "Emax" is the largest.
    "Intercept" and "Slope" are fitted together, on rows whose predictions are not 0 or 1; here they
    are distances from 0 and from 1, which `statistics.Cox().fit` has with their signs.

    Parameters
    ----------
    measure : {"Eavg", "E50", "E90", "Emax", "ICI", "Intercept", "Slope"}, default "Eavg"
        Its name in val.prob.
    """
    known: dict[str, tuple[str, Statistic, str]] = {
        "Eavg": ("Eavg", LowessError(), "lowess"),
        "ICI": ("ICI", LowessError(), "lowess"),
        "E50": ("E50", LowessError(0.5), "lowess"),
        "E90": ("E90", LowessError(0.9), "lowess"),
        "Emax": ("Emax", LowessError(1.0), "lowess"),
        "Intercept": ("|Intercept|", LogisticCalibration("intercept"), "logistic calibration"),
        "Slope": ("|Slope - 1|", LogisticCalibration("slope"), "logistic calibration"),
    }
    name, statistic, settings = _chosen("measure", measure, known)
    return _of("val.prob of rms", name, statistic, settings)


def val_prob_ci() -> CalibrationError:
    """Return the intercept of `CalibrationCurves::val.prob.ci.2`: calibration in the large.

    It is fitted with slope 1, where that of `val_prob` is fitted together with the slope.
    """
    statistic = LogisticCalibration("in the large")
    return _of("val.prob.ci.2", "|Intercept|", statistic, "slope 1")


def hosmer_lemeshow(g: int = 10) -> CalibrationError:
    """Return the statistic of `ResourceSelection::hoslem.test`, of the event.

    Groups lie between quantiles and are closed on the right. The chi-squared distribution with
    g - 2 degrees of freedom is for a model that was fitted to the same rows, that with g for other
    rows (`hosmer_lemeshow_pvalue`); `calibration_test` needs neither.

    Parameters
    ----------
    g : int, default 10
        Number of groups.
    """
    statistic = BinnedError(Bins(_bins.quantiles, g, "right"), _bins.hosmer_lemeshow)
    return _of("hoslem.test of ResourceSelection", "Hosmer-Lemeshow", statistic, f"{g} groups")


def hosmer_lemeshow_pvalue(data: Predictions, g: int = 10, *, fitted: bool = True) -> float:
    """Return the p-value of the chi-squared distribution with g - 2 degrees of freedom, or g.

    Parameters
    ----------
    data : Predictions
        Two outcomes.
    g : int, default 10
        Number of groups; where ties leave fewer, so many are counted.
    fitted : bool, default True
        Whether the model was fitted to these rows: g - 2. Else g.

    Examples
    --------
    >>> data = Predictions([0.25, 0.25, 0.5, 0.5, 0.75, 0.75], [0, 1, 0, 1, 1, 1])
    >>> round(hosmer_lemeshow_pvalue(data, g=3, fitted=False), 4)
    0.7212
    """
    from scipy.special import gammaincc  # noqa: PLC0415

    statistic = hosmer_lemeshow(g)
    values = np.unique(data.probs[:, 1]) if data.event == 1 else np.unique(data.probs[:, 0])
    groups = min(g, values.size)
    return float(gammaincc((groups - 2 * fitted) / 2, statistic(data) / 2))


@final
@dataclass(frozen=True, slots=True)
class ClippedTop(Lens):
    """The predicted class, whose probability was cut at a small number and divided by the sum."""

    least: float
    subject = "the predicted class"

    def __call__(self, data: Predictions) -> Predictions:
        clipped = data.probs.clip(self.least, 1.0 - self.least)
        return TopLabel()(data.with_probs(clipped / clipped.sum(axis=1, keepdims=True)))

    def outcomes(self, data: Predictions) -> Outcomes:
        return TopLabel().outcomes(data)

    def __str__(self) -> str:
        return "top label"
