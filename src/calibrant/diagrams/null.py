"""What a test compares: the statistic of the data among those of a calibrated model."""

import numpy as np

from calibrant.diagrams.picture import Areas, Frame, Key, Lines, Picture
from calibrant.inference import CalibrationTest
from calibrant.words import many, percent

BARS = 30


def null_picture(test: CalibrationTest, name: str) -> Picture:
    """Show the null distribution of a statistic, of this name, and the value of the data in it."""
    finite = test.null[np.isfinite(test.null)]
    ends = np.append(finite, test.statistic if np.isfinite(test.statistic) else finite.max())
    low, high = float(ends.min()), float(ends.max())
    margin = 0.04 * (high - low) or 0.5
    counts, edges = np.histogram(finite, BARS, (low, high) if high > low else (low - 1, low + 1))
    shares = counts / max(1, test.null.size)
    left, right, zero = edges[:-1], edges[1:], np.zeros(BARS)
    corners = ((left, zero), (left, shares), (right, shares), (right, zero))
    at = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
    notes = tuple(
        f"{percent(share)} of {many(test.null.size, 'data set')}\nfrom {a:.4g} to {b:.4g}"
        for share, a, b in zip(shares, left, right, strict=True)
    )
    top = 1.08 * float(shares.max(initial=0.0)) or 1.0
    value = min(test.statistic, high)
    return Picture(
        label=f"The {name} of the data, {test.statistic:.4g}, and of calibrated models.",
        parts=(
            Areas(at, "band", notes=notes),
            Lines(np.array([[[value, 0.0], [value, top]]]), "rate"),
        ),
        keys=(
            Key("if the model were calibrated", "area", "band"),
            Key(f"these data: {test.statistic:.4g}", "line", "rate"),
        ),
        frame=Frame(name, "share of data sets", (low - margin, high + margin), (0.0, top)),
    )
