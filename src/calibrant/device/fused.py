"""How kernels are started: loops that are worth one of their own on a GPU.

What a kernel computes, operations of torch beside it compute, too, with the same bits: no product
and sum are fused into one rounding.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor

SIDE = 256  # replicates, or outcomes, of a program


@cache
def _kernels() -> Any:
    """Return the module of the kernels; None where Triton is missing."""
    try:
        from calibrant.device import kernels  # noqa: PLC0415
    except ImportError:
        return None
    return kernels


def usable(tensor: Tensor) -> bool:
    """Whether a tensor is where kernels run."""
    return tensor.is_cuda and _kernels() is not None


def run(name: str, grid: tuple[int, ...], *arguments: Any) -> None:
    """Start a kernel on the device of its first argument."""
    with torch.cuda.device(arguments[0].device):
        getattr(_kernels(), name)[grid](*arguments, enable_fp_fusion=False)


def blocks(length: int, size: int = SIDE) -> int:
    """Return how many blocks of a size cover a length."""
    return -(-length // size)


def bits(length: int) -> int:
    """Return the exponent of the smallest power of 2 that is not below a length."""
    return max(0, length - 1).bit_length()
