"""Three outcomes: arrows on the probability simplex."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from plotly.colors import sample_colorscale
from plotly.graph_objects import Figure, Scatterternary

from calibrant.diagrams.diagram import ReliabilityDiagram, Series
from calibrant.diagrams.style import GREY, INK, MUTED, VERMILLION, hover_texts

Floats = NDArray[np.float64]


def triangle(diagram: ReliabilityDiagram, *, regions: bool) -> Figure:
    """Draw cells coloured by the share of predictions, and arrows to the outcome frequency."""
    series = diagram.series[0]
    figure = Figure()
    _add_cells(figure, series)
    if regions and series.cells.regions is not None:
        _add_lines(figure, series.cells.regions, {"color": INK, "width": 1, "dash": "dot"})
    off = series.significant(diagram.alpha)
    for which, colour, width, name in (
        (~off, MUTED, 1.5, "not significant"),
        (off, VERMILLION, 3, f"off ({diagram.alpha:.0%}, all cells)"),
    ):
        _add_arrows(figure, series, which, {"color": colour, "width": width}, name)
    _add_tails(diagram, figure, series)
    axis = {"showgrid": False, "ticks": "outside", "tickfont": {"size": 10, "color": GREY}}
    figure.update_layout(
        template="plotly_white",
        margin={"l": 60, "r": 40, "t": 60, "b": 60},
        legend={"orientation": "h", "y": -0.08, "x": 0.5, "xanchor": "center"},
        ternary={
            key: {**axis, "title": {"text": name}}
            for key, name in zip(("aaxis", "baxis", "caxis"), diagram.classes, strict=True)
        },
        hoverlabel={"align": "left"},
    )
    return figure


def _abc(points: Floats) -> dict[str, Floats]:
    return {"a": points[..., 0], "b": points[..., 1], "c": points[..., 2]}


def _add_cells(figure: Figure, series: Series) -> None:
    shares = series.function.proportions
    if series.corners is None:
        return
    colours = sample_colorscale("Blues", (shares / shares.max()).tolist())
    for corners, colour in zip(series.corners, colours, strict=True):
        figure.add_trace(
            Scatterternary(
                **_abc(np.vstack((corners, corners[:1]))),
                mode="lines",
                fill="toself",
                fillcolor=colour,
                line={"color": "white", "width": 1},
                hoverinfo="skip",
                showlegend=False,
            )
        )


def _add_lines(figure: Figure, lines: Floats, style: dict[str, Any], **more: Any) -> None:
    """Draw many lines (lines, points, 3) as one trace, with gaps between them."""
    gaps = np.full((lines.shape[0], 1, 3), np.nan)
    points = np.concatenate((lines, gaps), axis=1).reshape(-1, 3)
    settings = {"hoverinfo": "skip", "showlegend": False, "mode": "lines", **more}
    figure.add_trace(Scatterternary(**_abc(points), line=style, **settings))


def _add_arrows(
    figure: Figure, series: Series, which: NDArray[np.bool_], style: dict[str, Any], name: str
) -> None:
    if not which.any():
        return
    fn = series.function
    lines = np.stack((fn.predicted[which], fn.observed[which]), axis=1)
    size = [0, 9, 0] * len(lines)
    _add_lines(
        figure,
        lines,
        style,
        mode="lines+markers",
        marker={
            "symbol": "arrow",
            "size": size,
            "angleref": "previous",
            "color": style["color"],
            "line": {"width": 0},
        },
        name=name,
        showlegend=True,
    )


def _add_tails(diagram: ReliabilityDiagram, figure: Figure, series: Series) -> None:
    shares = series.function.proportions
    dots = series.corners is None
    size = 6 + 18 * np.sqrt(shares / shares.max()) if dots else np.full(shares.size, 9.0)
    figure.add_trace(
        Scatterternary(
            **_abc(series.function.predicted),
            mode="markers",
            marker={
                "size": size,
                "color": shares,
                "cmin": 0,
                "cmax": float(shares.max()),
                "colorscale": "Blues",
                "opacity": 0.9 if dots else 0.01,
                "line": {"color": GREY, "width": 1 if dots else 0},
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
