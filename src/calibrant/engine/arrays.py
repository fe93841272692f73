"""Arrays for kernels to work in, and checks of those that they are handed."""

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


def expect(name: str, array: Any, shape: tuple[int | None, ...], kinds: str) -> None:
    """Refuse what a kernel would read beyond its end or take for something else.

    shape : the length of each axis; None for any
    kinds : the letters of NumPy's types that will do, such as "f" or "iu"
    """
    fits = isinstance(array, np.ndarray) and array.ndim == len(shape)
    if fits:
        fits = all(
            want is None or have == want for have, want in zip(array.shape, shape, strict=True)
        )
    if not fits or array.dtype.kind not in kinds:
        found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
        raise TypeError(
            f"`{name}` must be an array of kind {kinds!r} and shape {shape}; found {found}."
        )


def within(name: str, array: NDArray[Any], limit: int) -> None:
    """Refuse indices below 0 or not below `limit`."""
    if array.size and not (int(array.min()) >= 0 and int(array.max()) < limit):
        raise IndexError(f"`{name}` must be at least 0 and below {limit}.")
