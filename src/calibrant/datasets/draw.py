"""Draw one class for each row of probabilities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def labels(probs: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw Y_i from row i of probs: the first class whose cumulated probability exceeds u.

    A class of probability 0 is never drawn.
    """
    cumulated = np.cumsum(probs, axis=1, dtype=np.float64)
    total = cumulated[:, -1]
    target = np.minimum(rng.random(len(probs)) * total, np.nextafter(total, 0))
    return np.asarray((cumulated <= target[:, None]).sum(axis=1), np.int32)
