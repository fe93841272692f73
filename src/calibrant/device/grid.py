"""Cells of a regular grid: rows with equal keys, sorted together."""

from collections.abc import Iterator
from math import log2
from typing import NamedTuple

import torch
from torch import Tensor

from calibrant.device import fused
from calibrant.device.draws import GOLDEN, mix
from calibrant.device.rows import edges

ENTRIES = 1 << 26  # of a block of rows whose digits are laid out


class SortedRows(NamedTuple):
    """Rows sorted by cell: those of cell c are rows[starts[c]:starts[c + 1]], in their order."""

    rows: Tensor  # (n,) int64
    starts: Tensor  # (cells + 1,) int64


def intervals(p: Tensor, limits: Tensor) -> Tensor:
    """Return j with j / k <= p < (j + 1) / k; the last interval is closed: int64."""
    p, k = p.double(), len(limits) - 1
    j = torch.where(p < 1.0, (p * k).long(), k - 1).clamp_(min=0)
    return j - (p < limits[j]).long() + (p >= limits[j + 1]).long()


def group_boxes(probs: Tensor, columns: tuple[int, int], k: int) -> SortedRows | None:
    """Sort rows by intervals along columns, the first and how many; None if hashes collide."""
    first, count = columns
    part, limits = probs[:, first : first + count], edges(k, probs.device)
    if count == 1:
        # A narrower type is sorted faster.
        narrow = torch.uint8 if k <= 1 << 8 else torch.int16 if k <= 1 << 15 else torch.int32
        return group(intervals(part[:, 0], limits).to(narrow))
    if count * log2(max(k, 2)) < 62:
        keys = torch.zeros_like(part[:, 0], dtype=torch.int64)
        for column in part.unbind(1):
            keys = keys * k + intervals(column, limits)
        return group(keys)
    return _group_digits(*digits(part, k, limits))


def group(keys: Tensor) -> SortedRows:
    """Sort rows by keys (n,), keeping their order where keys are equal."""
    sorted_keys, rows = torch.sort(keys, stable=True)
    return SortedRows(rows, _starts(sorted_keys[1:] != sorted_keys[:-1], len(keys)))


def _starts(new: Tensor, n: int) -> Tensor:
    """Return where cells begin, and the end, given which rows but the first begin one."""
    ends = torch.tensor((0, n), device=new.device)
    return torch.cat((ends[:1], new.nonzero()[:, 0] + 1, ends[1:]))


def group_simplices(probs: Tensor, columns: tuple[int, int], k: int) -> SortedRows | None:
    """Sort rows by their simplex: integer parts of c, then the ranks of its fractional parts.

    c_i = k (p_1 + … + p_i) over some columns; equal fractions rank by their index.
    """
    first, count = columns
    total = torch.zeros_like(probs[:, 0], dtype=torch.float64)
    limits = edges(k, probs.device)
    parts, fractions = [], []
    for column in range(first, first + count):
        total = total + probs[:, column]
        parts.append(intervals(total, limits))
        fractions.append(total * k - parts[-1])
    ranks = torch.stack(fractions, 1).sort(dim=1, stable=True).indices.argsort(1)
    found = torch.cat((torch.stack(parts, 1), ranks), 1).int()
    return _group_digits(found, _hashed(found, max(k, count)))


def digits(part: Tensor, k: int, limits: Tensor) -> tuple[Tensor, Tensor]:
    """Return intervals between limits (k + 1,) along columns (n, count), and their hash (n,)."""
    n, count = part.shape
    found = torch.empty((n, count), dtype=torch.int32, device=part.device)
    if fused.usable(part):
        keys = torch.empty(n, dtype=torch.int64, device=part.device)
        arrays = part, part.stride(0), limits, found, keys
        fused.run("digits", (n,), *arrays, count, k, 1 << fused.bits(count))
        return found, keys
    for rows in _blocks(part):
        found[rows] = intervals(part[rows], limits).int()
    return found, _hashed(found, k)


def _hashed(found: Tensor, base: int) -> Tensor:
    """Return a hash of the digits (n, count) of every row (n,)."""
    keys = torch.empty(len(found), dtype=torch.int64, device=found.device)
    salt = torch.arange(found.shape[1], device=found.device) * base
    for rows in _blocks(found):
        keys[rows] = mix((salt + found[rows] + 1) * GOLDEN).sum(1)
    return keys


def _group_digits(found: Tensor, keys: Tensor) -> SortedRows | None:
    """Sort rows by a hash (n,) of their digits; None if equal hashes are not equal digits."""
    sorted_keys, rows = torch.sort(keys, stable=True)
    new = sorted_keys[1:] != sorted_keys[:-1]
    same = (~new).nonzero()[:, 0]
    step = max(1, ENTRIES // found.shape[1])
    for start in range(0, len(same), step):
        some = same[start : start + step]
        if not torch.equal(found[rows[some]], found[rows[some + 1]]):
            return None
    return SortedRows(rows, _starts(new, len(keys)))


def _blocks(entries: Tensor) -> Iterator[slice]:
    """Yield the rows of an array (n, count), so many that their entries can be laid out."""
    step = max(1, ENTRIES // entries.shape[1])
    for start in range(0, entries.shape[0], step):
        yield slice(start, start + step)
