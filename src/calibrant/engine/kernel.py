"""Loops that are written in Python and run as machine code.

A kernel declares what it takes: numbers, arrays, tuples and named tuples of them. The declaration
of an array has its type and a name for each of its lengths, ``f8["n m"]``; lengths of one name are
the same. `engine.build` compiles a kernel for what it declares and for nothing else. The machine
code looks at the type and the lengths of every array before it begins, and refuses those that were
not declared. Then arrays are converted, where nothing is lost by it, or a sentence says what is
wrong.

    >>> import numpy as np
    >>> from calibrant import engine
    >>> engine.line.pair_sum(np.ones(3), np.ones(2))
    Traceback (most recent call last):
    TypeError: `decays` must be an array of float64 and shape (groups), groups = 3; found ...
"""

import ctypes
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import Any, NoReturn, get_args

import numpy as np

from calibrant.engine import library


@dataclass(frozen=True)
class Declared:
    """What a kernel takes in one place: a number, or an array if it has a shape."""

    types: tuple[str, ...]  # one, or a narrow and a wide one
    family: str = ""  # types of one family are all narrow or all wide
    shape: tuple[str, ...] | None = None  # names of lengths, as in n or n+1; _ for any
    written: bool = False  # to be written to, and so never converted
    optional: bool = False  # None becomes an array without entries
    name: str = ""  # that sentences give it

    def __getitem__(self, shape: str) -> "Declared":
        return replace(self, shape=tuple(shape.split()))

    def __str__(self) -> str:
        names = " or ".join(np.dtype(name).name for name in self.types)
        if self.shape is None:
            return f"a number of {names}"
        return f"an array of {names} and shape ({', '.join(self.shape)})"

    def admits(self, value: Any) -> bool:
        """Whether a value is what is declared, or can become it without loss; but for lengths."""
        wide = np.dtype(self.types[-1])
        if self.shape is None and wide.kind == "f":
            return isinstance(value, int | float | np.number)
        if self.shape is None:
            limits = np.iinfo("u8" if wide.kind == "u" else "i8")
            whole = isinstance(value, int | np.integer | np.bool_)
            return whole and limits.min <= value <= limits.max
        if value is None:
            return self.optional
        if not isinstance(value, np.ndarray) or value.ndim != len(self.shape):
            return False
        if self.written:
            return value.dtype in self.types
        return KINDS.get(value.dtype.kind) == KINDS[wide.kind] and np.can_cast(value.dtype, wide)


f8, i8, u8 = Declared(("f8",)), Declared(("i8",)), Declared(("u8",))
i4, u1, b1 = Declared(("i4",)), Declared(("u1",)), Declared(("b1",))
real = Declared(("f4", "f8"), "real")  # predictions
index = Declared(("i4", "i8"), "whole")  # numbers of rows
code = Declared(("u1", "i4"), "whole")  # numbers of classes, outcomes or cells
count = Declared(("i8", "f8"), "count")  # weights, which may be counts
SPAN = i8, i8  # from, and below

NUMBERS: dict[Any, Declared] = {int: i8, float: f8, bool: b1, np.uint64: u8}
PACKED = {"i8": "q", "u8": "Q", "f8": "d", "b1": "q"}  # letters of `struct`; addresses are Q
KINDS = {"f": "real", "i": "whole", "u": "whole", "b": "whether"}  # of NumPy's types

helpers: list[Callable[..., Any]] = []  # functions that kernels call

# An array crosses as its `__array_struct__`: what NumPy documents for C, in a capsule.
_address = ctypes.pythonapi.PyCapsule_GetPointer
_address.restype = ctypes.c_void_p
_address.argtypes = [ctypes.py_object, ctypes.c_char_p]


def out(declared: Declared) -> Declared:
    """Declare an array that is written to."""
    return replace(declared, written=True)


def optional(declared: Declared) -> Declared:
    """Declare an array that may be None."""
    return replace(declared, optional=True)


@cache
def fields(kind: Any) -> dict[str, Any]:
    """Return what the fields of a named tuple declare: by their types, or in so many words."""
    found = {}
    for name, hint in kind.__annotations__.items():
        words = [each for each in get_args(hint) if isinstance(each, Declared)]
        found[name] = words[0] if words else NUMBERS.get(hint, hint)
    return found


def leaves(name: str, declared: Any) -> Iterator[Declared]:
    """Yield the numbers and arrays of an argument in the order in which they cross."""
    if isinstance(declared, Declared):
        yield replace(declared, name=name)
    elif isinstance(declared, tuple):
        for k, part in enumerate(declared):
            yield from leaves(f"{name}[{k}]", part)
    else:
        for field, part in fields(declared).items():
            yield from leaves(f"{name}.{field}", part)


def flatten(arguments: tuple[Any, ...], values: list[Any]) -> None:
    """Append numbers and arrays, those of tuples one after the other."""
    for argument in arguments:
        if isinstance(argument, tuple):
            flatten(argument, values)
        else:
            values.append(argument)


class Kernel:
    """A loop, which allocates nothing and looks at no index: functions that call it do."""

    def __init__(self, function: Callable[..., Any], takes: Any, returns: Any) -> None:
        self.function = function
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.takes = takes
        self.returns: tuple[Declared, ...] = returns if isinstance(returns, tuple) else (returns,)

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop: on arguments as they are, or else converted to what is declared."""
        values: list[Any] = []
        flatten(arguments, values)
        refused, found = self._run(values)
        if refused:
            refused, found = self._run(self._converted(values))
        if refused:
            self._refuse(refused - 1, values)
        return found

    @cached_property
    def leaves(self) -> tuple[Declared, ...]:
        """All numbers and arrays, in the order in which they cross."""
        names = self.function.__code__.co_varnames[: self.function.__code__.co_argcount]
        parts = zip(names, self.takes, strict=True)
        return tuple(leaf for name, declared in parts for leaf in leaves(name, declared))

    @cached_property
    def families(self) -> dict[str, int]:
        """The families whose types are to be chosen, and the leaf of each that chooses."""
        found: dict[str, int] = {}
        for k, each in enumerate(self.leaves):
            if each.family and (each.family not in found or not each.optional):
                found[each.family] = k
        return found

    @cached_property
    def variants(self) -> dict[str, tuple[str, ...]]:
        """All choices of types, of each leaf, by the names of the machine code for them."""
        found = {}
        for wide in product((0, 1), repeat=len(self.families)):
            chosen = dict(zip(self.families, wide, strict=True))
            types = tuple(each.types[chosen.get(each.family, 0)] for each in self.leaves)
            marks = "".join(f"_{types[k]}" for k in self.families.values())
            found[f"{self.name.replace('.', '_')}{marks}"] = types
        return found

    @cached_property
    def _entries(self) -> dict[tuple[Any, ...], Any]:
        """The functions of the library, by the types of the arrays that choose one."""
        machine, found = library.load(), {}
        for symbol, types in self.variants.items():
            entry = machine[symbol]
            entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p]
            keys = [
                [np.dtype(types[k]), *[None] * (types[k] == self.leaves[k].types[0])]
                for k in self.families.values()
            ]
            found.update(dict.fromkeys(product(*keys), entry))
        return found

    @cached_property
    def _plan(self) -> tuple[list[int], list[int], Callable[..., bytes], Any]:
        """What choose an entry, what are arrays, how numbers are packed, and room for results."""
        is_array = [each.shape is not None for each in self.leaves]
        arrays = [k for k, found in enumerate(is_array) if found]
        kinds = zip(self.leaves, is_array, strict=True)
        letters = "".join("Q" if found else PACKED[each.types[0]] for each, found in kinds)
        slot: Any = ctypes.c_double if f8 in self.returns else ctypes.c_int64
        slots = slot * (1 + len(self.returns))
        return list(self.families.values()), arrays, struct.Struct(letters).pack, slots

    def _run(self, given: list[Any]) -> tuple[int, Any]:
        """Return 0 and what the kernel returned; or the number of a refused leaf, from 1."""
        choosing, arrays, pack, slots = self._plan
        values = given.copy()
        held = []  # until the kernel is done
        try:
            types = [None if values[k] is None else values[k].dtype for k in choosing]
            entry = self._entries[tuple(types)]
            for k in arrays:
                if values[k] is None:
                    values[k] = 0
                else:
                    held.append(values[k].__array_struct__)
                    values[k] = _address(held[-1], None)
            block = pack(*values)
        except (AttributeError, KeyError, struct.error):
            return len(given), None
        found = slots()
        entry(found, None, block)
        if found[0] or not self.returns:
            return int(found[0]), None
        return 0, found[1] if len(found) == 2 else tuple(found[1:])

    def _converted(self, values: list[Any]) -> list[Any]:
        """Return arguments with arrays as they are declared, where that loses nothing."""
        pairs = list(zip(values, self.leaves, strict=True))
        for k, (value, each) in enumerate(pairs):
            if not each.admits(value):
                self._refuse(k, values)
        wide = {
            each.family
            for value, each in pairs
            if each.family and value is not None and not np.can_cast(value.dtype, each.types[0])
        }
        return [
            value
            if each.shape is None or each.written or value is None
            else np.require(value, each.types[each.family in wide], ["C", "A"])
            for value, each in pairs
        ]

    def _refuse(self, k: int, values: list[Any]) -> NoReturn:
        declared, value = self.leaves[k], values[k]
        lengths: dict[str, int] = {}
        for each, before in zip(values[:k], self.leaves, strict=False):
            lengths |= dict(zip(before.shape or (), getattr(each, "shape", ()), strict=False))
        named = lengths.keys() & set(declared.shape or ()) - {"_"}
        where = "".join(f", {length} = {lengths[length]}" for length in sorted(named))
        found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        raise TypeError(f"`{declared.name}` must be {declared}{where}; found {found}.")


def kernel(*takes: Any, returns: Any = ()) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare what a function takes and returns, and let it run as machine code."""
    return lambda function: Kernel(function, takes, returns)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels call `function`; for Python it stays the plain function that it is."""
    helpers.append(function)
    return function
