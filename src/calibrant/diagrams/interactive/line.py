"""Two outcomes: the deviation over the prediction, or the classical view."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from plotly.graph_objects import Bar, Figure, Scatter

from calibrant.diagrams.diagram import ReliabilityDiagram, Truth
from calibrant.diagrams.interactive.layout import finish, with_gaps
from calibrant.diagrams.style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PALE,
    VERMILLION,
    escaped,
    event_name,
    hover_texts,
    limits_name,
    model_colour,
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
    for i in range(len(diagram.series)):
        _add_limits(diagram, figure, i, classical)
        _add_cells(diagram, figure, i, classical)
        _add_histogram(diagram, figure, i)
    if len(diagram.series) > 1:
        _explain_marks(diagram, figure)
    return finish(
        figure,
        **_axes(diagram, "observed frequency" if classical else "observed − predicted"),
        barmode="group",
        bargap=0.05,
        modebar={"orientation": "v"},  # beside the drawing, not over the legend
    )


def _axes(diagram: ReliabilityDiagram, vertical: str) -> dict[str, Any]:
    """Return the axes: predictions, what is drawn over them, and the strip below."""
    return {
        "xaxis": {
            "title": {"text": escaped(f"predicted probability of {event_name(diagram)}", 60)},
            "range": [-0.02, 1.02],
            "anchor": "y2",
            "zeroline": False,
        },
        "yaxis": {"title": {"text": vertical}, "domain": [0.26, 1], "zeroline": False},
        "yaxis2": {
            "title": {"text": "share"},
            "domain": [0, 0.2],
            "rangemode": "tozero",
            "nticks": 3,
            "tickformat": "~%",
        },
    }


def _curve(x: Any, y: Any, colour: str, **more: Any) -> Scatter:
    style = {"color": colour, "width": 1 if colour == INK else 2}
    return Scatter(x=x, y=y, mode="lines", line=style, hoverinfo="skip", **more)


def _legend_group(diagram: ReliabilityDiagram, i: int) -> str:
    """Return what the traces of model i share, so that one click hides them all."""
    return "" if len(diagram.series) == 1 else str(i)


def _add_cells(diagram: ReliabilityDiagram, figure: Figure, i: int, classical: bool) -> None:
    """Add the marks of model i: of cells that are not significant, then of those that are."""
    e, series = diagram.event, diagram.series[i]
    fn, alone = series.function, len(diagram.series) == 1
    y = fn.deviations[:, e] + (fn.predicted[:, e] if classical else 0)
    texts = np.array(hover_texts(diagram, series), dtype=object)
    off = series.significant(diagram.alpha)
    near, far = ~off & series.shown, off & series.shown
    # Of more than one model, one trace stands for both in the legend.
    named = far if off.any() else near
    for drawn, name, marker in (
        (near, "not significant", _mark(i, alone, off=False)),
        (far, off_name(diagram), _mark(i, alone, off=True)),
    ):
        figure.add_trace(
            Scatter(
                x=fn.predicted[drawn, e],
                y=y[drawn],
                mode="markers",
                marker=marker,
                text=texts[drawn],
                hovertemplate="%{text}<extra></extra>",
                name=name if alone else escaped(series.name, 30),
                legendgroup=_legend_group(diagram, i),
                showlegend=alone or (drawn is named and bool(drawn.any())),
            )
        )


def _mark(i: int, alone: bool, *, off: bool) -> dict[str, Any]:
    """Return the mark of a cell of model i, as in the static picture."""
    if alone:
        colour = VERMILLION if off else BLUE
        symbol, width = ("circle", 0) if off else ("x-thin", 2.5)
        return _marker(symbol, colour, {"width": width, "color": colour})
    colour = model_colour(i)
    outline = {"width": 1.8, "color": colour}
    return _marker(SYMBOLS[i % len(SYMBOLS)], colour if off else "white", outline)


def _marker(symbol: str, fill: str, outline: dict[str, Any]) -> dict[str, Any]:
    return {"symbol": symbol, "size": 9, "color": fill, "line": outline}


def _add_limits(diagram: ReliabilityDiagram, figure: Figure, i: int, classical: bool) -> None:
    """Draw the consistency limits as thick lines with gaps, which a legend can show."""
    series, alone = diagram.series[i], len(diagram.series) == 1
    e, shown = diagram.event, series.shown
    x = series.function.predicted[shown, e]
    zero = x if classical else np.zeros_like(x)
    limits = np.stack((series.cells.lower[shown, e], series.cells.upper[shown, e]), axis=1)
    ends = np.stack((np.repeat(x[:, None], 2, axis=1), zero[:, None] + limits), axis=2)
    points = with_gaps(ends)
    style = {"color": GREY if alone else model_colour(i), "width": 5 if alone else 3}
    figure.add_trace(
        Scatter(
            x=points[:, 0],
            y=points[:, 1],
            mode="lines",
            line=style,
            opacity=0.5,
            hoverinfo="skip",
            name=limits_name(series),
            legendgroup=_legend_group(diagram, i),
            showlegend=alone,
        )
    )


def _add_histogram(diagram: ReliabilityDiagram, figure: Figure, i: int) -> None:
    edges = diagram.edges
    alone = len(diagram.series) == 1
    figure.add_trace(
        Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=diagram.series[i].histogram,
            marker={"color": PALE if alone else model_colour(i)},
            yaxis="y2",
            customdata=np.stack((edges[:-1], edges[1:]), axis=1),
            hovertemplate="%{y:.1%} of predictions from %{customdata[0]:.3~g}"
            " to %{customdata[1]:.3~g}<extra></extra>",
            name="share of predictions",
            legendgroup=_legend_group(diagram, i),
            showlegend=alone,
        )
    )


def _explain_marks(diagram: ReliabilityDiagram, figure: Figure) -> None:
    """Say in the legend what filled and hollow marks mean."""
    for name, fill in ((off_name(diagram), INK), ("not significant", "white")):
        marker = _marker("circle", fill, {"width": 1.8, "color": INK})
        figure.add_trace(Scatter(x=[None], y=[None], mode="markers", marker=marker, name=name))
