"""What all figures share: the legend, margins, hover labels and the scale of colours."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from plotly.colors import make_colorscale
from plotly.graph_objects import Figure

from calibrant.diagrams.style import GREY, SHARES, Range, escaped

SHARE_COLOURS = make_colorscale(SHARES)

Floats = NDArray[np.float64]

ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0.5, "xanchor": "center"}
SQUARE = -0.02, 1.02  # range of both axes of a classical view
BELOW = {"orientation": "h", "y": 0, "yanchor": "top", "x": 0.5, "xanchor": "center"}


def finish(figure: Figure, **more: Any) -> Figure:
    """Set the layout that all figures share."""
    settings: dict[str, Any] = {
        "template": "plotly_white",
        "margin": {"l": 70, "r": 30, "t": 70, "b": 60},
        "legend": {**ABOVE, "itemsizing": "constant"},
        "hovermode": "closest",
        "hoverdistance": 40,
        "hoverlabel": {"align": "left"},
        **more,
    }
    return figure.update_layout(settings)


def two_axes(horizontal: str, vertical: str, extent: Range, *, square: bool) -> dict[str, Any]:
    """Return the axes: predictions, what is drawn over them, and the strip below."""
    above: dict[str, Any] = {"title": {"text": vertical}, "domain": [0.26, 1], "zeroline": False}
    below = {"domain": [0, 0.2], "rangemode": "tozero", "nticks": 3, "tickformat": "~%"}
    if square:
        below["domain"] = [0, 0.13]
        above |= {"domain": [0.18, 1]}
        above |= {"scaleanchor": "x", "scaleratio": 1, "constrain": "domain"}
    return {
        "xaxis": {
            "title": {"text": escaped(horizontal, 60)},
            "range": list(SQUARE),
            "anchor": "y2",
            "zeroline": False,
            "constrain": "domain",
        },
        "yaxis": {**above, "range": list(extent)},
        "yaxis2": {"title": {"text": "share"}, **below},
    }


def share_marker(shares: Floats, size: Floats) -> dict[str, Any]:
    """Return markers coloured by the share of predictions, with the scale of colours."""
    return {
        "size": size,
        "color": shares,
        "cmin": 0,
        "cmax": float(shares.max()),
        "colorscale": SHARE_COLOURS,
        "line": {"color": GREY, "width": 1},
        "colorbar": {
            "title": {"text": "share of<br>predictions<br>&nbsp;", "font": {"size": 12}},
            "tickformat": "~%",
            "nticks": 4,
            "len": 0.75,
            "thickness": 14,
            "outlinewidth": 0,
        },
    }


def with_gaps(lines: Floats) -> Floats:
    """Join many lines (lines, points, d) into one (…, d), with gaps between them."""
    gaps = np.full((lines.shape[0], 1, lines.shape[2]), np.nan)
    return np.concatenate((lines, gaps), axis=1).reshape(-1, lines.shape[2])
