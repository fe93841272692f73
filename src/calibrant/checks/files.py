"""Files: paths that can be one, and the door through which every file is written.

A file appears whole or not at all. It is written under another name in the folder where it shall
stand, brought to the disk, and renamed; so a reader, a full disk, a signal and a loss of power find
the old file or the new one.
"""

import atexit
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

BINARY = getattr(os, "O_BINARY", 0)  # Windows would change the ends of lines
RIGHTS = 0o777  # of owner, group and others
LONGEST_ENDING = 16  # letters: the name of a temporary file must not become too long

_unfinished: set[Path] = set()  # temporary files that are there, or are about to be


def as_path(path: Any) -> Path:
    """Return a path, or refuse what cannot be one."""
    from calibrant.checks.parameters import brief  # noqa: PLC0415 (with NumPy: not for --help)

    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"`path` must be the path of a file; found {brief(path)}.")
    found = Path(path)
    try:
        _status(found)
    except (OSError, ValueError) as error:  # a name that is too long, a loop of links, a zero byte
        reason = getattr(error, "strerror", None) or str(error)
        raise FileNotFoundError(
            f"`path` must be a file; {brief(str(path))} cannot be one ({reason})."
        ) from None
    return found


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, before the work that it shall hold is done."""
    if not _is_special(_replaceable(path)):
        temporary = _temporary(path)
        try:
            _create(temporary, path, 0o600)
        finally:
            _remove(temporary)


def _replaceable(path: Path) -> os.stat_result | None:
    """Return what is known of a file that may be replaced; None if there is none yet."""
    try:
        there = _status(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"{path}: cannot be written: {reason}.") from None
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; give the name of a file in it.")
    folder = _target(path).parent
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {folder} does not exist.")
    if there is not None and not os.access(path, os.W_OK):
        raise ValueError(f"{path}: must not be replaced; it is there, and may only be read.")
    return there


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Let a file appear only when it is whole, and on the disk.

    Yields the name of an empty temporary file that becomes `path` if all goes well, and vanishes
    if not. A file that is there keeps its rights and, where the system allows it, its owner; a
    symbolic link stays, and what it leads to is replaced. What is no plain file, such as a
    device or a pipe, is not replaced; it gets what is in the temporary file.
    """
    before = _replaceable(path)
    if _is_special(before):
        with TemporaryDirectory(prefix="calibrant-") as folder:
            yield (temporary := Path(folder) / path.name)
            with temporary.open("rb") as whole, path.open("wb") as special:
                copyfileobj(whole, special)
        return
    target, temporary = _target(path), _temporary(path)
    try:
        _create(temporary, path, 0o666 if before is None else 0o600)
        yield temporary
        if before is not None:
            _take_over(target, before, temporary)
        _synchronise(temporary)
        temporary.replace(target)
        with suppress(OSError):  # not every system can; either file is whole in any case
            _synchronise(target.parent)
    except OSError as error:
        if error.filename in (None, temporary, str(temporary)):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        _remove(temporary)


def remove_unfinished() -> None:
    """Remove temporary files that signals, one upon another, have left."""
    for temporary in list(_unfinished):
        with suppress(OSError):
            _remove(temporary)


atexit.register(remove_unfinished)


def _remove(temporary: Path) -> None:
    temporary.unlink(missing_ok=True)
    _unfinished.discard(temporary)


def _temporary(path: Path) -> Path:
    """Return a name beside a file, which ends as it does, and remember to remove what has it."""
    target = _target(path)
    ending = "".join(target.suffixes[-2:] if target.suffix == ".gz" else [target.suffix])
    temporary = target.with_name(f".calibrant-{token_hex(8)}{ending[:LONGEST_ENDING]}")
    _unfinished.add(temporary)  # before it is there: a signal may come at any time
    return temporary


def _status(path: Path) -> os.stat_result | None:
    """Return what the system knows of a file, links followed; None if there is none."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _target(path: Path) -> Path:
    """Return where a file is, or would be, if it is reached through symbolic links."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _is_special(status: os.stat_result | None) -> bool:
    """Whether something is no plain file, such as a device or a pipe."""
    return status is not None and not stat.S_ISREG(status.st_mode)


def _create(temporary: Path, path: Path, rights: int) -> None:
    """Make an empty file; the system takes from the rights what the user's mask says."""
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | BINARY, rights))
    except OSError as error:
        raise ValueError(
            f"{path}: cannot write to the folder {temporary.parent}: {error.strerror}."
        ) from None


def _take_over(target: Path, before: os.stat_result, temporary: Path) -> None:
    """Give a new file what the one that it replaces has: owner, access lists, rights."""
    if hasattr(os, "chown"):
        for owner in ((before.st_uid, before.st_gid), (-1, before.st_gid)):
            with suppress(OSError):  # only an administrator may give files away
                os.chown(temporary, *owner)
                break
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # not all file systems have them
            for name in os.listxattr(target):
                os.setxattr(temporary, name, os.getxattr(target, name))
    temporary.chmod(stat.S_IMODE(before.st_mode) & RIGHTS)


def _synchronise(path: Path) -> None:
    """Wait until the contents of a file or a folder are on the disk."""
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | BINARY
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
