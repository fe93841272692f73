"""``calibrant clinical`` and ``verification``: the numbers of clinicians and of forecasters."""

from typing import Annotated

import typer

from calibrant.cli import options
from calibrant.cli.inputs import Inputs, takes_inputs
from calibrant.cli.output import print_json, print_readings, print_table, say

Thresholds = Annotated[
    list[float] | None,
    typer.Option(
        "--threshold",
        min=0.0001,
        max=0.9999,
        help="Risk from which somebody is treated, for the net benefit; may be repeated.",
    ),
]


@takes_inputs()
def clinical(
    file: options.File,
    lens: options.LensText = "canonical",
    threshold: Thresholds = None,
    *,
    inputs: Inputs,
) -> None:
    """Judge the predicted risks of an event as TRIPOD+AI asks: O/E, slope, AUC, net benefit."""
    import calibrant as cal
    from calibrant.cli.parsing import parse_lens

    data = inputs.load(file)
    found = cal.clinical(data, lens=parse_lens(lens, data), thresholds=threshold or None)
    if inputs.json:
        print_json("clinical", {**inputs.origin(file, data), **found.to_dict()})
        return
    for sentence in found.sentences:
        say(sentence)
    typer.echo()
    print_table("Clinical numbers", *found.lines(), heading=(0,))
    print_readings(data)
