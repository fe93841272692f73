"""``calibrant plot``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.files import check_ending, whole_file
from calibrant.cli.inputs import Inputs
from calibrant.cli.options import (
    Classes,
    File,
    Json,
    Label,
    LensText,
    Logits,
    Output,
    PartitionText,
    Probs,
    Region,
    Resamples,
    Seed,
    Weight,
)
from calibrant.cli.output import print_json
from calibrant.cli.parsing import parse_lens, parse_partition
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import ReliabilityDiagram

Classical = Annotated[
    bool, typer.Option("--classical", help="Frequency over prediction, with the diagonal.")
]
Regions = Annotated[
    bool, typer.Option("--regions", help="Draw the consistency region of each cell.")
]


def plot(
    file: File,
    output: Output = Path("reliability.png"),
    lens: LensText = "top",
    partition: PartitionText = None,
    classical: Classical = False,
    regions: Regions = False,
    region: Region = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    label: Label = None,
    probs: Probs = None,
    classes: Classes = None,
    weight: Weight = None,
    logits: Logits = False,
) -> None:
    """Draw a reliability diagram: PNG, SVG or PDF, or HTML to explore."""
    check_ending(output, ".png", ".svg", ".pdf", ".html")
    with one_sentence_errors(), whole_file(output) as temporary:
        import calibrant as cal  # noqa: PLC0415

        data = Inputs(region, label, probs, classes, weight, logits).load(file)
        with progress_after(1.0, "resampling") as progress:
            diagram = cal.reliability_diagram(
                data,
                lens=parse_lens(lens, data),
                partition=parse_partition(partition) if partition else None,
                n_resamples=resamples,
                rng=seed,
                progress=progress,
            )
        _draw(diagram, temporary, classical=classical, regions=regions)
    if json:
        body = {"file": str(file), "region": region, "output": str(output), "seed": seed}
        print_json("plot", {**body, "lens": diagram.settings["lens"], **diagram.to_dict()})
    else:
        typer.echo(f"{diagram}\nWritten to {output}.")


def _draw(diagram: "ReliabilityDiagram", path: Path, *, classical: bool, regions: bool) -> None:
    from calibrant.diagrams import interactive, static  # noqa: PLC0415

    if path.suffix.lower() == ".html":
        interactive.save(diagram.figure(classical=classical, regions=regions), path)
        return
    static.draw_without_window()
    static.save(diagram.plot(classical=classical, regions=regions), path)
