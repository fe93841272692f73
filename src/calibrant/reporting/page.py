"""What was computed becomes a page of HTML."""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import Any

from calibrant.diagrams import ReliabilityDiagram
from calibrant.diagrams.diagram import default_partition
from calibrant.distances import total_variation
from calibrant.inference import Comparison, Difference
from calibrant.inference.evaluation import HEADER
from calibrant.reporting.contents import BINS, MOST_CLASSES, Contents, Drawing, Settings
from calibrant.reporting.sparks import common_reach, spark
from calibrant.reporting.words import capital, many, summary

KINDS = {2: "cartesian", 3: "ternary", 4: "gl3d"}
HOW_TO_READ = {
    "cartesian": "Each mark is a cell of similar predictions. Below the line the outcome was rarer"
    " than predicted: the probabilities were too high. Grey bars: where calibrated predictions"
    " would lie.",
    "several": "Each mark is a cell of similar predictions of one model. Below the line the outcome"
    " was rarer than predicted: the probabilities were too high. Bars in the colour of a model:"
    " where its predictions would lie if it were calibrated.",
    "ternary": "Each arrow leads from the mean prediction of a cell to the frequencies that were"
    " observed in it. The nearer to a corner, the more probable its outcome.",
    "gl3d": "Each arrow leads from the mean prediction of a cell to the frequencies that were"
    " observed in it. The nearer to a corner, the more probable its class. Drag to turn.",
}
SCORE_NOTES = {
    "accuracy": "higher is better",
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
    """Return the page."""
    from jinja2 import Environment, PackageLoader  # noqa: PLC0415
    from markupsafe import Markup  # noqa: PLC0415
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("calibrant.reporting", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    scripts = [get_plotlyjs(), files("calibrant.reporting").joinpath("draw.js").read_text("utf-8")]
    return environment.get_template("template.html.j2").render(
        title=title,
        region=settings.region,
        models=[_model(c, number) for number, c in enumerate(contents)],
        comparison=None if comparison is None else _comparison(*comparison),
        header=HEADER,
        scripts=[Markup(script) for script in scripts],
        hashes=[_content_hash(script) for script in scripts],
        how_to_read=HOW_TO_READ,
        provenance=json.dumps(_provenance(contents, settings), indent=2, ensure_ascii=False),
    )


def _content_hash(script: str) -> str:
    """Return the hash by which a page allows one script and no other."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


def _model(contents: Contents, number: int) -> dict[str, Any]:
    from markupsafe import Markup  # noqa: PLC0415

    data = contents.data
    reach = common_reach([drawing.diagram for drawing in contents.class_drawings])
    header, class_rows = ([], []) if contents.classes is None else contents.classes.rows()
    return {
        "id": f"model{number}",
        "name": contents.name,
        "m": data.m,
        "size": f"{many(data.n, 'row')}, {data.m} classes{', weighted' if data.weighted else ''}",
        "scores": [
            (capital(score_name(name)), f"{value:.4f}", SCORE_NOTES[name])
            for name, value in contents.scores.items()
        ],
        "verdicts": contents.verdicts,
        "rows": [row.cells() for row in contents.evaluation.rows],
        "drawings": [
            {
                "title": drawing.title,
                "summary": summary(drawing.diagram),
                **_figure(drawing.diagram, f"model{number}-{drawing.name}"),
            }
            for drawing in contents.drawings
        ],
        "sparks": [(d.title, Markup(spark(d.diagram, reach))) for d in contents.class_drawings],
        "reach": f"{reach:.2f}",
        "classwise": None if contents.classes is None else capital(str(contents.classes)),
        "class_header": header,
        "class_rows": class_rows[:MOST_CLASSES],
        "more_classes": max(0, len(class_rows) - MOST_CLASSES),
        "worst_cells": contents.worst_cells,
    }


def score_name(name: str) -> str:
    """Return the name of a score in words."""
    return name.replace("_", " ").replace("brier", "Brier")


def _comparison(found: Comparison, picture: ReliabilityDiagram) -> dict[str, Any]:
    _, score_rows = found.score_rows()
    header, _ = found.rows()
    rows = [
        [name, *evaluation.rows[r].cells()]
        for r, row in enumerate(next(iter(found.evaluations.values())).rows)
        if row.distance is total_variation
        for name, evaluation in found.evaluations.items()
    ]
    return {
        "score_header": ["model", *(score_name(name) for name in SCORE_NOTES)],
        "score_rows": score_rows,
        "header": header,
        "rows": rows,
        "differences": _differences(found.differences),
        **_figure(picture, "comparison-figure"),
    }


def _differences(differences: Sequence[Difference]) -> list[dict[str, Any]]:
    """Gather the differences of two models in total variation, and what follows from them."""
    shown = [d for d in differences if d.rows[0].distance is total_variation]
    pairs = groupby(shown, key=lambda d: (d.first, d.second))
    return [_pair(first, second, list(group)) for (first, second), group in pairs]


def _pair(first: str, second: str, differences: Sequence[Difference]) -> dict[str, Any]:
    lines = []
    for difference in differences:
        low, high = (f"{limit:+.4f}".replace("-", "−") for limit in difference.interval)
        value = f"{difference.estimate.value:+.4f}".replace("-", "−")
        row = difference.rows[0]
        lines.append([str(row.lens), str(row.partition), value, f"{low} to {high}"])
    conclusions: dict[str, list[str]] = {}
    for difference in differences:
        row = difference.rows[0]
        conclusions.setdefault(difference.conclusion, []).append(f"{row.lens}, {row.partition}")
    return {
        "title": f"{first} minus {second}",
        "header": ["lens", "partition", "difference", f"{differences[0].level:.0%} interval"],
        "rows": lines,
        "conclusions": [
            conclusion if len(conclusions) == 1 else f"{capital('; '.join(where))}: {conclusion}"
            for conclusion, where in conclusions.items()
        ],
    }


def _figure(diagram: ReliabilityDiagram, name: str) -> dict[str, Any]:
    """Return the figure as JSON that may stand in a script element."""
    from markupsafe import Markup  # noqa: PLC0415

    text = diagram.figure().to_json().replace("<", "\\u003c")
    return {"id": name, "kind": KINDS[diagram.n_outcomes], "figure": Markup(text)}


def _provenance(contents: Sequence[Contents], settings: Settings) -> dict[str, Any]:
    from calibrant import __version__  # noqa: PLC0415

    return {
        "calibrant": __version__,
        "seed": settings.seed,
        "key": int(settings.key),
        "resampler": "exact",
        "n_resamples": settings.n_resamples,
        "region": settings.region,
        "groups": None if settings.groups is None else str(settings.groups),
        "models": [_model_provenance(c) for c in contents],
    }


def _model_provenance(contents: Contents) -> dict[str, Any]:
    data = contents.data
    return {
        "name": contents.name,
        "rows": data.n,
        "classes": data.m,
        "weighted": data.weighted,
        "dtype": str(data.probs.dtype),
        "sha256": contents.digest,
        "n_bootstrap": contents.evaluation.rows[0].replicates.size,
        "diagrams": [_drawing_provenance(d) for d in contents.drawings],
        "classwise": None if contents.classes is None else str(BINS),
        "class_diagrams": [_drawing_provenance(d) for d in contents.class_drawings],
        "evaluation": contents.evaluation.to_dict()["rows"],
    }


def _drawing_provenance(drawing: Drawing) -> dict[str, Any]:
    diagram = drawing.diagram
    return {
        "lens": str(drawing.lens),
        "partition": str(default_partition(diagram.n_outcomes)),
        "level": diagram.series[0].cells.level,
        "alpha": diagram.alpha,
        "rng": drawing.rng,
    }
