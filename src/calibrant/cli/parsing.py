"""Strings of the command line, and only there, become objects.

Lenses: ``canonical``, ``top``, ``top:3``, ``class:dog``, ``groups:0-2|3-5|6-9``, ``pooled``.
Partitions: ``width:10``, ``simplex:5``, ``mass:15``, ``tree:1000``, ``tree:1000:median``.
Distances: ``tv``, ``euclidean``, ``squared``. Statistics: ``kernel:0.1``, ``cox``,
``squared:tree:1000`` and others. Regions have a module of their own.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from calibrant.cli.errors import translated
from calibrant.cli.options import STATISTICS

if TYPE_CHECKING:
    from calibrant import Predictions
    from calibrant.distances import Distance
    from calibrant.lenses import Lens
    from calibrant.partitions import Partition
    from calibrant.statistics import Statistic

T = TypeVar("T")


def parse_lens(text: str, data: "Predictions") -> "Lens":
    """Return the lens that a text names."""
    from calibrant import lenses  # noqa: PLC0415

    kind, colon, rest = text.partition(":")
    whole: dict[str, Callable[[], Lens]] = {
        "canonical": lenses.Canonical,
        "pooled": lenses.Pooled,
        "top": lenses.TopLabel,
    }
    if kind in whole and not colon:
        return whole[kind]()
    if kind == "top":
        return lenses.TopK(_whole("--lens", text, rest))
    if kind == "class" and rest:
        return lenses.Marginal(named_class("--lens", rest, data))
    if kind == "groups" and rest:
        return parse_groups(rest, data, option="--lens")
    raise bad_value(
        "--lens",
        text,
        "canonical, top, top:3, class:NAME, groups:0-2|3-5|6-9 or pooled",
    )


def parse_groups(text: str, data: "Predictions", option: str = "--groups") -> "Lens":
    """Return the lens of groups such as ``0-2|3-5|6-9`` or ``cat,dog|car``."""
    from calibrant import lenses  # noqa: PLC0415

    groups = [_members(option, part, data) for part in text.split("|")]
    lens = _built(option, lambda: lenses.Groups(groups))
    times = Counter(name for group in groups for name in group)
    wrong = [name for name in data.classes if times[name] != 1]
    if wrong:
        raise bad_value(option, text, f"groups that have every class once; look at {_some(wrong)}")
    return lens


def parse_partition(text: str, option: str = "--partition") -> "Partition":
    """Return the partition that a text names, such as ``width:10``."""
    from calibrant import partitions  # noqa: PLC0415

    kind, *rest = text.split(":")
    if kind in ("width", "simplex", "mass") and len(rest) == 1:
        k = _whole(option, text, rest[0])
        by_name: dict[str, Callable[[int], Partition]] = {
            "width": partitions.EqualWidth,
            "simplex": partitions.SimplexCells,
            "mass": partitions.EqualMass,
        }
        return _built(option, lambda: by_name[kind](k))
    if kind == "tree" and len(rest) in (1, 2):
        size = _positive(option, text, rest[0])
        split: Any = rest[1] if len(rest) == 2 else "mean"
        return _built(option, lambda: partitions.VarianceTree(size, split))
    raise bad_value(option, text, "width:10, simplex:5, mass:15, tree:1000 or tree:1000:median")


def parse_distance(text: str) -> "Distance":
    """Return the distance that a text names, such as ``tv``."""
    from calibrant import distances  # noqa: PLC0415

    known = {
        "tv": distances.total_variation,
        "total_variation": distances.total_variation,
        "euclidean": distances.euclidean,
        "squared": distances.squared_euclidean,
        "squared_euclidean": distances.squared_euclidean,
    }
    if text not in known:
        raise bad_value("--distance", text, "tv, euclidean or squared")
    return known[text]


def parse_statistic(text: str) -> "Statistic":
    """Return the statistic that a text names, such as ``kernel:0.1`` or ``squared:width:15``."""
    from calibrant import statistics  # noqa: PLC0415

    kind, colon, rest = text.partition(":")
    plain: dict[str, Callable[[], Statistic]] = {
        "cox": statistics.Cox,
        "cutoff": statistics.CutoffMiscalibration,
        "kernel": lambda: statistics.KernelMiscalibration(0.1),
        "kolmogorov": statistics.KolmogorovMiscalibration,
        "log": statistics.Surprise,
        "smooth": statistics.SmoothMiscalibration,
        "spiegelhalter": statistics.Spiegelhalter,
        "two-bin": statistics.AveragedTwoBin,
    }
    if kind in plain and not colon:
        return plain[kind]()
    if kind == "kernel":
        width: Any = rest if rest == "median" else _positive("--statistic", text, rest)
        return statistics.KernelMiscalibration(width)
    if kind == "squared" and rest:
        return statistics.SquaredMiscalibration(parse_partition(rest))
    raise bad_value("--statistic", text, STATISTICS)


def parse_questions(
    data: "Predictions",
    lens: Sequence[str] | None,
    statistic: Sequence[str] | None,
    partition: Sequence[str] | None,
    distance: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the lenses and statistics that were asked for; None where nothing was."""
    from calibrant import distances, partitions, statistics  # noqa: PLC0415
    from calibrant.inference.families import default_tree  # noqa: PLC0415

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
            cells or [partitions.EqualWidth(10), default_tree(data)],
            measures or [distances.total_variation, distances.euclidean],
        )
        chosen = list(found)
    return {"lenses": lenses, "statistics": chosen}


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


def _members(option: str, part: str, data: "Predictions") -> list[str]:
    """Return the classes of a group: names or indices, separated by commas, or a range 0-2."""
    members: list[str] = []
    for item in part.split(","):
        word = item.strip()
        span = re.fullmatch(r"(\d{1,9})-(\d{1,9})", word)
        if span is None or word in data.classes:
            members.append(named_class(option, word, data))
            continue
        first, last = int(span.group(1)), int(span.group(2))
        if not first <= last < data.m:
            raise bad_value(option, word, f"a range of classes from 0 to {data.m - 1}")
        members += data.classes[first : last + 1]
    return members


def named_class(option: str, word: str, data: "Predictions") -> str:
    """Return the name of a class that is given by name, or by index."""
    if word in data.classes:
        return word
    if re.fullmatch(r"[0-9]{1,9}", word) and int(word) < data.m:
        return data.classes[int(word)]
    raise bad_value(option, word, f"a class of the file: {_some(data.classes)}")


def _some(names: Sequence[str]) -> str:
    """Write the first few names."""
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


def _whole(option: str, text: str, word: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", word) or int(word) < 1:
        raise bad_value(option, text, "a whole number of at least 1 after the colon")
    return int(word)


def _positive(option: str, text: str, word: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", word) or float(word) == 0:
        raise bad_value(option, text, "a number above 0 after the colon")
    return float(word)


def _built(option: str, build: Callable[[], T]) -> T:
    """Build an object; what it refuses is a mistake in the option."""
    try:
        return build()
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(translated(str(error)), param_hint=option) from None


def bad_value(option: str, found: str, wanted: str) -> typer.BadParameter:
    """Return the error of an option whose value is not what is wanted."""
    return typer.BadParameter(f"must be {wanted}; found {found!r}.", param_hint=option)
