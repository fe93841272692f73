"""Arrays for kernels to work in."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LINE = 64  # bytes of a cache line


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return zeros that begin with a cache line.

    Those of NumPy begin at any 16 bytes, and kernels that read four or eight numbers at a time
    are a tenth slower where every other read straddles two lines.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    buffer = np.zeros(size + LINE, np.uint8)
    start = -buffer.ctypes.data % LINE
    return buffer[start : start + size].view(dtype).reshape(shape)
