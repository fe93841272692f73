"""Pictures as SVG: no script draws them, a style sheet paints them, and they print.

`chart` turns a picture into a `Chart`, `forest` groups of rows; `spark` draws a small one.
"""

from calibrant.diagrams.charts.chart import Chart
from calibrant.diagrams.charts.parts import drawn_keys
from calibrant.diagrams.charts.plain import forest, plain_chart, spark
from calibrant.diagrams.charts.simplex import tetrahedron_chart, triangle_chart
from calibrant.diagrams.picture import Picture

__all__ = ["Chart", "chart", "forest", "spark"]


def chart(picture: Picture, found: str = "") -> Chart:
    """Draw a picture; `found` is what it shows, in a sentence, for those who cannot see it."""
    label, keys = f"{picture.label} {found}".strip(), drawn_keys(picture)
    if picture.frame is not None:
        return plain_chart(picture, picture.frame, label, keys)
    draw = tetrahedron_chart if picture.in_space else triangle_chart
    return draw(picture, label, keys)
