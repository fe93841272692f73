"""``calibrant plot`` and ``report``: pictures, alone or on a page."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.checks.files import check_writable, whole_file
from calibrant.cli import options
from calibrant.cli.errors import check_ending, mistake
from calibrant.cli.inputs import Inputs, takes_inputs
from calibrant.cli.output import (
    echo,
    print_json,
    print_readings,
    print_table,
    progress_after,
    say,
)

if TYPE_CHECKING:
    from calibrant import CurveDiagram, Predictions, ReliabilityDiagram
    from calibrant.diagrams import ClassDiagram, DecisionCurve, FlexibleDiagram

    Bins = ClassDiagram | ReliabilityDiagram
    Diagram = Bins | CurveDiagram | DecisionCurve | FlexibleDiagram


class PlotKind(StrEnum):
    """What is drawn."""

    bins = "bins"
    smooth = "smooth"
    cumulative = "cumulative"
    isotonic = "isotonic"
    flexible = "flexible"
    decision = "decision"
    classes = "classes"


class Style(StrEnum):
    """How bins of two outcomes are drawn."""

    deviations = "deviations"
    bars = "bars"
    line = "line"
    attributes = "attributes"


MADE_BY = {  # or KIND_diagram
    PlotKind.bins: "reliability_diagram",
    PlotKind.decision: "decision_curve",
    PlotKind.classes: "class_diagram",
}
CLINICAL = {PlotKind.flexible, PlotKind.decision}  # pictures of clinical papers: nothing is drawn
OF_ONE = {PlotKind.flexible, PlotKind.classes}  # which show one model
OPTIONS = {  # that only some kinds have
    PlotKind.bins: ("--partition", "--style", "--regions", "--climatology"),
    PlotKind.isotonic: ("--confidence",),
}

KindOption = Annotated[
    PlotKind,
    typer.Option(
        "--kind",
        help="Bins, or for two outcomes a curve that needs none: isotonic is CORP; flexible and"
        " decision are those of clinical papers; classes compares accuracy and confidence of each.",
    ),
]
LensText = Annotated[
    str | None,
    typer.Option(
        "--lens",
        help=f"{options.LENSES}. Default: all of up to four classes, the predicted class of more.",
    ),
]
StyleOption = Annotated[
    Style | None,
    typer.Option(
        "--style",
        help="Deviations, the default; bars of 15 bins with gaps, as in papers; a line, as"
        " scikit-learn draws; attributes: a line with climatology and no skill, as forecasters"
        " draw. The last three say the ECE.",
    ),
]
Regions = Annotated[
    bool, typer.Option("--regions", help="Draw the consistency region of each bin.")
]
Climatology = Annotated[
    float | None,
    typer.Option(
        help="Probability of the event from a longer record, for --style attributes. Default: its"
        " frequency in the file.",
    ),
]
Table = Annotated[
    bool,
    typer.Option(
        "--table", help="Print the numbers, of bins or classes: counts, means, limits and p."
    ),
]
Confidence = Annotated[
    bool, typer.Option("--confidence", help="Draw the confidence band of an isotonic curve.")
]
Title = Annotated[str | None, typer.Option(help="Title of the report.")]
GroupsText = Annotated[
    str | None, typer.Option("--groups", help="Groups of classes to draw, such as 0-2|3-5|6-9.")
]


@takes_inputs()
def plot(
    files: options.Files,
    output: options.Output = Path("reliability.png"),
    kind: KindOption = PlotKind.bins,
    lens: LensText = None,
    partition: options.PartitionText = None,
    style: StyleOption = None,
    regions: Regions = False,
    climatology: Climatology = None,
    confidence: Confidence = False,
    table: Table = False,
    *,
    inputs: Inputs,
) -> None:
    """Draw a reliability diagram of one or more models: PNG, SVG, PDF or HTML."""
    check_ending(output, ".png", ".svg", ".pdf", ".html")
    given = {"--partition": partition, "--style": style, "--regions": regions}
    given |= {"--climatology": climatology is not None, "--confidence": confidence}
    _check_options(kind, given)
    _check_climatology(style, climatology)
    check_writable(output)
    import calibrant as cal

    make = getattr(cal, MADE_BY.get(kind, f"{kind}_diagram"))
    models = inputs.load_all(files, paired=False)
    _check_kind(kind, models, lens)
    _check_lens(kind, lens)
    _check_event(style, models, lens)
    settings = _settings(models, lens, partition, style)
    data = models if len(models) > 1 else next(iter(models.values()))
    with progress_after(1.0, "resampling") as progress:
        drawing = {**inputs.draws, "progress": progress}
        diagram: Diagram = make(data, **_taken(kind, settings, drawing))
    write_picture(diagram, output, **_look(kind, style, regions, climatology, confidence))
    if inputs.json:
        body = inputs.origin(files[0] if len(files) == 1 else files, data)
        body |= {"output": str(output), "seed": inputs.seed, "lens": diagram.settings["lens"]}
        print_json("plot", {**body, **diagram.to_dict()})
    else:
        _tell(diagram, table)
        echo(f"Written to {output}.")
        print_readings(models)


def _tell(diagram: "Diagram", table: bool) -> None:
    """Print what a diagram shows, and its numbers if they are asked for."""
    say(diagram.sentence)
    if table:
        header, rows = diagram.lines()
        typer.echo()
        if "gap" in header:  # of classes; what occurred instead is left to --json, for want of room
            say("Gap: accuracy minus confidence.")
            header, rows = header[:-1], [row[:-1] for row in rows]
        print_table("Numbers", header, rows)
        if diagram.note:
            say(diagram.note)


def _check_options(kind: PlotKind, given: dict[str, Any]) -> None:
    """Refuse options that the kind of picture does not have."""
    for name, value in given.items():
        if value and name not in OPTIONS.get(kind, ()):
            of = next(other.value for other, names in OPTIONS.items() if name in names)
            raise mistake(name, f"is for --kind {of}; found --kind {kind.value}.")
    if given["--style"] and given["--regions"]:
        raise mistake("--style", "is for two outcomes, --regions for three: leave one of them out.")


def _check_climatology(style: Style | None, climatology: float | None) -> None:
    if climatology is not None and style is not Style.attributes:
        raise mistake("--climatology", "is for --style attributes.")
    if climatology is not None and not 0 < climatology < 1:
        raise mistake("--climatology", f"must be between 0 and 1; found {climatology:g}.")


def _look(
    kind: PlotKind, style: Style | None, regions: bool, climatology: float | None, confidence: bool
) -> dict[str, Any]:
    """Return the options of a picture, which each kind has its own of."""
    if kind in CLINICAL | OF_ONE:
        return {}
    if kind is not PlotKind.bins:
        return {"confidence": confidence}
    return {"style": style or Style.deviations, "regions": regions, "climatology": climatology}


def _check_kind(kind: PlotKind, models: "dict[str, Predictions]", lens: str | None) -> None:
    """Refuse what a kind of picture cannot show."""
    if kind in OF_ONE and len(models) > 1:
        raise mistake("--kind", f"{kind.value} shows one model; found {len(models)}.")
    if kind in CLINICAL and lens is None and any(model.m > 2 for model in models.values()):
        raise mistake("--lens", f"must name the event for --kind {kind.value}: class:NAME.")


def _check_lens(kind: PlotKind, lens: str | None) -> None:
    """Refuse a lens where every class is shown."""
    if kind is PlotKind.classes and lens is not None:
        raise mistake("--lens", "is not for --kind classes, which shows every predicted class.")


def _taken(kind: PlotKind, settings: dict[str, Any], drawing: dict[str, Any]) -> dict[str, Any]:
    """Return what a kind of picture takes of the settings, and of what is told of the draws."""
    if kind in CLINICAL:
        return {"lens": settings["lens"] or "canonical"}
    return drawing if kind is PlotKind.classes else {**settings, **drawing}


def _check_event(style: Style | None, models: "dict[str, Predictions]", lens: str | None) -> None:
    """Refuse a diagram of an event where nobody has said which event it is."""
    most = max(model.m for model in models.values())
    if style is Style.attributes and lens is None and most > 2:
        raise mistake(
            "--lens",
            f"must name the event for --style attributes of {most} classes: class:NAME, or top for"
            " the predicted class.",
        )


def _settings(
    models: "dict[str, Predictions]", lens: str | None, partition: str | None, style: Style | None
) -> dict[str, Any]:
    """Return the lens and the bins that were asked for; styles are those of two outcomes."""
    from calibrant.cli.parsing import parse_lens, parse_partition
    from calibrant.diagrams.diagram import chosen_lens
    from calibrant.statistics.calibration_errors import BINS

    chosen = chosen_lens(models, None) if style is not None else None
    if lens is not None:
        chosen = parse_lens(lens, next(iter(models.values())))
    if partition is None and style is Style.bars:
        partition = f"width:{BINS}"  # as in papers, and in `evaluate`
    return {"lens": chosen, **({"partition": parse_partition(partition)} if partition else {})}


def write_picture(diagram: Any, path: Path, **look: Any) -> None:
    """Draw into a file: HTML to explore, or what matplotlib writes."""
    from calibrant.diagrams import static

    if path.suffix.lower() == ".html":
        diagram.figure(**look).save(path)
        return
    static.draw_without_window()
    axes = diagram.plot(**look)
    with whole_file(path) as temporary:
        static.save(axes, temporary)


@takes_inputs("id", "by", "row", "engine")
def report(
    files: options.Files,
    output: options.Output = Path("calibrant-report.html"),
    title: Title = None,
    groups: GroupsText = None,
    *,
    inputs: Inputs,
) -> None:
    """Write a report: one HTML file that works offline."""
    check_ending(output, ".html", ".htm")
    check_writable(output)
    from calibrant.cli.parsing import parse_groups
    from calibrant.reporting.contents import Settings
    from calibrant.reporting.page import write_report

    models = inputs.open_all(files)
    lens = None if groups is None else parse_groups(groups, next(iter(models.values())))
    title = title or f"Calibration of {', '.join(models)}"
    settings = Settings(inputs.seed, inputs.resamples, lens, inputs.region)
    with progress_after(1.0, "report") as progress:
        sentences = write_report(models, output, title, settings, progress)
    if inputs.json:
        body = {**inputs.origin(files, models), "output": str(output)}
        print_json("report", {**body, "seed": inputs.seed, "n_resamples": inputs.resamples})
    else:
        for sentence in sentences:
            say(sentence)
        typer.echo()
        echo(f"Written to {output}: open it in a browser.")
        print_readings(models)
