"""``calibrant test``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.gates import FailAbove, FailBelow, Gates, RequireBelow
from calibrant.cli.inputs import Inputs, readings, takes_inputs
from calibrant.cli.options import (
    DistanceText,
    FileOrFolder,
    Json,
    LensText,
    PartitionText,
    Resamples,
    Seed,
    StatisticText,
)
from calibrant.cli.output import drawn, print_json, print_readings, print_sentence, print_table
from calibrant.cli.parsing import parse_distance, parse_lens, parse_partition, parse_statistic
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Predictions, Scan
    from calibrant.inference import Evaluation
    from calibrant.statistics import Statistic

REJECTED = 3  # the exit code

Worst = Annotated[bool, typer.Option("--worst", help="Test the worst bin instead of the mean.")]
Null = Annotated[bool, typer.Option("--null", help="Put the null distributions into the JSON.")]


@takes_inputs("row", "engine")
def run_test(
    file: FileOrFolder,
    lens: LensText = "canonical",
    statistic: StatisticText = None,
    partition: PartitionText = None,
    distance: DistanceText = "tv",
    worst: Worst = False,
    fail_below: FailBelow = None,
    fail_above: FailAbove = None,
    require_below: RequireBelow = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    null: Null = False,
    *,
    inputs: Inputs,
) -> None:
    """Test whether the predictions are calibrated, and how far off they are."""
    gates = Gates(fail_below, fail_above, require_below)
    gates.check(resamples)
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        data = inputs.open(file)
        gates.check_rows(data)
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
    failed = gates.failures(found.verdicts[0])
    if json:
        body = {"file": str(file), "region": inputs.region, "reading": readings({"": data}).get("")}
        print_json("test", {**body, "failed": failed, **_plain(found, null)})
    else:
        print_sentence(found.verdicts[0].sentence)
        typer.echo()
        print_table("Tests", *found.lines(), heading=(0,))
        for why in failed:
            print_sentence(why)
        print_readings({"": data})
    if failed:
        raise typer.Exit(REJECTED)


def _plain(found: "Evaluation", null: bool) -> dict[str, Any]:
    """Return the result for JSON: the fields of its only verdict are its own."""
    body = found.to_dict()
    if null:
        for row, test in zip(body["rows"], found.rows, strict=True):
            row["null"] = test.null.tolist()
    return {**body.pop("verdicts")[0], **body, **drawn(found.settings)}


def _statistics(
    data: "Predictions | Scan",
    statistic: str | None,
    partition: str | None,
    distance: str,
    worst: bool,
) -> "list[Statistic] | None":
    """Return what to test; None for the default, a few statistics together."""
    from calibrant import statistics  # noqa: PLC0415
    from calibrant.inference.testing.families import default_partitions  # noqa: PLC0415

    measure = parse_distance(distance)
    chosen = bool(partition or worst)
    if statistic is not None:
        if chosen:
            raise typer.BadParameter(
                "must stand alone, without --partition and --worst.", param_hint="--statistic"
            )
        return [parse_statistic(statistic)]
    if not chosen and distance == "tv":
        return None
    cells = default_partitions(data)[-1] if partition is None else parse_partition(partition)
    kind = statistics.WorstMiscalibration if worst else statistics.ExpectedMiscalibration
    return [kind(cells, measure)]
