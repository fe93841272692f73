"""Discrimination over miscalibration."""

from plotly.graph_objects import Figure, Scatter

from calibrant.diagrams.interactive.layout import finish
from calibrant.diagrams.plane import PlanePoint, ScorePlane
from calibrant.diagrams.style import (
    BLUE,
    MUTED,
    PALE,
    VERMILLION,
    escaped,
    percent,
    plane_axes,
    plane_lines,
    plane_range,
)
from calibrant.words import pvalue


def plane(diagram: ScorePlane) -> Figure:
    """Draw a mark for each model, and lines of equal score."""
    figure = Figure()
    for score, x, y in plane_lines(diagram):
        _add_line(figure, score, x, y)
    off = [p for p in diagram.points if p.pvalue <= diagram.alpha]
    near = [p for p in diagram.points if p.pvalue > diagram.alpha]
    significant = f"miscalibrated ({percent(diagram.alpha)})"
    _add_points(diagram, figure, off, significant, VERMILLION, VERMILLION)
    _add_points(diagram, figure, near, "not significant", BLUE, "white")
    across, up = plane_range(diagram)
    horizontal, vertical = plane_axes(diagram)
    return finish(
        figure,
        xaxis={"title": {"text": horizontal}, "range": list(across), "zeroline": False},
        yaxis={"title": {"text": vertical}, "range": list(up), "zeroline": False},
    )


def _add_line(figure: Figure, score: float, x: list[float], y: list[float]) -> None:
    """Draw a line of equal score, and say which."""
    style = {"color": PALE, "width": 1}
    figure.add_trace(
        Scatter(x=x, y=y, mode="lines", line=style, hoverinfo="skip", showlegend=False)
    )
    figure.add_annotation(
        x=x[1],
        y=y[1],
        text=f"{score:.3g}",
        showarrow=False,
        xanchor="right",
        yanchor="bottom",
        font={"size": 10, "color": MUTED},
    )


def _add_points(
    diagram: ScorePlane,
    figure: Figure,
    points: list[PlanePoint],
    name: str,
    colour: str,
    fill: str,
) -> None:
    n_resamples = diagram.settings["n_resamples"]
    figure.add_trace(
        Scatter(
            x=[p.parts.miscalibration for p in points],
            y=[p.parts.discrimination for p in points],
            mode="markers+text",
            marker={"size": 11, "color": fill, "line": {"width": 1.8, "color": colour}},
            text=[escaped(p.name, 30) for p in points],
            textposition="middle right",
            customdata=[_text(p, n_resamples) for p in points],
            hovertemplate="%{customdata}<extra></extra>",
            cliponaxis=False,
            name=name,
        )
    )


def _text(point: PlanePoint, n_resamples: int) -> str:
    parts = point.parts
    return (
        f"<b>{escaped(point.name, 60)}</b><br>score {parts.score:.4f}<br>miscalibration"
        f" {parts.miscalibration:.4f}, {point.expected:.4f} if calibrated,"
        f" {pvalue(point.pvalue, n_resamples)}<br>discrimination"
        f" {parts.discrimination:.4f}, uncertainty {parts.uncertainty:.4f}"
    )
