"""Three outcomes: arrows on the probability simplex."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from plotly.colors import sample_colorscale
from plotly.graph_objects import Figure, Scatterternary

from calibrant.diagrams.diagram import Mask, ReliabilityDiagram, Series
from calibrant.diagrams.interactive.layout import (
    BELOW,
    SHARE_COLOURS,
    finish,
    share_marker,
    with_gaps,
)
from calibrant.diagrams.style import (
    CORNERS,
    FADED,
    FEW_ROWS,
    INK,
    MUTED,
    VERMILLION,
    arrow_looks,
    escaped,
    hover_texts,
    limits_name,
    off_name,
)

Floats = NDArray[np.float64]

AXIS = {
    "title": {"text": ""},
    "showgrid": False,
    "ticks": "outside",
    "tickvals": [0.25, 0.5, 0.75],
    "linecolor": INK,
}
LEVELS = 32  # of colour; cells of one level are one trace, however many there are


def triangle(diagram: ReliabilityDiagram, *, regions: bool) -> Figure:
    """Draw cells coloured by the share of predictions, and arrows to the outcome frequency."""
    series = diagram.series[0]
    figure = Figure()
    if series.corners is None:
        _add_tails(diagram, figure, series)  # dots, under the arrows
    else:
        _add_cells(figure, series.corners[series.shown], series.function.proportions[series.shown])
    if regions:
        _add_regions(figure, series)
    for which, off, faded in arrow_looks(diagram, series):
        style = {"color": VERMILLION if off else MUTED, "width": 2.5 if off else 1.2}
        _add_arrows(figure, series, which, style, _told(diagram, off=off, faded=faded))
    if series.corners is not None:
        _add_tails(diagram, figure, series)  # invisible, above the arrows, for hovering
    _add_names(diagram, figure)
    return finish(
        figure,
        margin={"l": 90, "r": 40, "t": 80, "b": 100},
        ternary={
            axis: {**AXIS, "tickfont": {"size": 10, "color": colour}, "tickcolor": colour}
            for axis, colour in zip(("aaxis", "baxis", "caxis"), CORNERS, strict=True)
        },
        legend={**BELOW, "y": -0.18},
    )


def _told(diagram: ReliabilityDiagram, *, off: bool, faded: bool) -> dict[str, Any]:
    """Return name and opacity of arrows of one look."""
    if faded:
        return {"name": FEW_ROWS, "opacity": FADED}
    return {"name": off_name(diagram) if off else "not significant", "opacity": 1.0}


def _abc(points: Floats) -> dict[str, Floats]:
    return {"a": points[..., 0], "b": points[..., 1], "c": points[..., 2]}


def _lines(points: Floats, style: dict[str, Any], **more: Any) -> Scatterternary:
    settings = {"hoverinfo": "skip", "showlegend": False, "mode": "lines", **more}
    return Scatterternary(**_abc(points), line=style, **settings)


def _add_cells(figure: Figure, corners: Floats, shares: Floats) -> None:
    """Fill the cells, those of one level of colour as one trace."""
    level = np.ceil(LEVELS * shares / shares.max()).astype(int)
    closed = np.concatenate((corners, corners[:, :1]), axis=1)
    for found in np.unique(level):
        (colour,) = sample_colorscale(SHARE_COLOURS, [found / LEVELS])
        fill = {"fill": "toself", "fillcolor": colour}
        style = {"color": "white", "width": 1}
        figure.add_trace(_lines(with_gaps(closed[level == found]), style, **fill))


def _add_regions(figure: Figure, series: Series) -> None:
    assert series.cells.regions is not None
    style = {"color": INK, "width": 1, "dash": "dot"}
    outlines = with_gaps(series.cells.regions[series.shown])
    figure.add_trace(_lines(outlines, style, name=limits_name(series), showlegend=True))


def _add_arrows(
    figure: Figure, series: Series, which: Mask, style: dict[str, Any], more: dict[str, Any]
) -> None:
    """Draw arrows; heads of those that end on a side are cut off there."""
    fn = series.function
    lines = np.stack((fn.predicted[which], fn.observed[which]), axis=1)
    figure.add_trace(
        _lines(
            with_gaps(lines),
            style,
            mode="lines+markers",
            marker={
                "symbol": "arrow",
                "size": [0, 4 + 4 * style["width"], 0] * len(lines),
                "angleref": "previous",
                "color": style["color"],
                "opacity": 1,
                "line": {"width": 0},
            },
            showlegend=bool(which.any()),
            **more,
        )
    )


def _add_tails(diagram: ReliabilityDiagram, figure: Figure, series: Series) -> None:
    """Put marks at the mean predictions: dots, or nothing but the text on hovering."""
    shown = series.shown
    shares = series.function.proportions[shown]
    dots = series.corners is None
    size = 6 + 14 * np.sqrt(shares / shares.max()) if dots else np.full(shares.size, 12.0)
    figure.add_trace(
        Scatterternary(
            **_abc(series.function.predicted[shown]),
            mode="markers",
            marker={**share_marker(shares, size), "opacity": 1 if dots else 0},
            text=[text for text, s in zip(hover_texts(diagram, series), shown, strict=True) if s],
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )
    )


def _add_names(diagram: ReliabilityDiagram, figure: Figure) -> None:
    """Name the corners; unlike titles of axes, they grow away from the triangle."""
    figure.add_trace(
        Scatterternary(
            **_abc(np.eye(3)),
            mode="text",
            text=[
                gap + escaped(name, 11)
                for gap, name in zip(("", "<br>", "<br>"), diagram.classes, strict=True)
            ],
            textposition=["top center", "bottom center", "bottom center"],
            textfont={"color": CORNERS, "size": 13},
            cliponaxis=False,
            hoverinfo="skip",
            showlegend=False,
        )
    )
