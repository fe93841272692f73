"""``calibrant demo``."""

from pathlib import Path

import typer

from calibrant.checks.files import whole_file
from calibrant.cli.commands.evaluate import print_evaluation
from calibrant.cli.commands.report import write_report
from calibrant.cli.errors import one_sentence_errors
from calibrant.cli.files import check_ending
from calibrant.cli.options import Json, Output, Resamples, Seed
from calibrant.cli.output import print_json


def demo(
    output: Output = Path("calibrant-report.html"),
    resamples: Resamples = 999,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Evaluate the predictions of a network that come with calibrant, and write a report."""
    check_ending(output, ".html", ".htm")
    with one_sentence_errors(), whole_file(output) as temporary:
        import calibrant as cal  # noqa: PLC0415

        models = {name: cal.datasets.cifar10(name) for name in cal.datasets.names()}
        data = models["resnet"]
        found = cal.evaluate(data, n_resamples=resamples, rng=seed)
        scores = cal.scores.all_scores(data)
        if not json:
            print_evaluation("A ResNet on CIFAR-10", scores, found)
        settings = seed, resamples, None, None
        write_report(models, temporary, "Three networks on CIFAR-10", settings)
    if json:
        body = {"output": str(output), "seed": seed, "n_resamples": resamples}
        print_json("demo", {**body, "scores": scores, **found.to_dict()})
    else:
        typer.echo(f"The report on all three networks is in {output}: open it in a browser.")
