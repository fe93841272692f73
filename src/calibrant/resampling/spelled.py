"""Short names of resamplers: ``exact``, ``bootstrap``, ``consistency``, ``wild-clusters``."""

from collections.abc import Callable
from typing import Any

from calibrant.arguments import not_one
from calibrant.checks.parameters import brief
from calibrant.resampling.exact import Exact, WildClusters
from calibrant.resampling.resampler import Resampler
from calibrant.resampling.rows import Bootstrap, Consistency

RESAMPLERS = "exact, bootstrap, consistency or wild-clusters"
PLAIN: dict[str, Callable[[], Resampler]] = {
    "exact": Exact,
    "bootstrap": Bootstrap,
    "consistency": Consistency,
    "wild-clusters": WildClusters,
}


def as_resampler(resampler: Any) -> Resampler:
    """Return a resampler, or the one that a text names; refuse what cannot draw data sets.

    Examples
    --------
    >>> as_resampler("wild-clusters")
    WildClusters(rho=None)
    """
    if isinstance(resampler, Resampler):
        return resampler
    if not isinstance(resampler, str):
        raise TypeError(f"`resampler` must be one such as Exact(); found {brief(resampler)}.")
    if resampler not in PLAIN:
        raise not_one("resampler", resampler, RESAMPLERS)
    return PLAIN[resampler]()
