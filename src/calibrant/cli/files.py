"""Names of files that a command writes."""

from pathlib import Path

import typer


def check_ending(output: Path, *endings: str, option: str = "--output") -> None:
    """Refuse a file to write whose name does not end in one of `endings`."""
    if output.suffix.lower() not in endings:
        raise typer.BadParameter(
            f"must end in {' or '.join(endings)}; found {output.name!r}.", param_hint=option
        )
