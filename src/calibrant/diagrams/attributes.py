"""The attributes diagram of forecasters: a reliability diagram with climatology and no skill.

A bin adds to the Brier skill where its frequency is nearer to its mean forecast than to climatology
c: beyond the line of no skill, y = (p + c) / 2, on the side of the diagonal (Hsu and Murphy, 1986).
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calibrant.diagrams.familiar import line_picture, means
from calibrant.diagrams.picture import Areas, Key, Lines, Picture

if TYPE_CHECKING:
    from calibrant.diagrams.reliability import ReliabilityDiagram


def attributes_picture(diagram: "ReliabilityDiagram", climatology: float | None) -> Picture:
    """Add climatology, the line of no skill, and where there is skill, to the line of one model.

    climatology : probability of the event from a longer record; None for its frequency here
    """
    if len(diagram.series) > 1:
        raise ValueError(
            "an attributes diagram is for one model, since models of other rows have another"
            f" climatology; found {len(diagram.series)}. Draw several with style='line'."
        )
    drawn = line_picture(diagram)
    rate = means(diagram, diagram.series[0])[1] if climatology is None else climatology
    skilful = [
        [(0.0, 0.0), (rate, 0.0), (rate, rate), (0.0, rate / 2)],
        [(rate, rate), (rate, 1.0), (1.0, 1.0), (1.0, (1 + rate) / 2)],
    ]
    back = Areas(np.array(skilful), "skill")
    lines = (
        Lines(np.array([[(0.0, rate), (1.0, rate)], [(rate, 0.0), (rate, 1.0)]]), "climatology"),
        Lines(np.array([[(0.0, rate / 2), (1.0, (1 + rate) / 2)]]), "region"),
    )
    keys = (
        *drawn.keys,
        Key(f"climatology {rate:.3f}", "line", "climatology"),
        Key("no skill", "line", "region"),
        Key("positive skill", "area", "skill"),
    )
    return replace(drawn, parts=(back, *lines, *drawn.parts), keys=keys)
