"""Arguments of a kernel, one after the other, as C takes them; and words for their types.

A word is ``<f4:2`` for a C-contiguous array of float32 in two dimensions, i, u, f, b for a number
(int64, uint64, float64, whether), - for None, and ``( … )`` or ``tuples.Rows( … )`` around the
words of a tuple. These words name the types in `signatures.txt` and in the index of what was
built ahead.
"""

from types import NoneType
from typing import Any

import numpy as np

SCALARS = {
    int: "i",
    np.int64: "i",
    np.uint64: "u",
    float: "f",
    np.float64: "f",
    bool: "b",
    np.bool_: "b",
    NoneType: "-",
}
OTHER = "?"  # an argument without a word: only numba knows its type
PLAIN = 0x101  # flags of an array that is C-contiguous and aligned

_arrays: dict[tuple[Any, int], str] = {}
_opening: dict[type, str] = {}


def flatten(arguments: tuple[Any, ...]) -> tuple[tuple[str, ...], list[Any]]:
    """Return words for the types of the arguments, and the values that C takes for them.

    An array becomes its address, twice: `ahead` reads what it holds once as pointers to
    numbers and once as pointers to lengths.
    """
    words: list[str] = []
    values: list[Any] = []
    _append(arguments, words, values)
    return tuple(words), values


def _append(arguments: tuple[Any, ...], words: list[str], values: list[Any]) -> None:
    for argument in arguments:
        kind = type(argument)
        if kind is np.ndarray:
            words.append(_array(argument))
            address = id(argument)
            values.append(address)
            values.append(address)
        elif isinstance(argument, tuple):
            words.append(_opening.get(kind) or _open(kind))
            _append(argument, words, values)
            words.append(")")
        else:
            words.append(SCALARS.get(kind, OTHER))
            if argument is not None:
                values.append(argument)


def _array(array: np.ndarray[Any, Any]) -> str:
    if array.flags.num & PLAIN != PLAIN:
        return OTHER
    key = array.dtype, array.ndim
    word = _arrays.get(key)
    if word is None:
        word = _arrays[key] = f"{array.dtype.str}:{array.ndim}"
    return word


def _open(kind: type) -> str:
    module = kind.__module__.rpartition(".")[2]
    _opening[kind] = word = "(" if kind is tuple else f"{module}.{kind.__name__}("
    return word
