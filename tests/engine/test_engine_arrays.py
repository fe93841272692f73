"""Room that begins with a cache line, and refusals of what are not indices."""

import numpy as np
import pytest

from calibrant.checks import arrays as border
from calibrant.engine.arrays import within, zeros


@pytest.mark.parametrize("shape", [1, 7, (3, 5), (2, 1000), 0, (0, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8])
def test_room_begins_with_a_cache_line(shape, dtype):
    found = [zeros(shape, dtype) for _ in range(20)]
    for array in found:
        assert array.size == 0 or array.ctypes.data % 64 == 0
        assert array.dtype == dtype
        assert array.shape == np.zeros(shape).shape
        assert array.flags.c_contiguous
        assert (array == 0).all()
        array[...] = 1  # they share no memory
    assert all((array == 1).all() for array in found)


def test_indices_out_of_range_are_refused():
    within("x", np.array([0, 4]), 5)
    within("x", np.array([], int), 0)
    for wrong in ([-1], [5], [0, 2**40]):
        with pytest.raises(IndexError, match=r"`x` must be at least 0 and below 5\."):
            within("x", np.array(wrong), 5)
    with pytest.raises(TypeError, match="`x` must be integers; found float64"):
        within("x", np.ones(3), 5)


def test_tolerances_cover_the_rounding_they_are_for():
    half_ulp, bfloat16_half_ulp = np.finfo(np.float16).eps / 2, 2.0**-9
    assert half_ulp < border.TOLERANCE
    assert bfloat16_half_ulp < border.BFLOAT16_TOLERANCE
