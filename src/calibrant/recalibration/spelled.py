"""Methods by their short names: ``temperature``, ``dirichlet:0.1``, ``histogram:width:15``."""

import re
from collections.abc import Callable

from calibrant import arguments
from calibrant.recalibration.histogram import Histogram
from calibrant.recalibration.isotonic import Isotonic
from calibrant.recalibration.map import Method
from calibrant.recalibration.scaling import Beta, Dirichlet, Matrix, Vector
from calibrant.recalibration.temperature import Temperature

METHODS = (
    "temperature, vector, matrix, dirichlet, dirichlet:0.1, isotonic, beta or histogram:width:15"
)
WHOLE: dict[str, Callable[[], Method]] = {
    "temperature": Temperature,
    "vector": Vector,
    "matrix": Matrix,
    "dirichlet": Dirichlet,
    "isotonic": Isotonic,
    "beta": Beta,
}


def as_method(text: str, m: int) -> Method:
    """Return the method that a text names, for m classes.

    Examples
    --------
    >>> print(as_method("dirichlet:0.1", 3))
    Dirichlet
    """
    if text == "beta" and m != 2:
        raise arguments.not_one("method", text, f"a method for {m} classes; beta is for two")
    if text in WHOLE:
        return WHOLE[text]()
    kind, _, rest = text.partition(":")
    if kind == "dirichlet" and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", rest):
        return Dirichlet(float(rest), float(rest))
    if kind == "histogram" and rest:
        return Histogram(arguments.as_partition(rest))
    raise arguments.not_one("method", text, METHODS)
