"""Short names of statistics: ``ece``, ``kernel:0.1``, ``cox``, ``squared:tree:1000`` and others."""

from collections.abc import Callable
from typing import Any

from calibrant import statistics
from calibrant.arguments import as_partition, not_one, positive, whole
from calibrant.checks.parameters import brief, function
from calibrant.statistics.calibration_errors import BINS, NAMED
from calibrant.statistics.statistic import OfFunction, Statistic

STATISTICS = (
    "ece, ece:10, mce, ace, rms, classwise_ece, kernel:0.1, cox, neyman, log, worst-class,"
    " squared:tree:1000, smooth, cutoff, kolmogorov, two-bin or spiegelhalter"
)
PLAIN: dict[str, Callable[[], Statistic]] = {
    "cox": statistics.Cox,
    "cutoff": statistics.CutoffMiscalibration,
    "kernel": lambda: statistics.KernelMiscalibration(0.1),
    "kolmogorov": statistics.KolmogorovMiscalibration,
    "log": statistics.Surprise,
    "neyman": statistics.Neyman,
    "smooth": statistics.SmoothMiscalibration,
    "spiegelhalter": statistics.Spiegelhalter,
    "two-bin": statistics.AveragedTwoBin,
    "worst-class": statistics.WorstClass,
}


def as_statistic(statistic: Any) -> Statistic:
    """Return a statistic, the one that a text names, or a function as one; refuse anything else.

    Examples
    --------
    >>> print(as_statistic("squared:width:15"))
    unbiased squared euclidean on 15 equal widths
    """
    if isinstance(statistic, Statistic):
        return statistic
    if isinstance(statistic, str):
        return _named(statistic)
    if isinstance(statistic, type):
        raise TypeError(f"`statistic` must be a function; found {brief(statistic)}.")
    function("statistic", statistic, "data")
    return OfFunction(statistic)


def _named(text: str) -> Statistic:
    kind, colon, rest = text.partition(":")
    if text in PLAIN:
        return PLAIN[text]()
    if text in NAMED:
        return NAMED[text](BINS)
    if colon and kind in WITH_SETTING:
        return WITH_SETTING[kind](text, rest)
    raise not_one("statistic", text, STATISTICS)


def _kernel(text: str, rest: str) -> Statistic:
    width: Any = rest if rest == "median" else positive("statistic", text, rest)
    return statistics.KernelMiscalibration(width)


def _on_bins(text: str, rest: str) -> Statistic:
    return NAMED[text.partition(":")[0]](whole("statistic", text, rest))


WITH_SETTING: dict[str, Callable[[str, str], Statistic]] = {
    "kernel": _kernel,
    "squared": lambda _, rest: statistics.SquaredMiscalibration(as_partition(rest)),
    **dict.fromkeys(NAMED, _on_bins),
}
