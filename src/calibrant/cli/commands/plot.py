"""``calibrant plot``."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.checks.files import whole_file
from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.files import check_ending
from calibrant.cli.inputs import Inputs, readings, takes_inputs
from calibrant.cli.options import (
    Files,
    Json,
    Output,
    PartitionText,
    Resamples,
    Seed,
)
from calibrant.cli.output import print_json, print_readings, print_sentence
from calibrant.cli.parsing import parse_lens, parse_partition
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import CurveDiagram, Predictions, ReliabilityDiagram

    Diagram = CurveDiagram | ReliabilityDiagram


class Kind(StrEnum):
    """What is drawn."""

    bins = "bins"
    smooth = "smooth"
    cumulative = "cumulative"
    isotonic = "isotonic"


KindOption = Annotated[
    Kind,
    typer.Option(
        "--kind",
        help="Bins, or for two outcomes a curve that needs none: isotonic is CORP.",
    ),
]
LensText = Annotated[
    str | None,
    typer.Option(
        "--lens",
        help="canonical, top, top:3, class:NAME, groups:0-2|3-5|6-9 or pooled. Default: all of up"
        " to four classes, the predicted class of more.",
    ),
]
Classical = Annotated[
    bool,
    typer.Option("--classical", help="Frequency over prediction, with the diagonal, n and p."),
]
Regions = Annotated[
    bool, typer.Option("--regions", help="Draw the consistency region of each bin.")
]
Confidence = Annotated[
    bool,
    typer.Option("--confidence", help="Draw the confidence band of an isotonic curve."),
]


@takes_inputs()
def plot(
    files: Files,
    output: Output = Path("reliability.png"),
    kind: KindOption = Kind.bins,
    lens: LensText = None,
    partition: PartitionText = None,
    classical: Classical = False,
    regions: Regions = False,
    confidence: Confidence = False,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    *,
    inputs: Inputs,
) -> None:
    """Draw a reliability diagram, of several models in one picture: PNG, SVG, PDF or HTML."""
    check_ending(output, ".png", ".svg", ".pdf", ".html")
    of_bins = {"--partition": partition, "--classical": classical, "--regions": regions}
    _check_options(kind, {**of_bins, "--confidence": confidence})
    with one_sentence_errors(), whole_file(output) as temporary:
        models = inputs.load_all(files, paired=False)
        settings = _settings(models, lens, partition, classical)
        with progress_after(1.0, "resampling") as progress:
            diagram = _compute(kind)(
                models if len(models) > 1 else next(iter(models.values())),
                **settings,
                n_resamples=resamples,
                rng=seed,
                progress=progress,
            )
        options = {"classical": classical, "regions": regions, "summary": classical}
        _draw(diagram, temporary, **(options if kind is Kind.bins else {"confidence": confidence}))
    if json:
        body = {**_named(files), "region": inputs.region, **_readings(models)}
        body |= {"output": str(output), "seed": seed}
        print_json("plot", {**body, "lens": diagram.settings["lens"], **diagram.to_dict()})
    else:
        print_sentence(diagram.sentence)
        typer.echo(f"Written to {output}.")
        print_readings(models)


def _named(files: list[Path]) -> dict[str, Any]:
    """Return the paths for JSON, under the name that tells how many there are."""
    return {"file": str(files[0])} if len(files) == 1 else {"files": [str(f) for f in files]}


def _readings(models: "dict[str, Predictions]") -> dict[str, Any]:
    """Return what was read, under the name that tells of how many models."""
    read = readings(models)
    return {"reading": read.get(next(iter(models)))} if len(models) == 1 else {"readings": read}


def _check_options(kind: Kind, given: dict[str, Any]) -> None:
    """Refuse options that the kind of picture does not have."""
    known = {
        Kind.bins: ("--partition", "--classical", "--regions"),
        Kind.isotonic: ("--confidence",),
    }
    for name, value in given.items():
        if value and name not in known.get(kind, ()):
            of = next(other.value for other, names in known.items() if name in names)
            raise typer.BadParameter(
                f"is for --kind {of}; found --kind {kind.value}.", param_hint=name
            )


def _settings(
    models: "dict[str, Predictions]", lens: str | None, partition: str | None, classical: bool
) -> dict[str, Any]:
    """Return the lens and the bins that were asked for; the classical view has two outcomes."""
    from calibrant.diagrams.problems import default_lens  # noqa: PLC0415

    chosen = default_lens(models) if classical else None
    if lens is not None:
        chosen = parse_lens(lens, next(iter(models.values())))
    return {"lens": chosen, **({"partition": parse_partition(partition)} if partition else {})}


def _compute(kind: Kind) -> "Callable[..., Diagram]":
    from calibrant import diagrams  # noqa: PLC0415

    found: dict[Kind, Callable[..., Diagram]] = {
        Kind.bins: diagrams.reliability_diagram,
        Kind.smooth: diagrams.smooth_diagram,
        Kind.cumulative: diagrams.cumulative_diagram,
        Kind.isotonic: diagrams.isotonic_diagram,
    }
    return found[kind]


def _draw(diagram: "Diagram", path: Path, **options: Any) -> None:
    from calibrant.diagrams import static  # noqa: PLC0415

    if path.suffix.lower() == ".html":
        diagram.figure(**options).save(path)
        return
    static.draw_without_window()
    static.save(diagram.plot(**options), path)
