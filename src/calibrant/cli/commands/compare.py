"""``calibrant compare``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.inputs import Inputs, readings, takes_inputs
from calibrant.cli.options import (
    DistanceTexts,
    Files,
    Json,
    LensTexts,
    PartitionTexts,
    Resamples,
    Seed,
    StatisticTexts,
)
from calibrant.cli.output import drawn, print_json, print_readings, print_sentence, print_table
from calibrant.cli.parsing import parse_questions
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Comparison


@takes_inputs("id")
def compare(
    files: Files,
    lens: LensTexts = None,
    statistic: StatisticTexts = None,
    partition: PartitionTexts = None,
    distance: DistanceTexts = None,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="The files hold different rows.")
    ] = False,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    *,
    inputs: Inputs,
) -> None:
    """Compare models: each with its test, and the differences of every two."""
    if len(files) < 2 and inputs.model is None:
        raise typer.BadParameter(
            "compare needs at least two files, or one with --model.", param_hint="FILE…"
        )
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        models = inputs.load_all(files, paired=not unpaired)
        first = next(iter(models.values()))
        asked = parse_questions(first, lens, statistic, partition, distance)
        how: dict[str, Any] = {"n_resamples": resamples, "paired": not unpaired, "rng": seed}
        with progress_after(1.0, "resampling") as progress:
            found = cal.compare(models, **asked, **how, progress=progress)
        if json:
            body: dict[str, Any] = {"files": [str(f) for f in files], "region": inputs.region}
            body["readings"] = readings(models)
            print_json("compare", {**body, **drawn(found.settings), **found.to_dict()})
        else:
            _print_comparison(found)
            print_readings(models)


def _print_comparison(found: "Comparison") -> None:
    from calibrant.reporting.comparison import paragraphs  # noqa: PLC0415
    from calibrant.words import BOTH_OUTCOMES  # noqa: PLC0415

    if len(found.evaluations) == 2:
        sentences = [difference.sentence for difference in found.differences]
    else:
        sentences = [f"{subject}: {text}" for subject, text in paragraphs(found)]
    for sentence in sentences:
        print_sentence(sentence)
    typer.echo()
    print_table("How far off", *found.lines(), heading=(0,))
    print_table("Scores", *found.score_rows())
    if next(iter(found.evaluations.values())).m == 2:
        print_sentence(BOTH_OUTCOMES)
