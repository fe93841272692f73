"""Diagrams drawn with matplotlib. Only this package names matplotlib and mpltern."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.diagrams.static.curve import curve
from calibrant.diagrams.static.files import draw_without_window, save
from calibrant.diagrams.static.line import line
from calibrant.diagrams.static.plane import plane
from calibrant.diagrams.static.tetrahedron import tetrahedron
from calibrant.diagrams.static.trajectory import trajectories
from calibrant.diagrams.static.triangle import triangle

__all__ = [
    "Axes",
    "Figure",
    "curve",
    "draw_without_window",
    "line",
    "plane",
    "save",
    "tetrahedron",
    "trajectories",
    "triangle",
]
