"""Four outcomes: arrows in a tetrahedron that can be turned."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from plotly.graph_objects import Cone, Figure, Scatter3d

from calibrant.diagrams.diagram import ReliabilityDiagram
from calibrant.diagrams.style import GREY, INK, MUTED, VERMILLION, hover_texts
from calibrant.diagrams.style import tetrahedron as corners_of

Floats = NDArray[np.float64]


def tetrahedron(diagram: ReliabilityDiagram) -> Figure:
    """Draw dots at mean predictions, coloured by their share, and arrows to the frequencies."""
    series = diagram.series[0]
    fn = series.function
    corners = corners_of()
    figure = Figure()
    edges = np.array([[a, b] for a, b in combinations(corners, 2)])
    figure.add_trace(_lines(edges, GREY, 2))
    tails, heads = fn.predicted @ corners, fn.observed @ corners
    off = series.significant(diagram.alpha)
    for which, colour, width in ((~off, MUTED, 3), (off, VERMILLION, 6)):
        if which.any():
            figure.add_trace(_lines(np.stack((tails[which], heads[which]), axis=1), colour, width))
            figure.add_trace(_heads(tails[which], heads[which], colour))
    share = fn.proportions
    figure.add_trace(
        Scatter3d(
            **_xyz(tails),
            mode="markers",
            marker={
                "size": 4 + 10 * np.sqrt(share / share.max()),
                "color": share,
                "cmin": 0,
                "cmax": float(share.max()),
                "colorscale": "Blues",
                "line": {"color": GREY, "width": 1},
                "colorbar": {
                    "title": {"text": "share of<br>predictions"},
                    "tickformat": ".0%",
                    "len": 0.6,
                },
            },
            text=hover_texts(diagram, series),
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    )
    middle = corners.mean(axis=0)
    figure.add_trace(
        Scatter3d(
            **_xyz(middle + 1.12 * (corners - middle)),
            mode="text",
            text=list(diagram.classes),
            textfont={"color": INK, "size": 13},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    hidden = {"visible": False}
    figure.update_layout(
        margin={"l": 0, "r": 0, "t": 20, "b": 0},
        scene={
            "xaxis": hidden,
            "yaxis": hidden,
            "zaxis": hidden,
            "aspectmode": "data",
            "camera": {"eye": {"x": 0.17, "y": 1.3, "z": 0.45}},
        },
        hoverlabel={"align": "left"},
    )
    return figure


def _xyz(points: Floats) -> dict[str, Floats]:
    return {"x": points[..., 0], "y": points[..., 1], "z": points[..., 2]}


def _lines(lines: Floats, colour: str, width: float) -> Scatter3d:
    gaps = np.full((lines.shape[0], 1, 3), np.nan)
    points = np.concatenate((lines, gaps), axis=1).reshape(-1, 3)
    return Scatter3d(
        **_xyz(points),
        mode="lines",
        line={"color": colour, "width": width},
        hoverinfo="skip",
        showlegend=False,
    )


def _heads(tails: Floats, heads: Floats, colour: str) -> Cone:
    steps = heads - tails
    length = np.linalg.norm(steps, axis=1, keepdims=True)
    direction = steps / np.where(length > 0, length, 1.0)
    return Cone(
        **_xyz(heads),
        u=direction[:, 0],
        v=direction[:, 1],
        w=direction[:, 2],
        anchor="tip",
        sizemode="raw",
        sizeref=0.06,
        colorscale=[[0, colour], [1, colour]],
        showscale=False,
        lighting={"ambient": 1, "diffuse": 0, "specular": 0},
        hoverinfo="skip",
    )
