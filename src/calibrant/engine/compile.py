"""Loops that are written in Python and run as machine code.

Code that was built ahead, with the package, is taken where there is some for the arguments at
hand; numba compiles the rest when it is first called, and is not loaded before.
"""

from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from calibrant.engine import built
from calibrant.engine.flat import flatten

SIGNATURES = Path(__file__).with_name("signatures.txt")  # what is built ahead, a line each


def _digest() -> str:
    sources = [*sorted(Path(__file__).parent.glob("*.py")), SIGNATURES]
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]


DIGEST = _digest()  # of all kernels: machine code of others is not taken

_helpers: list[Callable[..., Any]] = []  # that numba does not know yet


class Kernel:
    """A loop over arrays and named tuples of them.

    Kernels check nothing and allocate nothing. They are called by the functions of this
    package alone, which see to it that shapes and types are right.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop."""
        if self.entries:
            words, values = flatten(arguments)
            entry = self.entries.get(words)
            if entry is not None:
                return entry(values)
        return self.compiled(*arguments)

    @cached_property
    def entries(self) -> dict[tuple[str, ...], built.Entry]:
        """Machine code that was built ahead, by the types of arguments that it takes."""
        return built.entries(self.name, DIGEST)

    @cached_property
    def compiled(self) -> Any:
        """The function of numba that takes arguments of any types."""
        from calibrant.engine import just_in_time  # noqa: PLC0415 (half a second to import)

        return just_in_time.compiled(self.function, _helpers, DIGEST)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Let `function` run as machine code."""
    return Kernel(function)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let kernels call `function`; for Python it stays the plain function that it is."""
    _helpers.append(function)
    return function
