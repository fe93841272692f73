"""Files: paths that can be one, and files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any


def as_path(path: Any) -> Path:
    """Return a path, or refuse what cannot be one."""
    from calibrant.checks.parameters import brief  # noqa: PLC0415 (with NumPy: not for --help)

    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"`path` must be the path of a file; found {brief(path)}.")
    found = Path(path)
    try:
        found.exists()
    except OSError as error:  # such as a name that is too long
        raise FileNotFoundError(
            f"`path` must be a file; {brief(str(path))} cannot be one ({error.strerror})."
        ) from None
    return found


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Let a file appear only when it is whole.

    Yields a temporary name that becomes `path` if all goes well, and vanishes if not. What is no
    plain file, such as a device, is written to directly.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        yield path
        return
    temporary = _temporary_beside(path)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary_beside(path: Path) -> Path:
    """Make an empty file in the folder of `path`, or say why there can be none."""
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; give the name of a file in it.")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist.")
    try:
        with NamedTemporaryFile(dir=path.parent, suffix=path.suffix, delete=False) as file:
            return Path(file.name)
    except OSError as error:
        raise ValueError(
            f"{path}: cannot write to the folder {path.parent}: {error.strerror}."
        ) from None
