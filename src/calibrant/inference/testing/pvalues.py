"""P-values from a null distribution."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

UNITS = 1 << 16  # in the last place


def pvalue(observed: ArrayLike, null: Floats) -> Any:
    """Return p = (1 + #{h* ≥ h}) / (B + 1) for observed (…) and null (…, B).

    Values that agree up to rounding count as equal, see `rounding`. The observed value is one
    of the B + 1 possible ones, so p is never 0. What is not a number counts against rejection.

    Examples
    --------
    >>> pvalue(0.3, np.array([0.1, 0.3, 0.2]))
    0.5
    """
    h = np.asarray(observed, np.float64)
    hits = (~(null < (h - rounding(h))[..., None])).sum(axis=-1)
    p = (1 + hits) / (null.shape[-1] + 1)
    return float(p) if p.ndim == 0 else p


def rounding(value: ArrayLike) -> Any:
    """Return how far from `value` numbers may be that differ from it by rounding.

    The same m terms, none of them negative, added in another order differ by at most 2 m
    units in the last place. The limit of 65,536 units, a relative 1e-11, covers 30,000 classes.
    """
    finite = np.isfinite(value)
    return np.where(finite, UNITS * np.spacing(np.abs(np.where(finite, value, 0.0))), 0.0)


def spread(values: Floats, ddof: int = 0) -> float:
    """Return the standard deviation (n,); nan of too few values, or where one is not finite."""
    known = values.size > ddof and np.isfinite(values).all()
    return float(values.std(ddof=ddof)) if known else float("nan")
