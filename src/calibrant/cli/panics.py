"""What compiled readers print when they fail: many lines that say nothing to a user."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile

STANDARD_ERROR = 2


@contextmanager
def without_panics() -> Iterator[None]:
    """Keep what is printed while a file is read that cannot be read.

    A reader that panics prints where, straight to the file of standard error; the sentence that it
    is turned into is all that is shown. If all goes well, what was printed is shown afterwards.
    """
    try:
        before = os.dup(STANDARD_ERROR)
    except OSError:  # there is no standard error
        yield
        return
    try:
        with TemporaryFile() as kept:
            os.dup2(kept.fileno(), STANDARD_ERROR)
            try:
                yield
            finally:
                os.dup2(before, STANDARD_ERROR)
            kept.seek(0)
            os.write(before, kept.read())
    finally:
        os.close(before)
