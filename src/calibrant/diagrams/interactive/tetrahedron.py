"""Four outcomes: arrows in a tetrahedron that can be turned."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from plotly.graph_objects import Cone, Figure, Scatter3d

from calibrant.diagrams.diagram import ReliabilityDiagram
from calibrant.diagrams.interactive.layout import BELOW, finish, share_marker, with_gaps
from calibrant.diagrams.style import (
    GREY,
    INK,
    MUTED,
    VERMILLION,
    escaped,
    hover_texts,
    off_name,
    well_filled,
)
from calibrant.diagrams.style import tetrahedron as corners_of

Floats = NDArray[np.float64]

# How names stand at their corners, seen from the default angle.
ANCHORS = (("center", "top"), ("left", "middle"), ("right", "middle"), ("center", "bottom"))
HEAD = 0.07  # length of an arrow head, where the edges are √3


def tetrahedron(diagram: ReliabilityDiagram) -> Figure:
    """Draw dots at mean predictions, coloured by their share, and arrows to the frequencies."""
    series, corners = diagram.series[0], corners_of()
    fn, shown = series.function, series.shown
    figure = Figure()
    edges = np.array([[a, b] for a, b in combinations(corners, 2)])
    figure.add_trace(_lines(edges, GREY, 2, showlegend=False))
    ends = np.stack((fn.predicted, fn.observed), axis=1) @ corners
    off = series.significant(diagram.alpha)
    for which, colour, width, name in (
        (~off & well_filled(series), MUTED, 2, "not significant"),
        (off & shown, VERMILLION, 6, off_name(diagram)),
    ):
        figure.add_trace(_lines(ends[which], colour, width, name=name))
        if which.any():
            figure.add_trace(_heads(ends[which], colour))
    figure.add_trace(_dots(diagram, ends[shown, 0]))
    return finish(
        figure,
        margin={"l": 0, "r": 0, "t": 30, "b": 80},
        scene=_scene(diagram, corners),
        legend={**BELOW, "y": -0.1},
    )


def _dots(diagram: ReliabilityDiagram, places: Floats) -> Scatter3d:
    """Put dots at the mean predictions of the cells that are shown, at places (k, 3)."""
    series = diagram.series[0]
    shares = series.function.proportions[series.shown]
    texts = np.array(hover_texts(diagram, series), dtype=object)
    return Scatter3d(
        **_xyz(places),
        mode="markers",
        marker=share_marker(shares, 3 + 9 * np.sqrt(shares / shares.max())),
        text=texts[series.shown],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )


def _scene(diagram: ReliabilityDiagram, corners: Floats) -> dict[str, Any]:
    middle = corners.mean(axis=0)
    hidden = {"visible": False}
    return {
        "xaxis": {**hidden, "range": [-1.1, 1.1]},
        "yaxis": {**hidden, "range": [-0.7, 1.2]},
        "zaxis": {**hidden, "range": [-0.15, 1.6]},
        "aspectmode": "data",
        "camera": {
            "eye": {"x": 0.41, "y": 1.48, "z": 0.48},
            "center": {"x": 0, "y": 0, "z": -0.08},
        },
        "annotations": [
            {
                **dict(zip("xyz", (middle + 1.06 * (corner - middle)).tolist(), strict=True)),
                "text": escaped(name, 11),
                "xanchor": x,
                "yanchor": y,
                "showarrow": False,
                "font": {"color": INK, "size": 13},
            }
            for name, corner, (x, y) in zip(diagram.classes, corners, ANCHORS, strict=True)
        ],
    }


def _xyz(points: Floats) -> dict[str, Floats]:
    return {"x": points[..., 0], "y": points[..., 1], "z": points[..., 2]}


def _lines(lines: Floats, colour: str, width: float, **more: Any) -> Scatter3d:
    style = {"color": colour, "width": width}
    return Scatter3d(**_xyz(with_gaps(lines)), mode="lines", line=style, hoverinfo="skip", **more)


def _heads(ends: Floats, colour: str) -> Cone:
    """Put a cone at the end of every arrow (arrows, 2, 3), no longer than half the arrow."""
    steps = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(steps, axis=1, keepdims=True)
    size = np.minimum(HEAD, 0.5 * length)
    u, v, w = (steps / np.where(length > 0, length, 1.0) * size).T
    return Cone(
        **_xyz(ends[:, 1]),
        u=u,
        v=v,
        w=w,
        anchor="tip",
        sizemode="raw",
        sizeref=1,
        colorscale=[[0, colour], [1, colour]],
        showscale=False,
        lighting={"ambient": 1, "diffuse": 0, "specular": 0},
        hoverinfo="skip",
    )
