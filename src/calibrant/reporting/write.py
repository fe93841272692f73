"""From predictions to the HTML file."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from calibrant.checks.seeds import Rng, make_key
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.inference import Comparison, Evaluation, compare, evaluate
from calibrant.inference.arguments import check_resamples
from calibrant.inference.comparison import comparison_bootstraps
from calibrant.inference.evaluation import bootstraps
from calibrant.inference.replicates import Progress, part
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.predictions import Predictions
from calibrant.reporting.contents import Contents, Settings, compute
from calibrant.reporting.page import render


def report(
    data: Predictions | Mapping[str, Predictions],
    path: str | Path,
    *,
    title: str | None = None,
    groups: Lens | None = None,
    region: str | None = None,
    n_resamples: int = 999,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Path:
    """Write a report: verdicts in words, tables, diagrams, worst cells, scores, provenance.

    One HTML file that needs no network. The same data, seed and settings give the same bytes.

    Parameters
    ----------
    data : Predictions, or several by name; models of the same rows are compared
    path : file to write
    title : default: "Calibration report"
    groups : lens of three or four outcomes to draw; default: the two most frequent classes
        and the others
    region : condition that the rows of `data` were chosen by, to be named in the report
    n_resamples : number of data sets drawn under the hypothesis of calibration
    rng : seed, generator or None
    progress : function of (done, total), called now and then

    Returns
    -------
    Path
        The file that was written.
    """
    n_resamples = check_resamples(n_resamples)
    models = dict(data) if isinstance(data, Mapping) else {"": data}
    if not models:
        raise ValueError("`data` must be at least one model; found none.")
    if rng is None or isinstance(rng, np.random.Generator):
        rng = int(make_key(rng))  # one seed for all parts, which the provenance can name
    settings = Settings(make_key(rng), int(rng), n_resamples, groups, region)
    evaluations, comparison = _evaluate(models, settings, _stage(progress, 0, 2))
    contents: list[Contents] = []
    for number, (name, model) in enumerate(models.items()):
        told = _stage(_stage(progress, 1, 2), number, len(models))
        contents.append(compute(name, model, evaluations[name], settings, told))
    page = render(title or "Calibration report", contents, comparison, settings)
    path = Path(path)
    path.write_text(page, encoding="utf-8")
    return path


def _evaluate(
    models: Mapping[str, Predictions], settings: Settings, progress: Progress | None
) -> tuple[Mapping[str, Evaluation], tuple[Comparison, ReliabilityDiagram] | None]:
    """Evaluate each model; compare several, with one diagram of all."""
    rng, n_resamples = settings.seed, settings.n_resamples
    if len(models) == 1:
        ((name, model),) = models.items()
        found = evaluate(
            model,
            n_resamples=n_resamples,
            n_bootstrap=bootstraps(model),
            rng=rng,
            progress=progress,
        )
        return {name: found}, None
    comparison = compare(
        models,
        n_resamples=n_resamples,
        n_bootstrap=comparison_bootstraps(models),
        paired=same_rows(models),
        rng=rng,
        progress=progress,
    )
    first = next(iter(models.values()))
    lens: Lens = Canonical() if first.m == 2 else TopLabel()
    picture = reliability_diagram(models, lens=lens, n_resamples=n_resamples, rng=rng)
    return comparison.evaluations, (comparison, picture)


def same_rows(models: Mapping[str, Predictions]) -> bool:
    """Say whether the labels and weights of all models agree row by row."""
    first, *others = models.values()
    return all(
        other.n == first.n
        and bool((other.labels == first.labels).all())
        and bool((other.weights == first.weights).all())
        for other in others
    )


def _stage(progress: Progress | None, number: int, parts: int) -> Progress | None:
    return None if progress is None else part(progress, number, parts)
