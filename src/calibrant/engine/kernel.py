"""Loops that are written in Python and run as machine code.

A kernel declares what it takes: numbers, arrays, tuples and named tuples of them. An array's
declaration has a type and a name for each length, ``f8["n m"]``; what has one name has one
length. `engine.build` compiles a kernel for what it declares and nothing else. The machine code
looks at every array before it begins and refuses what was not declared. Then the door, here,
converts what can be converted without loss and tries again, or says in a sentence what is wrong.

    >>> import numpy as np
    >>> from calibrant import engine
    >>> engine.line.pair_sum(np.ones(3), np.ones(2))
    Traceback (most recent call last):
    TypeError: `decays` must be an array of float64 and shape (groups); found float64 (2,).
"""

import ctypes
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, NoReturn, get_args

import numpy as np

from calibrant.engine import library


@dataclass(frozen=True)
class Declared:
    """What a kernel takes in one place: a number, or an array if it has a shape.

    Types of one family are chosen together: all narrow ones, or all wide ones.
    """

    types: tuple[str, ...]  # one, or a narrow and a wide one
    family: str = ""
    shape: tuple[str, ...] | None = None  # names of lengths, such as n or n+1; _ for any
    written: bool = False  # to be written to, and never converted
    optional: bool = False  # None may stand for it; the kernel then sees an array without entries

    def __getitem__(self, shape: str) -> "Declared":
        return replace(self, shape=tuple(shape.split()))

    def __str__(self) -> str:
        names = " or ".join(np.dtype(name).name for name in self.types)
        if self.shape is None:
            return f"a number of {names}"
        return f"an array of {names} and shape ({', '.join(self.shape)})"


f8, i8, u8 = Declared(("f8",)), Declared(("i8",)), Declared(("u8",))
i4, u1, b1 = Declared(("i4",)), Declared(("u1",)), Declared(("b1",))
real = Declared(("f4", "f8"), "real")  # predictions
index = Declared(("i4", "i8"), "whole")  # numbers of rows
code = Declared(("u1", "i4"), "whole")  # numbers of classes, outcomes or cells
count = Declared(("i8", "f8"), "count")  # weights, which may be counts

NUMBERS: dict[Any, Declared] = {int: i8, float: f8, bool: b1, np.uint64: u8}
SPAN = i8, i8  # from, and below

PACKED = {"i8": "q", "u8": "Q", "f8": "d", "b1": "q"}  # letters of `struct`
ADDRESS = "Q"
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


class Leaf(NamedTuple):
    """A number or an array among what a kernel takes, with the name that sentences give it."""

    name: str
    declared: Declared


def fields(kind: Any) -> dict[str, Any]:
    """Return what the fields of a named tuple are declared to be."""
    return {name: _of_hint(hint) for name, hint in kind.__annotations__.items()}


def _of_hint(hint: Any) -> Any:
    """Return what a field's annotation declares: a plain number, a named tuple, or in so many words."""
    if hint in NUMBERS:
        return NUMBERS[hint]
    if hasattr(hint, "_fields"):
        return hint
    return next(each for each in get_args(hint) if isinstance(each, Declared))


def leaves(name: str, declared: Any) -> Iterator[Leaf]:
    """Yield the numbers and arrays of a declaration in the order in which they cross."""
    if isinstance(declared, Declared):
        yield Leaf(name, declared)
    elif isinstance(declared, tuple):
        for k, part in enumerate(declared):
            yield from leaves(f"{name}[{k}]", part)
    else:
        for field, part in fields(declared).items():
            yield from leaves(f"{name}.{field}", part)


class Variant(NamedTuple):
    """A choice of types, for which there is machine code of its own."""

    symbol: str
    types: tuple[str, ...]  # of each leaf


class Kernel:
    """A loop over arrays and named tuples of them.

    Kernels allocate nothing and look at no index. They are called by the functions of this
    package alone, which see to it that indices are right.
    """

    def __init__(self, function: Callable[..., Any], takes: Any, returns: Any) -> None:
        self.function = function
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

    @property
    def name(self) -> str:
        """The module and the function."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    @property
    def arguments(self) -> dict[str, Any]:
        """What is declared of each argument."""
        names = self.function.__code__.co_varnames[: self.function.__code__.co_argcount]
        return dict(zip(names, self.takes, strict=True))

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """All numbers and arrays, in the order in which they cross."""
        return tuple(
            leaf for name, declared in self.arguments.items() for leaf in leaves(name, declared)
        )

    @cached_property
    def families(self) -> dict[str, int]:
        """The families whose types are to be chosen, and the leaf of each that chooses."""
        found: dict[str, int] = {}
        for k, (_, each) in enumerate(self.leaves):
            if each.family and (
                each.family not in found or self.leaves[found[each.family]].declared.optional
            ):
                found[each.family] = k
        return found

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """All choices of types."""
        found = []
        for wide in product((0, 1), repeat=len(self.families)):
            chosen = dict(zip(self.families, wide, strict=True))
            types = tuple(each.types[chosen.get(each.family, 0)] for _, each in self.leaves)
            marks = "".join(f"_{types[k]}" for k in self.families.values())
            found.append(Variant(f"{self.name.replace('.', '_')}{marks}", types))
        return tuple(found)

    @cached_property
    def _arrays(self) -> list[int]:
        return [k for k, leaf in enumerate(self.leaves) if leaf.declared.shape is not None]

    @cached_property
    def _choosing(self) -> list[int]:
        return list(self.families.values())

    @cached_property
    def _entries(self) -> dict[tuple[Any, ...], Any]:
        """The functions of the library, by the types of the leaves that choose one."""
        machine, found = library.load(), {}
        for symbol, types in self.variants:
            entry = machine[symbol]
            entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p]
            key = [_key(self.leaves[k].declared, types[k]) for k in self._choosing]
            found.update(dict.fromkeys(product(*key), entry))
        return found

    @cached_property
    def _pack(self) -> Callable[..., bytes]:
        letters = (
            PACKED[each.types[0]] if each.shape is None else ADDRESS for _, each in self.leaves
        )
        return struct.Struct("".join(letters)).pack

    @cached_property
    def _slots(self) -> Any:
        """What the library writes to: the number of a refused leaf, or 0, and results."""
        is_real = any(each is f8 for each in self.returns)
        return (ctypes.c_double if is_real else ctypes.c_int64) * (1 + len(self.returns))

    def _run(self, given: list[Any]) -> tuple[int, Any]:
        """Return 0 and what the kernel returned; or the number of a refused leaf, from 1."""
        values = given.copy()
        held = []  # until the kernel is done
        try:
            chosen = [values[k] for k in self._choosing]
            entry = self._entries[tuple([each if each is None else each.dtype for each in chosen])]
            for k in self._arrays:
                if values[k] is None:
                    values[k] = 0
                else:
                    held.append(values[k].__array_struct__)
                    values[k] = _address(held[-1], None)
            block = self._pack(*values)
        except (AttributeError, KeyError, struct.error):
            return 1 + self._odd(given), None
        slots = self._slots()
        entry(slots, None, block)
        if slots[0] or not self.returns:
            return int(slots[0]), None
        return 0, slots[1] if len(slots) == 2 else tuple(slots[1:])

    def _odd(self, values: list[Any]) -> int:
        """Return the first leaf that is not even of the right kind."""
        for k, (value, leaf) in enumerate(zip(values, self.leaves, strict=True)):
            if not _alike(value, leaf.declared):
                return k
        return self._choosing[0]

    def _converted(self, values: list[Any]) -> list[Any]:
        """Return arguments with arrays as they are declared, where that loses nothing."""
        for k, (value, leaf) in enumerate(zip(values, self.leaves, strict=True)):
            if not _alike(value, leaf.declared):
                self._refuse(k, values)
        is_wide = {
            family: not all(
                np.can_cast(value.dtype, each.types[0])
                for value, (_, each) in zip(values, self.leaves, strict=True)
                if each.family == family and value is not None
            )
            for family in self.families
        }
        return [
            value
            if each.shape is None or each.written or value is None
            else np.require(value, each.types[is_wide.get(each.family, False)], "CA")
            for value, (_, each) in zip(values, self.leaves, strict=True)
        ]

    def _refuse(self, k: int, values: list[Any]) -> NoReturn:
        value = values[k]
        found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        raise TypeError(
            f"`{self.leaves[k].name}` must be {self.leaves[k].declared}; found {found}."
        )


def _key(declared: Declared, name: str) -> list[Any]:
    """Return the types of arrays for which a type is chosen; None, if there may be none."""
    key: list[Any] = [np.dtype(name)]
    if declared.optional and name == declared.types[0]:
        key.append(None)
    return key


def _alike(value: Any, declared: Declared) -> bool:
    """Whether a value can become what is declared without loss."""
    kind = np.dtype(declared.types[-1])
    if declared.shape is None:
        whole = (int, np.integer, np.bool_)
        return isinstance(value, whole if kind.kind in "iub" else (*whole, float, np.floating))
    if value is None:
        return declared.optional
    if not isinstance(value, np.ndarray) or value.ndim != len(declared.shape):
        return False
    if declared.written:
        return value.dtype in [np.dtype(name) for name in declared.types]
    alike = KINDS.get(value.dtype.kind) == KINDS[kind.kind]
    return alike and np.can_cast(value.dtype, kind)


def kernel(*takes: Any, returns: Any = ()) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare what a function takes and returns, and let it run as machine code."""
    return lambda function: Kernel(function, takes, returns)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels call `function`; for Python it stays the plain function that it is."""
    helpers.append(function)
    return function


def flatten(arguments: tuple[Any, ...], values: list[Any]) -> None:
    """Append numbers and arrays, those of tuples one after the other."""
    for argument in arguments:
        if isinstance(argument, tuple):
            flatten(argument, values)
        else:
            values.append(argument)
