"""``calibrant demo`` and ``datasets``: predictions that come with calibrant."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.checks.files import check_writable, whole_file
from calibrant.cli import options
from calibrant.cli.commands.evaluate import print_evaluation
from calibrant.cli.errors import check_ending, mistake
from calibrant.cli.output import echo, print_json, progress_after, say

if TYPE_CHECKING:
    from calibrant import Predictions

TITLES = {"lenet": "LeNet", "resnet": "ResNet", "densenet": "DenseNet"}

Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="Which one to write; default: list them.")
]
Table = Annotated[Path | None, typer.Option("--output", "-o", help="CSV or Parquet file to write.")]


def demo(
    output: options.Output = Path("calibrant-report.html"),
    resamples: options.Resamples = 999,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Evaluate the predictions of a network that come with calibrant, and write a report."""
    check_ending(output, ".html", ".htm")
    check_writable(output)
    import calibrant as cal
    from calibrant.reporting.contents import Settings
    from calibrant.reporting.page import write_report

    models = {name: cal.datasets.cifar10(name) for name in cal.datasets.names()}
    data = models["resnet"]
    found = cal.evaluate(data, n_resamples=resamples, rng=seed)
    scores = cal.scores.all_scores(data)
    if not json:
        print_evaluation("A ResNet on CIFAR-10", scores, found)
    settings = Settings(seed, resamples)
    with progress_after(1.0, "report") as progress:
        write_report(models, output, "Three networks on CIFAR-10", settings, progress)
    if json:
        body = {"output": str(output), "seed": seed, "n_resamples": resamples}
        print_json("demo", {**body, "scores": scores, **found.to_dict()})
    else:
        echo(f"The report on all three networks is in {output}: open it in a browser.")


def datasets(name: Name = None, output: Table = None, json: options.Json = False) -> None:
    """List the predictions that come with calibrant, or write one to a file."""
    import calibrant as cal

    names = cal.datasets.names()
    if name is None:
        _list(names, output, json)
        return
    if name not in names:
        raise mistake("NAME", f"must be one of {', '.join(names)}; found {name!r}.")
    target = output or Path(f"{name}.csv")
    check_ending(target, ".csv", ".parquet")
    _write_frame(cal.datasets.cifar10(name), target)
    if json:
        print_json("datasets", {"name": name, "output": str(target)})
    else:
        say(f"Written to {target}: {_described(name)}.")
        echo(f"Try: calibrant evaluate {target}")


def _described(name: str) -> str:
    title = TITLES.get(name, name)
    return f"{title} on the test images of CIFAR-10, 10,000 rows, 10 classes"


def _list(names: Sequence[str], output: Path | None, json: bool) -> None:
    if output is not None:
        raise mistake("--output", f"needs the name of what to write: one of {', '.join(names)}.")
    if json:
        print_json("datasets", {"names": list(names)})
    else:
        typer.echo("Predictions that come with calibrant; calibrant datasets NAME writes one:\n")
        for name in names:
            echo(f"{name:<10}{_described(name)}")


def _write_frame(data: "Predictions", path: Path) -> None:
    import polars as pl

    columns = {f"prob_{name}": data.probs[:, j] for j, name in enumerate(data.classes)}
    frame = pl.DataFrame({"label": [data.classes[y] for y in data.labels], **columns})
    made = BytesIO()
    if path.suffix.lower() == ".csv":
        frame.write_csv(made)
    else:
        frame.write_parquet(made)
    with whole_file(path) as temporary:
        temporary.write_bytes(made.getbuffer())
