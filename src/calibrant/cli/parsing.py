"""Texts of the command line become objects, as `calibrant.arguments` reads them.

Only methods of recalibration are read here: ``temperature``, ``dirichlet:0.1``, ``isotonic``,
``histogram:width:10`` with any partition, and so on. What is refused is a mistake in an option.
Regions have a module of their own.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from calibrant.cli.errors import translated

if TYPE_CHECKING:
    from calibrant import Predictions, Scan
    from calibrant.distances import Distance
    from calibrant.lenses import Lens
    from calibrant.partitions import Partition
    from calibrant.recalibration import Method
    from calibrant.statistics import Statistic

T = TypeVar("T")

METHODS = (
    "temperature, vector, matrix, dirichlet, dirichlet:0.1, isotonic, beta or histogram:width:10"
)
SUBJECT = re.compile(r"^`(lens|partition|distance|statistic)` (?=must be )")


def parse_lens(text: str, data: "Predictions | Scan") -> "Lens":
    """Return the lens that a text names."""
    from calibrant.arguments import as_lens  # noqa: PLC0415

    return said("--lens", lambda: as_lens(text, data))


def parse_groups(text: str, data: "Predictions | Scan") -> "Lens":
    """Return the lens of groups such as ``0-2|3-5|6-9`` or ``cat,dog|car``."""
    from calibrant.arguments import as_groups  # noqa: PLC0415

    return said("--groups", lambda: as_groups("lens", text, data))


def parse_partition(text: str, option: str = "--partition") -> "Partition":
    """Return the partition that a text names, such as ``width:10``."""
    from calibrant.arguments import as_partition  # noqa: PLC0415

    return said(option, lambda: as_partition(text))


def parse_distance(text: str) -> "Distance":
    """Return the distance that a text names, such as ``tv``."""
    from calibrant.arguments import as_distance  # noqa: PLC0415

    return said("--distance", lambda: as_distance(text))


def parse_statistic(text: str) -> "Statistic":
    """Return the statistic that a text names, such as ``kernel:0.1`` or ``squared:width:15``."""
    from calibrant.statistics.spelled import as_statistic  # noqa: PLC0415

    return said("--statistic", lambda: as_statistic(text))


def named_class(option: str, word: str, data: "Predictions | Scan") -> str:
    """Return the name of a class that is given by name, or by index."""
    from calibrant import arguments  # noqa: PLC0415

    return said(option, lambda: arguments.named_class("lens", word, data))


def parse_questions(
    data: "Predictions | Scan",
    lens: Sequence[str] | None,
    statistic: Sequence[str] | None,
    partition: Sequence[str] | None,
    distance: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the lenses and statistics that were asked for; None where nothing was."""
    from calibrant import distances, statistics  # noqa: PLC0415
    from calibrant.inference.testing.families import default_partitions  # noqa: PLC0415

    if statistic and (partition or distance):
        raise typer.BadParameter(
            "must stand alone, without --partition and --distance.", param_hint="--statistic"
        )
    lenses = distinct("--lens", lens, lambda text: parse_lens(text, data))
    chosen = distinct("--statistic", statistic, parse_statistic)
    if partition or distance:
        cells = distinct("--partition", partition, parse_partition)
        measures = distinct("--distance", distance, parse_distance)
        found = statistics.grid(
            cells or default_partitions(data),
            measures or [distances.total_variation, distances.euclidean],
        )
        chosen = list(found)
    return {"lenses": lenses, "statistics": chosen}


def parse_methods(texts: Sequence[str] | None, data: "Predictions") -> "list[Method] | None":
    """Return the methods that texts name; None for the default."""
    if not texts:
        return None
    return distinct("--method", texts, lambda text: parse_method(text, data))


def parse_method(text: str, data: "Predictions") -> "Method":
    """Return the method that a text names."""
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
        raise bad_value("--method", text, f"a method for {data.m} classes; beta is for two")
    if text in whole:
        return whole[text]()
    kind, _, rest = text.partition(":")
    if kind == "dirichlet" and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", rest):
        return recalibration.Dirichlet(float(rest), float(rest))
    if kind == "histogram" and rest:
        return recalibration.Histogram(parse_partition(rest, "--method"))
    raise bad_value("--method", text, METHODS)


def distinct(option: str, texts: Sequence[str] | None, parse: Callable[[str], T]) -> list[T] | None:
    """Parse each text, if there are any; refuse two that mean the same."""
    if not texts:
        return None
    found: list[T] = []
    for text in texts:
        one = parse(text)
        if one in found:
            first = texts[found.index(one)]
            raise typer.BadParameter(
                f"must differ from one another; {first!r} and {text!r} mean the same.",
                param_hint=option,
            )
        found.append(one)
    return found


def said(option: str, make: Callable[[], T]) -> T:
    """Make an object of what an option says; what is refused is a mistake in the option."""
    try:
        return make()
    except (ValueError, TypeError) as error:
        text = SUBJECT.sub("", str(error))
        raise typer.BadParameter(translated(text), param_hint=option) from None


def bad_value(option: str, found: str, wanted: str) -> typer.BadParameter:
    """Return the error of an option whose value is not what is wanted."""
    return typer.BadParameter(f"must be {wanted}; found {found!r}.", param_hint=option)
