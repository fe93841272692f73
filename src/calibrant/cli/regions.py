"""Conditions on predictions, such as ``dog > 0.1`` or ``max >= 0.9 and cat < 0.2``."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from calibrant.cli.parsing import bad_value, named_class

if TYPE_CHECKING:
    from calibrant import Predictions

OPERATORS: dict[str, Callable[[Any, float], Any]] = {
    ">=": lambda p, x: p >= x,
    "<=": lambda p, x: p <= x,
    ">": lambda p, x: p > x,
    "<": lambda p, x: p < x,
}

# A condition, up to the next one or the end. The name may hold anything, even "and" or ">".
CONDITION = re.compile(r"\s*(.+?)\s*(>=|<=|>|<)\s*([0-9.eE+-]+)(?:\s+and\s+(?=\S)|\s*$)")


def parse_region(text: str, data: "Predictions") -> Callable[[Any], Any]:
    """Return the mask function of conditions such as ``dog > 0.1 and max < 0.9``."""
    conditions: list[Callable[[Any], Any]] = []
    start = 0
    while start < len(text) or not conditions:
        found = CONDITION.match(text, start)
        if found is None:
            raise bad_value("--region", text, 'conditions such as "dog > 0.1 and max < 0.9"')
        conditions.append(_condition(found, text, data))
        start = found.end()

    def where(probs: Any) -> Any:
        mask = conditions[0](probs)
        for condition in conditions[1:]:
            mask = mask & condition(probs)
        return mask

    return where


def _condition(found: re.Match[str], text: str, data: "Predictions") -> Callable[[Any], Any]:
    name, sign, written = found.groups()
    try:
        limit = float(written)
    except ValueError:
        raise bad_value("--region", text, f"conditions with numbers, not {written!r}") from None
    compare = OPERATORS[sign]
    if name == "max" and "max" not in data.classes:
        return lambda probs: compare(probs.max(axis=1), limit)
    j = data.classes.index(named_class("--region", name, data))
    return lambda probs: compare(probs[:, j], limit)
