"""Compiled loops behind a small interface: arrays and named tuples in, arrays out.

The only package that names numba and that starts threads. Its functions refuse arrays of wrong
shapes or types; their kernels check nothing. It knows nothing else of calibrant. The submodules
load NumPy and LLVM, so each is imported when it is first named: ``engine.tree.grow``.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calibrant.engine import classes as classes
    from calibrant.engine import counted as counted
    from calibrant.engine import cuts as cuts
    from calibrant.engine import densities as densities
    from calibrant.engine import drawn as drawn
    from calibrant.engine import draws as draws
    from calibrant.engine import events as events
    from calibrant.engine import grid as grid
    from calibrant.engine import isotonic as isotonic
    from calibrant.engine import kernels as kernels
    from calibrant.engine import landmarks as landmarks
    from calibrant.engine import laws as laws
    from calibrant.engine import line as line
    from calibrant.engine import matching as matching
    from calibrant.engine import median as median
    from calibrant.engine import node_sums as node_sums
    from calibrant.engine import norms as norms
    from calibrant.engine import null as null
    from calibrant.engine import pairs as pairs
    from calibrant.engine import paths as paths
    from calibrant.engine import resample as resample
    from calibrant.engine import rows as rows
    from calibrant.engine import spread as spread
    from calibrant.engine import squares as squares
    from calibrant.engine import sums as sums
    from calibrant.engine import totals as totals
    from calibrant.engine import tree as tree

COMPILED = (
    "classes",
    "counted",
    "cuts",
    "densities",
    "draws",
    "events",
    "grid",
    "isotonic",
    "norms",
    "null",
    "paths",
    "resample",
    "rows",
    "spread",
    "sums",
    "totals",
    "drawn",
    "kernels",
    "landmarks",
    "laws",
    "line",
    "matching",
    "median",
    "node_sums",
    "pairs",
    "squares",
    "tree",
)


def __getattr__(name: str) -> ModuleType:
    if name in COMPILED:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
