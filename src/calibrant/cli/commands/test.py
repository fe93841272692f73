"""``calibrant test``."""

from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.inputs import Inputs
from calibrant.cli.options import (
    Classes,
    DistanceText,
    File,
    Json,
    Label,
    LensText,
    Logits,
    PartitionText,
    Probs,
    Region,
    Resamples,
    Seed,
    Weight,
)
from calibrant.cli.output import print_json
from calibrant.cli.parsing import parse_distance, parse_lens, parse_partition
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Predictions
    from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration

REJECTED = 3  # the exit code

Worst = Annotated[bool, typer.Option("--worst", help="Test the worst cell instead of the mean.")]
FailBelow = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Exit with code 3 if p is below this, for use in CI."),
]


def run_test(
    file: File,
    lens: LensText = "canonical",
    partition: PartitionText = None,
    distance: DistanceText = "tv",
    worst: Worst = False,
    region: Region = None,
    fail_below: FailBelow = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    label: Label = None,
    probs: Probs = None,
    classes: Classes = None,
    weight: Weight = None,
    logits: Logits = False,
) -> None:
    """Test whether the predictions are calibrated."""
    if fail_below is not None:
        _check_limit(fail_below, resamples)
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        data = Inputs(region, label, probs, classes, weight, logits).load(file)
        chosen = parse_lens(lens, data)
        statistic = _statistic(data, partition, distance, worst)
        with progress_after(1.0, "resampling") as progress:
            found = cal.calibration_test(
                data, statistic, lens=chosen, n_resamples=resamples, rng=seed, progress=progress
            )
    rejected = fail_below is not None and found.pvalue < fail_below
    if json:
        body = {"file": str(file), "region": region, "seed": seed, "lens": str(chosen)}
        verdict = {"fail_below": fail_below, "rejected": rejected}
        print_json("test", {**body, "of": str(statistic), **verdict, **found.to_dict()})
    else:
        typer.echo(f"{chosen}, {statistic}: {found}")
    if rejected:
        raise typer.Exit(REJECTED)


def _statistic(
    data: "Predictions", partition: str | None, distance: str, worst: bool
) -> "ExpectedMiscalibration | WorstMiscalibration":
    from calibrant import statistics  # noqa: PLC0415
    from calibrant.inference.grids import default_partitions  # noqa: PLC0415

    cells = parse_partition(partition) if partition else default_partitions(data)[1]
    kind = statistics.WorstMiscalibration if worst else statistics.ExpectedMiscalibration
    return kind(cells, parse_distance(distance))


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
