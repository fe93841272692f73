"""What was computed becomes a page of HTML."""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np

from calibrant import tables
from calibrant.cross_fitting.result import HEADER as METHOD_HEADER
from calibrant.cross_fitting.result import NOTE
from calibrant.diagrams import ReliabilityDiagram
from calibrant.inference import Classwise, Comparison, Slices
from calibrant.inference.verdicts.evaluation import HEADER
from calibrant.inference.verdicts.groups import HEADER as SLICE_HEADER
from calibrant.predictions import Predictions
from calibrant.reporting.charts import common_reach, spark
from calibrant.reporting.comparison import comparison_parts
from calibrant.reporting.contents import MOST_CLASSES, Contents, Settings
from calibrant.reporting.figures import curve_parts, figure_parts, forest_parts
from calibrant.reporting.provenance import provenance
from calibrant.reporting.remedies import Remedy
from calibrant.reporting.together import Drawing
from calibrant.rows import Scan
from calibrant.words import capital, decimal, many, score_name

MOST_ROWS = 50  # groups in the table

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
    from markupsafe import Markup  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("calibrant.reporting", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    compared, together = None, None
    if comparison is not None:
        found, together = comparison
        compared = comparison_parts(found, contents[0].main_lens)
        compared["drawn"] = figure_parts(together, "comparison-figure")
    models = [_model(c, f"model{i}") for i, c in enumerate(contents)]
    script = files("calibrant.reporting").joinpath("page.js").read_text("utf-8")
    origin = provenance(contents, together, settings)
    return environment.get_template("template.html.j2").render(
        title=title,
        region=settings.region,
        models=models,
        comparison=compared,
        header=HEADER,
        table=lambda *args, **more: Markup(tables.cards(*args, **more)),
        raw=Markup,
        script=script,
        hash=_content_hash(script),
        provenance=json.dumps(origin, indent=2, ensure_ascii=False),
    )


def _content_hash(script: str) -> str:
    """Return the hash by which a page allows one script and no other."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


def _model(contents: Contents, element: str) -> dict[str, Any]:
    drawings = [_drawing(drawing, element) for drawing in contents.drawings]
    if contents.curve is not None:
        curve = {"title": "Without cells", **curve_parts(contents.curve, f"{element}-curve")}
        drawings.insert(1, curve)
    return {
        "id": element,
        "name": contents.name,
        "m": contents.data.m,
        "size": _size(contents.data),
        "unit": "Rows" if contents.data.clusters is None else "Clusters of rows",
        "scores": [
            (capital(score_name(score)), decimal(value), _note(score, contents.data.m))
            for score, value in contents.scores.items()
        ],
        "verdicts": contents.verdicts,
        "rows": [row.cells() for row in contents.evaluation.rows],
        "drawings": drawings,
        "worst_cells": contents.worst_cells(),
        "remedy": _remedy(contents.remedy, element),
        **_sparks(contents.class_drawings),
        **_classes(contents.classes),
        **_slices(contents.slices, element),
    }


def _note(score: str, m: int) -> str:
    """Say how to read a score."""
    both = ", of both outcomes" if m == 2 and score == "brier_score" else ""
    return f"{SCORE_NOTES[score]}{both}"


def _size(data: Predictions | Scan) -> str:
    weighted = ", weighted" if data.weighted else ""
    within = (
        "" if data.clusters is None else f" in {many(np.unique(data.clusters).size, 'cluster')}"
    )
    return f"{many(data.n, 'row')}{within}, {data.m:,} classes{weighted}"


def _drawing(drawing: Drawing, model: str) -> dict[str, Any]:
    told = drawing.diagram.sentence
    parts = figure_parts(drawing.diagram, f"{model}-{drawing.name}", told)
    return {"title": drawing.title, "summary": told, **parts}


def _sparks(drawings: Sequence[Drawing]) -> dict[str, Any]:
    reach = common_reach([drawing.diagram for drawing in drawings])
    pictures = []
    for one in drawings:
        label = f"Observed minus predicted frequency of {one.title}. {one.diagram.sentence}"
        pictures.append((one.title, spark(one.diagram, reach, label)))
    return {"sparks": pictures, "reach": f"{reach:.2f}"}


def _classes(classes: Classwise | None) -> dict[str, Any]:
    if classes is None:
        return {}
    header, rows = classes.lines()
    return {
        "classwise": capital(str(classes)),
        "class_header": header,
        "class_rows": rows[:MOST_CLASSES],
        "more_classes": max(0, len(rows) - MOST_CLASSES),
    }


def _slices(found: Slices | None, element: str) -> dict[str, Any]:
    if found is None:
        return {}
    known = [row for row in found.rows if row.verdict.size is not None]
    columns = list(dict.fromkeys(row.column for row in known))
    return {
        "slices": f"{found}.",
        "slice_header": SLICE_HEADER,
        "slice_rows": [row.cells() for row in found.rows[:MOST_ROWS]],
        "more_slices": max(0, len(found.rows) - MOST_ROWS),
        "forests": [
            {"title": column, **forest_parts(found, column, f"{element}-groups{i}")}
            for i, column in enumerate(columns)
        ],
    }


def _remedy(remedy: Remedy, element: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"advice": remedy.advice, "code": remedy.code, "note": NOTE}
    if remedy.found is not None:
        shown["rows"] = [row.cells() for row in remedy.found.rows]
        shown["header"] = METHOD_HEADER
        shown["folds"] = remedy.found.settings["folds"]
    if remedy.diagram is not None:
        shown["drawn"] = figure_parts(remedy.diagram, f"{element}-repaired")
    return shown
