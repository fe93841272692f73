"""Reliability diagrams in one, two and three dimensions, §4.4, and curves that need no bins.

`reliability_diagram`, `isotonic_diagram`, `smooth_diagram`, `cumulative_diagram`, `score_plane`,
`flexible_diagram` and `decision_curve` compute; what they return is data. A `Picture` says what of
it is drawn where: bins in `bins`, the others beside their data. ``.plot()`` draws that with
matplotlib (`static`), ``.figure()`` as SVG (`charts`); neither computes anything.
"""

from calibrant.diagrams.by_class import ClassDiagram, class_diagram
from calibrant.diagrams.clinical import (
    DecisionCurve,
    FlexibleDiagram,
    decision_curve,
    flexible_diagram,
)
from calibrant.diagrams.curve import Band, CurveDiagram, CurveSeries
from calibrant.diagrams.curves import cumulative_diagram, isotonic_diagram, smooth_diagram
from calibrant.diagrams.plane import PlanePoint, ScorePlane, score_plane
from calibrant.diagrams.reliability import ReliabilityDiagram, reliability_diagram
from calibrant.diagrams.series import Series

__all__ = [
    "Band",
    "ClassDiagram",
    "CurveDiagram",
    "CurveSeries",
    "DecisionCurve",
    "FlexibleDiagram",
    "PlanePoint",
    "ReliabilityDiagram",
    "ScorePlane",
    "Series",
    "class_diagram",
    "cumulative_diagram",
    "decision_curve",
    "flexible_diagram",
    "isotonic_diagram",
    "reliability_diagram",
    "score_plane",
    "smooth_diagram",
]
