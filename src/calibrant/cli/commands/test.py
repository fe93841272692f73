"""``calibrant test``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.inputs import Inputs, readings
from calibrant.cli.options import (
    Classes,
    DistanceText,
    File,
    Ignore,
    Json,
    Label,
    LensText,
    Logits,
    Model,
    Normalize,
    PartitionText,
    Probs,
    Region,
    Resamples,
    Seed,
    StatisticText,
    Weight,
)
from calibrant.cli.output import drawn, print_json, print_readings, print_table
from calibrant.cli.parsing import parse_distance, parse_lens, parse_partition, parse_statistic
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Predictions
    from calibrant.inference import Verdict
    from calibrant.statistics import Statistic

REJECTED = 3  # the exit code

Worst = Annotated[bool, typer.Option("--worst", help="Test the worst cell instead of the mean.")]
FailBelow = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Exit with code 3 if p is below this, for use in CI."),
]
FailAbove = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Exit with code 3 if shown to be off by more than this."),
]
RequireBelow = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Exit with code 3 unless shown to be off by less."),
]
Null = Annotated[bool, typer.Option("--null", help="Put the null distributions into the JSON.")]


def run_test(
    file: File,
    lens: LensText = "canonical",
    statistic: StatisticText = None,
    partition: PartitionText = None,
    distance: DistanceText = "tv",
    worst: Worst = False,
    region: Region = None,
    fail_below: FailBelow = None,
    fail_above: FailAbove = None,
    require_below: RequireBelow = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    null: Null = False,
    label: Label = None,
    probs: Probs = None,
    classes: Classes = None,
    weight: Weight = None,
    logits: Logits = False,
    normalize: Normalize = False,
    ignore: Ignore = None,
    model: Model = None,
) -> None:
    """Test whether the predictions are calibrated, and how far off they are."""
    if fail_below is not None:
        _check_limit(fail_below, resamples)
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415
        from calibrant.inference.evaluation import HEADER  # noqa: PLC0415

        data = Inputs(region, label, probs, classes, weight, logits, normalize, ignore, model).load(
            file
        )
        chosen = parse_lens(lens, data)
        tested = _statistics(data, statistic, partition, distance, worst)
        with progress_after(1.0, "resampling") as progress:
            found = cal.evaluate(
                data,
                lenses=[chosen],
                statistics=tested,
                n_resamples=resamples,
                rng=seed,
                progress=progress,
            )
    failed = list(_failures(found.verdicts[0], fail_below, fail_above, require_below))
    if json:
        read = readings({"": data}).get("")
        body = {
            "file": str(file),
            "region": region,
            "reading": read,
            "failed": failed,
            **found.to_dict(),
        }
        body |= body.pop("verdicts")[0]
        if null:
            for row, test in zip(body["rows"], found.rows, strict=True):
                row["null"] = test.null.tolist()
        print_json("test", {**body, **drawn(found.settings)})
    else:
        typer.echo(found.verdicts[0].sentence + "\n")
        print_table("Tests", HEADER, [row.cells() for row in found.rows], heading=(0,))
        for why in failed:
            typer.echo(why)
        print_readings({"": data})
    if failed:
        raise typer.Exit(REJECTED)


def _failures(
    verdict: "Verdict", fail_below: float | None, fail_above: float | None, require: float | None
) -> Iterator[str]:
    """Say why a gate is closed."""
    from calibrant.words import points  # noqa: PLC0415

    if fail_below is not None and verdict.pvalue < fail_below:
        yield f"Failed --fail-below: p is {verdict.pvalue:.3g}, below {fail_below:g}."
    interval = verdict.interval
    if fail_above is not None and interval is not None and interval[0] > fail_above:
        yield (
            f"Failed --fail-above: shown to be off by at least {points(interval[0])}, more than"
            f" {points(fail_above)}."
        )
    if require is not None and interval is None:
        yield "Failed --require-below: cells hold too few rows to say how far off they are."
    elif require is not None and interval is not None and interval[1] >= require:
        yield (
            f"Failed --require-below: may be off by {points(interval[1])}, not shown to be below"
            f" {points(require)}."
        )


def _statistics(
    data: "Predictions", statistic: str | None, partition: str | None, distance: str, worst: bool
) -> "list[Statistic] | None":
    """Return what to test; None for the default, a few statistics together."""
    from calibrant import statistics  # noqa: PLC0415
    from calibrant.inference.families import default_tree  # noqa: PLC0415

    measure = parse_distance(distance)
    if statistic is not None:
        if partition or worst:
            raise typer.BadParameter(
                "must stand alone, without --partition and --worst.", param_hint="--statistic"
            )
        return [parse_statistic(statistic)]
    if not (partition or worst or distance != "tv"):
        return None
    cells = parse_partition(partition) if partition else default_tree(data)
    kind = statistics.WorstMiscalibration if worst else statistics.ExpectedMiscalibration
    return [kind(cells, measure)]


def _check_limit(fail_below: float, resamples: int) -> None:
    """Refuse a limit that no p-value can be below: the smallest one is 1 / (resamples + 1)."""
    if fail_below == 0.0:
        raise typer.BadParameter(
            "must be greater than 0: no p-value is below 0.", param_hint="--fail-below"
        )
    if 1.0 / (resamples + 1) < fail_below:
        return
    needed = int(1.0 / fail_below)  # up to rounding, which the loop settles
    while 1.0 / (needed + 1) >= fail_below:
        needed += 1
    raise typer.BadParameter(
        f"{fail_below:g} needs at least {needed} resamples:"
        f" with {resamples} no p-value is below {fail_below:g}.",
        param_hint="--fail-below",
    )
