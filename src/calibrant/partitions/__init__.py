"""Partitions Phi of the simplex, §4.1 and Appendix B.

A partition is fitted to `Predictions` and gives a `FittedPartition`, which knows the cells
that hold rows and can assign other predictions to them. Nothing here looks at labels. It may use
`predictions`, `checks` and the engine.
"""

from calibrant.partitions.equal_mass import EqualMass
from calibrant.partitions.grid import EqualWidth, SimplexBins
from calibrant.partitions.partition import FittedPartition, FromFunction, Partition
from calibrant.partitions.variance_tree import VarianceTree

__all__ = [
    "EqualMass",
    "EqualWidth",
    "FittedPartition",
    "FromFunction",
    "Partition",
    "SimplexBins",
    "VarianceTree",
]


def __dir__() -> list[str]:
    return __all__
