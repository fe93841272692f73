"""Diagrams drawn with plotly."""

from calibrant.diagrams.interactive.line import line
from calibrant.diagrams.interactive.tetrahedron import tetrahedron
from calibrant.diagrams.interactive.triangle import triangle

__all__ = ["line", "tetrahedron", "triangle"]
