"""``calibrant compare``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.inputs import Inputs, readings
from calibrant.cli.options import (
    Classes,
    DistanceTexts,
    Files,
    Id,
    Ignore,
    Json,
    Label,
    LensTexts,
    Logits,
    Model,
    Normalize,
    PartitionTexts,
    Probs,
    Region,
    Resamples,
    Seed,
    StatisticTexts,
    Weight,
)
from calibrant.cli.output import drawn, print_json, print_readings, print_sentence, print_table
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
    normalize: Normalize = False,
    ignore: Ignore = None,
    model: Model = None,
    id: Id = None,
) -> None:
    """Compare models: each with its test, and the differences of every two."""
    if len(files) < 2 and model is None:
        raise typer.BadParameter(
            "compare needs at least two files, or one with --model.", param_hint="FILE…"
        )
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        models = Inputs(
            region, label, probs, classes, weight, logits, normalize, ignore, model, id
        ).load_all(files, paired=not unpaired)
        first = next(iter(models.values()))
        asked = parse_questions(first, lens, statistic, partition, distance)
        how: dict[str, Any] = {"n_resamples": resamples, "paired": not unpaired, "rng": seed}
        with progress_after(1.0, "resampling") as progress:
            found = cal.compare(models, **asked, **how, progress=progress)
        if json:
            body: dict[str, Any] = {"files": [str(f) for f in files], "region": region}
            body["readings"] = readings(models)
            print_json("compare", {**body, **drawn(found.settings), **found.to_dict()})
        else:
            _print_comparison(found)
            print_readings(models)


def _print_comparison(found: "Comparison") -> None:
    for difference in found.differences:
        print_sentence(difference.sentence)
    typer.echo()
    print_table("How far off", *found.ranking())
    print_table("Scores", *found.score_rows())
