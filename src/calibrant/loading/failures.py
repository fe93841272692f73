"""The one place that turns whatever goes wrong while a file is read into a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_sentence(file: str) -> Iterator[None]:
    """Raise one sentence, with the name of the file in front, whatever a reader raises.

    Our own sentences are ValueErrors and TypeErrors. Anything else, also the panic of a compiled
    reader, is damage to the file.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        kind = TypeError if type(error) is TypeError else ValueError
        raise kind(f"{file}: {_sentence(error)}") from error


def _sentence(error: BaseException) -> str:
    """Say what is wrong."""
    if type(error) in (ValueError, TypeError):
        return str(error)
    if isinstance(error, OSError):
        return f"the file must be readable; {error.strerror or reason_of(error)}."
    if isinstance(error, MemoryError):
        return "the file must fit in memory; it asks for too much."
    if isinstance(error, OverflowError):
        return "integers must fit in 64 bits; found larger ones. Write them as texts."
    return str(damaged(error))


def damaged(error: BaseException) -> ValueError:
    """Return the sentence for a file that a library cannot read."""
    return ValueError(
        f"the file must be whole and readable; it is damaged or cut short ({reason_of(error)})."
        " Write or copy it again."
    )


def reason_of(error: BaseException) -> str:
    """Return the first line of what a library says, without the insides that it may print."""
    line = next(iter(str(error).splitlines()), "")
    line = line.partition(" {")[0].partition("(Error")[0].strip().rstrip(".")[:120]
    return line or type(error).__name__
