"""The command ``calibrant``: files in, answers and a report out."""

from calibrant.cli.app import app, main

__all__ = ["app", "main"]
