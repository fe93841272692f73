"""Randomness: whatever the user gives becomes one 64-bit key.

Kernels turn (key, replicate, row) into a number by hashing, so the same key gives the same
draws whatever the number of threads, the order of the work or the size of its pieces.
"""

from typing import Any

import numpy as np

from calibrant.checks.parameters import brief

Rng = int | np.random.Generator | None


def make_key(rng: Any) -> np.uint64:
    """Return the key of a seed, of the next state of a generator, or of fresh entropy."""
    if isinstance(rng, np.random.Generator):
        return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    return np.uint64(np.random.SeedSequence(_seed(rng)).generate_state(1, np.uint64)[0])


def as_seed(rng: Any) -> int:
    """Return a seed that can be written down: the user's own, or one drawn from `rng`."""
    if rng is None or isinstance(rng, np.random.Generator):
        return int(make_key(rng))
    return _seed(rng) or 0


def generator(rng: Any) -> np.random.Generator:
    """Return a generator for data that are made once, outside kernels."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(_seed(rng))


def _seed(rng: Any) -> int | None:
    whole = isinstance(rng, int | np.integer) and not isinstance(rng, bool | np.timedelta64)
    if rng is not None and not whole:
        raise TypeError(
            f"`rng` must be a whole number, a numpy.random.Generator or None; found {brief(rng)}."
        )
    if rng is not None and int(rng) < 0:
        raise ValueError(f"`rng` must be a whole number from 0; found {rng}.")
    return None if rng is None else int(rng)


def derive(key: np.uint64, *purpose: int) -> np.uint64:
    """Return the key for one of several independent purposes."""
    seed = np.random.SeedSequence(int(key), spawn_key=purpose)
    return np.uint64(seed.generate_state(1, np.uint64)[0])
