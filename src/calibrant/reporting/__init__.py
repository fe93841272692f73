"""The report: one HTML file that works offline."""

from calibrant.reporting.write import report

__all__ = ["report"]
