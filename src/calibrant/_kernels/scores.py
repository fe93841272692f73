"""Scores of rows."""

import numpy as np

from calibrant._kernels.jit import kernel


@kernel
def add(probs, labels, weights, step, start, stop, sums):
    """Add weight, log, Brier and spherical score and hits of the rows to sums (5,)."""
    m = probs.shape[1]
    for i in range(start, stop):
        w = weights[i * step]
        if w == 0.0:
            continue
        y = labels[i]
        p = np.float64(probs[i, y])
        square = 0.0
        hit = 1.0
        for j in range(m):
            q = np.float64(probs[i, j])
            square += q * q
            if q > p or (q == p and j < y):
                hit = 0.0
        sums[0] += w
        sums[1] -= w * np.log(p)
        sums[2] += w * (square - 2.0 * p + 1.0)
        sums[3] += w * (p / np.sqrt(square))
        sums[4] += w * hit
