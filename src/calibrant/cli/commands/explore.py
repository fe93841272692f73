"""``calibrant explore``: the report, alive."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli.errors import mistake
from calibrant.cli.inputs import Inputs, takes_inputs
from calibrant.cli.output import print_readings

if TYPE_CHECKING:
    from calibrant import Predictions

Files = Annotated[
    list[Path] | None, typer.Argument(metavar="[FILE…]", help="Files of predictions and labels.")
]
Demo = Annotated[bool, typer.Option("--demo", help="Explore networks that come with calibrant.")]
Host = Annotated[str, typer.Option(help="Where to listen; by default only this machine can ask.")]
Port = Annotated[int, typer.Option(help="Port; 0 takes a free one, and one in use the next.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")]
Images = Annotated[
    Path | None,
    typer.Option(help="Folder of pictures that a column names; default: that of the file."),
]


@takes_inputs()
def explore(
    files: Files = None,
    demo: Demo = False,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    browser: Browser = True,
    images: Images = None,
    *,
    inputs: Inputs,
) -> None:
    """Open predictions on a page of this machine: pick a lens, bins, rows, groups, models."""
    if bool(files) == demo:
        raise mistake("FILE…", "must be given, or --demo.")
    if inputs.json:
        raise mistake("--json", "has no meaning here: the page has links to what it shows.")
    if not 0 <= port < 65_536:
        raise mistake("--port", f"must be between 0 and 65535; found {port}.")
    everything = replace(inputs, region=None)  # the region can be changed on the page
    models = everything.load_with_columns(files) if files else _networks()
    page = _page(models, files or [], inputs, host=host, port=port, images=images)
    print_readings(models)
    typer.echo(f"Explore at {page.address}")
    typer.echo("The address is a key: whoever has it can look. Ctrl-C ends.")
    _serve(page, browser)


def _page(
    models: "dict[str, Predictions]", files: list[Path], inputs: Inputs, **listening: Any
) -> Any:
    """Open the explorer; pictures are those of the folder of the first file."""
    from calibrant.explorer.server import Explorer
    from calibrant.explorer.session import Session
    from calibrant.explorer.state import State

    plain = "probabilities", None, False, ()
    reading = {name: value for name, value in inputs.reading.items() if value not in plain}
    drawn = inputs.resamples, inputs.seed
    session = Session(models, files, *drawn, reading, inputs.words, demo=not files)
    first = State(region=inputs.region or "")
    session.rows(first)
    title = ", ".join(file.name for file in files) or "Networks on CIFAR-10"
    listening["images"] = listening["images"] or (files[0].parent if files else None)
    return Explorer(session, title, first=first, **listening)


def _serve(page: Any, browser: bool) -> None:
    """Serve until somebody interrupts."""
    if browser:
        import webbrowser

        webbrowser.open(page.address)
    try:
        page.server.serve_forever()
    except KeyboardInterrupt:
        typer.echo("Ended.")
    finally:
        page.close()


def _networks() -> "dict[str, Predictions]":
    import calibrant as cal

    return {name: cal.datasets.cifar10(name) for name in cal.datasets.names()}
