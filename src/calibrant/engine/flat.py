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
    NoneType: "-",
}
OTHER = "?"  # an argument without a word: only numba knows its type
PLAIN = 0x101  # flags of an array that is C-contiguous and aligned

_arrays: dict[tuple[np.dtype[Any], int, int], str] = {}
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
            form = argument.dtype, argument.ndim, argument.flags.num & PLAIN
            words.append(_arrays.get(form) or _array(*form))
            values += (id(argument),) * 2
        elif kind in SCALARS:
            words.append(SCALARS[kind])
            if argument is not None:
                values.append(argument)
        elif isinstance(argument, tuple):
            words.append(_opening.get(kind) or _open(kind))
            _append(argument, words, values)
            words.append(")")
        else:
            words.append(OTHER)


def _array(dtype: np.dtype[Any], dimensions: int, flags: int) -> str:
    word = f"{dtype.str}:{dimensions}" if flags == PLAIN else OTHER
    _arrays[dtype, dimensions, flags] = word
    return word


def _open(kind: type) -> str:
    module = kind.__module__.rpartition(".")[2]
    _opening[kind] = word = "(" if kind is tuple else f"{module}.{kind.__name__}("
    return word
