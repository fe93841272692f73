"""Methods of recalibration as they are written on the command line.

``temperature``, ``vector``, ``matrix``, ``dirichlet``, ``dirichlet:0.1``, ``isotonic``, ``beta``,
``histogram:width:10`` with any partition.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from calibrant.cli.parsing import bad_value, distinct, parse_partition

if TYPE_CHECKING:
    from calibrant import Predictions
    from calibrant.recalibration import Method

OPTION = "--method"
WANTED = (
    "temperature, vector, matrix, dirichlet, dirichlet:0.1, isotonic, beta or histogram:width:10"
)


def parse_methods(texts: Sequence[str] | None, data: "Predictions") -> "list[Method] | None":
    """Return the methods that texts name; None for the default."""
    if not texts:
        return None
    return distinct(OPTION, texts, lambda text: _parse(text, data))


def _parse(text: str, data: "Predictions") -> "Method":
    from calibrant import recalibration  # noqa: PLC0415

    whole: dict[str, Callable[[], Method]] = {
        "temperature": recalibration.Temperature,
        "vector": recalibration.Vector,
        "matrix": recalibration.Matrix,
        "dirichlet": recalibration.Dirichlet,
        "isotonic": recalibration.Isotonic,
        "beta": recalibration.Beta,
    }
    if text == "beta" and data.m != 2:
        raise bad_value(OPTION, text, f"a method for {data.m} classes; beta is for two")
    if text in whole:
        return whole[text]()
    kind, _, rest = text.partition(":")
    if kind == "dirichlet" and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", rest):
        return recalibration.Dirichlet(float(rest), float(rest))
    if kind == "histogram" and rest:
        return recalibration.Histogram(parse_partition(rest, OPTION))
    raise bad_value(OPTION, text, WANTED)
