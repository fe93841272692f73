"""Strings of the command line, and only there, become objects.

Lenses: ``canonical``, ``top``, ``top:3``, ``class:dog``, ``groups:0-2|3-5|6-9``, ``pooled``.
Partitions: ``width:10``, ``simplex:5``, ``mass:15``, ``tree:1000``, ``tree:1000:median``.
Distances: ``tv``, ``euclidean``, ``squared``. Regions: ``dog > 0.1``, ``max >= 0.9 and cat < 0.2``.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import typer

if TYPE_CHECKING:
    from calibrant import Predictions
    from calibrant.distances import Distance
    from calibrant.lenses import Lens
    from calibrant.partitions import Partition

T = TypeVar("T")

OPERATORS: dict[str, Callable[[Any, float], Any]] = {
    ">=": lambda p, x: p >= x,
    "<=": lambda p, x: p <= x,
    ">": lambda p, x: p > x,
    "<": lambda p, x: p < x,
}


# A condition, up to the next one or the end. The name may hold anything, even "and" or ">".
CONDITION = re.compile(r"\s*(.+?)\s*(>=|<=|>|<)\s*([0-9.eE+-]+)(?:\s+and\s+(?=\S)|\s*$)")


def parse_lens(text: str, data: "Predictions") -> "Lens":
    """Return the lens that `text` names, for the classes of `data`."""
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
        return lenses.Marginal(data.classes[_class("--lens", rest, data)])
    if kind == "groups" and rest:
        return parse_groups(rest, data, option="--lens")
    raise _bad(
        "--lens",
        text,
        "canonical, top, top:3, class:NAME, groups:0-2|3-5|6-9 or pooled",
    )


def parse_groups(text: str, data: "Predictions", option: str = "--groups") -> "Lens":
    """Return the lens of groups such as ``0-2|3-5|6-9`` or ``cat,dog|car``."""
    from calibrant import lenses  # noqa: PLC0415

    groups = [_members(option, part, data) for part in text.split("|")]
    lens = _built(
        option, lambda: lenses.Groups([[data.classes[j] for j in group] for group in groups])
    )
    found = sorted(j for group in groups for j in group)
    if found != list(range(data.m)):
        wrong = [j for j in range(data.m) if found.count(j) != 1]
        shown = ", ".join(data.classes[j] for j in wrong[:8]) + (", …" if len(wrong) > 8 else "")
        raise _bad(option, text, f"groups that have every class once; look at {shown}")
    return lens


def parse_partition(text: str) -> "Partition":
    """Return the partition that `text` names."""
    from calibrant import partitions  # noqa: PLC0415

    kind, *rest = text.split(":")
    if kind in ("width", "simplex", "mass") and len(rest) == 1:
        k = _whole("--partition", text, rest[0])
        by_name: dict[str, Callable[[int], Partition]] = {
            "width": partitions.EqualWidth,
            "simplex": partitions.SimplexCells,
            "mass": partitions.EqualMass,
        }
        return _built("--partition", lambda: by_name[kind](k))
    if kind == "tree" and len(rest) in (1, 2):
        size = _number("--partition", text, rest[0])
        split: Any = rest[1] if len(rest) == 2 else "mean"
        return _built("--partition", lambda: partitions.VarianceTree(size, split))
    raise _bad("--partition", text, "width:10, simplex:5, mass:15, tree:1000 or tree:1000:median")


def parse_distance(text: str) -> "Distance":
    """Return the distance that `text` names."""
    from calibrant import distances  # noqa: PLC0415

    known = {
        "tv": distances.total_variation,
        "total_variation": distances.total_variation,
        "euclidean": distances.euclidean,
        "squared": distances.squared_euclidean,
        "squared_euclidean": distances.squared_euclidean,
    }
    if text not in known:
        raise _bad("--distance", text, "tv, euclidean or squared")
    return known[text]


def parse_grid(
    data: "Predictions",
    lens: Sequence[str] | None,
    partition: Sequence[str] | None,
    distance: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the lenses, partitions and distances that were asked for, under these names."""
    chosen: dict[str, Any] = {}
    if lens:
        chosen["lenses"] = _distinct("--lens", lens, lambda text: parse_lens(text, data))
    if partition:
        chosen["partitions"] = _distinct("--partition", partition, parse_partition)
    if distance:
        chosen["distances"] = _distinct("--distance", distance, parse_distance)
    return chosen


def _distinct(option: str, texts: Sequence[str], parse: Callable[[str], T]) -> list[T]:
    """Parse each text; refuse two that mean the same, which would count as two tests."""
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


def parse_region(text: str, data: "Predictions") -> Callable[[Any], Any]:
    """Return the mask function of conditions such as ``dog > 0.1 and max < 0.9``."""
    conditions: list[Callable[[Any], Any]] = []
    start = 0
    while start < len(text) or not conditions:
        found = CONDITION.match(text, start)
        if found is None:
            raise _bad("--region", text, 'conditions such as "dog > 0.1 and max < 0.9"')
        conditions.append(_condition(found, text, data))
        start = found.end()

    def where(probs: Any) -> Any:
        mask = conditions[0](probs)
        for condition in conditions[1:]:
            mask = mask & condition(probs)
        return mask

    return where


def _condition(found: re.Match[str], text: str, data: "Predictions") -> Callable[[Any], Any]:
    name, sign, number = found.groups()
    try:
        limit = float(number)
    except ValueError:
        raise _bad("--region", text, f"conditions with numbers, not {number!r}") from None
    compare = OPERATORS[sign]
    if name == "max" and "max" not in data.classes:
        return lambda probs: compare(probs.max(axis=1), limit)
    j = _class("--region", name, data)
    return lambda probs: compare(probs[:, j], limit)


def _members(option: str, part: str, data: "Predictions") -> list[int]:
    """Return the classes of a group: names or indices, separated by commas, or a range 0-2."""
    members: list[int] = []
    for item in part.split(","):
        word = item.strip()
        span = re.fullmatch(r"(\d{1,9})-(\d{1,9})", word)
        if span is None or word in data.classes:
            members.append(_class(option, word, data))
            continue
        first, last = int(span.group(1)), int(span.group(2))
        if not first <= last < data.m:
            raise _bad(option, word, f"a range of classes from 0 to {data.m - 1}")
        members += range(first, last + 1)
    return members


def _class(option: str, word: str, data: "Predictions") -> int:
    """Return the index of a class that is given by name, or by index."""
    if word in data.classes:
        return data.classes.index(word)
    if re.fullmatch(r"[0-9]{1,9}", word) and int(word) < data.m:
        return int(word)
    shown = ", ".join(data.classes[:8]) + (", …" if data.m > 8 else "")
    raise _bad(option, word, f"a class of the file: {shown}")


def _whole(option: str, text: str, word: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", word) or int(word) < 1:
        raise _bad(option, text, "a whole number from 1 after the colon")
    return int(word)


def _number(option: str, text: str, word: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", word) or float(word) == 0:
        raise _bad(option, text, "a number above 0 after the colon")
    return float(word)


def _built(option: str, build: Callable[[], T]) -> T:
    try:
        return build()
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _bad(option: str, found: str, wanted: str) -> typer.BadParameter:
    return typer.BadParameter(f"must be {wanted}; found {found!r}.", param_hint=option)
