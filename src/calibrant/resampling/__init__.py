"""Resampled data sets D*, §4.2.

A resampler says which rows stand in a replicate, and from what distribution their labels are
drawn. Both are pure functions of a key, the number of the replicate and the row. It may use
`calibration` and what is below it; it has not heard of statistics.
"""

from calibrant.resampling.alternatives import Shifted, Tempered
from calibrant.resampling.resampler import Resampler
from calibrant.resampling.resamplers import Bootstrap, Consistency, Exact, WildClusters

__all__ = [
    "Bootstrap",
    "Consistency",
    "Exact",
    "Resampler",
    "Shifted",
    "Tempered",
    "WildClusters",
]


def __dir__() -> list[str]:
    return __all__
