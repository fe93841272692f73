"""Compiled loops behind a small interface: arrays and named tuples in, arrays out.

The only package that holds loops and starts threads. Its functions refuse arrays of wrong shapes
or types. It knows nothing else of calibrant. The submodules load NumPy, so each is imported when
it is first named: ``engine.tree.grow``.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.engine import arrays as arrays
    from calibrant.engine import bets as bets
    from calibrant.engine import change as change
    from calibrant.engine import class_bets as class_bets
    from calibrant.engine import classes as classes
    from calibrant.engine import densities as densities
    from calibrant.engine import draws as draws
    from calibrant.engine import grid as grid
    from calibrant.engine import landmarks as landmarks
    from calibrant.engine import line as line
    from calibrant.engine import median as median
    from calibrant.engine import norms as norms
    from calibrant.engine import null as null
    from calibrant.engine import pairs as pairs
    from calibrant.engine import poisson_binomial as poisson_binomial
    from calibrant.engine import record as record
    from calibrant.engine import regions as regions
    from calibrant.engine import resample as resample
    from calibrant.engine import rows as rows
    from calibrant.engine import sums as sums
    from calibrant.engine import tree as tree
    from calibrant.engine import wealth as wealth


def __getattr__(name: str) -> ModuleType:
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
