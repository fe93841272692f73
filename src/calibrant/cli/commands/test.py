"""``calibrant test``, with gates for scripts: what a verdict must meet, and why it does not."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from calibrant.cli import options
from calibrant.cli.errors import mistake, translated
from calibrant.cli.inputs import Inputs, takes_inputs
from calibrant.cli.output import drawn, print_json, print_readings, print_table, progress_after, say

if TYPE_CHECKING:
    from calibrant import Evaluation, Predictions, Scan, Verdict
    from calibrant.statistics import Statistic

REJECTED = 3  # the exit code

Worst = Annotated[bool, typer.Option("--worst", help="Test the worst bin instead of the mean.")]
Null = Annotated[bool, typer.Option("--null", help="Put the null distributions into the JSON.")]
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


@takes_inputs("row", "engine")
def run_test(
    file: options.FileOrFolder,
    lens: options.LensText = "canonical",
    statistic: options.StatisticText = None,
    partition: options.PartitionText = None,
    distance: options.DistanceText = "tv",
    worst: Worst = False,
    fail_below: FailBelow = None,
    fail_above: FailAbove = None,
    require_below: RequireBelow = None,
    null: Null = False,
    *,
    inputs: Inputs,
) -> None:
    """Test whether the predictions are calibrated, and how far off they are."""
    gates = Gates(fail_below, fail_above, require_below)
    gates.check(inputs.resamples)
    import calibrant as cal
    from calibrant.cli.parsing import parse_lens

    data = inputs.open(file)
    asked: dict[str, Any] = {"lenses": [parse_lens(lens, data)]}
    asked["statistics"] = _statistics(data, statistic, partition, distance, worst)
    with progress_after(1.0, "resampling") as progress:
        found = cal.evaluate(data, **asked, **inputs.draws, progress=progress)
    failed = gates.failures(found.verdicts[0])
    if inputs.json:
        body = {**inputs.origin(file, data), "failed": failed}
        print_json("test", {**body, **_plain(found, null)})
    else:
        say(found.verdicts[0].sentence)
        typer.echo()
        print_table("Tests", *found.lines(), heading=(0,))
        for why in failed:
            say(why)
        print_readings(data)
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
    from calibrant import statistics
    from calibrant.cli.parsing import parse_distance, parse_partition, parse_statistic
    from calibrant.inference.testing.families import default_partitions

    measure = parse_distance(distance)
    chosen = bool(partition or worst)
    if statistic is not None:
        if chosen:
            raise mistake("--statistic", "must stand alone, without --partition and --worst.")
        return [parse_statistic(statistic)]
    if not chosen and distance == "tv":
        return None
    bins = default_partitions(data)[-1] if partition is None else parse_partition(partition)
    kind = statistics.WorstMiscalibration if worst else statistics.ExpectedMiscalibration
    return [kind(bins, measure)]


@final
@dataclass(frozen=True, slots=True)
class Gates:
    """Limits of a verdict; None for those that were not set."""

    fail_below: float | None  # of the p-value
    fail_above: float | None  # of the lower end of the interval of the size
    require_below: float | None  # of its upper end

    def check(self, resamples: int) -> None:
        """Refuse a limit that no p-value can be below: the smallest one is 1 / (resamples + 1)."""
        limit = self.fail_below
        if limit is None or 1.0 / (resamples + 1) < limit:
            return
        if limit == 0.0:
            raise mistake("--fail-below", "must be greater than 0: no p-value is below 0.")
        needed = int(1.0 / limit)  # up to rounding, which the loop settles
        while 1.0 / (needed + 1) >= limit:
            needed += 1
        raise mistake(
            "--fail-below",
            f"{limit:g} needs at least {needed} resamples:"
            f" with {resamples} no p-value is below {limit:g}.",
        )

    @staticmethod
    def _shown_above(limit: float, verdict: "Verdict") -> bool:
        """Whether a size is above a limit; refused if it is not worked out."""
        if verdict.scanned:
            raise mistake("--fail-above", translated(verdict.why_not_below(limit)) + ".")
        return verdict.shown_above(limit)

    def failures(self, verdict: "Verdict") -> list[str]:
        """Say why gates are closed."""
        from calibrant.words import points

        why = []
        limit = self.fail_below
        if limit is not None and verdict.pvalue < limit:
            why.append(f"Failed --fail-below: p is {verdict.pvalue:.3g}, below {limit:g}.")
        limit = self.fail_above
        if limit is not None and self._shown_above(limit, verdict):
            assert verdict.interval is not None
            off = f"off by at least {points(verdict.interval[0])}, more than {points(limit)}"
            why.append(f"Failed --fail-above: shown to be {off}.")
        limit = self.require_below
        if limit is not None and not verdict.shown_below(limit):
            why.append(f"Failed --require-below: {translated(verdict.why_not_below(limit))}.")
        return why
