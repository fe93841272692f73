"""What functions of the engine take: named tuples of arrays."""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.kernel import code, f8, i4, i8, index, optional, real

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Span = tuple[int, int]  # from, and below


class Rows(NamedTuple):
    """Predictions, outcomes and weights of consecutive rows.

    `weights` has one entry a row and `step` is 1; or it has a single one and `step` is 0.
    `first` is the number of the first row in the whole data set, of which these may be a part;
    or `numbers` has those of all rows, which then need not be consecutive.
    `event` is the one of two outcomes that the problem is about; -1 if there are more.
    """

    probs: Annotated[Array, real["n m"]]
    labels: Annotated[NDArray[np.int32], i4["n"]]
    weights: Annotated[Floats, f8["_"]]
    step: int
    first: int
    event: int
    numbers: Annotated[Ints | None, optional(i8["n"])] = None


class Order(NamedTuple):
    """Rows sorted by cell: those of cell c are rows[starts[c]:starts[c + 1]], in their order."""

    rows: Annotated[Array, index["_"]]
    starts: Annotated[Ints, i8["cells+1"]]


class Source(NamedTuple):
    """Where labels are drawn from.

    Row i draws its class from probs[i]. A lens may turn the class into an outcome: `table` has
    the outcome of every class, for each row or in a single row for all; None leaves the class.
    `first` is the number of row 0 in the whole data set; or `numbers` has those of all rows.
    """

    probs: Annotated[Array, real["n classes"]]
    table: Annotated[Array | None, optional(code["_ classes"])]
    key: np.uint64
    first: int
    numbers: Annotated[Ints | None, optional(i8["n"])] = None


class Replicates(NamedTuple):
    """Replicates start … stop - 1."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many there are."""
        return self.stop - self.start
