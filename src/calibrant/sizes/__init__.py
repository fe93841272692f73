"""How far predictions are off, in amounts that hold: sizes, biases, and models compared."""

from calibrant.sizes.comparison import Further, compare
from calibrant.sizes.cross_fit import CrossFit
from calibrant.sizes.grades import Grades
from calibrant.sizes.limits import LEVEL, BiasEstimate, Size, bias_of, bias_of_event, size_of
from calibrant.sizes.scanned import fitting

__all__ = [
    "LEVEL", "BiasEstimate", "CrossFit", "Further", "Grades", "Size", "bias_of", "bias_of_event",
    "compare", "fitting", "size_of",
]  # fmt: skip
