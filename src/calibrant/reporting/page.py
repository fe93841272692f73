"""What was computed becomes a page of HTML, with enough to compute every number again."""

import json
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np

from calibrant import tables
from calibrant.arguments import as_rows
from calibrant.cross_fitting.result import HEADER as METHOD_HEADER
from calibrant.cross_fitting.result import NOTE
from calibrant.diagrams import CurveDiagram, ReliabilityDiagram
from calibrant.diagrams.charts import chart, forest, spark
from calibrant.diagrams.charts.chart import Chart, asset, policy
from calibrant.diagrams.pictures import bins_picture, curve_picture, simplex_picture
from calibrant.inference import Comparison, Slices
from calibrant.inference.verdicts.evaluation import HEADER
from calibrant.inference.verdicts.groups import HEADER as SLICE_HEADER
from calibrant.lenses import TopLabel
from calibrant.predictions import Predictions
from calibrant.reporting.comparison import comparison_parts
from calibrant.reporting.contents import (
    BINS,
    MOST_CLASSES,
    Contents,
    Drawing,
    Remedy,
    Settings,
)
from calibrant.rows import Scan
from calibrant.words import capital, decimal, many, score_name

MOST_ROWS = 50  # groups in the table
MOST_GROUPS = 30  # of a column, in its chart


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
        compared["drawn"] = _figure(together, "comparison-figure")
    models = [_model(c, f"model{i}") for i, c in enumerate(contents)]
    script = asset("chart.js") + files("calibrant.reporting").joinpath("page.js").read_text("utf-8")
    origin = _provenance(contents, together, settings)
    return environment.get_template("template.html.j2").render(
        title=title,
        region=settings.region,
        models=models,
        comparison=compared,
        header=HEADER,
        table=lambda *args, **more: Markup(tables.cards(*args, **more)),
        raw=Markup,
        capital=capital,
        chart_style=asset("palette.css") + asset("chart.css"),
        script=script,
        policy=policy(script),
        provenance=json.dumps(origin, indent=2, ensure_ascii=False),
    )


def _model(contents: Contents, element: str) -> dict[str, Any]:
    drawings = [
        {"title": one.title, **_figure(one.diagram, f"{element}-{one.name}", one.diagram.sentence)}
        for one in contents.drawings
    ]
    if contents.curve is not None:
        curve = _figure(contents.curve, f"{element}-curve", contents.curve.sentence)
        drawings.insert(1, {"title": "Isotonic (CORP)", **curve})
    return {
        "id": element,
        "name": contents.name,
        "m": contents.data.m,
        "size": _size(contents.data),
        "unit": "Rows" if contents.data.clusters is None else "Clusters of rows",
        "scores": [
            (score, capital(score_name(score)), decimal(value))
            for score, value in contents.scores.items()
        ],
        "verdicts": contents.verdicts,
        "rows": [row.cells() for row in contents.evaluation.rows],
        "drawings": drawings,
        "worst_bins": contents.worst_bins(),
        "remedy": _remedy(contents.remedy, element),
        **_sparks(contents.class_drawings),
        "classes": contents.classes,
        "most_classes": MOST_CLASSES,
        **_slices(contents.slices, element),
    }


def _size(data: Predictions | Scan) -> str:
    weighted = ", weighted" if data.weighted else ""
    within = (
        "" if data.clusters is None else f" in {many(np.unique(data.clusters).size, 'cluster')}"
    )
    return f"{many(data.n, 'row')}{within}, {data.m:,} classes{weighted}"


def _figure(
    diagram: ReliabilityDiagram | CurveDiagram, element: str, found: str = ""
) -> dict[str, Any]:
    """Return what the page needs to show a diagram.

    element : identifies it on the page
    found : what it shows, in a sentence
    """
    if isinstance(diagram, CurveDiagram):
        kind, picture = "curve", curve_picture(diagram)
    elif diagram.n_outcomes > 2:
        kind = "triangle" if diagram.n_outcomes == 3 else "tetrahedron"
        picture = simplex_picture(diagram)
    else:
        kind = "models" if diagram.series[0].name else "line"
        picture = bins_picture(diagram)
    told = "the probabilities were too high"
    if diagram.subject == TopLabel().subject:
        told = "the model was overconfident"
    return _parts(kind, element, chart(picture, found), found, told)


def _forest(found: Slices, column: str, element: str) -> dict[str, Any]:
    """Return what the page needs to show the groups of a column."""
    groups = [row for row in found.rows if row.column == column][:MOST_GROUPS]
    off = [row.group for row in groups if row.verdict.rejected]
    told = f"Shown to be off: {', '.join(off)}." if off else "No group is shown to be off."
    drawn = forest(groups, f"How far off the groups of {column} are. {told}")
    return {"title": column, **_parts("forest", element, drawn, told)}


def _parts(kind: str, element: str, drawn: Chart, found: str, told: str = "") -> dict[str, Any]:
    return {"kind": kind, "id": element, "chart": drawn, "summary": found, "too_high": told}


def _sparks(drawings: Sequence[Drawing]) -> dict[str, Any]:
    reach = _common_reach([drawing.diagram for drawing in drawings])
    pictures = []
    for one in drawings:
        label = f"Observed minus predicted frequency of {one.title}. {one.diagram.sentence}"
        pictures.append((one.title, spark(bins_picture(one.diagram, reach=reach), label)))
    return {"sparks": pictures, "reach": f"{reach:.2f}"}


def _common_reach(diagrams: Sequence[ReliabilityDiagram]) -> float:
    """Return the largest deviation of a bin that counts, for a scale shared by all."""
    largest = 0.05
    for diagram in diagrams:
        series = diagram.series[0]
        counts = series.significant(diagram.alpha) | (series.function.proportions > 0.01)
        sizes = np.abs(series.function.deviations[counts, diagram.event])
        largest = max(largest, float(sizes.max(initial=0.0)))
    return largest


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
            _forest(found, column, f"{element}-groups{i}") for i, column in enumerate(columns)
        ],
    }


def _remedy(remedy: Remedy, element: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"advice": remedy.advice, "code": remedy.code, "note": NOTE}
    if remedy.found is not None:
        shown["rows"] = [row.cells() for row in remedy.found.rows]
        shown["header"] = METHOD_HEADER
        shown["folds"] = remedy.found.settings["folds"]
    if remedy.diagram is not None:
        shown["drawn"] = _figure(remedy.diagram, f"{element}-recalibrated")
    return shown


def _provenance(
    contents: Sequence[Contents], together: ReliabilityDiagram | None, settings: Settings
) -> dict[str, Any]:
    """Return the version, the settings, and what identifies the data of each model."""
    from calibrant import __version__  # noqa: PLC0415

    return {
        "calibrant": __version__,
        "seed": settings.seed,
        "n_resamples": settings.n_resamples,
        "region": settings.region,
        "groups": None if settings.groups is None else str(settings.groups),
        "comparison_diagram": None if together is None else dict(together.settings),
        "models": [_origin_of(c) for c in contents],
    }


def _origin_of(contents: Contents) -> dict[str, Any]:
    data = contents.data
    repaired = contents.remedy.found
    return {
        "name": contents.name,
        "rows": data.n,
        "classes": data.m,
        "weighted": data.weighted,
        **_origin(data),
        "settings": dict(contents.evaluation.settings),
        "diagrams": [dict(drawing.diagram.settings) for drawing in contents.drawings],
        "curve": None if contents.curve is None else dict(contents.curve.settings),
        "classwise": None if contents.classes is None else str(BINS),
        "class_diagrams": [dict(drawing.diagram.settings) for drawing in contents.class_drawings],
        "slices": None if contents.slices is None else dict(contents.slices.settings),
        "evaluation": contents.evaluation.to_dict()["rows"],
        "recalibration": None if repaired is None else dict(repaired.settings),
    }


def _origin(data: Any) -> dict[str, Any]:
    """Return what identifies the rows: a hash of them, or where they were read from."""
    if as_rows(data).held:
        return {"dtype": str(data.probs.dtype), "sha256": _digest(data)}
    dtype = "float32" if data.columns.single else "float64"
    return {"dtype": dtype, "scanned": repr(data), "row": data.columns.row}


def _digest(data: Predictions) -> str:
    """Return the SHA-256 of the classes, probabilities, labels and weights."""
    state = sha256()
    pieces: list[Any] = ["\x1f".join(data.classes).encode(), str(data.probs.dtype).encode()]
    pieces += [data.probs, data.labels, np.ascontiguousarray(data.weights)]
    for piece in pieces:
        state.update(piece)
    return state.hexdigest()
