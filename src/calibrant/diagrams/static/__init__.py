"""Diagrams drawn with matplotlib."""

from calibrant.diagrams.static.line import line
from calibrant.diagrams.static.tetrahedron import tetrahedron
from calibrant.diagrams.static.triangle import triangle

__all__ = ["line", "tetrahedron", "triangle"]
