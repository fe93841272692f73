"""Draws of labels as functions of (key, replicate, row): `engine.draws` in operations of torch.

Torch has 64-bit integers that wrap around, but shifts that keep the sign: bits are masked.
"""

import torch
from torch import Tensor

from calibrant.device import fused

ONE = 2.0**52  # the whole number that stands for a probability of 1
NEVER = 1 << 62  # a threshold that is not reached
TILE = 1 << 10  # entries of a program that finds thresholds
ENTRIES = 1 << 26  # of the thresholds that are laid out at a time


def signed(bits: int) -> int:
    """Return the signed integer with the same 64 bits."""
    bits &= (1 << 64) - 1
    return bits - (1 << 64) if bits >= 1 << 63 else bits


GOLDEN = signed(0x9E3779B97F4A7C15)
ROWS = signed(0xD1B54A32D192ED03)
FIRST = signed(0xBF58476D1CE4E5B9)
SECOND = signed(0x94D049BB133111EB)


def shifted(x: Tensor, bits: int) -> Tensor:
    """Shift to the right as if the integers had no sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def mix(x: Tensor) -> Tensor:
    """Scramble 64 bits: the finalizer of splitmix64."""
    x = (x ^ shifted(x, 30)) * FIRST
    x = (x ^ shifted(x, 27)) * SECOND
    return x ^ shifted(x, 31)


def row_keys(key: int, rows: Tensor) -> Tensor:
    """Return the hashes of rows with these numbers."""
    return mix((rows + 1) * GOLDEN + (signed(key) ^ ROWS))


def replicate_keys(key: int, start: int, stop: int, device: torch.device) -> Tensor:
    """Return the hashes of replicates start … stop - 1."""
    numbers = torch.arange(start + 1, stop + 1, device=device)
    return mix(numbers * GOLDEN + signed(key))


def uniforms(rows: Tensor, replicates: Tensor) -> Tensor:
    """Return whole numbers below 2^52 from hashes of rows (k,) and replicates: (k, size)."""
    return shifted(mix(rows[:, None] + replicates), 12)


def thresholds(probs: Tensor) -> Tensor:
    """Return the thresholds of every row: (k, m) int64; a class of probability 0 is never drawn.

    Classes from the last possible one on have all of the sum before them, or are it.
    """
    if fused.usable(probs):
        k, m = probs.shape
        cuts = torch.empty((k, m), dtype=torch.int64, device=probs.device)
        width = 1 << fused.bits(m)
        side = max(1, TILE // width)
        fused.run("thresholds", (fused.blocks(k, side),), probs, cuts, k, m, side, width)
        return cuts
    sums = ((probs.double() * ONE + ONE) - ONE).long().cumsum(1)
    total = sums[:, -1:]
    cuts = ((sums.double() * (ONE / total.double()) + ONE) - ONE).long()
    return cuts.masked_fill_(sums == total, NEVER)


def event_cuts(probs: Tensor, event: Tensor) -> Tensor:
    """Return the interval in which a class (n,) of each row is drawn: (2, n), from and below."""
    out = torch.empty((2, len(probs)), dtype=torch.int64, device=probs.device)
    step = max(1, ENTRIES // probs.shape[1])
    for start in range(0, len(probs), step):
        some = slice(start, start + step)
        pair = torch.stack(((event[some] - 1).clamp_(min=0), event[some]), 1)
        out[:, some] = thresholds(probs[some]).gather(1, pair).T
    out[0].masked_fill_(event == 0, 0)
    return out


def labels(cuts: Tensor, rows: Tensor, replicates: Tensor) -> Tensor:
    """Return the labels of rows with these thresholds and hashes: (k, size)."""
    if fused.usable(cuts):
        out = torch.empty((len(rows), len(replicates)), dtype=torch.int32, device=cuts.device)
        _draw((cuts, rows, replicates, rows, rows, out), counted=False)
        return out
    return torch.searchsorted(cuts, uniforms(rows, replicates), right=True)


def count_labels(
    drawing: tuple[Tensor, Tensor, Tensor], cells: Tensor, weights: Tensor, counts: Tensor
) -> None:
    """Add the weights of rows (k,) to what `labels` draws: counts (cells, m, size)."""
    if fused.usable(counts):
        _draw((*drawing, cells, weights, counts), counted=True)
        return
    _, m, size = counts.shape
    flat = (cells[:, None] * m + labels(*drawing)) * size + torch.arange(size, device=cells.device)
    counts.view(-1).index_add_(0, flat.view(-1), weights[:, None].expand(-1, size).reshape(-1))


def _draw(arrays: tuple[Tensor, ...], *, counted: bool) -> None:
    (k, m), size = arrays[0].shape, len(arrays[2])
    chosen = m, size, counted, fused.bits(m), fused.SIDE
    fused.run("labels", (k, fused.blocks(size)), *arrays, *chosen)
