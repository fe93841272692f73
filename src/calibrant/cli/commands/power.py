"""``calibrant power``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.inputs import Inputs, readings, takes_inputs
from calibrant.cli.options import File, Json, LensText, Resamples, Seed, StatisticText
from calibrant.cli.output import drawn, print_json, print_readings, print_sentence, print_table
from calibrant.cli.parsing import parse_lens, parse_statistic
from calibrant.cli.progress import progress_after

if TYPE_CHECKING:
    from calibrant import Predictions

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
    float, typer.Option(min=0.01, max=0.99, help="Power that is asked for, without alternatives.")
]
Level = Annotated[float, typer.Option(min=0.0001, max=0.5, help="Level of the test.")]


@takes_inputs()
def power(
    file: File,
    lens: LensText = "canonical",
    statistic: StatisticText = None,
    temperature: Temperatures = None,
    shift: Shifts = None,
    target: Share = 0.8,
    alpha: Level = 0.05,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    *,
    inputs: Inputs,
) -> None:
    """Say how far off the model would have to be for this file to show it."""
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        data = inputs.load(file)
        with progress_after(1.0, "drawing") as progress:
            found = cal.power(
                data,
                _alternatives(data, temperature or [], shift or []) or target,
                lens=parse_lens(lens, data),
                statistic=None if statistic is None else parse_statistic(statistic),
                alpha=alpha,
                n_resamples=resamples,
                rng=seed,
                progress=progress,
            )
    if json:
        body = {"file": str(file), "region": inputs.region}
        body["reading"] = readings({"": data}).get("")
        print_json("power", {**body, **drawn(found.settings), **found.to_dict()})
    else:
        print_sentence(f"{found}.")
        typer.echo()
        print_table("Power", *found.lines())
        print_readings({"": data})


def _alternatives(
    data: "Predictions", temperatures: list[float], shifts: list[float]
) -> dict[str, Any]:
    """Return what to draw labels from, by name; nothing for a search."""
    from calibrant.inference.verdicts.power import shifted_class  # noqa: PLC0415
    from calibrant.resampling import Shifted, Tempered  # noqa: PLC0415

    found: dict[str, Any] = {}
    for value in temperatures:
        name = f"{'over' if value > 1 else 'under'}confident by a temperature of {value:g}"
        found[name] = Tempered(value)
    for value in shifts:
        name = f"too {'low' if value > 0 else 'high'} by log-odds of {abs(value):g}"
        found[name] = Shifted(shifted_class(data), value)
    return found
