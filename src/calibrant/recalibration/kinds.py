"""All kinds of maps, and how one is read from its file."""

from os import PathLike
from pathlib import Path

from calibrant.checks.parameters import listed
from calibrant.recalibration.document import SCHEMA, Fields, read, shown
from calibrant.recalibration.histogram import HistogramMap
from calibrant.recalibration.isotonic import IsotonicMap
from calibrant.recalibration.log_linear import LogLinearMap
from calibrant.recalibration.map import Chain, Map, checked_classes
from calibrant.recalibration.temperature import TemperatureMap

SINGLE: tuple[type[Map], ...] = (TemperatureMap, LogLinearMap, IsotonicMap, HistogramMap)
KINDS = {each.kind: each for each in SINGLE}


def load_map(path: str | PathLike[str]) -> Map:
    """Read a map that was saved to a file; it gives the same numbers, bit for bit.

    Examples
    --------
    >>> import os, tempfile
    >>> from calibrant.recalibration import TemperatureMap, load_map
    >>> file = os.path.join(tempfile.mkdtemp(), "map.json")
    >>> TemperatureMap(("no", "yes"), 0.1).save(file)
    >>> load_map(file).temperature
    0.1
    """
    fields = read(path)
    try:
        return _chain(fields) if fields.get("kind") == Chain.kind else _single(fields)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{Path(path)}: {error}") from None


def _chain(fields: Fields) -> Map:
    """Return the maps of a chain, none of which may be a chain."""
    _check_schema(fields)
    maps = [_single(each) for each in fields.many("maps")]
    return Chain.from_fields(checked_classes(fields["classes"]), Fields(maps=maps))


def _single(fields: Fields) -> Map:
    _check_schema(fields)
    kind = fields["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"`kind` must be one of {listed(KINDS)}; found {shown(kind)}.")
    return KINDS[kind].from_fields(checked_classes(fields["classes"]), fields)


def _check_schema(fields: Fields) -> None:
    if fields["schema"] != SCHEMA:
        raise ValueError(
            f"`schema` must be {SCHEMA!r}; found {shown(fields['schema'])}. Another version of"
            " calibrant may have written it."
        )
