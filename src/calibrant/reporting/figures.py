"""Diagrams become parts of the page: charts of one and two dimensions, a script for three."""

import json
from typing import Any

from calibrant.diagrams import CurveDiagram, ReliabilityDiagram
from calibrant.diagrams.style import GREY, INK, MUTED, SHARES, VERMILLION, event_name
from calibrant.reporting import charts
from calibrant.words import pvalue

HOW_TO_READ = {
    "line": "Each mark is a cell of similar predictions. Below the line the outcome was rarer"
    " than predicted: the probabilities were too high. Grey bars: where calibrated predictions"
    " would lie.",
    "models": "Each mark is a cell of similar predictions of one model. Below the line the outcome"
    " was rarer than predicted: the probabilities were too high. Bars in the colour of a model:"
    " where its predictions would lie if it were calibrated.",
    "curve": "The same predictions without cells: the increasing curve that is nearest to what"
    " occurred. Below the diagonal the probabilities were too high. Grey: where the curve of a"
    " calibrated model would be.",
    "triangle": "Each arrow leads from the mean prediction of a cell to the frequencies that were"
    " observed in it. The nearer to a corner, the more probable its outcome.",
    "tetrahedron": "Each arrow leads from the mean prediction of a cell to the frequencies that"
    " were observed in it. The nearer to a corner, the more probable its class. Drag to turn.",
}
COLOURS = {  # of a figure, by their names in the style sheet
    "ink": INK,
    "muted": MUTED,
    "limit": GREY,
    "off": VERMILLION,
    **{f"share{i}": colour for i, colour in enumerate(SHARES)},
}


def figure_parts(diagram: ReliabilityDiagram, element: str, found: str = "") -> dict[str, Any]:
    """Return what the page needs to show a diagram.

    element : identifies it on the page
    found : what it shows, in a sentence, for those who cannot see it
    """
    if diagram.n_outcomes == 4:
        return _tetrahedron(diagram, element, found)
    if diagram.n_outcomes == 3:
        label = f"Triangle of {_listed(diagram)}, with an arrow for each cell. {found}"
        return _parts("triangle", element, charts.triangle(diagram, label.strip(), element))
    names = [series.name for series in diagram.series if series.name]
    of = f" of {', '.join(names)}" if names else ""
    label = (
        f"Observed minus predicted frequency of {event_name(diagram)}{of}, for each cell. {found}"
    )
    return _parts("models" if names else "line", element, charts.line(diagram, label.strip()))


def curve_parts(diagram: CurveDiagram, element: str) -> dict[str, Any]:
    """Return what the page needs to show a curve."""
    told = _summary(diagram)
    label = f"Observed frequency of {event_name(diagram)} over its predicted probability. {told}"
    return _parts("curve", element, charts.curve(diagram, label)) | {"summary": told}


def _summary(diagram: CurveDiagram) -> str:
    """Say whether a curve is further off than chance allows."""
    p = diagram.series[0].pvalue
    which = "The curve is" if p <= diagram.alpha else "No part of the curve is"
    return f"{which} further off than chance allows: {pvalue(p)} for the whole curve."


def _parts(kind: str, element: str, chart: charts.Chart) -> dict[str, Any]:
    return {"kind": kind, "id": element, "chart": chart, "how_to_read": HOW_TO_READ[kind]}


def _tetrahedron(diagram: ReliabilityDiagram, element: str, found: str) -> dict[str, Any]:
    """Return the figure as JSON that may stand in a script element."""
    return {
        "kind": "tetrahedron",
        "id": element,
        "how_to_read": HOW_TO_READ["tetrahedron"],
        "label": f"Tetrahedron of {_listed(diagram)}, with an arrow for each cell. {found}".strip(),
        "colours": json.dumps(COLOURS),
        "figure": diagram.figure().to_json().replace("<", "\\u003c"),
    }


def _listed(diagram: ReliabilityDiagram) -> str:
    return ", ".join(diagram.classes)
