"""``calibrant evaluate``, ``compare`` and ``power``: what is found, in sentences and tables."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import options, output
from calibrant.cli.errors import mistake
from calibrant.cli.inputs import Inputs, takes_inputs
from calibrant.cli.output import drawn, print_json, print_readings, print_table, progress_after, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from calibrant import Comparison, Evaluation, Predictions, Scan, Slices

MOST = 30  # groups that are printed

Unpaired = Annotated[bool, typer.Option("--unpaired", help="The files hold different rows.")]
Temperatures = Annotated[
    list[float] | None,
    typer.Option(
        "--temperature",
        help="Power against labels from predictions at this temperature: above 1 for an"
        " overconfident model; may be repeated.",
    ),
]
Shifts = Annotated[
    list[float] | None,
    typer.Option(
        "--shift",
        help="Power against log-odds of the event, or of the most probable class, that are higher"
        " by this than predicted; may be repeated.",
    ),
]
Share = Annotated[
    float, typer.Option(min=0.01, max=0.99, help="Power to reach, if no alternatives are given.")
]
Level = Annotated[float, typer.Option(min=0.0001, max=0.5, help="Level of the test.")]


@takes_inputs("by", "row", "engine")
def evaluate(
    file: options.FileOrFolder,
    lens: options.LensTexts = None,
    statistic: options.StatisticTexts = None,
    partition: options.PartitionTexts = None,
    distance: options.DistanceTexts = None,
    *,
    inputs: Inputs,
) -> None:
    """Find out whether the probabilities are calibrated, and how far off they are if not."""
    import calibrant as cal
    from calibrant.cli.parsing import parse_questions

    models = inputs.open_all([file], paired=False)
    bodies = {}
    for name, data in models.items():
        asked = parse_questions(data, lens, statistic, partition, distance)
        with progress_after(1.0, "resampling") as progress:
            found = cal.evaluate(data, **asked, **inputs.draws, progress=progress)
        scores = cal.scores.all_scores(data)
        bodies[name] = {"scores": scores, **drawn(found.settings), **found.to_dict()}
        groups = _slices(data, inputs.draws)
        if groups is not None:
            bodies[name]["slices"] = groups.to_dict()["rows"]
        if not inputs.json:
            of = "" if len(models) == 1 else name
            print_evaluation(str(file), scores, found, inputs.region, of)
            _print_infinite(data, scores, of)
            if groups is not None:
                _print_slices(groups)
                _print_repeated(data)
    if not inputs.json:
        print_readings(models)
    elif len(models) == 1:
        print_json("evaluate", {**inputs.origin(file, data), **bodies[name]})
    else:
        print_json("evaluate", {**inputs.origin(file, models), "models": bodies})


def _slices(data: "Predictions | Scan", draws: dict[str, Any]) -> "Slices | None":
    """Look at the groups that --by asks for."""
    from calibrant.inference.verdicts.groups import kept_columns, slices

    names = kept_columns(data)
    if not names:
        return None
    with progress_after(1.0, "groups") as progress:
        return slices(data, names, **draws, progress=progress)


def _print_slices(groups: "Slices") -> None:
    say(f"{groups}.")
    header, lines = groups.lines()
    title = "Groups" if len(lines) <= MOST else f"The first {MOST} groups"
    print_table(title, header, lines[:MOST], heading=(0, 1))


def _print_repeated(data: "Predictions | Scan") -> None:
    """Say what it means to look again, where groups are dates."""
    from calibrant.monitor.periods import dates_of

    found = None if hasattr(data, "fragments") else dates_of(data.columns)
    if found is not None:
        say(
            f"The groups of {found[0]} are adjusted for each other, for one look at all of them. A"
            " test that is repeated with each new period rejects ever more calibrated models; an"
            f" alarm that allows for it has calibrant report, with --by {found[0]}, and calibrant"
            " watch for rows that are still to come."
        )
        typer.echo()


def print_evaluation(
    name: str,
    scores: dict[str, float],
    found: "Evaluation",
    region: str | None = None,
    model: str = "",
) -> None:
    """Write the verdicts, the scores and the table: of `model`, if `name` has several."""
    from calibrant.words import many

    for verdict in found.verdicts:
        say(f"{model}: {verdict.sentence}" if model else verdict.sentence)
    where = "" if region is None else f", only where {region}"
    of = f", {model}" if model else ""
    typer.echo()
    output.print_title(f"{name}{of}: {many(found.n, 'row')}, {found.m:,} classes{where}")
    _print_numbers(scores, found)
    typer.echo()
    print_table("Tests", *found.lines(), heading=(0,))


def _print_numbers(scores: dict[str, float], found: "Evaluation") -> None:
    """Write the scores, and the expected calibration error."""
    from calibrant.words import BOTH_OUTCOMES, capital, decimal, score_name

    written = ", ".join(f"{score_name(key)} {decimal(v)}" for key, v in scores.items())
    if written:
        say(f"{capital(written)}." + (f" {BOTH_OUTCOMES}" if found.m == 2 else ""))
    if found.ece is not None:
        say(f"{found.ece}.")


def _print_infinite(
    data: "Predictions | Scan", scores: "Mapping[str, float]", model: str = ""
) -> None:
    """Say why the log loss of a model is infinite, if it is."""
    from calibrant.scores import why_infinite

    if why := why_infinite(data, scores):
        say(f"The log loss{f' of {model}' if model else ''} is infinite: {why}.")


@takes_inputs("id")
def compare(
    files: options.Files,
    lens: options.LensTexts = None,
    statistic: options.StatisticTexts = None,
    partition: options.PartitionTexts = None,
    distance: options.DistanceTexts = None,
    unpaired: Unpaired = False,
    *,
    inputs: Inputs,
) -> None:
    """Compare models: each with its test, and the differences of every two."""
    if len(files) < 2 and inputs.model is None:
        raise mistake("FILE…", "compare needs at least two files, or one with --model.")
    import calibrant as cal
    from calibrant.cli.parsing import parse_questions

    models = inputs.load_all(files, paired=not unpaired)
    first = next(iter(models.values()))
    asked = parse_questions(first, lens, statistic, partition, distance)
    how = {**asked, **inputs.draws, "paired": not unpaired}
    with progress_after(1.0, "resampling") as progress:
        found = cal.compare(models, **how, progress=progress)
    if inputs.json:
        body = inputs.origin(files, models)
        print_json("compare", {**body, **drawn(found.settings), **found.to_dict()})
    else:
        _print_comparison(found)
        for name, data in models.items():
            _print_infinite(data, found.scores[name], name)
        print_readings(models)


def _print_comparison(found: "Comparison") -> None:
    from calibrant.reporting.sentences import paragraphs
    from calibrant.words import BOTH_OUTCOMES

    if len(found.evaluations) == 2:
        sentences = [difference.sentence for difference in found.differences]
    else:
        sentences = [f"{subject}: {text}" for subject, text in paragraphs(found)]
    for sentence in sentences:
        say(sentence)
    typer.echo()
    print_table("How far off", *found.lines(), heading=(0,))
    print_table("Scores", *found.score_rows())
    if next(iter(found.evaluations.values())).m == 2:
        say(BOTH_OUTCOMES)


@takes_inputs()
def power(
    file: options.File,
    lens: options.LensText = "canonical",
    statistic: options.StatisticText = None,
    temperature: Temperatures = None,
    shift: Shifts = None,
    target: Share = 0.8,
    alpha: Level = 0.05,
    *,
    inputs: Inputs,
) -> None:
    """Say how far off the model would have to be for this file to show it."""
    import calibrant as cal
    from calibrant.cli.parsing import parse_lens, parse_statistic

    data = inputs.load(file)
    with progress_after(1.0, "drawing") as progress:
        found = cal.power(
            data,
            _alternatives(data, temperature or [], shift or []) or target,
            lens=parse_lens(lens, data),
            statistic=None if statistic is None else parse_statistic(statistic),
            alpha=alpha,
            **inputs.draws,
            progress=progress,
        )
    if inputs.json:
        body = inputs.origin(file, data)
        print_json("power", {**body, **drawn(found.settings), **found.to_dict()})
    else:
        say(f"{found}.")
        typer.echo()
        print_table("Power", *found.lines())
        print_readings(data)


def _alternatives(
    data: "Predictions", temperatures: list[float], shifts: list[float]
) -> dict[str, Any]:
    """Return what to draw labels from, by name; nothing for a search."""
    from calibrant.inference.verdicts.power import shifted_class
    from calibrant.resampling import Shifted, Tempered

    found: dict[str, Any] = {}
    for value in temperatures:
        name = f"{'over' if value > 1 else 'under'}confident by a temperature of {value:g}"
        found[name] = Tempered(value)
    for value in shifts:
        name = f"too {'low' if value > 0 else 'high'} by log-odds of {abs(value):g}"
        found[name] = Shifted(shifted_class(data), value)
    return found
