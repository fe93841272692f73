"""Data sets to try things on: predictions of real networks, and models whose truth is known.

Shipped with the package: the predictions of three networks on the test images of CIFAR-10.
Generated: the examples of the paper and Dirichlet models with a chosen miscalibration; the
same `rng` gives the same data.
"""

from calibrant.datasets.generated import (
    dirichlet,
    example1,
    example3,
    gaussian_mixture,
    gaussian_mixture_truth,
)
from calibrant.datasets.networks import cifar10, names

__all__ = [
    "cifar10",
    "dirichlet",
    "example1",
    "example3",
    "gaussian_mixture",
    "gaussian_mixture_truth",
    "names",
]


def __dir__() -> list[str]:
    return __all__
