"""The commands."""

import io
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import parsing
from calibrant.cli.memory import return_large_arrays
from calibrant.cli.options import (
    Classes,
    DistanceText,
    DistanceTexts,
    File,
    Files,
    Json,
    Label,
    LensText,
    LensTexts,
    Logits,
    Output,
    PartitionText,
    PartitionTexts,
    Probs,
    Region,
    Resamples,
    Seed,
    Weight,
)
from calibrant.cli.output import (
    one_sentence_errors,
    print_json,
    print_table,
    print_title,
    progress_after,
    whole_file,
)

if TYPE_CHECKING:
    from calibrant import Evaluation, Predictions
    from calibrant.lenses import Lens

REJECTED = 3

app = typer.Typer(
    name="calibrant",
    help="Find out whether a classifier's probabilities can be trusted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Find out whether a classifier's probabilities can be trusted."""
    if version:
        from calibrant import __version__  # noqa: PLC0415

        typer.echo(__version__)
        raise typer.Exit


@app.command(epilog="Example: calibrant evaluate predictions.csv --lens top --lens class:dog")
def evaluate(
    file: File,
    lens: LensTexts = None,
    partition: PartitionTexts = None,
    distance: DistanceTexts = None,
    region: Region = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    label: Label = None,
    probs: Probs = None,
    classes: Classes = None,
    weight: Weight = None,
    logits: Logits = False,
) -> None:
    """Estimate miscalibration in several respects, and test each."""
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415
        from calibrant.inference.evaluation import bootstraps  # noqa: PLC0415

        data = _load(file, region, label, probs, classes, weight, logits)
        n_bootstrap = bootstraps(data)
        with progress_after(1.0, "resampling") as progress:
            found = cal.evaluate(
                data,
                **_grid(data, lens, partition, distance),
                n_resamples=resamples,
                n_bootstrap=n_bootstrap,
                rng=seed,
                progress=progress,
            )
        scores = _scores(data)
        if json:
            settings = {"seed": seed, "n_resamples": resamples, "n_bootstrap": n_bootstrap}
            body = {"file": str(file), **settings, "scores": scores, **found.to_dict()}
            print_json("evaluate", body)
            return
        _print_evaluation(str(file), data, scores, found)


@app.command("test", epilog="Example: calibrant test predictions.csv --lens top --fail-below 0.01")
def run_test(
    file: File,
    lens: LensText = "canonical",
    partition: PartitionText = None,
    distance: DistanceText = "tv",
    worst: Annotated[
        bool, typer.Option("--worst", help="Test the worst cell instead of the mean.")
    ] = False,
    region: Region = None,
    fail_below: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Exit with code 3 if p is below this, for use in CI."),
    ] = None,
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
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415
        from calibrant.inference.evaluation import default_partitions  # noqa: PLC0415

        data = _load(file, region, label, probs, classes, weight, logits)
        chosen = parsing.parse_lens(lens, data)
        cells = parsing.parse_partition(partition) if partition else default_partitions(data)[1]
        statistic = (
            cal.statistics.WorstMiscalibration if worst else cal.statistics.ExpectedMiscalibration
        )(cells, parsing.parse_distance(distance))
        with progress_after(1.0, "resampling") as progress:
            found = cal.calibration_test(
                data, statistic, lens=chosen, n_resamples=resamples, rng=seed, progress=progress
            )
    rejected = fail_below is not None and found.pvalue < fail_below
    if json:
        body = {"file": str(file), "seed": seed, "lens": str(chosen), "of": str(statistic)}
        print_json(
            "test", {**body, "fail_below": fail_below, "rejected": rejected, **found.to_dict()}
        )
    else:
        typer.echo(f"{chosen}, {statistic}: {found}")
    if rejected:
        raise typer.Exit(REJECTED)


@app.command(epilog="Example: calibrant compare lenet.csv resnet.csv --lens top")
def compare(
    files: Files,
    lens: LensTexts = None,
    partition: PartitionTexts = None,
    distance: DistanceTexts = None,
    region: Region = None,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="The files hold different rows.")
    ] = False,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    label: Label = None,
    probs: Probs = None,
    classes: Classes = None,
    weight: Weight = None,
    logits: Logits = False,
) -> None:
    """Compare models: each with its test, and the differences of every two."""
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415
        from calibrant.inference.evaluation import bootstraps  # noqa: PLC0415

        if len(files) < 2:
            raise typer.BadParameter("compare needs at least two files.", param_hint="FILE…")
        models = _models(files, region, label, probs, classes, weight, logits)
        first = next(iter(models.values()))
        n_bootstrap = 5 * min(bootstraps(data) for data in models.values()) - 1
        with progress_after(1.0, "resampling") as progress:
            found = cal.compare(
                models,
                **_grid(first, lens, partition, distance),
                n_resamples=resamples,
                n_bootstrap=n_bootstrap,
                paired=not unpaired,
                rng=seed,
                progress=progress,
            )
        if json:
            settings = {"seed": seed, "n_resamples": resamples, "n_bootstrap": n_bootstrap}
            body = {"files": [str(f) for f in files], **settings, **found.to_dict()}
            print_json("compare", body)
            return
        print_table("Scores", *found.score_rows())
        print_table("Expected miscalibration", *found.rows(), heading=(1, 2, 3))
        for difference in found.differences:
            typer.echo(f"{difference}\n")


@app.command(epilog="Example: calibrant plot predictions.csv --lens top -o diagram.png")
def plot(
    file: File,
    output: Output = Path("reliability.png"),
    lens: LensText = "top",
    partition: PartitionText = None,
    classical: Annotated[
        bool, typer.Option("--classical", help="Frequency over prediction, with the diagonal.")
    ] = False,
    regions: Annotated[
        bool, typer.Option("--regions", help="Draw the consistency region of each cell.")
    ] = False,
    region: Region = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    label: Label = None,
    probs: Probs = None,
    classes: Classes = None,
    weight: Weight = None,
    logits: Logits = False,
) -> None:
    """Draw a reliability diagram: PNG, SVG or PDF, or HTML to explore."""
    _check_ending(output, ".png", ".svg", ".pdf", ".html")
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        data = _load(file, region, label, probs, classes, weight, logits)
        chosen = parsing.parse_lens(lens, data)
        with progress_after(1.0, "resampling") as progress:
            diagram = cal.reliability_diagram(
                data,
                lens=chosen,
                partition=parsing.parse_partition(partition) if partition else None,
                n_resamples=resamples,
                rng=seed,
                progress=progress,
            )
        with whole_file(output) as temporary:
            _draw(diagram, temporary, classical, regions)
    if json:
        body = {"file": str(file), "output": str(output), "seed": seed, "lens": str(chosen)}
        print_json("plot", {**body, **diagram.to_dict()})
    else:
        typer.echo(f"{diagram}\nWritten to {output}.")


@app.command(epilog="Example: calibrant report predictions.parquet -o report.html")
def report(
    files: Files,
    output: Output = Path("calibrant-report.html"),
    title: Annotated[str | None, typer.Option(help="Title of the report.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="Groups of classes to draw, such as 0-2|3-5|6-9.")
    ] = None,
    region: Region = None,
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
    label: Label = None,
    probs: Probs = None,
    classes: Classes = None,
    weight: Weight = None,
    logits: Logits = False,
) -> None:
    """Write a report: one HTML file that works offline."""
    _check_ending(output, ".html", ".htm")
    with one_sentence_errors():
        models = _models(files, region, label, probs, classes, weight, logits)
        _write_report(models, output, title, groups, resamples, seed)
    if json:
        body = {"files": [str(f) for f in files], "output": str(output)}
        print_json("report", {**body, "seed": seed, "n_resamples": resamples})
    else:
        typer.echo(f"Written to {output}.")


@app.command(epilog="Example: calibrant demo")
def demo(
    output: Output = Path("calibrant-report.html"),
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Evaluate the predictions of a network that come with calibrant, and write a report."""
    _check_ending(output, ".html", ".htm")
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        models = {name: cal.datasets.cifar10(name) for name in ("lenet", "resnet", "densenet")}
        data = models["resnet"]
        found = cal.evaluate(data, n_resamples=resamples, rng=seed)
        scores = _scores(data)
        if not json:
            _print_evaluation("A ResNet on CIFAR-10", data, scores, found)
        _write_report(models, output, "Three networks on CIFAR-10", None, resamples, seed)
    if json:
        body = {"output": str(output), "seed": seed, "n_resamples": resamples}
        print_json("demo", {**body, "scores": scores, **found.to_dict()})
    else:
        typer.echo(f"The report on all three networks is in {output}: open it in a browser.")


@app.command(epilog="Example: calibrant datasets lenet -o lenet.csv")
def datasets(
    name: Annotated[
        str | None, typer.Argument(help="Which one to write; default: list them.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV or Parquet file to write.")
    ] = None,
    json: Json = False,
) -> None:
    """List the predictions that come with calibrant, or write one to a file."""
    with one_sentence_errors():
        import calibrant as cal  # noqa: PLC0415

        names = cal.datasets.names()
        if name is None:
            if json:
                print_json("datasets", {"names": list(names)})
            else:
                typer.echo("\n".join(names))
            return
        if name not in names:
            raise typer.BadParameter(
                f"must be one of {', '.join(names)}; found {name!r}.", param_hint="NAME"
            )
        target = output or Path(f"{name}.csv")
        _check_ending(target, ".csv", ".parquet")
        _write_frame(cal.datasets.cifar10(name), target)
    if json:
        print_json("datasets", {"name": name, "output": str(target)})
    else:
        typer.echo(f"Written to {target}.")


def main() -> None:
    """Run the command."""
    # A terminal that lacks a sign, such as ±, shows another one instead of an error.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # To be ended is to be interrupted: temporary files are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return_large_arrays()
    app()


def _check_ending(output: Path, *endings: str) -> None:
    if output.suffix.lower() not in endings:
        raise typer.BadParameter(
            f"must end in {' or '.join(endings)}; found {output.name!r}.", param_hint="--output"
        )


def _load(
    file: Path,
    region: str | None,
    label: str | None,
    probs: str | None,
    classes: str | None,
    weight: str | None,
    logits: bool,
) -> "Predictions":
    from calibrant.loading import load  # noqa: PLC0415

    with progress_after(1.0, "reading"):
        data = load(
            file,
            label=label,
            probs=_split(probs),
            classes=_split(classes),
            weight=weight,
            logits=logits,
        )
    return data if region is None else data.restrict(parsing.parse_region(region, data))


def _models(files: list[Path], *options: Any) -> dict[str, "Predictions"]:
    """Load files under their names, or their paths where two names are equal."""
    stems = [file.stem for file in files]
    names = [s if stems.count(s) == 1 else str(f) for s, f in zip(stems, files, strict=True)]
    if len(set(names)) != len(names):
        raise typer.BadParameter("must differ from one another.", param_hint="FILE…")
    return {name: _load(file, *options) for name, file in zip(names, files, strict=True)}


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]


def _grid(
    data: "Predictions",
    lens: list[str] | None,
    partition: list[str] | None,
    distance: list[str] | None,
) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    if lens:
        chosen["lenses"] = [parsing.parse_lens(text, data) for text in lens]
    if partition:
        chosen["partitions"] = [parsing.parse_partition(text) for text in partition]
    if distance:
        chosen["distances"] = [parsing.parse_distance(text) for text in distance]
    return chosen


def _scores(data: "Predictions") -> dict[str, float]:
    from calibrant.scores import all_scores  # noqa: PLC0415

    return all_scores(data)


def _print_evaluation(
    name: str, data: "Predictions", scores: dict[str, float], found: "Evaluation"
) -> None:
    from calibrant.inference.evaluation import HEADER  # noqa: PLC0415
    from calibrant.reporting.page import score_name  # noqa: PLC0415

    print_title(f"{name}: {data.n:,} rows, {data.m} classes")
    typer.echo(", ".join(f"{score_name(key)} {v:.4f}" for key, v in scores.items()) + "\n")
    rows = [row.cells() for row in found.rows]
    print_table("Expected miscalibration", HEADER, rows, heading=(0, 1))
    sentence = str(found)
    typer.echo(f"{sentence[:1].upper()}{sentence[1:]}.")


def _draw(diagram: Any, path: Path, classical: bool, regions: bool) -> None:
    if path.suffix.lower() == ".html":
        figure = diagram.figure(classical=classical, regions=regions)
        config = {"displaylogo": False, "showSendToCloud": False}
        figure.write_html(path, include_plotlyjs=True, div_id="diagram", config=config)
        return
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    axes = diagram.plot(classical=classical, regions=regions)
    axes.figure.savefig(path, dpi=200)


def _write_report(
    models: dict[str, "Predictions"],
    output: Path,
    title: str | None,
    groups: str | None,
    resamples: int,
    seed: int,
) -> None:
    from calibrant.reporting import report as write  # noqa: PLC0415

    first = next(iter(models.values()))
    lens = None if groups is None else _groups(groups, first)
    with progress_after(1.0, "report") as progress, whole_file(output) as temporary:
        write(
            models if len(models) > 1 else first,
            temporary,
            title=title or f"Calibration of {', '.join(models)}",
            groups=lens,
            n_resamples=resamples,
            rng=seed,
            progress=progress,
        )


def _groups(text: str, data: "Predictions") -> "Lens":
    lens = parsing.parse_groups(text, data)
    if text.count("|") > 3:
        raise typer.BadParameter(
            f"must be two, three or four groups, to be drawn; found {text.count('|') + 1}.",
            param_hint="--groups",
        )
    return lens


def _write_frame(data: "Predictions", path: Path) -> None:
    import polars as pl  # noqa: PLC0415

    columns = {f"prob_{name}": data.probs[:, j] for j, name in enumerate(data.classes)}
    frame = pl.DataFrame({"label": [data.classes[y] for y in data.labels], **columns})
    with whole_file(path) as temporary:
        if path.suffix.lower() == ".csv":
            frame.write_csv(temporary)
        else:
            frame.write_parquet(temporary)
