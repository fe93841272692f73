"""Rows of probabilities: scan for faults, rescale, softmax, scores."""

import numpy as np

from calibrant._kernels.jit import kernel


@kernel
def row_sum(row):
    """Sum in float64 with eight partial sums, so that the processor can add eight at a time."""
    m = row.shape[0]
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    whole = m - m % 8
    for j in range(0, whole, 8):
        a0 += row[j]
        a1 += row[j + 1]
        a2 += row[j + 2]
        a3 += row[j + 3]
        a4 += row[j + 4]
        a5 += row[j + 5]
        a6 += row[j + 6]
        a7 += row[j + 7]
    rest = 0.0
    for j in range(whole, m):
        rest += row[j]
    return ((a0 + a4) + (a1 + a5)) + ((a2 + a6) + (a3 + a7)) + rest


@kernel
def scan(probs, start, stop, rounding, tolerance, report):
    """Count rows with a fault, and remember the first of each kind.

    report : int64 (7,), (first, count) of rows that are not finite, that have a negative
        entry, that do not sum to 1 within `tolerance`; then the count of good rows whose sum
        is further from 1 than `rounding`.
    """
    m = probs.shape[1]
    for i in range(start, stop):
        total = row_sum(probs[i])
        negative = 0
        for j in range(m):
            negative += probs[i, j] < 0
        if not np.isfinite(total):
            kind = 0
        elif negative:
            kind = 2
        elif abs(total - 1.0) > tolerance:
            kind = 4
        else:
            report[6] += abs(total - 1.0) > rounding
            continue
        if report[kind + 1] == 0:
            report[kind] = i
        report[kind + 1] += 1


@kernel
def rescale(probs, start, stop, rounding):
    """Divide, in place, each row whose sum is further from 1 than `rounding` by its sum."""
    for i in range(start, stop):
        total = row_sum(probs[i])
        if abs(total - 1.0) > rounding:
            for j in range(probs.shape[1]):
                probs[i, j] = probs[i, j] / total


@kernel
def softmax(logits, start, stop):
    """Replace logits by probabilities in place, in float64 within the row."""
    m = logits.shape[1]
    work = np.empty(m)
    for i in range(start, stop):
        top = logits[i, 0]
        for j in range(1, m):
            top = max(top, logits[i, j])
        for j in range(m):
            work[j] = np.exp(np.float64(logits[i, j]) - np.float64(top))
        total = row_sum(work)
        for j in range(m):
            logits[i, j] = work[j] / total


@kernel
def score_sums(probs, labels, weights, step, start, stop, sums):
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
