"""From predictions to the HTML file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calibrant.checks.files import whole_file
from calibrant.checks.seeds import Rng, as_seed
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.diagrams.problems import Models, named
from calibrant.inference import Comparison, Evaluation, compare, evaluate
from calibrant.inference.replicates.problem import Progress, check_resamples, part
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.predictions import Predictions
from calibrant.reporting.comparison import paragraphs
from calibrant.reporting.contents import Settings, compute
from calibrant.reporting.page import render
from calibrant.spelling import as_lens
from calibrant.verbs import takes_models


@takes_models
def report(
    data: Models,
    path: str | Path,
    *,
    title: str | None = None,
    groups: Lens | str | None = None,
    region: str | None = None,
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Path:
    """Write a report: verdicts in words, tables, diagrams, worst bins, scores, provenance.

    One HTML file that needs no network. The same data, seed and settings give the same bytes.

    Parameters
    ----------
    data : Predictions, Scan, or mapping of str to such
        The predictions; more than one model by name. Models of the same rows are compared. Columns
        that `load` kept beside them become groups of rows with a section of their own. Of scanned
        rows there is everything but the curve, how far off they are, and recalibration.
    path : str or Path
        File to write.
    title : str, optional
        Title of the report. Default: "Calibration report".
    groups : Lens, optional
        Lens of three or four outcomes to draw. Default: the two most frequent classes and the
        others.
    region : str, optional
        Condition that the rows of `data` were chosen by, to be named in the report.
    n_resamples : int, default 999
        Number of data sets drawn under the hypothesis of calibration.
    rng : int, numpy.random.Generator or None, default None
        Seed, generator, or None for fresh entropy.
    progress : function of (done, total), optional
        Called now and then.

    Returns
    -------
    Path
        The file that was written.
    """
    first = next(iter(_models(data).values()))
    lens = None if groups is None else as_lens(groups, first)
    settings = Settings(as_seed(rng), check_resamples(n_resamples), lens, region)
    told_report(data, path, title or "Calibration report", settings, progress)
    return Path(path)


def told_report(
    data: Models,
    path: str | Path,
    title: str,
    settings: Settings,
    progress: Progress | None = None,
) -> list[str]:
    """Write a report, as `report` does, and return the sentences with which it begins."""
    models = _models(data)
    _check_text("title", title)
    evaluations, comparison = _evaluate(models, settings, part(progress, 0, 2))
    second_half = part(progress, 1, 2)
    contents = []
    for i, (name, model) in enumerate(models.items()):
        progress_of_model = part(second_half, i, len(models))
        contents.append(compute(name, model, evaluations[name], settings, progress_of_model))
    page = render(title, contents, comparison, settings)
    with whole_file(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")
    if comparison is not None:
        return [f"{subject}: {text}" for subject, text in paragraphs(comparison[0])]
    return [line.text for line in contents[0].verdicts]


def _models(data: Models) -> Mapping[str, Any]:
    """Return models by their names; one may be a scan."""
    return named(data, scans=not isinstance(data, Mapping) or len(data) == 1)


def _evaluate(
    models: Mapping[str, Any], settings: Settings, progress: Progress | None
) -> tuple[Mapping[str, Evaluation], tuple[Comparison, ReliabilityDiagram] | None]:
    """Evaluate each model; compare more than one, with one diagram of all."""
    draws = settings.draws(progress)
    if len(models) == 1:
        ((name, model),) = models.items()
        return {name: evaluate(model, **draws)}, None
    comparison = compare(models, paired=same_rows(models), **draws)
    first = next(iter(models.values()))
    lens: Lens = Canonical() if first.m == 2 else TopLabel()
    picture = reliability_diagram(models, lens=lens, **settings.draws())
    return comparison.evaluations, (comparison, picture)


def same_rows(models: Mapping[str, Predictions]) -> bool:
    """Return whether the labels and weights of all models agree row by row."""
    first, *others = models.values()
    return all(
        other.n == first.n
        and bool((other.labels == first.labels).all())
        and bool((other.weights == first.weights).all())
        for other in others
    )


def _check_text(name: str, text: str) -> None:
    """Refuse what cannot be written to a file."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"`{name}` must be text that UTF-8 can hold; found {error.object[error.start]!r}."
        ) from None
