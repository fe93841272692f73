"""``calibrant evaluate``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.inputs import Inputs, readings
from calibrant.cli.options import (
    Classes,
    DistanceTexts,
    File,
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
from calibrant.cli.output import (
    drawn,
    print_json,
    print_readings,
    print_sentence,
    print_table,
    print_title,
)
from calibrant.cli.parsing import parse_questions
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Evaluation, Predictions


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
    normalize: Normalize = False,
    ignore: Ignore = None,
    model: Model = None,
) -> None:
    """Say whether probabilities are off in several respects, and how far."""
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        models = Inputs(
            region, label, probs, classes, weight, logits, normalize, ignore, model
        ).load_all([file], paired=False)
        bodies = {}
        for name, data in models.items():
            asked = parse_questions(data, lens, statistic, partition, distance)
            with progress_after(1.0, "resampling") as progress:
                found = cal.evaluate(
                    data, **asked, n_resamples=resamples, rng=seed, progress=progress
                )
            scores = cal.scores.all_scores(data)
            bodies[name] = {"scores": scores, **drawn(found.settings), **found.to_dict()}
            if not json:
                title = str(file) if model is None else f"{file}, {name}"
                print_evaluation(title, scores, found, region)
        if json:
            _print_json({"file": str(file), "region": region}, models, bodies)
        else:
            print_readings(models)


def _print_json(
    body: dict[str, Any], models: Mapping[str, "Predictions"], found: Mapping[str, dict[str, Any]]
) -> None:
    """Write what was found of the only model, or of each model of a long file."""
    read = readings(models)
    if len(found) == 1:
        (name,) = found
        print_json("evaluate", {**body, "reading": read.get(name), **found[name]})
    else:
        print_json("evaluate", {**body, "readings": read, "models": dict(found)})


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
        print_sentence(verdict.sentence)
    typer.echo("\n" + ", ".join(f"{score_name(key)} {v:.4f}" for key, v in scores.items()) + "\n")
    print_table("Tests", HEADER, [row.cells() for row in found.rows], heading=(0,))
