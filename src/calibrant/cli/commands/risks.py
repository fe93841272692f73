"""``calibrant clinical`` and ``verification``: the numbers of clinicians and of forecasters."""

from typing import Annotated, Any

import typer

from calibrant.cli import options
from calibrant.cli.errors import mistake
from calibrant.cli.inputs import Inputs, takes_inputs
from calibrant.cli.output import print_json, print_readings, print_table, say

Thresholds = Annotated[
    list[float] | None,
    typer.Option(
        "--threshold",
        help="Risk from which a patient is treated, for the net benefit; may be repeated.",
    ),
]

Bins = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=10_000,
        help="Bins of equal width for reliability and resolution. Default: each forecast if at most"
        " 21 differ, else 10.",
    ),
]
Climatology = Annotated[
    str | None,
    typer.Option(
        help="Probability of the event from a longer record, or of each class, separated by commas."
        " Default: the frequencies in the file.",
    ),
]


@takes_inputs(draws=False)
def clinical(
    file: options.File,
    lens: options.LensText = "canonical",
    threshold: Thresholds = None,
    *,
    inputs: Inputs,
) -> None:
    """Validate predicted risks as TRIPOD+AI asks: O/E, slope, AUC, net benefit."""
    import calibrant as cal
    from calibrant.cli.parsing import parse_lens

    for risk in threshold or []:
        if not 0 < risk < 1:
            raise mistake("--threshold", f"must be between 0 and 1; found {risk:g}.")
    data = inputs.load(file)
    found = cal.clinical(data, lens=parse_lens(lens, data), thresholds=threshold or None)
    if inputs.json:
        print_json("clinical", {**inputs.origin(file, data), **found.to_dict()})
    else:
        _print("Clinical numbers", found, data)


@takes_inputs(draws=False)
def verification(
    file: options.File,
    bins: Bins = None,
    climatology: Climatology = None,
    *,
    inputs: Inputs,
) -> None:
    """Verify forecasts: Brier and RPS skill, reliability, resolution and uncertainty."""
    import calibrant as cal

    data = inputs.load(file)
    found = cal.verification(data, bins=bins, climatology=_numbers(climatology))
    if inputs.json:
        print_json("verification", {**inputs.origin(file, data), **found.to_dict()})
    else:
        _print("Verification", found, data)


def _print(title: str, found: Any, data: Any) -> None:
    """Write sentences and a table, and what was read."""
    for sentence in found.sentences:
        say(sentence)
    typer.echo()
    header, rows = found.lines()
    print_table(title, header, rows, heading=(0,))
    print_readings(data)


def _numbers(text: str | None) -> list[float] | None:
    """Return the numbers that commas separate."""
    try:
        return None if text is None else [float(word) for word in text.split(",")]
    except ValueError:
        raise mistake(
            "--climatology", f"must be numbers, separated by commas; found {text!r}."
        ) from None
