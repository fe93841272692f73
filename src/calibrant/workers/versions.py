"""Workers must have the calibrant that hands them their work."""

from importlib.metadata import version


def refuse_version(worker: str, found: str | None) -> None:
    """Refuse a worker without calibrant (None), or with another version of it."""
    if found is None:
        raise ValueError(
            f"{worker} cannot import calibrant; install it where workers run, with the extras that"
            " are installed here."
        )
    if found != version("calibrant"):
        raise ValueError(
            f"{worker} has calibrant {found}, and here is {version('calibrant')}; install the same"
            " version everywhere."
        )
