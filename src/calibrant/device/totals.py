"""Sums and maxima over cells of the norms of their deviations: `engine.totals` on a device."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from calibrant import engine

HIGH = 4.0  # adding and subtracting it rounds to a multiple of 2^-50
LOW = 1.5 * 2.0**-28  # of 2^-80


class Totals:
    """What is known of the cells so far; sums never round, so their order does not show.

    Parameters
    ----------
    size : int
        Number of replicates.
    wanted : span of norms
        Those that are needed, as in ``range(*wanted)``; others stay 0.
    device : torch.device
        Where.
    """

    def __init__(self, size: int, wanted: tuple[int, int], device: torch.device) -> None:
        self.wanted = wanted
        self.parts = torch.zeros((3, 3, size), dtype=torch.float64, device=device)

    def add(self, one: Tensor, two: Tensor, shares: Tensor, at: slice = slice(None)) -> None:
        """Add cells with 1-norms and squared 2-norms (cells, size), and shares (cells,)."""
        if not len(shares):
            return
        first, last = self.wanted
        values = torch.stack(
            [one if n == 0 else root(two) if n == 1 else two for n in range(first, last)]
        )
        terms = values * shares[:, None]
        high = (terms + HIGH) - HIGH
        low = ((terms - high) + LOW) - LOW
        self.merge(torch.stack((high.sum(1), low.sum(1), values.amax(1))), at)

    def merge(self, found: Tensor, at: slice) -> None:
        """Add totals (3, norms, size) of other cells in replicates `at`."""
        mine = self.parts[:, slice(*self.wanted), at]
        mine[:2] += found[:2]
        torch.maximum(mine[2], found[2], out=mine[2])

    def on_host(self) -> Any:
        """Return `engine.totals.Totals`."""
        return engine.totals.Totals(*self.parts.cpu().numpy())


def root(x: Tensor) -> Tensor:
    """Return square roots, rounded correctly, which torch's are on a GPU but not on every CPU."""
    return x.sqrt() if x.is_cuda else torch.from_numpy(np.sqrt(x.numpy()))
