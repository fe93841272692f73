"""``calibrant evaluate``."""

from typing import TYPE_CHECKING

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.inputs import Inputs
from calibrant.cli.options import (
    Classes,
    DistanceTexts,
    File,
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
from calibrant.cli.output import drawn, print_json, print_table, print_title
from calibrant.cli.parsing import parse_questions
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Evaluation


def evaluate(
    file: File,
    lens: LensTexts = None,
    statistic: StatisticTexts = None,
    partition: PartitionTexts = None,
    distance: DistanceTexts = None,
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
    """Say whether probabilities are off in several respects, and how far."""
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        data = Inputs(region, label, probs, classes, weight, logits).load(file)
        asked = parse_questions(data, lens, statistic, partition, distance)
        with progress_after(1.0, "resampling") as progress:
            found = cal.evaluate(data, **asked, n_resamples=resamples, rng=seed, progress=progress)
        scores = cal.scores.all_scores(data)
        if json:
            body = {"file": str(file), "region": region, "scores": scores}
            print_json("evaluate", {**body, **drawn(found.settings), **found.to_dict()})
        else:
            print_evaluation(str(file), scores, found, region)


def print_evaluation(
    name: str, scores: dict[str, float], found: "Evaluation", region: str | None = None
) -> None:
    """Write the verdicts, the scores and the table.

    Parameters
    ----------
    name : str
        What was evaluated, for the title.
    scores : dict
        Scores by name.
    found : Evaluation
        The tests.
    region : str, optional
        Condition that the rows were chosen by.
    """
    from calibrant.inference.evaluation import HEADER  # noqa: PLC0415
    from calibrant.words import many, score_name  # noqa: PLC0415

    where = "" if region is None else f", only where {region}"
    print_title(f"{name}: {many(found.n, 'row')}, {found.m} classes{where}")
    for verdict in found.verdicts:
        typer.echo(verdict.sentence)
    typer.echo("\n" + ", ".join(f"{score_name(key)} {v:.4f}" for key, v in scores.items()) + "\n")
    print_table("Tests", HEADER, [row.cells() for row in found.rows], heading=(0,))
