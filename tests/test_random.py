"""Keys: the same for the same seed, different for different purposes, refused otherwise."""

import numpy as np
import pytest

from calibrant.checks.parameters import derive, make_key


def test_a_seed_is_a_key():
    assert make_key(7) == make_key(np.int32(7)) == make_key(np.uint64(7))
    assert make_key(7).dtype == np.uint64
    assert len({int(make_key(seed)) for seed in range(1000)}) == 1000
    assert make_key(2**200) != make_key(0)  # any size


def test_a_generator_gives_its_next_state():
    a, b = np.random.default_rng(3), np.random.default_rng(3)
    keys = [make_key(a), make_key(a)]
    assert keys == [make_key(b), make_key(b)]
    assert keys[0] != keys[1]


def test_none_is_fresh():
    assert make_key(None) != make_key(None)  # equal with probability 2^-64


def test_purposes_are_apart():
    key = make_key(0)
    found = {int(derive(key, *purpose)) for purpose in ((1,), (2, 0), (2, 1), (2, 2), (3,), (1, 2))}
    assert len(found) == 6
    assert derive(key, 2, 1) == derive(key, 2, 1) != derive(make_key(1), 2, 1)


@pytest.mark.parametrize("rng", ["0", 0.5, True, np.random.RandomState(0), [1, 2], np.bool_(1)])
def test_anything_else_is_refused(rng):
    with pytest.raises(
        TypeError,
        match=r"`rng` must be a whole number, a numpy\.random\.Generator or None; found ",
    ):
        make_key(rng)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match=r"`rng` must be a whole number from 0; found -1\."):
        make_key(-1)
