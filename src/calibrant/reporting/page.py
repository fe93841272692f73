"""What was computed becomes a page of HTML."""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

from calibrant import tables
from calibrant.cross_fitting.result import HEADER as METHOD_HEADER
from calibrant.cross_fitting.result import NOTE
from calibrant.diagrams import ReliabilityDiagram
from calibrant.inference import Classwise, Comparison
from calibrant.inference.evaluation import HEADER
from calibrant.predictions import Predictions
from calibrant.reporting.comparison import comparison_parts
from calibrant.reporting.contents import MOST_CLASSES, Contents, Drawing, Settings
from calibrant.reporting.descriptions import summary
from calibrant.reporting.provenance import provenance
from calibrant.reporting.remedies import Remedy
from calibrant.reporting.sparks import common_reach, spark
from calibrant.words import capital, many, score_name

KINDS = {2: "cartesian", 3: "ternary", 4: "gl3d"}
HOW_TO_READ = {
    "cartesian": "Each mark is a cell of similar predictions. Below the line the outcome was rarer"
    " than predicted: the probabilities were too high. Grey bars: where calibrated predictions"
    " would lie.",
    "models": "Each mark is a cell of similar predictions of one model. Below the line the outcome"
    " was rarer than predicted: the probabilities were too high. Bars in the colour of a model:"
    " where its predictions would lie if it were calibrated.",
    "ternary": "Each arrow leads from the mean prediction of a cell to the frequencies that were"
    " observed in it. The nearer to a corner, the more probable its outcome.",
    "gl3d": "Each arrow leads from the mean prediction of a cell to the frequencies that were"
    " observed in it. The nearer to a corner, the more probable its class. Drag to turn.",
}
SCORE_NOTES = {
    "accuracy": "higher is better",
    "share_correct": "of the predictions",
    "log_score": "lower is better",
    "brier_score": "lower is better",
    "spherical_score": "higher is better",
}


def render(
    title: str,
    contents: Sequence[Contents],
    comparison: tuple[Comparison, ReliabilityDiagram] | None,
    settings: Settings,
) -> str:
    """Write the page."""
    from jinja2 import Environment, PackageLoader  # noqa: PLC0415

    from calibrant.diagrams import interactive  # noqa: PLC0415 (loads plotly)

    environment = Environment(
        loader=PackageLoader("calibrant.reporting", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own = files("calibrant.reporting").joinpath("draw.js").read_text("utf-8")
    scripts = [interactive.script(), own]
    compared, together = None, None
    if comparison is not None:
        found, together = comparison
        compared = comparison_parts(found) | _figure(together, "comparison-figure")
    origin = provenance(contents, together, settings)
    return environment.get_template("template.html.j2").render(
        title=title,
        region=settings.region,
        models=[_model(c, f"model{i}") for i, c in enumerate(contents)],
        comparison=compared,
        header=HEADER,
        table=_table,
        scripts=[_markup(script) for script in scripts],
        hashes=[_content_hash(script) for script in scripts],
        how_to_read=HOW_TO_READ,
        provenance=json.dumps(origin, indent=2, ensure_ascii=False),
    )


def _markup(html: str) -> Any:
    """Mark HTML as such, so that the template does not escape it."""
    from markupsafe import Markup  # noqa: PLC0415

    return Markup(html)


def _table(header: Sequence[str], rows: tables.Rows, words: int) -> Any:
    """Write a table that scrolls, its first columns of words."""
    return _markup(f'<div class="scroll" tabindex="0">{tables.cards(header, rows, words)}</div>')


def _content_hash(script: str) -> str:
    """Return the hash by which a page allows one script and no other."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


def _model(contents: Contents, element: str) -> dict[str, Any]:
    return {
        "id": element,
        "name": contents.name,
        "m": contents.data.m,
        "size": _size(contents.data),
        "scores": [
            (capital(score_name(score)), f"{value:.4f}", SCORE_NOTES[score])
            for score, value in contents.scores.items()
        ],
        "verdicts": contents.verdicts,
        "rows": [row.cells() for row in contents.evaluation.rows],
        "drawings": [_drawing(drawing, element) for drawing in contents.drawings],
        "worst_cells": contents.worst_cells(),
        "remedy": _remedy(contents.remedy, element),
        **_sparks(contents.class_drawings),
        **_classes(contents.classes),
    }


def _size(data: Predictions) -> str:
    weighted = ", weighted" if data.weighted else ""
    return f"{many(data.n, 'row')}, {data.m} classes{weighted}"


def _drawing(drawing: Drawing, model: str) -> dict[str, Any]:
    return {
        "title": drawing.title,
        "summary": summary(drawing.diagram),
        **_figure(drawing.diagram, f"{model}-{drawing.name}"),
    }


def _sparks(drawings: Sequence[Drawing]) -> dict[str, Any]:
    reach = common_reach([drawing.diagram for drawing in drawings])
    return {
        "sparks": [(one.title, _markup(spark(one.diagram, reach))) for one in drawings],
        "reach": f"{reach:.2f}",
    }


def _classes(classes: Classwise | None) -> dict[str, Any]:
    if classes is None:
        return {}
    header, rows = classes.rows()
    return {
        "classwise": capital(str(classes)),
        "class_header": header,
        "class_rows": rows[:MOST_CLASSES],
        "more_classes": max(0, len(rows) - MOST_CLASSES),
    }


def _remedy(remedy: Remedy, element: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"advice": remedy.advice, "code": remedy.code, "note": NOTE}
    if remedy.found is not None:
        shown["rows"] = [row.cells() for row in remedy.found.rows]
        shown["header"] = METHOD_HEADER
        shown["folds"] = remedy.found.settings["folds"]
    if remedy.diagram is not None:
        shown["drawn"] = _figure(remedy.diagram, f"{element}-repaired")
    return shown


def _figure(diagram: ReliabilityDiagram, element: str) -> dict[str, Any]:
    """Return the figure as JSON that may stand in a script element."""
    text = diagram.figure().to_json().replace("<", "\\u003c")
    return {"id": element, "kind": KINDS[diagram.n_outcomes], "figure": _markup(text)}
