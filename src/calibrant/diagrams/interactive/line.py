"""Two outcomes: the deviation over the prediction, or the classical view."""

from typing import Any

import numpy as np
from plotly.graph_objects import Bar, Figure, Scatter

from calibrant.diagrams.diagram import ReliabilityDiagram, Series, Truth
from calibrant.diagrams.style import (
    BLUE,
    INK,
    MODELS,
    PALE,
    VERMILLION,
    event_name,
    hover_texts,
)


def line(diagram: ReliabilityDiagram, *, classical: bool, truth: Truth | None) -> Figure:
    """Draw marks for the cells, over a strip with the distribution of predictions."""
    figure = Figure()
    figure.add_trace(
        Scatter(
            x=[0, 1],
            y=[0, 1 if classical else 0],
            mode="lines",
            line={"color": INK, "width": 1},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    if truth is not None:
        x = np.linspace(0, 1, 201)
        y = np.asarray(truth(x)) - (0 if classical else x)
        figure.add_trace(Scatter(x=x, y=y, mode="lines", line={"color": "#009E73"}, name="true"))
    for number, series in enumerate(diagram.series):
        _add_cells(diagram, figure, series, number, classical)
        _add_histogram(diagram, figure, series, number)
    figure.update_layout(
        template="plotly_white",
        margin={"l": 60, "r": 20, "t": 40, "b": 50},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        xaxis={
            "title": f"predicted probability of {event_name(diagram)}",
            "range": [-0.02, 1.02],
            "anchor": "y2",
        },
        yaxis={
            "title": "observed frequency" if classical else "observed − predicted",
            "domain": [0.24, 1],
            "zeroline": False,
        },
        yaxis2={"title": "share", "domain": [0, 0.18], "rangemode": "tozero", "nticks": 3},
        barmode="group",
        bargap=0.05,
        hoverlabel={"align": "left"},
    )
    return figure


def _add_cells(
    diagram: ReliabilityDiagram, figure: Figure, series: Series, number: int, classical: bool
) -> None:
    e = diagram.event
    fn = series.function
    alone = len(diagram.series) == 1
    off = series.significant(diagram.alpha)
    zero = fn.predicted[:, e] if classical else np.zeros(fn.n_cells)
    colour = MODELS[number % len(MODELS)]
    _add_limits(diagram, figure, series, zero, alone)
    near = BLUE if alone else colour
    colours = [VERMILLION if o and alone else near for o in off]
    marker: dict[str, Any] = {
        "size": 10,
        "color": colours,
        "symbol": ["circle" if o else "x-thin" for o in off],
        "line": {"width": [1 if o else 2.5 for o in off], "color": colours},
    }
    figure.add_trace(
        Scatter(
            x=fn.predicted[:, e],
            y=zero + fn.deviations[:, e],
            mode="markers",
            marker=marker,
            text=hover_texts(diagram, series),
            hovertemplate="%{text}<extra></extra>",
            name=series.name or "cells (dots: off, crosses: not significant)",
            legendgroup=series.name,
        )
    )


def _add_limits(
    diagram: ReliabilityDiagram, figure: Figure, series: Series, zero: Any, alone: bool
) -> None:
    """Draw the consistency limits as thick lines with gaps, which a legend can show."""
    e = diagram.event
    cells, x = series.cells, series.function.predicted[:, e]
    ends = np.stack((zero + cells.lower[:, e], zero + cells.upper[:, e], np.full_like(x, np.nan)))
    figure.add_trace(
        Scatter(
            x=np.repeat(x, 3),
            y=ends.T.reshape(-1),
            mode="lines",
            line={"color": "rgba(138,138,138,0.55)", "width": 6},
            hoverinfo="skip",
            name=f"{cells.level:.0%} if calibrated",
            legendgroup=series.name,
            showlegend=alone,
        )
    )


def _add_histogram(
    diagram: ReliabilityDiagram, figure: Figure, series: Series, number: int
) -> None:
    edges = diagram.edges
    colour = PALE if len(diagram.series) == 1 else MODELS[number % len(MODELS)]
    figure.add_trace(
        Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=series.histogram,
            marker={"color": colour},
            yaxis="y2",
            hovertemplate="%{y:.1%} of predictions near %{x:.2f}<extra></extra>",
            showlegend=False,
            legendgroup=series.name,
        )
    )
