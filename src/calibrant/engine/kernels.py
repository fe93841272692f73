"""Distances between predictions, and kernels of them: of one row and many columns at a time."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.engine.arrays import expect, zeros
from calibrant.engine.kernel import f8, helper, i8, out

Floats = NDArray[np.float64]

TOTAL_VARIATION, EUCLIDEAN = range(2)  # distances
EXPONENTIAL, GAUSSIAN = range(2)  # kernels

MAGIC = 1.5 * 2.0**52  # adding it rounds to a whole number, which the last bits then hold
PER_LOG2 = 1.4426950408889634  # 1 / log 2
LOG2 = float.fromhex("0x1.62e42fefap-1")  # log 2, to so few bits that multiples of it are exact
REST = float.fromhex("0x1.cf79abc9e3b3ap-40")  # what it lacks
LEAST = -700.0  # exponents below are as good as this one: exp(-700) is 1e-304


class Kernel(NamedTuple):
    """A sum of kernels of one kind: exp(-d / s) or exp(-d² / (2 s²)) for every scale s."""

    kind: int
    distance: int
    scales: Floats

    @property
    def rates(self) -> Floats:
        """What the distance, or its square, is multiplied by in the exponent."""
        return -1.0 / self.scales if self.kind == EXPONENTIAL else -0.5 / self.scales**2


class Room(NamedTuple):
    """What a row of a table is computed in: (columns,) each; `bits` are those of `power`."""

    far: Annotated[Floats, out(f8["width"])]
    series: Annotated[Floats, out(f8["width"])]
    power: Annotated[Floats, out(f8["width"])]
    bits: Annotated[NDArray[np.int64], out(i8["width"])]

    @classmethod
    def of(cls, width: int) -> "Room":
        """Return room for so many columns."""
        far, series, power = zeros(width), zeros(width), zeros(width)
        return cls(far, series, power, power.view(np.int64))


def check_points(points: Floats) -> tuple[int, int]:
    """Refuse what are not predictions in float64; return their shape."""
    expect("points", points, (None, None), "f")
    if points.dtype != np.float64 or not points.flags.c_contiguous:
        raise TypeError("`points` must be float64, one row after the other.")
    return points.shape[0], points.shape[1]


CHOSEN = i8, i8, f8["_"]  # what `plain` returns


def plain(chosen: Kernel) -> tuple[int, int, Floats]:
    """Return a kernel as compiled loops take it: kind, distance and rates."""
    return chosen.kind, chosen.distance, chosen.rates


@helper
def distances(point, columns, distance, out):
    """Write the distances of a point (m,) from columns (m, k) to out (k,); squared if Euclidean."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    for j in range(columns.shape[0]):
        p, column = point[j], columns[j]
        if distance == TOTAL_VARIATION:
            for i in range(out.shape[0]):
                out[i] += abs(column[i] - p)
        else:
            for i in range(out.shape[0]):
                d = column[i] - p
                out[i] += d * d
    if distance == TOTAL_VARIATION:
        for i in range(out.shape[0]):
            out[i] *= 0.5


@helper
def add_exponentials(far, rate, room, out):
    """Add exp(rate · far) to out (k,), right to an ulp or two, for rates below 0.

    Written out, so that several numbers are computed at a time, and alike on every machine: with
    z the whole number nearest to x / log 2, exp(x) is 2^z times the Taylor series of x - z log 2.
    """
    series, power, bits = room.series, room.power, room.bits
    for i in range(out.shape[0]):
        x = far[i] * rate
        power[i] = (x if x > LEAST else LEAST) * PER_LOG2 + MAGIC
    for i in range(out.shape[0]):
        z = power[i] - MAGIC
        x = far[i] * rate
        r = ((x if x > LEAST else LEAST) - z * LOG2) - z * REST
        taylor = 1.0 / 479001600.0
        taylor = taylor * r + 1.0 / 39916800.0
        taylor = taylor * r + 1.0 / 3628800.0
        taylor = taylor * r + 1.0 / 362880.0
        taylor = taylor * r + 1.0 / 40320.0
        taylor = taylor * r + 1.0 / 5040.0
        taylor = taylor * r + 1.0 / 720.0
        taylor = taylor * r + 1.0 / 120.0
        taylor = taylor * r + 1.0 / 24.0
        taylor = taylor * r + 1.0 / 6.0
        taylor = taylor * r + 0.5
        taylor = taylor * r + 1.0
        series[i] = taylor * r + 1.0
    for i in range(out.shape[0]):
        bits[i] = (bits[i] + 1023) << 52  # those of 2^z
    for i in range(out.shape[0]):
        out[i] += series[i] * power[i]


@helper
def similarities(point, columns, kernel, room, out):
    """Write the kernel of a point (m,) and columns (m, k) to out (k,).

    kernel : (kind, distance, rates)
    """
    kind, distance, rates = kernel
    far = room.far
    distances(point, columns, distance, far)
    if kind == EXPONENTIAL and distance == EUCLIDEAN:
        for i in range(far.shape[0]):
            far[i] = np.sqrt(far[i])
    if kind == GAUSSIAN and distance == TOTAL_VARIATION:
        for i in range(far.shape[0]):
            far[i] *= far[i]
    for i in range(out.shape[0]):
        out[i] = 0.0
    for b in range(rates.shape[0]):
        add_exponentials(far, rates[b], room, out)
