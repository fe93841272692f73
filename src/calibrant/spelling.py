"""Short names of lenses, partitions and distances, wherever such an object is taken.

Lenses: ``canonical``, ``top``, ``top:3``, ``class:dog``, ``groups:0-2|3-5|6-9``, ``pooled``.
Partitions: ``width:10``, ``simplex:5``, ``mass:15``, ``tree:1000``, ``tree:1000:median``.
Distances: ``tv``, ``euclidean``, ``squared``.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from calibrant import distances, lenses, partitions
from calibrant.checks.parameters import brief, function
from calibrant.distances import Distance
from calibrant.lenses import Lens
from calibrant.lenses.lens import check_lens
from calibrant.partitions import Partition
from calibrant.partitions.partition import check_partition
from calibrant.predictions import Predictions
from calibrant.rows import Scan

LENSES = "canonical, top, top:3, class:NAME, groups:0-2|3-5|6-9 or pooled"
PARTITIONS = "width:10, simplex:5, mass:15, tree:1000 or tree:1000:median"
DISTANCES = "tv, euclidean or squared"

WHOLE: dict[str, Callable[[], Lens]] = {
    "canonical": lenses.Canonical,
    "pooled": lenses.Pooled,
    "top": lenses.TopLabel,
}
CELLS: dict[str, Callable[[int], Partition]] = {
    "width": partitions.EqualWidth,
    "simplex": partitions.SimplexBins,
    "mass": partitions.EqualMass,
}
MEASURES: dict[str, Distance] = {
    "tv": distances.total_variation,
    "total_variation": distances.total_variation,
    "euclidean": distances.euclidean,
    "squared": distances.squared_euclidean,
    "squared_euclidean": distances.squared_euclidean,
}


def as_lens(lens: Any, data: Predictions | Scan) -> Lens:
    """Return a lens, or the one that a text names for these data.

    Examples
    --------
    >>> as_lens("class:b", Predictions([0.5], [1], classes=["a", "b"]))
    Marginal(label='b')
    """
    if isinstance(lens, Lens):
        return lens
    if not isinstance(lens, str):
        check_lens(lens)
    if lens in WHOLE:
        return WHOLE[lens]()
    kind, _, rest = lens.partition(":")
    if kind == "top":
        return lenses.TopK(whole("lens", lens, rest))
    if kind == "class" and rest:
        return lenses.Marginal(named_class("lens", rest, data))
    if kind == "groups" and rest:
        return as_groups("lens", rest, data)
    raise not_one("lens", lens, LENSES)


def as_groups(name: str, text: str, data: Predictions | Scan) -> Lens:
    """Return the lens of groups such as ``0-2|3-5|6-9`` or ``cat,dog|car``."""
    groups = [_members(name, part, data) for part in text.split("|")]
    lens = lenses.Groups(groups)
    times = Counter(member for group in groups for member in group)
    wrong = [member for member in data.classes if times[member] != 1]
    if wrong:
        raise not_one(name, text, f"groups that have every class once; look at {_some(wrong)}")
    return lens


def as_partition(partition: Any) -> Partition:
    """Return a partition, or the one that a text names.

    Examples
    --------
    >>> as_partition("tree:1000:median")
    VarianceTree(min_size=1000, split='median')
    """
    if not isinstance(partition, str):
        check_partition(partition)
        found: Partition = partition
        return found
    kind, *rest = partition.split(":")
    if kind in CELLS and len(rest) == 1:
        return CELLS[kind](whole("partition", partition, rest[0]))
    if kind == "tree" and len(rest) in (1, 2):
        split: Any = rest[1] if len(rest) == 2 else "mean"
        return partitions.VarianceTree(positive("partition", partition, rest[0]), split)
    raise not_one("partition", partition, PARTITIONS)


def as_distance(distance: Any) -> Distance:
    """Return a distance, or the one that a text names.

    Examples
    --------
    >>> as_distance("tv").__name__
    'total_variation'
    """
    if isinstance(distance, str):
        if distance not in MEASURES:
            raise not_one("distance", distance, DISTANCES)
        return MEASURES[distance]
    function("distance", distance)
    found: Distance = distance
    return found


def named_class(name: str, word: str, data: Predictions | Scan) -> str:
    """Return the name of a class that is given by name, or by index."""
    if word in data.classes:
        return word
    if re.fullmatch(r"[0-9]{1,9}", word) and int(word) < data.m:
        return data.classes[int(word)]
    raise not_one(name, word, f"a class of the data: {_some(data.classes)}")


def whole(name: str, text: str, word: str) -> int:
    """Return the whole number that follows a colon."""
    if not re.fullmatch(r"[0-9]{1,9}", word) or int(word) < 1:
        raise not_one(name, text, "a whole number of at least 1 after the colon")
    return int(word)


def positive(name: str, text: str, word: str) -> float:
    """Return the positive number that follows a colon."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", word) or float(word) == 0:
        raise not_one(name, text, "a number above 0 after the colon")
    return float(word)


def not_one(name: str, found: str, wanted: str) -> ValueError:
    """Return the error of a text that names nothing."""
    return ValueError(f"`{name}` must be {wanted}; found {brief(found)}.")


def _members(name: str, part: str, data: Predictions | Scan) -> list[str]:
    """Return the classes of a group: names or indices, separated by commas, or a range 0-2."""
    members: list[str] = []
    for item in part.split(","):
        word = item.strip()
        span = re.fullmatch(r"(\d{1,9})-(\d{1,9})", word)
        if span is None or word in data.classes:
            members.append(named_class(name, word, data))
            continue
        first, last = int(span.group(1)), int(span.group(2))
        if not first <= last < data.m:
            raise not_one(name, word, f"a range of classes from 0 to {data.m - 1}")
        members += data.classes[first : last + 1]
    return members


def _some(names: Sequence[str]) -> str:
    """Write the first few names."""
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
