"""From predictions to a page of HTML."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from calibrant import tables
from calibrant.arguments import as_lens, takes_models
from calibrant.checks.files import whole_file
from calibrant.checks.parameters import Rng, as_seed
from calibrant.cross_fitting.result import HEADER as METHOD_HEADER
from calibrant.cross_fitting.result import NOTE
from calibrant.diagrams import (
    ClassDiagram,
    CurveDiagram,
    ReliabilityDiagram,
    reliability_diagram,
)
from calibrant.diagrams.bins import bins_picture
from calibrant.diagrams.charts import chart, forest, spark
from calibrant.diagrams.charts.svg import asset, policy
from calibrant.diagrams.diagram import Models, named
from calibrant.diagrams.picture import Picture
from calibrant.inference import Comparison, Evaluation, Slice, Slices, compare, evaluate
from calibrant.inference.replicates.problem import Progress, check_resamples, part
from calibrant.inference.verdicts.evaluation import HEADER
from calibrant.inference.verdicts.groups import HEADER as SLICE_HEADER
from calibrant.lenses import Lens, TopLabel
from calibrant.monitor.periods import HEADER as PERIOD_HEADER
from calibrant.monitor.periods import OverTime
from calibrant.predictions import Predictions
from calibrant.reporting import contents as of_model
from calibrant.reporting.contents import Contents, Settings, main_lens
from calibrant.reporting.provenance import provenance
from calibrant.reporting.sentences import comparison_parts, paragraphs
from calibrant.rows import Scan
from calibrant.scores import why_infinite
from calibrant.words import capital, decimal, many, score_name

MOST_ROWS = 50  # groups in the table
MOST_GROUPS = 30  # of a column, in its chart


@takes_models
def report(
    data: Models,
    path: str | Path,
    *,
    title: str | None = None,
    groups: Lens | str | None = None,
    region: str | None = None,
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Path:
    """Write everything on one page: verdicts in words, diagrams, tables, and what would help.

    One HTML file that needs no network. The same data, seed and settings give the same bytes.

    Parameters
    ----------
    data : Predictions, Scan, or mapping of str to such
        The predictions; more than one model by name. Models of the same rows are compared. Columns
        that `load` kept beside them become groups of rows with a section of their own. Of scanned
        rows there is everything but the curve and recalibration.
    path : str or Path
        File to write.
    title : str, optional
        Title of the report. Default: "Calibration report".
    groups : Lens, optional
        Lens of three or four outcomes to draw. Default: the two most frequent classes and the
        others.
    region : str, optional
        Condition that the rows of `data` were chosen by, to be named in the report.
    n_resamples, rng, progress
        As in `calibration_test`.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant import Predictions
    >>> data = Predictions([0.2, 0.9, 0.4, 0.7], [0, 1, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report(data, f"{folder}/report.html", n_resamples=99, rng=0).name
    'report.html'
    """
    first = next(iter(_models(data).values()))
    lens = None if groups is None else as_lens(groups, first)
    settings = Settings(as_seed(rng), check_resamples(n_resamples), lens, region)
    write_report(data, path, title or "Calibration report", settings, progress)
    return Path(path)


def write_report(
    data: Models, path: str | Path, title: str, settings: Settings, progress: Progress | None = None
) -> list[str]:
    """Write a report, as `report` does, and return the sentences with which it begins."""
    models = _models(data)
    try:
        title.encode("utf-8")
    except UnicodeEncodeError as error:
        found = repr(error.object[error.start])
        raise ValueError(f"`title` must be text that UTF-8 can hold; found {found}.") from None
    evaluations, comparison = _evaluate(models, settings, part(progress, 0, 2))
    second_half = part(progress, 1, 2)
    contents = []
    for i, (name, model) in enumerate(models.items()):
        now = part(second_half, i, len(models))
        contents.append(of_model.compute(name, model, evaluations[name], settings, now))
    page = _render(title, contents, comparison, settings)
    with whole_file(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")
    if comparison is not None:
        return [f"{subject}: {text}" for subject, text in paragraphs(comparison[0])]
    return [line.text for line in contents[0].verdicts]


def _models(data: Models) -> Mapping[str, Any]:
    """Return models by their names; one may be a scan."""
    return named(data, scans=not isinstance(data, Mapping) or len(data) == 1)


def _evaluate(
    models: Mapping[str, Any], settings: Settings, progress: Progress | None
) -> tuple[Mapping[str, Evaluation], tuple[Comparison, ReliabilityDiagram] | None]:
    """Evaluate each model; compare more than one, with one diagram of all."""
    draws = settings.draws(progress)
    if len(models) == 1:
        ((name, model),) = models.items()
        return {name: evaluate(model, **draws)}, None
    comparison = compare(models, paired=same_rows(models), **draws)
    lens = main_lens(next(iter(models.values())))
    picture = reliability_diagram(models, lens=lens, **settings.draws())
    return comparison.evaluations, (comparison, picture)


def same_rows(models: Mapping[str, Predictions]) -> bool:
    """Return whether the labels and weights of all models agree row by row."""
    first, *others = models.values()
    return all(
        other.n == first.n
        and bool((other.labels == first.labels).all())
        and bool((other.weights == first.weights).all())
        for other in others
    )


def environment() -> Any:
    """Return what writes pages from templates: those of the report and of the explorer."""
    from jinja2 import Environment, PackageLoader  # noqa: PLC0415
    from markupsafe import Markup  # noqa: PLC0415

    found = Environment(
        loader=PackageLoader("calibrant", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    table = lambda *args, **more: Markup(tables.cards(*args, **more))  # noqa: E731
    found.globals.update(table=table, raw=Markup, capital=capital, many=many)
    return found


def _render(
    title: str,
    contents: Sequence[Contents],
    comparison: tuple[Comparison, ReliabilityDiagram] | None,
    settings: Settings,
) -> str:
    """Write the page."""
    compared, together = None, None
    if comparison is not None:
        found, together = comparison
        compared = comparison_parts(found, main_lens(contents[0].data))
        compared["drawn"] = figure_parts(together, "comparison-figure")
    models = [_model(c, f"model{i}") for i, c in enumerate(contents)]
    script = asset("chart.js") + files("calibrant.reporting").joinpath("page.js").read_text("utf-8")
    origin = provenance(contents, together, settings)
    page = (
        environment()
        .get_template("reporting/template.html.j2")
        .render(
            title=title,
            region=settings.region,
            models=models,
            comparison=compared,
            header=HEADER,
            chart_style=asset("palette.css") + asset("chart.css"),
            script=script,
            policy=policy(script),
            provenance=json.dumps(origin, indent=2, ensure_ascii=False),
        )
    )
    return tables.visible(page, keep="\n\t")


def _model(contents: Contents, element: str) -> dict[str, Any]:
    drawings = [
        figure_parts(one.diagram, f"{element}-{one.name}", one.diagram.sentence)
        | {"title": one.title}
        for one in contents.drawings
    ]
    if contents.curve is not None:
        curve = figure_parts(contents.curve, f"{element}-curve", contents.curve.sentence)
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
        "why_infinite": why_infinite(contents.data, contents.scores),
        "ece": contents.evaluation.ece,
        "verdicts": contents.verdicts,
        "rows": [row.cells() for row in contents.evaluation.rows],
        "drawings": drawings,
        "worst_bins": contents.worst_bins(),
        "remedy": {**_remedy(contents.remedy, element), "advice": contents.advice},
        **_by_class(contents.by_class, element),
        **_sparks(contents.class_drawings),
        "classes": contents.classes,
        "most_classes": of_model.MOST_CLASSES,
        **slices_parts(contents.slices, element),
        **time_parts(contents.over_time, element),
        "where": None if contents.where is None else where_parts(contents.where, element),
        **_risks(contents.risks, element),
    }


def _size(data: Predictions | Scan) -> str:
    weighted = ", weighted" if data.weighted else ""
    within = ""
    if data.clusters is not None:
        within = f" in {many(np.unique(data.clusters).size, 'cluster')}"
    return f"{many(data.n, 'row')}{within}, {data.m:,} classes{weighted}"


def figure_parts(
    diagram: ReliabilityDiagram | CurveDiagram, element: str, found: str = "", **look: Any
) -> dict[str, Any]:
    """Return what a page needs to show a diagram; `found` is what it shows, in a sentence."""
    if isinstance(diagram, CurveDiagram):
        kind = "curve"
    elif diagram.n_outcomes > 2:
        kind = "triangle" if diagram.n_outcomes == 3 else "tetrahedron"
    else:
        kind = "models" if diagram.series[0].name else "line"
    too_high = "the probabilities were too high"
    if diagram.subject == TopLabel().subject:
        too_high = "the model was overconfident"
    picture: Picture = diagram.picture(**look)
    drawn: dict[str, Any] = {"kind": kind, "id": element, "frame": picture.frame}
    drawn["chart"] = chart(picture, found, diagram.lines())
    return drawn | {"summary": found, "too_high": too_high}


def _by_class(diagram: ClassDiagram | None, element: str) -> dict[str, Any]:
    """Return what the page needs to show the predicted classes."""
    if diagram is None:
        return {}
    summary = diagram.sentence
    drawn = chart(diagram.picture(), summary)
    shown = {"kind": "classes", "id": f"{element}-predicted", "chart": drawn, "summary": summary}
    return {"by_class": shown, "ends": diagram.ends(), "note_of_classes": diagram.note}


def _unshown(groups: Sequence[Slice]) -> str:
    """Say which groups have too few clusters."""
    names = [row.group for row in groups if not row.verdict.clusters_tell]
    return f" Too few clusters to judge {', '.join(names)}." if names else ""


def _forest(found: Slices, column: str, element: str) -> dict[str, Any]:
    """Return what the page needs to show the groups of a column."""
    groups = [row for row in found.rows if row.column == column][:MOST_GROUPS]
    off = [row.group for row in groups if row.verdict.rejected]
    summary = f"Shown to be off: {', '.join(off)}." if off else "No group is shown to be off."
    summary += _unshown(groups)
    drawn = forest(groups, f"How far off the groups of {column} are. {summary}")
    return {"title": column, "kind": "forest", "id": element, "chart": drawn, "summary": summary}


def sparks(diagrams: Mapping[str, ReliabilityDiagram]) -> tuple[list[tuple[str, str]], float]:
    """Return a small picture of each class, by its name, and the height that all share."""
    reach = _common_reach(list(diagrams.values()))
    pictures = []
    for name, one in diagrams.items():
        label = f"Observed minus predicted frequency of {name}. {one.sentence}"
        pictures.append((name, spark(bins_picture(one, reach=reach), label)))
    return pictures, reach


def _sparks(drawings: Sequence[of_model.Placed]) -> dict[str, Any]:
    pictures, reach = sparks({drawing.title: drawing.diagram for drawing in drawings})
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


def slices_parts(found: Slices | None, element: str) -> dict[str, Any]:
    """Return what a page needs to show groups of rows."""
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


def time_parts(found: OverTime | None, element: str) -> dict[str, Any]:
    """Return what the page needs to show the evidence over time."""
    if found is None:
        return {}
    drawn: dict[str, Any] = {"kind": "time", "id": f"{element}-evidence"}
    drawn |= {"chart": chart(found.picture(), found.sentence), "summary": found.sentence}
    periods = [period.cells() for period in found.periods[-MOST_ROWS:]]
    return {"over_time": drawn, "period_header": PERIOD_HEADER, "periods": periods}


def where_parts(where: of_model.Where, element: str) -> dict[str, Any]:
    """Return what the page needs to show regions."""
    if where.found is None:
        return {"sentences": [where.why]}
    found = where.found
    header, rows = found.lines()
    drawn = {"kind": "regions", "id": f"{element}-regions", "chart": found.figure(), "summary": ""}
    shown = {"sentences": found.sentences, "notes": found.notes, "drawn": drawn}
    return {**shown, "header": header, "rows": rows}


def _risks(risks: of_model.ClinicalPart | None, element: str) -> dict[str, Any]:
    if risks is None:
        return {}
    header, rows = risks.found.lines()
    drawn = []
    for title, kind, diagram in (
        ("Flexible calibration curve", "flexible", risks.curve),
        ("Decision curve", "decision", risks.decision),
    ):
        found = chart(diagram.picture(), diagram.sentence)
        drawn.append({"title": title, "kind": kind, "id": f"{element}-{kind}", "chart": found})
    drawn[1]["summary"] = risks.decision.sentence
    return {
        "clinical": risks.found.facts,
        "clinical_header": header,
        "clinical_rows": rows,
        "clinical_drawings": drawn,
    }


def _remedy(remedy: of_model.Remedy, element: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"code": remedy.code, "note": NOTE}
    if remedy.found is not None:
        shown["rows"] = [row.cells() for row in remedy.found.rows]
        shown["header"] = METHOD_HEADER
        shown["folds"] = remedy.found.settings["folds"]
    if remedy.diagram is not None:
        shown["drawn"] = figure_parts(remedy.diagram, f"{element}-recalibrated")
    return shown
