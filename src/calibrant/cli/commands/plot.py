"""``calibrant plot``."""

from pathlib import Path
from typing import Annotated, Any

import typer

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
from calibrant.cli.output import (
    check_ending,
    one_sentence_errors,
    print_json,
    progress_after,
    whole_file,
)
from calibrant.cli.parsing import parse_lens, parse_partition
from calibrant.cli.reading import Reading


def plot(
    file: File,
    output: Output = Path("reliability.png"),
    lens: LensText = "top",
    partition: PartitionText = None,
    classical: Annotated[
        bool, typer.Option("--classical", help="Frequency over prediction, with the diagonal.")
    ] = False,
    regions: Annotated[
        bool, typer.Option("--regions", help="Draw the consistency region of each cell.")
    ] = False,
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

        data = Reading(region, label, probs, classes, weight, logits).one(file)
        chosen = parse_lens(lens, data)
        with progress_after(1.0, "resampling") as progress:
            diagram = cal.reliability_diagram(
                data,
                lens=chosen,
                partition=parse_partition(partition) if partition else None,
                n_resamples=resamples,
                rng=seed,
                progress=progress,
            )
        _draw(diagram, temporary, classical, regions)
    if json:
        body = {"file": str(file), "region": region, "output": str(output), "seed": seed}
        body |= {"lens": str(chosen)}
        print_json("plot", {**body, **diagram.to_dict()})
    else:
        typer.echo(f"{diagram}\nWritten to {output}.")


def _draw(diagram: Any, path: Path, classical: bool, regions: bool) -> None:
    if path.suffix.lower() == ".html":
        figure = diagram.figure(classical=classical, regions=regions)
        config = {"displaylogo": False, "showSendToCloud": False}
        figure.write_html(
            path,
            include_plotlyjs=True,
            div_id="diagram",
            config=config,
            default_height="min(100vh - 16px, 100vw)",  # upright, a phone would cut off 3-D
        )
        return
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    axes = diagram.plot(classical=classical, regions=regions)
    axes.figure.savefig(path, dpi=200)
