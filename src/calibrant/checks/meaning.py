"""What a label or the name of a class says: a text, and what the text means."""

import re
from decimal import Decimal
from math import isnan
from typing import Any

import numpy as np

from calibrant.checks.parameters import short

Meaning = Decimal | str

NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d{1,6})?", re.ASCII)
TRUTHS = {"false": Decimal(0), "true": Decimal(1)}


def written(value: Any) -> str:
    """Write a label or the name of a class; an empty text is a missing value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    return str(value).strip()


def meaning(text: str) -> Meaning:
    """Return the number that a text writes, or the text itself.

    Examples
    --------
    >>> meaning("+03.0") == meaning("3")
    True
    """
    if NUMBER.fullmatch(text):
        return Decimal(text)
    return TRUTHS.get(text.lower(), text)


def is_truth(text: str) -> bool:
    """Whether a text is true or false."""
    return text.lower() in TRUTHS


def shown(label: Any) -> str:
    """Write a label for a sentence: names in quotes, and not without end."""
    if isinstance(label, np.generic):
        label = label.item()
    words = repr(written(label)) if isinstance(label, str | bytes) else str(label)
    return short(words)
