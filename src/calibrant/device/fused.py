"""Loops that are worth a kernel of their own on a GPU: what they compute, torch computes, too.

Each function stands for one of the same name in another module, marked `by_kernel`, and gives the
same bits: no product and sum are fused into one rounding.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from calibrant.engine.norms import IN_ORDER

if TYPE_CHECKING:
    from calibrant.device.cells import Cells, Part

P = ParamSpec("P")
R = TypeVar("R")

SIDE = 256  # replicates that a program draws
LEAST = 32  # lanes of a program that has one replicate
LONG = 1024  # replicates of a program that draws events
ROWS = 128  # rows of such a program
TILE = 1 << 10  # entries of a program that finds thresholds
CELLS, PROGRAMS = 32, 1024  # cells of few rows of a program, where there are enough programs


@cache
def _kernels() -> Any:
    """Return the module of the kernels; None where Triton is missing."""
    try:
        from calibrant.device import kernels  # noqa: PLC0415
    except ImportError:
        return None
    return kernels


def _run(name: str, grid: tuple[int, ...], *arguments: Any) -> None:
    """Start a kernel on the device of its first argument."""
    with torch.cuda.device(arguments[0].device):
        getattr(_kernels(), name)[grid](*arguments, enable_fp_fusion=False)


def usable(tensor: Tensor) -> bool:
    """Whether a tensor is where these kernels run."""
    return tensor.is_cuda and _kernels() is not None


def by_kernel(plain: Callable[P, R]) -> Callable[P, R]:
    """Let the function of the same name here do what `plain` does, where its kernel can run."""

    @wraps(plain)
    def chosen(*given: P.args, **named: P.kwargs) -> R:
        tensor = next(each for each in given if isinstance(each, Tensor))
        found: R = (globals()[plain.__name__] if usable(tensor) else plain)(*given, **named)
        return found

    return chosen


def blocks(length: int, size: int) -> int:
    """Return how many blocks of a size cover a length."""
    return -(-length // size)


def bits(length: int) -> int:
    """Return the exponent of the smallest power of 2 that is not below a length."""
    return max(0, length - 1).bit_length()


def digits(part: Tensor, k: int, limits: Tensor) -> tuple[Tensor, Tensor]:
    """Find intervals with the kernel."""
    n, count = part.shape
    out = torch.empty((n, count), dtype=torch.int32, device=part.device)
    keys = torch.empty(n, dtype=torch.int64, device=part.device)
    _run("digits", (n,), part, part.stride(0), limits, out, keys, count, k, 1 << bits(count))
    return out, keys


def thresholds(probs: Tensor) -> Tensor:
    """Find thresholds with the kernel."""
    k, m = probs.shape
    cuts = torch.empty((k, m), dtype=torch.int64, device=probs.device)
    side = max(1, TILE >> bits(m))
    _run("thresholds", (blocks(k, side),), probs, cuts, k, m, side, 1 << bits(m))
    return cuts


def event_cuts(probs: Tensor, event: Tensor, order: Tensor) -> Tensor:
    """Find the interval of the event with the kernel."""
    n, m = probs.shape
    out = torch.empty((2, n), dtype=torch.int64, device=probs.device)
    side = max(1, TILE >> bits(m))
    _run("event_cuts", (blocks(n, side),), probs, event, order, out, n, m, side, 1 << bits(m))
    return out


def labels(cuts: Tensor, rows: Tensor, replicates: Tensor) -> Tensor:
    """Draw labels with the kernel: int32."""
    k, m = cuts.shape
    size = len(replicates)
    out = torch.empty((k, size), dtype=torch.int32, device=cuts.device)
    grid = (k, blocks(size, SIDE))
    _run("labels", grid, cuts, rows, replicates, out, m, size, bits(m), SIDE)
    return out


def event_counts(cells: "Cells", cuts: Tensor, keys: tuple[Tensor, Tensor]) -> Tensor:
    """Draw and count events with the kernel."""
    rows, replicates = keys
    n, size = len(rows), len(replicates)
    kind = torch.int32 if cells.weights is None else torch.float64
    out = torch.zeros((len(cells.sizes), size), dtype=kind, device=cuts.device)
    weights = cells.weights if cells.weights is not None else out
    _run(
        "event_counts", (blocks(n, ROWS), blocks(size, LONG)),
        cuts, rows, weights, cells.of_sorted, replicates, out, n, size,
        cells.weights is not None, ROWS, LONG,
    )  # fmt: skip
    return out.double()


def add_counts(drawn: Tensor, cells: Tensor, weights: Tensor, counts: Tensor) -> None:
    """Count labels with the kernel."""
    k, size = drawn.shape
    grid = (k, blocks(size, SIDE))
    _run("add_counts", grid, drawn, cells, weights, counts, counts.shape[1], size, SIDE)


def short_sums(probs: Tensor, weights: Tensor | None, starts: Tensor, unit: float) -> Tensor:
    """Add up predictions with the kernel, which is fast for cells of few rows."""
    m, n_cells = probs.shape[1], len(starts) - 1
    out = torch.empty((n_cells, m), dtype=torch.float64, device=probs.device)
    scaled = probs if weights is None else weights * (1.0 / unit)
    grid = (n_cells, blocks(m, SIDE))
    _run("cell_sums", grid, probs, scaled, starts, out, m, weights is not None, SIDE)
    return out.mul_(unit)


def dense_norms(counts: Tensor, predicted: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Measure cells with the kernel of all outcomes."""
    n_cells, m, size = counts.shape
    if size == 1 and m > IN_ORDER:
        high, middle, low = _term_sums(counts, predicted, scale).view(2, 3, n_cells, 1).unbind(1)
        one, two = high + (middle + low)
        return one, two
    one, two = torch.empty((2, n_cells, size), dtype=torch.float64, device=counts.device)
    side = SIDE if size > 1 else LEAST
    grid = (n_cells, blocks(size, side))
    _run("dense_norms", grid, counts, predicted, scale, one, two, m, size, m > IN_ORDER, side)
    return one, two


def _term_sums(counts: Tensor | None, predicted: Tensor, scale: Tensor) -> Tensor:
    """Return the limbs of both norms of cells in one data set: (6, cells).

    counts : (cells, m, 1); None if no outcome occurred
    """
    n_cells, m = predicted.shape
    out = torch.empty((6, n_cells), dtype=torch.float64, device=predicted.device)
    tables = predicted if counts is None else counts, predicted, scale, out
    _run("term_sums", (n_cells,), *tables, n_cells, m, counts is not None, min(SIDE, 1 << bits(m)))
    return out


def seen_totals(part: "Part", drawn: Tensor, wanted: tuple[int, int]) -> Tensor:
    """Return sums in two parts and the largest norms of cells of few rows and many outcomes.

    drawn : (k, size) labels

    Returns (3, wanted norms, size).
    """
    (n_cells, m), size = part.predictions.shape, drawn.shape[1]
    side = min(CELLS, max(1, n_cells // PROGRAMS))
    n_blocks, scale = blocks(n_cells, side), 1.0 / part.mass
    known = torch.stack((*_term_sums(None, part.predictions, scale), scale, part.shares))
    out = torch.empty((3, 3, n_blocks, size), dtype=torch.float64, device=drawn.device)
    weights = out if part.weights is None else part.weights
    _run(
        "seen_totals", (n_blocks, blocks(size, SIDE)),
        drawn, part.starts, weights, part.predictions, known, out, n_cells, m, size,
        part.weights is not None, *wanted, side, SIDE,
    )  # fmt: skip
    high, low, most = out[:, slice(*wanted)]
    return torch.stack((high.sum(1), low.sum(1), most.amax(1)))
