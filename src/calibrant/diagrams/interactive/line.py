"""Two outcomes: the deviation over the prediction, or the classical view."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from plotly.graph_objects import Bar, Figure, Scatter

from calibrant.diagrams.diagram import ReliabilityDiagram, Series, Truth
from calibrant.diagrams.interactive.layout import finish, with_gaps
from calibrant.diagrams.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    MODELS,
    PALE,
    VERMILLION,
    escaped,
    event_name,
    hover_texts,
    limits_name,
    off_name,
    truth_at,
)

Floats = NDArray[np.float64]

SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")


def line(diagram: ReliabilityDiagram, *, classical: bool, truth: Truth | None) -> Figure:
    """Draw marks for the cells, over a strip with the distribution of predictions."""
    figure = Figure()
    ends = [0, 1]
    figure.add_trace(_curve(ends, ends if classical else [0, 0], INK, showlegend=False))
    if truth is not None:
        x = truth_at()
        y = np.asarray(truth(x)) - (0 if classical else x)
        figure.add_trace(_curve(x, y, GREEN, name="true"))
    for number, series in enumerate(diagram.series):
        _add_limits(diagram, figure, series, number, classical)
        _add_cells(diagram, figure, series, number, classical)
        _add_histogram(diagram, figure, series, number)
    if len(diagram.series) > 1:
        _explain(diagram, figure)
    return finish(
        figure,
        xaxis={
            "title": {"text": escaped(f"predicted probability of {event_name(diagram)}", 60)},
            "range": [-0.02, 1.02],
            "anchor": "y2",
            "zeroline": False,
        },
        yaxis={
            "title": {"text": "observed frequency" if classical else "observed − predicted"},
            "domain": [0.26, 1],
            "zeroline": False,
        },
        yaxis2={
            "title": {"text": "share"},
            "domain": [0, 0.2],
            "rangemode": "tozero",
            "nticks": 3,
            "tickformat": "~%",
        },
        barmode="group",
        bargap=0.05,
        modebar={"orientation": "v"},  # beside the drawing, not over the legend
    )


def _curve(x: Any, y: Any, colour: str, **more: Any) -> Scatter:
    style = {"color": colour, "width": 1 if colour == INK else 2}
    return Scatter(x=x, y=y, mode="lines", line=style, hoverinfo="skip", **more)


def _add_cells(
    diagram: ReliabilityDiagram, figure: Figure, series: Series, number: int, classical: bool
) -> None:
    e, fn = diagram.event, series.function
    alone = len(diagram.series) == 1
    off = series.significant(diagram.alpha)
    y = fn.deviations[:, e] + (fn.predicted[:, e] if classical else 0)
    texts = np.array(hover_texts(diagram, series), dtype=object)
    for which, name, marker in (
        (~off, "not significant", _mark(number, alone, False)),
        (off, off_name(diagram), _mark(number, alone, True)),
    ):
        drawn = which & series.shown
        figure.add_trace(
            Scatter(
                x=fn.predicted[drawn, e],
                y=y[drawn],
                mode="markers",
                marker=marker,
                text=texts[drawn],
                hovertemplate="%{text}<extra></extra>",
                name=name if alone else escaped(series.name, 30),
                legendgroup="" if alone else str(number),
                showlegend=bool(alone or (drawn.any() and (off is which or not off.any()))),
            )
        )


def _mark(number: int, alone: bool, off: bool) -> dict[str, Any]:
    """Return the mark of a cell, as in the static picture."""
    if alone:
        colour = VERMILLION if off else BLUE
        symbol, width = ("circle", 0) if off else ("x-thin", 2.5)
        return {
            "symbol": symbol,
            "size": 9,
            "color": colour,
            "line": {"width": width, "color": colour},
        }
    colour, symbol = MODELS[number % len(MODELS)], SYMBOLS[number % len(SYMBOLS)]
    fill = colour if off else "white"
    return {"symbol": symbol, "size": 9, "color": fill, "line": {"width": 1.8, "color": colour}}


def _add_limits(
    diagram: ReliabilityDiagram, figure: Figure, series: Series, number: int, classical: bool
) -> None:
    """Draw the consistency limits as thick lines with gaps, which a legend can show."""
    e, shown = diagram.event, series.shown
    alone = len(diagram.series) == 1
    x = series.function.predicted[shown, e]
    zero = x if classical else np.zeros_like(x)
    limits = np.stack((series.cells.lower[shown, e], series.cells.upper[shown, e]), axis=1)
    ends = np.stack((np.repeat(x[:, None], 2, axis=1), zero[:, None] + limits), axis=2)
    points = with_gaps(ends)
    style = {"color": GREY if alone else MODELS[number % len(MODELS)], "width": 5 if alone else 3}
    figure.add_trace(
        Scatter(
            x=points[:, 0],
            y=points[:, 1],
            mode="lines",
            line=style,
            opacity=0.5,
            hoverinfo="skip",
            name=limits_name(series),
            legendgroup="" if alone else str(number),
            showlegend=alone,
        )
    )


def _add_histogram(
    diagram: ReliabilityDiagram, figure: Figure, series: Series, number: int
) -> None:
    edges = diagram.edges
    alone = len(diagram.series) == 1
    figure.add_trace(
        Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=series.histogram,
            marker={"color": PALE if alone else MODELS[number % len(MODELS)]},
            yaxis="y2",
            customdata=np.stack((edges[:-1], edges[1:]), axis=1),
            hovertemplate="%{y:.1%} of predictions from %{customdata[0]:.3~g}"
            " to %{customdata[1]:.3~g}<extra></extra>",
            name="share of predictions",
            legendgroup="" if alone else str(number),
            showlegend=alone,
        )
    )


def _explain(diagram: ReliabilityDiagram, figure: Figure) -> None:
    """Say in the legend what filled and hollow marks mean."""
    for name, fill in ((off_name(diagram), INK), ("not significant", "white")):
        marker = {
            "symbol": "circle",
            "size": 9,
            "color": fill,
            "line": {"width": 1.8, "color": INK},
        }
        figure.add_trace(Scatter(x=[None], y=[None], mode="markers", marker=marker, name=name))
