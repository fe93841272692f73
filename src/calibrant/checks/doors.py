"""What the doors to other libraries need: one sentence if it is not installed."""

from importlib.util import find_spec


def needs(door: str, *packages: str, extra: str) -> None:
    """Refuse to open a door whose packages are not installed; `extra` of calibrant has them."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise ImportError(
            f"{door} needs {' and '.join(missing)}, which {verb} not installed:"
            f" pip install 'calibrant[{extra}]'."
        )
