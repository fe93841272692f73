"""Data sets to try things on: predictions of real networks, and models whose truth is known.

Shipped with the package: the predictions of three networks on the test images of CIFAR-10.
Generated: the examples of the paper and Dirichlet models with a chosen miscalibration; the
same `rng` gives the same data.
"""

from importlib.resources import files

import numpy as np

from calibrant.checks.parameters import brief, listed
from calibrant.datasets.generated import (
    dirichlet,
    example1,
    example3,
    gaussian_mixture,
    gaussian_mixture_truth,
)
from calibrant.predictions import Predictions

__all__ = [
    "cifar10",
    "dirichlet",
    "example1",
    "example3",
    "gaussian_mixture",
    "gaussian_mixture_truth",
    "names",
]

NETWORKS = ("lenet", "resnet", "densenet")


def names() -> tuple[str, ...]:
    """Return the names of the networks whose predictions ship with the package.

    Examples
    --------
    >>> names()
    ('lenet', 'resnet', 'densenet')
    """
    return NETWORKS


def cifar10(name: str) -> Predictions:
    """Return what a network predicts for the 10,000 test images of CIFAR-10.

    Parameters
    ----------
    name : {"lenet", "resnet", "densenet"}
        Which network.

    Returns
    -------
    Predictions
        10,000 rows of ten classes.

    Examples
    --------
    >>> data = cifar10("lenet")
    >>> data.n, data.m, data.classes[5]
    (10000, 10, 'dog')
    """
    if name not in NETWORKS:
        raise ValueError(f"`name` must be one of {listed(NETWORKS)}; found {brief(name)}.")
    file = files("calibrant.datasets").joinpath(f"{name}.npz")
    if not file.is_file():
        raise FileNotFoundError(
            f"The predictions of {name!r} are not in this installation of calibrant; install it"
            " again."
        )
    with file.open("rb") as opened, np.load(opened, allow_pickle=False) as found:
        probs, labels, classes = found["probs"], found["labels"], found["classes"]
    probs.flags.writeable = False  # ours alone, so it need not be copied
    return Predictions(probs, labels.astype(np.int32), [str(one) for one in classes])


def __dir__() -> list[str]:
    return __all__
