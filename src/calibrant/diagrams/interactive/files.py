"""Figures as pages, and the script that draws them."""

from pathlib import Path

from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a page that needs no network."""
    figure.write_html(
        path,
        include_plotlyjs=True,
        div_id="diagram",
        config={"displaylogo": False, "showSendToCloud": False},
        default_height="min(100vh - 16px, 100vw)",  # upright, a phone would cut off 3-D
    )


def script() -> str:
    """Return the JavaScript that draws figures, for a page that has many of them."""
    return str(get_plotlyjs())
