"""``calibrant evaluate``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.inputs import Inputs, readings, takes_inputs
from calibrant.cli.options import (
    DistanceTexts,
    FileOrFolder,
    Json,
    LensTexts,
    PartitionTexts,
    Resamples,
    Seed,
    StatisticTexts,
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
    from calibrant import Evaluation, Predictions, Scan
    from calibrant.inference import Slices

MOST = 30  # groups that are printed


@takes_inputs("by", "row", "engine")
def evaluate(
    file: FileOrFolder,
    lens: LensTexts = None,
    statistic: StatisticTexts = None,
    partition: PartitionTexts = None,
    distance: DistanceTexts = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    *,
    inputs: Inputs,
) -> None:
    """Say whether probabilities are off in several respects, and how far."""
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        models = inputs.open_all(file)
        bodies = {}
        for name, data in models.items():
            asked = parse_questions(data, lens, statistic, partition, distance)
            with progress_after(1.0, "resampling") as progress:
                found = cal.evaluate(
                    data, **asked, n_resamples=resamples, rng=seed, progress=progress
                )
            scores = cal.scores.all_scores(data)
            bodies[name] = {"scores": scores, **drawn(found.settings), **found.to_dict()}
            groups = _slices(data, resamples, seed)
            if groups is not None:
                bodies[name]["slices"] = groups.to_dict()["rows"]
            if not json:
                of = "" if len(models) == 1 else name
                print_evaluation(str(file), scores, found, inputs.region, of)
                _print_slices(groups)
        if json:
            _print_json({"file": str(file), "region": inputs.region}, models, bodies)
        else:
            print_readings(models)


def _slices(data: "Predictions | Scan", resamples: int, seed: int) -> "Slices | None":
    """Look at the groups that --by asks for."""
    from calibrant.inference.verdicts.groups import kept_columns, slices  # noqa: PLC0415

    names = kept_columns(data)
    if not names:
        return None
    with progress_after(1.0, "groups") as progress:
        return slices(data, names, n_resamples=resamples, rng=seed, progress=progress)


def _print_slices(groups: "Slices | None") -> None:
    if groups is not None:
        print_sentence(f"{groups}.")
        header, lines = groups.lines()
        title = "Groups" if len(lines) <= MOST else f"The first {MOST} groups"
        print_table(title, header, lines[:MOST], heading=(0, 1))


def _print_json(
    body: dict[str, Any],
    models: Mapping[str, "Predictions | Scan"],
    found: Mapping[str, dict[str, Any]],
) -> None:
    """Write what was found of the only model, or of each model of a long file."""
    read = readings(models)
    if len(found) == 1:
        (name,) = found
        print_json("evaluate", {**body, "reading": read.get(name), **found[name]})
    else:
        print_json("evaluate", {**body, "readings": read, "models": dict(found)})


def print_evaluation(
    name: str,
    scores: dict[str, float],
    found: "Evaluation",
    region: str | None = None,
    model: str = "",
) -> None:
    """Write the verdicts, the scores and the table.

    `name` is what was evaluated, `region` the condition that its rows were chosen by, and `model`
    which of several models of a file it is.
    """
    from calibrant.words import BOTH_OUTCOMES, capital, decimal, many, score_name  # noqa: PLC0415

    for verdict in found.verdicts:
        print_sentence(f"{model}: {verdict.sentence}" if model else verdict.sentence)
    where = "" if region is None else f", only where {region}"
    of = f", {model}" if model else ""
    typer.echo()
    print_title(f"{name}{of}: {many(found.n, 'row')}, {found.m:,} classes{where}")
    written = ", ".join(f"{score_name(key)} {decimal(v)}" for key, v in scores.items())
    if written:
        print_sentence(f"{capital(written)}." + (f" {BOTH_OUTCOMES}" if found.m == 2 else ""))
    typer.echo()
    print_table("Tests", *found.lines(), heading=(0,))
