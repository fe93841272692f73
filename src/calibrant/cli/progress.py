"""A bar for work that takes longer than a moment."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO


@contextmanager
def progress_after(seconds: float, what: str) -> Iterator[Any]:
    """Show work as a bar, beside a word, if it takes longer than so many seconds.

    Yields a function of (done, total) to call now and then; the bar says nothing of how much is
    done before. If standard error is not a terminal, yields None, and nothing is shown.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    terminal = _terminal()
    bar = Progress(console=Console(file=terminal), transient=True)
    task = bar.add_task(what, total=None)
    timer = threading.Timer(seconds, bar.start)
    timer.daemon = True
    began = time.monotonic()

    def report(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if time.monotonic() - began > seconds:
            bar.start()

    notes = _Notes(lambda note: bar.update(task, description=f"{what} ({note})"))
    timer.start()
    try:
        with notes.shown():
            yield report
    finally:
        timer.cancel()
        timer.join()  # a bar that is just being started is stopped
        bar.stop()
        if terminal is not sys.stderr:
            terminal.close()


class _Notes(logging.Handler):
    """Shows what the library notes in its log: which way was taken, and what takes long.

    show : function of a text
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self.show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Show a note."""
        self.show(record.getMessage())

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show notes for as long as this lasts."""
        log = logging.getLogger("calibrant")
        level = log.level
        log.setLevel(logging.DEBUG)
        log.addHandler(self)
        try:
            yield
        finally:
            log.removeHandler(self)
            log.setLevel(level)


def _terminal() -> TextIO:
    """Return standard error, also while its file is put aside for a reader that may panic."""
    try:
        return os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")
    except (OSError, ValueError):  # not a file, as in tests
        return sys.stderr
