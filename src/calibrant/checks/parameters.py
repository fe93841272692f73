"""Parameters: one sentence that says what must hold and what was found, or the value.

Randomness is one of them: whatever the user gives becomes one 64-bit key. Kernels turn (key,
replicate, row) into a number by hashing, so the same key gives the same draws whatever the number
of threads, the order of the work or the size of its pieces.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import signature
from math import isfinite
from operator import index
from typing import Any, final

import numpy as np

Rng = int | np.random.Generator | None


def whole(name: str, value: Any, *, least: int, most: int | None = None) -> int:
    """Return `value` as an int if it is a whole number from `least` up, and at most `most`."""
    try:
        number = index(value)
    except TypeError:
        raise TypeError(
            f"`{name}` must be a whole number; found {brief(value)} ({type(value).__name__})."
        ) from None
    if isinstance(value, bool) or number < least:
        raise ValueError(f"`{name}` must be a whole number from {least}; found {brief(value)}.")
    if most is not None and number > most:
        raise ValueError(f"`{name}` must be at most {most:,}; found {brief(value)}.")
    return number


def finite(name: str, value: Any) -> float:
    """Return `value` as a float if it is a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"`{name}` must be a number; found {brief(value)}.") from None
    if not isfinite(number):
        raise ValueError(f"`{name}` must be finite; found {brief(value)}.")
    return number


def positive(name: str, value: Any) -> float:
    """Return `value` if it is a finite number above 0; a whole number as an int."""
    number = finite(name, value)
    if isinstance(value, bool) or number <= 0:
        raise ValueError(f"`{name}` must be a number above 0; found {brief(value)}.")
    return int(number) if number.is_integer() else number


def fraction(name: str, value: Any) -> float:
    """Return `value` as a float if it is strictly between 0 and 1."""
    number = finite(name, value)
    if not 0 < number < 1:
        raise ValueError(f"`{name}` must be between 0 and 1; found {brief(value)}.")
    return number


def one_of(name: str, value: Any, known: Iterable[str]) -> None:
    """Refuse `value` if it is none of some words."""
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        *first, last = map(repr, words)
        raise ValueError(f"`{name}` must be {', '.join(first)} or {last}; found {brief(value)}.")


def truth(name: str, value: Any) -> None:
    """Refuse `value` if it is neither True nor False."""
    if type(value).__name__ not in ("bool", "bool_"):  # Python's and NumPy's
        raise TypeError(f"`{name}` must be True or False; found {brief(value)}.")


def is_list(value: Any) -> bool:
    """Say whether a value is several: no text, and no array without a dimension."""
    iterable = isinstance(value, Iterable) and not isinstance(value, str)
    return iterable and getattr(value, "ndim", 1) != 0


def function(name: str, value: Any, *given: str) -> None:
    """Refuse `value` if it cannot be called, or not with what it will be given, one by one."""
    if not callable(value):
        raise TypeError(f"`{name}` must be a function; found {brief(value)}.")
    try:
        takes = signature(value)
    except (TypeError, ValueError):  # some that are written in C do not say what they take
        return
    try:
        takes.bind(*given)
    except TypeError:
        raise TypeError(
            f"`{name}` must be a function of ({', '.join(given)}); found one of {takes}."
        ) from None


def make_key(rng: Any) -> np.uint64:
    """Return the key of a seed, of the next state of a generator, or of fresh entropy."""
    if isinstance(rng, np.random.Generator):
        return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
    return np.uint64(np.random.SeedSequence(_seed(rng)).generate_state(1, np.uint64)[0])


def as_seed(rng: Any) -> int:
    """Return a seed that can be written down: the user's own, or one drawn from `rng`."""
    if rng is None or isinstance(rng, np.random.Generator):
        return int(make_key(rng))
    return _seed(rng) or 0


def generator(rng: Any) -> np.random.Generator:
    """Return a generator for data that are made once, outside kernels."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(_seed(rng))


def _seed(rng: Any) -> int | None:
    if rng is None:
        return None
    if not isinstance(rng, int | np.integer) or isinstance(rng, bool | np.timedelta64):
        raise TypeError(
            f"`rng` must be a whole number, a numpy.random.Generator or None; found {brief(rng)}."
        )
    if int(rng) < 0:
        raise ValueError(f"`rng` must be a whole number from 0; found {rng}.")
    return int(rng)


def derive(key: np.uint64, *purpose: int) -> np.uint64:
    """Return the key for one of several independent purposes."""
    seed = np.random.SeedSequence(int(key), spawn_key=purpose)
    return np.uint64(seed.generate_state(1, np.uint64)[0])


def listed(names: Iterable[Any], limit: int = 5) -> str:
    """Write the first few of `names` for a sentence: 'a', 'b' (and 3 more)."""
    names = [name.item() if getattr(name, "size", 0) == 1 else name for name in names]
    text = ", ".join(short(repr(name)) for name in names[:limit])
    return text if len(names) <= limit else f"{text} (and {len(names) - limit} more)"


def short(text: str, limit: int = 60) -> str:
    """Cut a long text for a sentence."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def brief(value: Any) -> str:
    """Write a value for a sentence, on one line and not without end."""
    return short(" ".join(repr(value).split()), 200)


def more(count: int) -> str:
    """Write how many further places have the fault that was just shown."""
    return f" (and {count - 1:,} more)" if count > 1 else ""


@final
@dataclass(frozen=True, slots=True)
class Wording:
    """How a sentence speaks of where numbers came from: arrays, unless a file says otherwise."""

    row: Callable[[int], str] = "row {}".format
    column: Callable[[int], str] = "column {}".format
    probs: str = "`probs`"
    logits: str = "`logits`"
    labels: str = "`labels`"
    hint: str = "Are these logits? Use `Predictions.from_logits`."
    rounded_hint: str = (
        "Are these logits? Use `Predictions.from_logits`."
        " Were they rounded? Divide each row by its sum."
    )
    percent_hint: str = "Are these percentages? Divide them by 100."
    gap_hint: str = ""


ARRAYS = Wording()
