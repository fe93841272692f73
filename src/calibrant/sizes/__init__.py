"""How far predictions are off, in amounts that hold: sizes, biases, and models compared."""

from calibrant.sizes.comparison import Further, compare
from calibrant.sizes.cross_fit import CrossFit
from calibrant.sizes.limits import LEVEL, Bias, Size, bias_of, size_of

__all__ = ["LEVEL", "Bias", "CrossFit", "Further", "Size", "bias_of", "compare", "size_of"]
