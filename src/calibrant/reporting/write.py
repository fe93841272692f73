"""From predictions to the HTML file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calibrant._check import whole
from calibrant._random import Rng, make_key
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.inference import Comparison, compare
from calibrant.inference.evaluation import HEADER
from calibrant.inference.replicates import Progress
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.predictions import Predictions
from calibrant.reporting.contents import Contents, Settings, compute
from calibrant.reporting.sparks import common_reach, spark


def report(
    data: Predictions | Mapping[str, Predictions],
    path: str | Path,
    *,
    title: str | None = None,
    groups: Lens | None = None,
    n_resamples: int = 999,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Path:
    """Write a report: verdicts in words, tables, diagrams, worst cells, scores, provenance.

    One HTML file that needs no network. The same data, seed and settings give the same bytes.

    Parameters
    ----------
    data : Predictions, or several by name; models of the same rows are compared
    path : file to write
    title : default: "Calibration report"
    groups : lens of three or four outcomes to draw; default: the two most frequent classes
        and the others
    n_resamples : number of data sets drawn under the hypothesis of calibration
    rng : seed, generator or None
    progress : function of (done, total), called now and then

    Returns
    -------
    Path
        The file that was written.
    """
    n_resamples = whole("n_resamples", n_resamples, least=1)
    models = dict(data) if isinstance(data, Mapping) else {"": data}
    if not models:
        raise ValueError("`data` must be at least one model; found none.")
    seed = rng if isinstance(rng, int) else None
    settings = Settings(make_key(rng), seed, n_resamples, groups)
    tell = progress or (lambda _done, _total: None)
    steps = len(models) + (len(models) > 1)
    contents = []
    for number, (name, model) in enumerate(models.items()):
        contents.append(compute(name, model, settings))
        tell(number + 1, steps)
    comparison = _compare(models, settings) if len(models) > 1 else None
    page = _render(title or "Calibration report", contents, comparison, settings)
    path = Path(path)
    path.write_text(page, encoding="utf-8")
    tell(steps, steps)
    return path


def _compare(
    models: Mapping[str, Predictions], settings: Settings
) -> tuple[Comparison, ReliabilityDiagram]:
    first = next(iter(models.values()))
    lens: Lens = Canonical() if first.m == 2 else TopLabel()
    paired = all(
        model.n == first.n and bool((model.labels == first.labels).all())
        for model in models.values()
    )
    found = compare(
        models,
        lenses=[lens],
        n_resamples=settings.n_resamples,
        n_bootstrap=max(settings.n_bootstrap(model) for model in models.values()),
        paired=paired,
        rng=int(settings.key),
    )
    picture = reliability_diagram(
        models, lens=lens, n_resamples=settings.n_resamples, rng=int(settings.key)
    )
    return found, picture


def _render(
    title: str,
    contents: list[Contents],
    comparison: tuple[Comparison, ReliabilityDiagram] | None,
    settings: Settings,
) -> str:
    from jinja2 import Environment, PackageLoader  # noqa: PLC0415
    from markupsafe import Markup  # noqa: PLC0415
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("calibrant.reporting", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("template.html.j2")
    return template.render(
        title=title,
        models=[_model(c, number, settings) for number, c in enumerate(contents)],
        comparison=None if comparison is None else _comparison(*comparison),
        header=HEADER,
        plotly=Markup(get_plotlyjs()),
        provenance=json.dumps(_provenance(contents, settings), indent=2, ensure_ascii=False),
    )


def _model(contents: Contents, number: int, settings: Settings) -> dict[str, Any]:
    from markupsafe import Markup  # noqa: PLC0415

    data = contents.data
    reach = common_reach([diagram for _, diagram in contents.class_diagrams])
    header, class_rows = ([], []) if contents.classes is None else contents.classes.rows()
    return {
        "id": f"model{number}",
        "name": contents.name,
        "n": data.n,
        "m": data.m,
        "weighted": data.weighted,
        "scores": [(k.replace("_", " "), f"{v:.4f}") for k, v in contents.scores.items()],
        "verdicts": contents.verdicts,
        "rows": [row.cells() for row in contents.evaluation.rows],
        "diagrams": [
            (title, str(diagram), _figure(diagram, f"model{number}-{name}"))
            for name, title, diagram in contents.diagrams
        ],
        "sparks": [(name, Markup(spark(d, reach))) for name, d in contents.class_diagrams],
        "reach": f"{reach:.2f}",
        "classwise": None if contents.classes is None else str(contents.classes),
        "class_header": header,
        "class_rows": class_rows[:MOST_ROWS],
        "more_classes": max(0, len(class_rows) - MOST_ROWS),
        "worst_cells": contents.worst_cells,
        "n_resamples": settings.n_resamples,
    }


MOST_ROWS = 20


def _comparison(found: Comparison, picture: ReliabilityDiagram) -> dict[str, Any]:
    score_header, score_rows = found.score_rows()
    header, rows = found.rows()
    shown = [d for d in found.differences if "variation" in str(d)]
    return {
        "score_header": score_header,
        "score_rows": score_rows,
        "header": header,
        "rows": rows,
        "differences": [str(difference) for difference in shown],
        "figure": _figure(picture, "comparison-figure"),
    }


def _figure(diagram: ReliabilityDiagram, name: str) -> Any:
    from markupsafe import Markup  # noqa: PLC0415

    figure = diagram.figure()
    figure.update_layout(height=480, autosize=True)
    return Markup(
        figure.to_html(
            full_html=False,
            include_plotlyjs=False,
            div_id=name,
            config={"responsive": True, "displaylogo": False},
        )
    )


def _provenance(contents: list[Contents], settings: Settings) -> dict[str, Any]:
    from calibrant import __version__  # noqa: PLC0415

    return {
        "calibrant": __version__,
        "seed": settings.seed,
        "key": int(settings.key),
        "n_resamples": settings.n_resamples,
        "groups": None if settings.groups is None else str(settings.groups),
        "models": [
            {
                "name": c.name,
                "rows": c.data.n,
                "classes": c.data.m,
                "weighted": c.data.weighted,
                "dtype": str(c.data.probs.dtype),
                "sha256": c.digest,
                "n_bootstrap": settings.n_bootstrap(c.data),
                "evaluation": c.evaluation.to_dict()["rows"],
            }
            for c in contents
        ],
    }
