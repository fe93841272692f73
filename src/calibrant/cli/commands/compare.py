"""``calibrant compare``."""

from typing import Annotated

import typer

from calibrant.cli.options import (
    Classes,
    DistanceTexts,
    Files,
    Json,
    Label,
    LensTexts,
    Logits,
    PartitionTexts,
    Probs,
    Region,
    Resamples,
    Seed,
    Weight,
)
from calibrant.cli.output import one_sentence_errors, print_json, print_table, progress_after
from calibrant.cli.parsing import parse_grid
from calibrant.cli.reading import Reading


def compare(
    files: Files,
    lens: LensTexts = None,
    partition: PartitionTexts = None,
    distance: DistanceTexts = None,
    region: Region = None,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="The files hold different rows.")
    ] = False,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    label: Label = None,
    probs: Probs = None,
    classes: Classes = None,
    weight: Weight = None,
    logits: Logits = False,
) -> None:
    """Compare models: each with its test, and the differences of every two."""
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415
        from calibrant.inference.comparison import comparison_bootstraps  # noqa: PLC0415

        if len(files) < 2:
            raise typer.BadParameter("compare needs at least two files.", param_hint="FILE…")
        models = Reading(region, label, probs, classes, weight, logits).several(files)
        first = next(iter(models.values()))
        n_bootstrap = comparison_bootstraps(models)
        with progress_after(1.0, "resampling") as progress:
            found = cal.compare(
                models,
                **parse_grid(first, lens, partition, distance),
                n_resamples=resamples,
                n_bootstrap=n_bootstrap,
                paired=not unpaired,
                rng=seed,
                progress=progress,
            )
        if json:
            settings = {"seed": seed, "n_resamples": resamples, "n_bootstrap": n_bootstrap}
            body = {"files": [str(f) for f in files], "region": region, **settings}
            print_json("compare", {**body, **found.to_dict()})
            return
        print_table("Scores", *found.score_rows())
        print_table("Expected miscalibration", *found.rows(), heading=(1, 2, 3))
        for difference in found.differences:
            typer.echo(f"{difference}\n")
