"""Texts of the command line become objects, as `calibrant.spelling` reads them.

Methods of recalibration and regions are read here. What is refused is a mistake in an option.
This module loads what computes, so commands import it when they run.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import typer

from calibrant import arguments, distances, lenses, partitions, recalibration, statistics
from calibrant.cli.errors import mistake, translated
from calibrant.inference.testing.families import default_partitions
from calibrant.predictions import Predictions
from calibrant.recalibration.spelled import as_method
from calibrant.rows import Scan
from calibrant.statistics.spelled import as_statistic

T = TypeVar("T")

SUBJECT = re.compile(r"^`(lens|partition|distance|statistic|region|method)` (?=must be )")


def parse_lens(text: str, data: Predictions | Scan) -> lenses.Lens:
    """Return the lens that a text names."""
    return said("--lens", lambda: arguments.as_lens(text, data))


def parse_groups(text: str, data: Predictions | Scan) -> lenses.Lens:
    """Return the lens of two to four groups such as ``0-2|3-5|6-9`` or ``cat,dog|car``."""
    lens = said("--groups", lambda: arguments.as_groups("lens", text, data))
    if text.count("|") > 3:
        raise mistake(
            "--groups",
            f"must be two, three or four groups, to be drawn; found {text.count('|') + 1}.",
        )
    return lens


def parse_partition(text: str) -> partitions.Partition:
    """Return the partition that a text names, such as ``width:10``."""
    return said("--partition", lambda: arguments.as_partition(text))


def parse_distance(text: str) -> distances.Distance:
    """Return the distance that a text names, such as ``tv``."""
    return said("--distance", lambda: arguments.as_distance(text))


def parse_statistic(text: str) -> statistics.Statistic:
    """Return the statistic that a text names, such as ``kernel:0.1`` or ``squared:width:15``."""
    return said("--statistic", lambda: as_statistic(text))


def parse_questions(
    data: Predictions | Scan,
    lens: Sequence[str] | None,
    statistic: Sequence[str] | None,
    partition: Sequence[str] | None,
    distance: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the lenses and statistics that were asked for; None where nothing was."""
    if statistic and (partition or distance):
        raise mistake("--statistic", "must stand alone, without --partition and --distance.")
    looks = distinct("--lens", lens, lambda text: parse_lens(text, data))
    chosen = distinct("--statistic", statistic, parse_statistic)
    if partition or distance:
        bins = distinct("--partition", partition, parse_partition)
        measures = distinct("--distance", distance, parse_distance)
        both = [distances.total_variation, distances.euclidean]
        chosen = list(statistics.grid(bins or default_partitions(data), measures or both))
    return {"lenses": looks, "statistics": chosen}


def parse_method(text: str, data: Predictions) -> recalibration.Method:
    """Return the method that a text names: ``temperature``, ``dirichlet:0.1``, and so on."""
    return said("--method", lambda: as_method(text, data.m))


def parse_region(text: str, data: Predictions) -> arguments.Where:
    """Return the mask function of conditions such as ``dog > 0.1 and max < 0.9``."""
    return said("--region", lambda: arguments.as_region(text, data))


def distinct(option: str, texts: Sequence[str] | None, parse: Callable[[str], T]) -> list[T] | None:
    """Parse each text, if there are any; refuse two that mean the same."""
    if not texts:
        return None
    found: list[T] = []
    for text in texts:
        one = parse(text)
        if one in found:
            first = texts[found.index(one)]
            raise mistake(
                option, f"must differ from one another; {first!r} and {text!r} mean the same."
            )
        found.append(one)
    return found


def said(option: str, make: Callable[[], T]) -> T:
    """Make an object of what an option says; what is refused is a mistake in the option."""
    try:
        return make()
    except (ValueError, TypeError) as error:
        text = SUBJECT.sub("", str(error))
        raise mistake(option, translated(text)) from None


def bad_value(option: str, found: str, wanted: str) -> typer.BadParameter:
    """Return the error of an option whose value is not what is wanted."""
    return mistake(option, f"must be {wanted}; found {found!r}.")
