"""Rows on a device: checks that need no second look, and binary problems of one class."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calibrant import engine

Array = NDArray[Any]
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Origin(NamedTuple):
    """What labels are drawn from, where a lens shows one class of it against the rest."""

    probs: Tensor  # (n, classes)
    event: Tensor  # (n,) the class of each row


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Predictions, outcomes and weights on a device."""

    probs: Tensor  # (n, m) float32 or float64, rows that sum to 1
    labels: Tensor  # (n,) int64
    weights: Tensor | None  # (n,) float64, as Predictions round them
    unit: float  # the smallest power of 2 that no weight exceeds
    event: int  # the one of two outcomes that the problem is about; -1 if there are more
    origin: Origin | None = None  # what a lens looked at

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of outcomes."""
        return self.probs.shape[0], self.probs.shape[1]

    def all_of(self, j: int) -> Tensor:
        """Return one class for every row (n,)."""
        return torch.full_like(self.labels, j)

    def top_label(self) -> "Rows":
        """Return the binary problem of the most probable class; of equal ones, the first."""
        return self.against_rest(self.probs.max(1).indices)

    def one_class(self, j: int) -> "Rows":
        """Return the binary problem of one class."""
        return self.against_rest(self.all_of(j))

    def against_rest(self, event: Tensor) -> "Rows":
        """Return the binary problem of a class (n,) of each row; it occurs in outcome 0."""
        p = self.probs.gather(1, event[:, None])[:, 0].double()
        probs = torch.stack((p, torch.where(p < 1.0, 1.0 - p, 0.0)), 1).to(self.probs.dtype)
        seen = (self.labels != event).long()
        return Rows(probs, seen, self.weights, self.unit, 0, Origin(self.probs, event))

    def pulled(self) -> tuple[Array, NDArray[np.int32]]:
        """Return probabilities and labels as arrays on the host."""
        return self.probs.cpu().numpy(), self.labels.int().cpu().numpy()


def rows_of(probs: Tensor, labels: Any, weights: Array | None) -> Rows:
    """Bring together what was checked, on the device of the probabilities."""
    unit = 1.0 if weights is None else float(2.0 ** np.ceil(np.log2(weights.max())))
    return Rows(
        probs,
        pushed(labels, probs.device).long(),
        None if weights is None else pushed(weights, probs.device),
        unit,
        1 if probs.shape[1] == 2 else -1,
    )


def pushed(value: Any, device: torch.device) -> Tensor:
    """Return an array, or a tensor that may be elsewhere, as a tensor on a device."""
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(value if value.flags.writeable else value.copy())
    found: Tensor = value.to(device)
    return found


def probabilities(value: Any) -> Tensor | None:
    """Return float32 or float64 (n, m) whose rows sum to 1 to rounding; None: let the host look.

    The host refuses with a sentence, or divides rows by their sum.
    """
    tensor: Tensor = value.detach()
    tensor = tensor.float() if tensor.dtype == torch.float16 else tensor
    if tensor.dtype not in (torch.float32, torch.float64) or 0 in tensor.shape:
        return None
    if tensor.dim() == 1:
        return _both(tensor)
    if tensor.dim() != 2 or tensor.shape[1] < 2:
        return None
    tensor = tensor.contiguous()
    return tensor if _even(tensor) else None


def _both(p: Tensor) -> Tensor | None:
    """Return the probabilities (n, 2) of both outcomes; None if they are none."""
    fine = bool(((p >= 0) & (p <= 1)).all())
    return torch.stack((1 - p, p), 1) if fine else None


def integers(value: Any, n: int, m: int) -> Tensor | None:
    """Return labels (n,) that are whole numbers below m; None: let the host look."""
    plain = isinstance(value, Tensor) and value.dtype in INTEGERS and value.shape == (n,)
    return value if plain and bool(((value >= 0) & (value < m)).all()) else None


def _even(probs: Tensor) -> bool:
    """Whether no row would be refused, or divided by its sum.

    Sums in any order differ by less than m rounding steps. Where that might decide, they are made
    in the order of the host's.
    """
    m = probs.shape[1]
    rounding = float(torch.finfo(probs.dtype).eps) * (4.0 + m**0.5)
    off = (probs.sum(1, dtype=torch.float64) - 1.0).abs().amax()
    least = probs.amin()
    if bool((least >= 0) & (off + m * 2.0**-52 <= rounding)):
        return True
    return bool((least >= 0) & ((row_sums(probs) - 1.0).abs() <= rounding).all())


def row_sums(probs: Tensor) -> Tensor:
    """Add up rows in the order of `engine.rows.check`: (n,) float64."""
    m = probs.shape[1]
    if m <= engine.rows.SHORT:
        total = probs[:, 0].double()
        for j in range(1, m):
            total = total + probs[:, j]
        return total
    sums = torch.zeros((probs.shape[0], 8), dtype=torch.float64, device=probs.device)
    for j in range(0, m - m % 8, 8):
        sums += probs[:, j : j + 8]
    for j in range(m - 1, m - 1 - m % 8, -1):
        sums[:, 0] += probs[:, j]
    s = sums.unbind(1)
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
