"""Charts of the report as SVG: no script draws them, a style sheet paints them, and they print.

`line`, `curve`, `triangle` and `tetrahedron` turn a diagram into a `Chart`, `forest` groups of
rows; `spark` draws a small one.
"""

from calibrant.reporting.charts.chart import Chart
from calibrant.reporting.charts.curve import curve
from calibrant.reporting.charts.forest import forest
from calibrant.reporting.charts.line import line
from calibrant.reporting.charts.spark import common_reach, spark
from calibrant.reporting.charts.tetrahedron import tetrahedron
from calibrant.reporting.charts.triangle import triangle

__all__ = ["Chart", "common_reach", "curve", "forest", "line", "spark", "tetrahedron", "triangle"]
