"""All kinds of maps, and how one is read from its file."""

from os import PathLike
from pathlib import Path

from calibrant.checks.parameters import brief, listed
from calibrant.recalibration.histogram import HistogramMap
from calibrant.recalibration.isotonic import IsotonicMap
from calibrant.recalibration.map import SCHEMA, Chain, Fields, Map, checked_classes, read
from calibrant.recalibration.regional import RegionMap
from calibrant.recalibration.scaling import LogLinearMap
from calibrant.recalibration.temperature import TemperatureMap

SINGLE: tuple[type[Map], ...] = (
    TemperatureMap,
    LogLinearMap,
    IsotonicMap,
    HistogramMap,
    RegionMap,
)
KINDS = {each.kind: each for each in SINGLE}


def load_map(path: str | PathLike[str]) -> Map:
    """Load a saved calibrator; it gives the same numbers, bit for bit.

    Examples
    --------
    >>> import os, tempfile
    >>> file = os.path.join(tempfile.mkdtemp(), "map.json")
    >>> TemperatureMap(("no", "yes"), 0.1).save(file)
    >>> load_map(file).temperature
    0.1
    """
    fields = read(path)
    try:
        found = _chain(fields) if fields.get("kind") == Chain.kind else _single(fields)
        found.check_answers()
        return found
    except (TypeError, ValueError) as error:
        raise ValueError(f"{Path(path)}: {error}") from None


def _chain(fields: Fields) -> Chain:
    classes = _checked_classes(fields)  # and no map of a chain may be a chain
    return Chain(classes, tuple(_single(each) for each in fields.many("maps")))


def _single(fields: Fields) -> Map:
    classes = _checked_classes(fields)
    kind = fields["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"`kind` must be one of {listed(KINDS)}; found {brief(kind)}.")
    return KINDS[kind].from_fields(classes, fields)


def _checked_classes(fields: Fields) -> tuple[str, ...]:
    """Return the names of the classes, or refuse a file of another version."""
    if fields["schema"] != SCHEMA:
        raise ValueError(
            f"`schema` must be {SCHEMA!r}; found {brief(fields['schema'])}. Another version of"
            " calibrant may have written it."
        )
    return checked_classes(fields["classes"])
