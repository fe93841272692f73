"""Diagrams become parts of the page."""

from typing import Any

from calibrant.diagrams import CurveDiagram, ReliabilityDiagram
from calibrant.diagrams.style import event_name
from calibrant.inference import Slices
from calibrant.reporting import charts

MOST_GROUPS = 30  # of a column

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
    "forest": "Each line is a group. The further to the right, the further its predictions are from"
    " what occurred in it.",
    "triangle": "Each arrow leads from the mean prediction of a cell to the frequencies that were"
    " observed in it. The nearer to a corner, the more probable its outcome.",
    "tetrahedron": "Each arrow leads from the mean prediction of a cell to the frequencies that"
    " were observed in it. The nearer to a corner, the more probable its class. Drag to turn.",
}


def figure_parts(diagram: ReliabilityDiagram, element: str, found: str = "") -> dict[str, Any]:
    """Return what the page needs to show a diagram.

    element : identifies it on the page
    found : what it shows, in a sentence, for those who cannot see it
    """
    of_classes = f"of {', '.join(diagram.classes)}, with arrows from predictions to frequencies."
    if diagram.n_outcomes == 4:
        label = f"Tetrahedron {of_classes} {found} Arrow keys turn it."
        return _parts("tetrahedron", element, charts.tetrahedron(diagram, label))
    if diagram.n_outcomes == 3:
        label = f"Triangle {of_classes} {found}"
        return _parts("triangle", element, charts.triangle(diagram, label, element))
    names = [series.name for series in diagram.series if series.name]
    of = f" of {', '.join(names)}" if names else ""
    label = (
        f"Observed minus predicted frequency of {event_name(diagram)}{of}, for each cell. {found}"
    )
    return _parts("models" if names else "line", element, charts.line(diagram, label.strip()))


def curve_parts(diagram: CurveDiagram, element: str) -> dict[str, Any]:
    """Return what the page needs to show a curve."""
    told = diagram.sentence
    label = f"Observed frequency of {event_name(diagram)} over its predicted probability. {told}"
    return _parts("curve", element, charts.curve(diagram, label)) | {"summary": told}


def forest_parts(found: Slices, column: str, element: str) -> dict[str, Any]:
    """Return what the page needs to show the groups of a column."""
    groups = [row for row in found.rows if row.column == column][:MOST_GROUPS]
    off = [row.group for row in groups if row.verdict.rejected]
    told = f"Shown to be off: {', '.join(off)}." if off else "No group is shown to be off."
    label = f"How far off the groups of {column} are. {told}"
    return _parts("forest", element, charts.forest(groups, label)) | {"summary": told}


def _parts(kind: str, element: str, chart: charts.Chart) -> dict[str, Any]:
    return {"kind": kind, "id": element, "chart": chart, "how_to_read": HOW_TO_READ[kind]}
