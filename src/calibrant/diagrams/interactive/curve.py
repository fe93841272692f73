"""Curves over the predictions of two outcomes."""

from typing import Any

import numpy as np
from plotly.graph_objects import Figure, Scatter

from calibrant.diagrams.curve import CurveDiagram, CurveSeries
from calibrant.diagrams.interactive.layout import SQUARE, finish, two_axes
from calibrant.diagrams.style import (
    BLUE,
    GREY,
    INK,
    PALE,
    VERMILLION,
    band_name,
    curve_limits,
    curve_off_name,
    curve_range,
    escaped,
    event_name,
    model_colour,
)
from calibrant.words import pvalue


def curve(diagram: CurveDiagram, *, confidence: bool) -> Figure:
    """Draw the curve of each model on its band."""
    square = diagram.kind.diagonal
    figure = Figure()
    ends = {"x": [0, 1], "y": [0, 1 if square else 0]}
    figure.add_trace(_line(**ends, colour=INK, width=1, hoverinfo="skip", showlegend=False))
    for i, series in enumerate(diagram.series):
        _add_band(diagram, figure, i, confidence)
        _add_curve(diagram, figure, i)
        if series.density is not None:
            _add_density(diagram, figure, i)
    extent = SQUARE if square else curve_range(diagram, confidence=confidence)
    title = diagram.kind.horizontal.format(event_name(diagram))
    axes = two_axes(title, diagram.kind.vertical, extent, square=square)
    if not square:
        del axes["yaxis2"]
        axes["yaxis"]["domain"] = [0, 1]
        axes["xaxis"]["anchor"] = "y"
    return finish(figure, **axes, modebar={"orientation": "v"})


def _line(*, colour: str, width: float, **more: Any) -> Scatter:
    return Scatter(mode="lines", line={"color": colour, "width": width}, **more)


def _group(diagram: CurveDiagram, i: int) -> dict[str, Any]:
    """Return what the traces of model i share, so that one click hides them all."""
    return {} if len(diagram.series) == 1 else {"legendgroup": str(i)}


def _add_band(diagram: CurveDiagram, figure: Figure, i: int, confidence: bool) -> None:
    """Fill the space between the limits, from one gap to the next."""
    series, alone = diagram.series[i], len(diagram.series) == 1
    lower, upper = curve_limits(diagram, series, confidence=confidence)
    for k, piece in enumerate(series.pieces):
        around = [series.x[piece], series.x[piece][::-1]]
        figure.add_trace(
            Scatter(
                x=np.concatenate(around),
                y=np.concatenate((lower[piece], upper[piece][::-1])),
                fill="toself",
                fillcolor=GREY if alone else model_colour(i),
                opacity=0.3 if alone else 0.15,
                mode="lines",
                line={"width": 0},
                hoverinfo="skip",
                name=band_name(diagram, confidence=confidence),
                showlegend=i == 0 and k == 0,
                **_group(diagram, i),
            )
        )


def _add_curve(diagram: CurveDiagram, figure: Figure, i: int) -> None:
    """Draw the curve of model i, and what of it is off in front."""
    series, alone = diagram.series[i], len(diagram.series) == 1
    colour = BLUE if alone else model_colour(i)
    gaps = [piece.start for piece in series.pieces[1:]]
    x, y, texts = (np.insert(each, gaps, value) for each, value in _drawn(diagram, series))
    off = np.insert(series.band.pvalues <= diagram.alpha, gaps, False)
    name = diagram.kind.name if alone else escaped(series.name, 30)
    shared = {"x": x, "text": texts, "hovertemplate": "%{text}<extra></extra>"}
    named = {"name": name, **_group(diagram, i)}
    figure.add_trace(_line(**shared, **named, y=y, colour=colour, width=2))
    figure.add_trace(
        _line(
            x=x,
            y=np.where(off, y, np.nan),
            colour=VERMILLION if alone else colour,
            width=5,
            hoverinfo="skip",
            name=curve_off_name(diagram),
            showlegend=i == 0,
            **_group(diagram, i),
        )
    )


def _drawn(diagram: CurveDiagram, series: CurveSeries) -> list[tuple[Any, Any]]:
    """Return the points and their texts, each with what stands for a gap."""
    texts = np.array(_texts(diagram, series), dtype=object)
    return [(series.x, np.nan), (series.y, np.nan), (texts, "")]


def _texts(diagram: CurveDiagram, series: CurveSeries) -> list[str]:
    """Describe every point."""
    title = f"<b>{escaped(series.name, 60)}</b><br>" if series.name else ""
    lower, upper = series.limits(diagram.kind)
    rows = zip(
        series.predictions, series.x, series.y, lower, upper, series.band.pvalues, strict=True
    )
    told = "{}predicted {:.3f}, {} {:.4g}<br>{} {:.4g} to {:.4g}<br>adjusted {}"
    band = band_name(diagram, confidence=False)
    what = "observed" if diagram.kind.diagonal else "cumulative difference"
    size = series.band.largest.size
    return [
        told.format(title, p, what, y, band, a, b, pvalue(q, size)) for p, _, y, a, b, q in rows
    ]


def _add_density(diagram: CurveDiagram, figure: Figure, i: int) -> None:
    series, alone = diagram.series[i], len(diagram.series) == 1
    assert series.density is not None
    bins = series.density.size
    figure.add_trace(
        Scatter(
            x=(np.arange(bins) + 0.5) / bins,
            y=series.density,
            yaxis="y2",
            mode="lines",
            line={"width": 0 if alone else 1.5, "color": model_colour(i), "shape": "hvh"},
            fill="tozeroy" if alone else None,
            fillcolor=PALE,
            hoverinfo="skip",
            name="share of predictions",
            showlegend=alone,
            **_group(diagram, i),
        )
    )
