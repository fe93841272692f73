"""Figures as pages."""

from pathlib import Path

from plotly.graph_objects import Figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a page that needs no network."""
    figure.write_html(
        path,
        include_plotlyjs=True,
        div_id="diagram",
        config={"displaylogo": False, "showSendToCloud": False},
        default_height="min(100vh - 16px, 100vw)",  # upright, a phone would cut off 3-D
    )
