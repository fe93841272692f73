"""Short names of statistics: ``kernel:0.1``, ``cox``, ``squared:tree:1000`` and others."""

from collections.abc import Callable
from typing import Any

from calibrant import statistics
from calibrant.arguments import as_partition, not_one, positive
from calibrant.checks.parameters import brief
from calibrant.statistics.statistic import OfFunction, Statistic

STATISTICS = (
    "kernel:0.1, cox, neyman, log, worst-class, squared:tree:1000, smooth, cutoff, kolmogorov,"
    " two-bin or spiegelhalter"
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
    if isinstance(statistic, type) or not callable(statistic):
        raise TypeError(f"`statistic` must be a function; found {brief(statistic)}.")
    return OfFunction(statistic)


def _named(text: str) -> Statistic:
    kind, colon, rest = text.partition(":")
    if kind in PLAIN and not colon:
        return PLAIN[kind]()
    if kind == "kernel":
        width: Any = rest if rest == "median" else positive("statistic", text, rest)
        return statistics.KernelMiscalibration(width)
    if kind == "squared" and rest:
        return statistics.SquaredMiscalibration(as_partition(rest))
    raise not_one("statistic", text, STATISTICS)
