"""The report: one HTML file that works offline."""

from calibrant.reporting.page import report

__all__ = ["report"]
