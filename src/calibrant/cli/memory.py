"""What the process asks of the system's allocator."""

import sys

LARGE = 1 << 20  # bytes of an array that goes back to the system as soon as it is not needed
MMAP_THRESHOLD = -3  # the number of this setting in malloc.h


def return_large_arrays() -> None:
    """Make glibc give every large array back to the system when it is freed.

    Otherwise glibc keeps up to 64 MB of freed memory in each thread: with a million rows, as
    much as the data.
    """
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 (only here)

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, LARGE)
