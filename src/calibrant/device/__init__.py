"""Tensors on a GPU, evaluated where they are: draws, sums and norms with the engine's bits.

The only package that names torch and Triton. Its functions take tensors on any device, also on the
CPU, where tests compare them with the engine. What it does not know (most lenses, kernels, trees)
is left to the host, which pulls the arrays when they are first needed. The submodules load torch,
so each is imported when it is first named: ``device.rows.rows_of``.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.device import cells as cells
    from calibrant.device import rows as rows

KINDS = ("cuda",)  # kinds of device, as torch calls them, whose tensors stay there


def stays(value: Any) -> bool:
    """Whether `value` is a tensor of torch that is evaluated on its device."""
    of_torch = type(value).__module__.partition(".")[0] == "torch"
    return of_torch and getattr(getattr(value, "device", None), "type", "") in KINDS


def __getattr__(name: str) -> ModuleType:
    if name in ("cells", "rows"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
