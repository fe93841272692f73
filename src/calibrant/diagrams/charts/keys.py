"""What the parts of a chart mean: small drawings, 28 by 14, with words beside them."""

from calibrant.diagrams.charts import svg
from calibrant.diagrams.charts.chart import Key
from calibrant.diagrams.charts.svg import element
from calibrant.diagrams.pictures import picture as pictures
from calibrant.diagrams.pictures.picture import Picture

COLOURS = 6  # of models; the style sheet has them
PALEST = 0.12  # opacity of a bin with hardly any rows
STEPS = 7  # of the scale of shades


def drawn_keys(picture: Picture) -> tuple[Key, ...]:
    """Draw the keys of a picture, and a scale if it has shades."""
    several = any(key.model is not None for key in picture.keys)
    keys = [(_drawn(key, several), key.name) for key in picture.keys]
    largest = picture.largest_share
    if largest > 0:
        keys.append((_scale(), f"share of predictions, 0 to {share(largest)}"))
    return tuple(keys)


def model_class(model: int | None) -> str:
    """Return the class that gives a model its colour; one that is alone has colours by meaning."""
    return "" if model is None else f"of m{model % COLOURS}"


def shade(part: float) -> str:
    """Return the opacity of a bin that holds so much of what the fullest one holds."""
    return f"{PALEST + (1 - PALEST) * part:.2f}"


def share(value: float) -> str:
    """Write a share in per cent, with two digits or more.

    Examples
    --------
    >>> share(0.995).split(), share(0.0123).split()
    (['100', '%'], ['1.2', '%'])
    """
    digits = ".0f" if value >= 0.0995 else ".2g"
    return f"{100 * value:{digits}}\N{NO-BREAK SPACE}%"


def _drawn(key: pictures.Key, several: bool) -> str:
    """Draw a key; what has the colours of several models has that of the text."""
    class_ = model_class(key.model)
    if key.model is None and (several or "any" in key.look):
        class_ = "any"
    if key.sample in ("mark", "dot"):
        radius = 5 if key.sample == "mark" else 3
        drawn = svg.mark(key.shape, (14, 7), radius, key.look.replace(" any", ""))
    elif key.sample == "area":
        drawn = svg.box(4, 24, 12, 2, key.look)
    else:
        drawn = svg.line((2, 7), (26, 7), key.look)
    return element("g", drawn, class_=class_) if class_ else drawn


def _scale() -> str:
    """Draw the shades from the palest to the darkest."""
    steps = []
    for i in range(STEPS):
        step = svg.box(28 / STEPS * i, 28 / STEPS * (i + 1), 12, 2, "shade")
        steps.append(element("g", step, fill_opacity=shade(i / (STEPS - 1))))
    return "".join(steps)
