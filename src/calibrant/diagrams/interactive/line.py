"""Two outcomes: the deviation over the prediction, or the classical view."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from plotly.graph_objects import Bar, Figure, Scatter

from calibrant.diagrams.diagram import ReliabilityDiagram, Truth
from calibrant.diagrams.interactive.layout import SQUARE, finish, two_axes, with_gaps
from calibrant.diagrams.style import (
    BEYOND,
    BLUE,
    GREEN,
    GREY,
    INK,
    PALE,
    VERMILLION,
    Range,
    escaped,
    event_name,
    hover_texts,
    limits_name,
    model_colour,
    off_name,
    summary_lines,
    truth_at,
    vertical_range,
)

Floats = NDArray[np.float64]

SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")


def line(
    diagram: ReliabilityDiagram, *, classical: bool, truth: Truth | None, summary: bool
) -> Figure:
    """Draw marks for the cells, over a strip with the distribution of predictions."""
    figure = Figure()
    ends = [0, 1]
    figure.add_trace(_curve(ends, ends if classical else [0, 0], INK, showlegend=False))
    if truth is not None:
        x = truth_at()
        y = np.asarray(truth(x)) - (0 if classical else x)
        figure.add_trace(_curve(x, y, GREEN, name="true"))
    extent = SQUARE if classical else vertical_range(diagram, truth)
    for i in range(len(diagram.series)):
        _add_limits(diagram, figure, i, classical)
        _add_cells(diagram, figure, i, extent, classical)
        _add_histogram(diagram, figure, i)
    _explain_marks(diagram, figure, extent, classical)
    if summary:
        _add_summary(diagram, figure)
    title = f"predicted probability of {event_name(diagram)}"
    vertical = "observed frequency" if classical else "observed − predicted"
    return finish(
        figure,
        **two_axes(title, vertical, extent, square=classical),
        barmode="group",
        bargap=0.05,
        modebar={"orientation": "v"},  # beside the drawing, not over the legend
    )


def _curve(x: Any, y: Any, colour: str, **more: Any) -> Scatter:
    style = {"color": colour, "width": 1 if colour == INK else 2}
    return Scatter(x=x, y=y, mode="lines", line=style, hoverinfo="skip", **more)


def _legend_group(diagram: ReliabilityDiagram, i: int) -> str:
    """Return what the traces of model i share, so that one click hides them all."""
    return "" if len(diagram.series) == 1 else str(i)


def _add_cells(
    diagram: ReliabilityDiagram, figure: Figure, i: int, extent: Range, classical: bool
) -> None:
    """Add the marks of model i: of cells that are not significant, then of those that are."""
    e, series = diagram.event, diagram.series[i]
    fn, alone = series.function, len(diagram.series) == 1
    y = fn.deviations[:, e] + (fn.predicted[:, e] if classical else 0)
    texts = np.array(hover_texts(diagram, series), dtype=object)
    off = series.significant(diagram.alpha)
    near, far = ~off & series.shown, off & series.shown
    # Of more than one model, one trace stands for both in the legend.
    named = far if off.any() else near
    size = 6 + 8 * np.sqrt(fn.proportions / fn.proportions.max())
    beyond = (y < extent[0]) | (y > extent[1])
    texts[beyond] += f"<br><i>{BEYOND}</i>"
    for drawn, name, marker in (
        (near, "not significant", _mark(i, alone, off=False)),
        (far, off_name(diagram), _mark(i, alone, off=True)),
    ):
        # The first mark is the one in the legend.
        which = np.concatenate((np.flatnonzero(drawn & ~beyond), np.flatnonzero(drawn & beyond)))
        symbols = _symbols(y[which], extent, marker["symbol"])
        figure.add_trace(
            Scatter(
                x=fn.predicted[which, e],
                y=np.clip(y[which], *extent),
                mode="markers",
                marker={**marker, "size": size[which], "symbol": symbols, "opacity": 1},
                cliponaxis=False,
                text=texts[which],
                hovertemplate="%{text}<extra></extra>",
                name=name if alone else escaped(series.name, 30),
                legendgroup=_legend_group(diagram, i),
                showlegend=alone or (drawn is named and bool(drawn.any())),
            )
        )


def _symbols(y: Floats, extent: Range, usual: str) -> list[str]:
    """Return the symbol of each mark: a triangle that points to where it would be."""
    known = {-1: "triangle-down", 0: usual, 1: "triangle-up"}
    return [known[int(v > extent[1]) - int(v < extent[0])] for v in y]


def _mark(i: int, alone: bool, *, off: bool) -> dict[str, Any]:
    """Return the mark of a cell of model i, as in the static picture."""
    colour = model_colour(i)
    if alone:
        colour = VERMILLION if off else BLUE
    symbol = "circle" if alone else SYMBOLS[i % len(SYMBOLS)]
    return _marker(symbol, colour if off else "white", {"width": 1.8, "color": colour})


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


def _add_summary(diagram: ReliabilityDiagram, figure: Figure) -> None:
    """Write rows, size and p-value into the upper left corner."""
    figure.add_annotation(
        text="<br>".join(escaped(line) for line in summary_lines(diagram)),
        x=0.02,
        y=1.0,
        align="left",
        xanchor="left",
        yanchor="top",
        showarrow=False,
        font={"size": 12, "color": INK},
    )


def _explain_marks(
    diagram: ReliabilityDiagram, figure: Figure, extent: Range, classical: bool
) -> None:
    """Say in the legend what filled and hollow marks mean, and those at the end of the axis."""
    told = []
    if len(diagram.series) > 1:
        told = [(off_name(diagram), "circle", INK), ("not significant", "circle", "white")]
    if not classical and any(
        (np.clip(y, *extent) != y).any()
        for y in (s.function.deviations[s.shown, diagram.event] for s in diagram.series)
    ):
        told.append((BEYOND, "triangle-up", "white"))
    for name, symbol, fill in told:
        marker = _marker(symbol, fill, {"width": 1.8, "color": INK})
        figure.add_trace(Scatter(x=[None], y=[None], mode="markers", marker=marker, name=name))
