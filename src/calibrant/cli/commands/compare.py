"""``calibrant compare``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.inputs import Inputs
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
    StatisticTexts,
    Weight,
)
from calibrant.cli.output import drawn, print_json, print_table
from calibrant.cli.parsing import parse_questions
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Comparison


def compare(
    files: Files,
    lens: LensTexts = None,
    statistic: StatisticTexts = None,
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
    if len(files) < 2:
        raise typer.BadParameter("compare needs at least two files.", param_hint="FILE…")
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        models = Inputs(region, label, probs, classes, weight, logits).load_all(files)
        first = next(iter(models.values()))
        asked = parse_questions(first, lens, statistic, partition, distance)
        how: dict[str, Any] = {"n_resamples": resamples, "paired": not unpaired, "rng": seed}
        with progress_after(1.0, "resampling") as progress:
            found = cal.compare(models, **asked, **how, progress=progress)
        if json:
            body = {"files": [str(f) for f in files], "region": region}
            print_json("compare", {**body, **drawn(found.settings), **found.to_dict()})
        else:
            _print_comparison(found)


def _print_comparison(found: "Comparison") -> None:
    for difference in found.differences:
        typer.echo(difference.sentence)
    typer.echo()
    print_table("How far off", *found.ranking())
    print_table("Scores", *found.score_rows())
