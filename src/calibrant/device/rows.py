"""Rows on a device: checks that need no second look, and binary problems of one class."""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calibrant import engine
from calibrant.device import fused

Array = NDArray[Any]
BINS = 64  # intervals that one pass adds up
WIDEST = 1 << 12  # classes of a row that one program reads at a time
TILE = 1 << 12  # probabilities that a program reads at a time
PROGRAMS = 1 << 11
SIDE = 1 << 9  # rows that a program adds up at a time
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Origin(NamedTuple):
    """What labels are drawn from, where a lens shows one class of it against the rest."""

    probs: Tensor  # (n, classes)
    event: Tensor  # (n,) the class of each row


class DeviceTop(NamedTuple):
    """The most probable class of each row; of equal ones, the first."""

    most: Tensor  # (n,) its probability
    classes: Tensor  # (n,) int32


@final
@dataclass(frozen=True, slots=True, eq=False)
class DeviceRows:
    """Predictions, outcomes and weights on a device."""

    probs: Tensor  # (n, m) float32 or float64, rows that sum to 1
    labels: Tensor  # (n,) int64
    weights: Tensor | None  # (n,) float64, as Predictions round them
    unit: float  # the smallest power of 2 that no weight exceeds
    event: int  # the one of two outcomes that the problem is about; -1 if there are more
    top: DeviceTop | None = None  # what was seen of each row as it was checked
    origin: Origin | None = None  # what a lens looked at

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of outcomes."""
        return self.probs.shape[0], self.probs.shape[1]

    def known(self, top: DeviceTop | None) -> "DeviceRows":
        """Return the same rows, of which the most probable classes are known."""
        return replace(self, top=top)

    def all_of(self, j: int) -> Tensor:
        """Return one class for every row (n,)."""
        return torch.full_like(self.labels, j)

    def top_label(self) -> "TopRows":
        """Return the binary problem of the most probable class; of equal ones, the first."""
        return TopRows(self)

    def one_class(self, j: int) -> "DeviceRows":
        """Return the binary problem of one class."""
        return self.against_rest(self.all_of(j))

    def against_rest(self, event: Tensor) -> "DeviceRows":
        """Return the binary problem of a class (n,) of each row; it occurs in outcome 0."""
        p = self.probs.gather(1, event[:, None])[:, 0].double()
        probs = torch.stack((p, torch.where(p < 1.0, 1.0 - p, 0.0)), 1).to(self.probs.dtype)
        seen = (self.labels != event).long()
        return DeviceRows(probs, seen, self.weights, self.unit, 0, None, Origin(self.probs, event))

    def pulled(self) -> tuple[Array, NDArray[np.int32]]:
        """Return probabilities and labels as arrays on the host."""
        return self.probs.cpu().numpy(), self.labels.int().cpu().numpy()


@final
class TopRows:
    """The most probable class of rows against the rest: a problem that is made when it is needed.

    What bins of equal width need of it is added up without it, see `top_bins`.
    """

    event = 0

    def __init__(self, given: DeviceRows) -> None:
        self.given, self.weights, self.unit = given, given.weights, given.unit

    @cached_property
    def _made(self) -> DeviceRows:
        given = self.given
        top = given.probs.max(1).indices if given.top is None else given.top.classes.long()
        return given.against_rest(top)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of outcomes."""
        return self.given.shape[0], 2

    def __getattr__(self, name: str) -> Any:
        """Return what rows have."""
        return getattr(self._made, name)


def top_bins(rows: Any, k: int) -> Any:
    """Return the sums of k intervals of the largest probability; None if they need the cells.

    One pass on the GPU, and one copy: `engine.sums.Sums` of the problem of the top label.
    """
    if not isinstance(rows, TopRows) or rows.weights is not None or k > BINS:
        return None
    given = rows.given
    if given.top is None:
        return None
    n, size = given.shape[0], 1 << max(4, fused.bits(k))
    out = torch.zeros((5, size), dtype=torch.int64, device=given.probs.device)
    arrays = *given.top, given.labels, edges(k, given.probs.device), out
    grid = (min(fused.blocks(n, SIDE), PROGRAMS),)
    fused.run("top_bins", grid, *arrays, n, k, SIDE, size)
    mass, hits, *limbs = out.cpu().numpy()[:, :k]
    observed = np.stack((hits, mass - hits), axis=1).astype(np.float64)
    return engine.sums.Sums(mass.astype(np.float64), observed, np.stack(limbs)[:, :, None])


@cache
def edges(k: int, device: torch.device) -> Tensor:
    """Return the edges j / k of k intervals, open at the ends: the host's, to the last bit.

    On a GPU torch multiplies by 1 / k where it should divide.
    """
    return torch.from_numpy(engine.grid.edges(k)).to(device)


def rows_of(probs: Tensor, labels: Any, weights: Array | None) -> DeviceRows:
    """Bring together what was checked, on the device of the probabilities."""
    unit = 1.0 if weights is None else float(2.0 ** np.ceil(np.log2(weights.max())))
    return DeviceRows(
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


def probabilities(value: Any) -> tuple[Tensor, DeviceTop | None] | None:
    """Return float32 or float64 (n, m) whose rows sum to 1 to rounding; None: let the host look.

    With it comes the most probable class of each row, where one pass has seen it. The host refuses
    with a sentence, or divides rows by their sum.
    """
    tensor: Tensor = value.detach()
    tensor = tensor.float() if tensor.dtype == torch.float16 else tensor
    if tensor.dtype not in (torch.float32, torch.float64) or 0 in tensor.shape:
        return None
    if tensor.dim() == 1:
        return _both(tensor)
    if tensor.dim() != 2 or tensor.shape[1] < 2:
        return None
    return _checked(tensor.contiguous())


def _both(p: Tensor) -> tuple[Tensor, None] | None:
    """Return the probabilities (n, 2) of both outcomes; None if they are none."""
    fine = bool(((p >= 0) & (p <= 1)).all())
    return (torch.stack((1 - p, p), 1), None) if fine else None


def _checked(probs: Tensor) -> tuple[Tensor, DeviceTop | None] | None:
    """Return probabilities (n, m) with what one pass has seen of them; None: let the host look."""
    top = _looked(probs)
    return (probs, top) if top is not None or _even(probs) else None


def integers(value: Any, n: int, m: int) -> Tensor | None:
    """Return labels (n,) that are whole numbers below m; None: let the host look."""
    if not isinstance(value, Tensor) or value.dtype not in INTEGERS or value.shape != (n,):
        return None
    if fused.usable(value):
        value = value.contiguous()
        bad = _flag(value.device)
        fused.run("outside", (fused.blocks(n, TILE),), value, bad, n, m, TILE)
        return None if _raised(bad) else value
    return value if bool(((value >= 0) & (value < m)).all()) else None


def _looked(probs: Tensor) -> DeviceTop | None:
    """Check rows in one pass; None where that is not possible, or not enough to decide."""
    n, m = probs.shape
    if not fused.usable(probs) or m > WIDEST:
        return None
    bad = _flag(probs.device)
    top = DeviceTop(probs.new_empty(n), torch.empty(n, dtype=torch.int32, device=probs.device))
    limit = (_rounding(probs) - m * 2.0**-52) * (1 - 2.0**-20)  # it crosses as a float32
    width = 1 << max(1, fused.bits(m))
    height = max(1, TILE // width)
    grid = (min(fused.blocks(n, height), PROGRAMS),)
    fused.run("look", grid, probs, bad, *top, n, m, limit, height, width)
    return None if _raised(bad) else top


@cache
def _flag(device: torch.device) -> Tensor:
    """Return a number that is 0 until a fault is found; checks share it."""
    return torch.zeros(1, dtype=torch.int32, device=device)


def _raised(flag: Tensor) -> bool:
    """Whether a fault was found; then the next checks get another flag.

    A check on another thread may find it raised, too, and lets the host look: it decides.
    """
    found = bool(flag.item())
    if found:
        _flag.cache_clear()
    return found


def _rounding(probs: Tensor) -> float:
    """Return how far from 1 the sum of a row may be by rounding."""
    return float(torch.finfo(probs.dtype).eps * (4.0 + probs.shape[1] ** 0.5))


def _even(probs: Tensor) -> bool:
    """Whether no row would be refused, or divided by its sum.

    Sums in any order differ by less than m rounding steps. Where that might decide, they are made
    in the order of the host's.
    """
    m = probs.shape[1]
    rounding = _rounding(probs)
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
