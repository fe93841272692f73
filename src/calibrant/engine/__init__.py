"""Compiled loops: pure functions of arrays and scalars, nothing checked.

The submodules load numba, which takes half a second, so each is imported when it is first
named: ``engine.tree.fit``.
"""

from importlib import import_module
from types import ModuleType

COMPILED = ("cells", "classes", "draws", "grid", "laws", "lens", "null", "tree")


def __getattr__(name: str) -> ModuleType:
    if name in COMPILED:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
