"""Diagrams drawn with plotly. Only this package names plotly."""

from plotly.graph_objects import Figure

from calibrant.diagrams.interactive.curve import curve
from calibrant.diagrams.interactive.files import save
from calibrant.diagrams.interactive.line import line
from calibrant.diagrams.interactive.plane import plane
from calibrant.diagrams.interactive.tetrahedron import tetrahedron
from calibrant.diagrams.interactive.triangle import triangle

__all__ = ["Figure", "curve", "line", "plane", "save", "tetrahedron", "triangle"]
