"""Reliability diagrams in one, two and three dimensions, §4.4.

`reliability_diagram` computes; what it returns is data. ``.plot()`` draws it with matplotlib
(`static`), ``.figure()`` with plotly (`interactive`). Neither computes anything.
"""

from calibrant.diagrams.diagram import ReliabilityDiagram, Series
from calibrant.diagrams.reliability import reliability_diagram

__all__ = ["ReliabilityDiagram", "Series", "reliability_diagram"]
