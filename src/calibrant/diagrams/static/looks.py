"""Colours and styles of the looks of a picture.

The colours are those of Okabe and Ito, which people with any colour vision tell apart. What
is significant also differs in shape or width, and models differ in shape, so that it shows
in grey.
"""

from typing import Any

from matplotlib.colors import LinearSegmentedColormap

from calibrant.diagrams.pictures.picture import ANY

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
GREY = "#8A8A8A"
MUTED = "#767676"
PALE = "#BFD7EA"
INK = "#222222"
MODELS = (BLUE, "#E69F00", GREEN, "#CC79A7", "#56B4E9", "#000000")
CORNERS = ("#00598C", "#00694C", "#8F3D68")  # of a triangle: top, left, right; ticks have them too
FADED = 0.3  # opacity of the arrow of a bin that holds few rows and is not significant
SHARES = ("#EDF4FA", "#A6CBE5", "#5A9BCB")  # ends early, so that arrows show on every bin
SHARE_COLOURS = LinearSegmentedColormap.from_list("shares", SHARES)

MARKERS = {
    "circle": "o",
    "square": "s",
    "up": "^",
    "diamond": "D",
    "down": "v",
    "cross": "P",
    "x": "X",
}

LOOKS: dict[str, dict[str, Any]] = {  # of lines, areas and texts
    "zero": {"color": INK, "lw": 0.8},
    "limits": {"color": GREY, "lw": 3.5, "alpha": 0.55},
    "true": {"color": GREEN, "lw": 1.4},
    "band": {"color": GREY, "lw": 0, "alpha": 0.3},
    "bar": {"color": PALE, "lw": 0},
    "curve": {"color": BLUE, "lw": 1.4},
    "curve off": {"color": VERMILLION, "lw": 2.6},
    "equal": {"color": PALE, "lw": 0.8},
    "chance": {"color": GREY, "lw": 1.0, "alpha": 0.6},
    "leader": {"color": GREY, "lw": 0.5},
    "region": {"color": INK, "lw": 0.7, "ls": ":"},
    "outline": {"color": INK, "lw": 0.8},
    "arrow": {"color": MUTED, "lw": 1.0},
    "arrow faded": {"color": MUTED, "lw": 1.0, "alpha": FADED},
    "arrow off": {"color": VERMILLION, "lw": 2.0},
    "name": {"color": INK},
    "small": {"color": MUTED},
    **{f"corner{k}": {"color": colour, "lw": 0.8} for k, colour in enumerate(CORNERS)},
}
OF_MODELS: dict[str, dict[str, Any]] = {"limits": {"lw": 2.0}, "band": {"alpha": 0.12}}


def model_colour(model: int) -> str:
    """Return the colour of a model; there are six."""
    return INK if model == ANY else MODELS[model % len(MODELS)]


def style_of(look: str, model: int | None) -> dict[str, Any]:
    """Return colour, width, opacity and dashes of lines or areas."""
    style = {"ls": "-", "alpha": 1.0, **LOOKS[look]}
    if model is None:
        return style
    return {**style, **OF_MODELS.get(look, {}), "color": model_colour(model)}


def mark_colours(off: bool, model: int | None) -> tuple[str, str]:
    """Return the colours of the edge and of the inside of a mark."""
    edge = VERMILLION if off else BLUE
    if model is not None:
        edge = model_colour(model)
    return edge, edge if off else "white"
