"""Models seen through one lens, for one picture."""

from collections.abc import Mapping

from calibrant.inference.plans import Plan
from calibrant.inference.problem import Problem, check_hypothesis
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.lenses.lens import check_lens
from calibrant.predictions import Predictions
from calibrant.resampling import Resampler
from calibrant.verbs import check_data

Models = Predictions | Mapping[str, Predictions]


def named(data: Models) -> Mapping[str, Predictions]:
    """Return models by name; one that is alone has none."""
    models = data if isinstance(data, Mapping) else {"": data}
    if not models:
        raise ValueError("`data` must be at least one model; found none.")
    for model in models.values():
        check_data(model)
    return models


def first(data: Models) -> Predictions:
    """Return a model, or the first of several."""
    return next(iter(named(data).values()))


def default_lens(models: Mapping[str, Predictions]) -> Lens:
    """Return the lens of a picture of two outcomes: the event of two classes, else the top label.

    Examples
    --------
    >>> str(default_lens({"": Predictions([0.5], [1])}))
    'canonical'
    """
    two = all(model.m == 2 for model in models.values())
    return Canonical() if two else TopLabel()


def refuse_clusters(picture: str, resampler: Resampler) -> None:
    """Refuse rows in clusters where labels must be drawn by the row."""
    if resampler.flips_signs:
        raise ValueError(
            f"{picture} takes rows as independent; these have clusters. A reliability diagram on"
            " cells respects them."
        )


def look(models: Mapping[str, Predictions], lens: Lens, plan: Plan) -> dict[str, Problem]:
    """Look at each model through the lens, and check that one picture can show them all."""
    check_lens(lens)
    problems = {
        name: Problem.of(model, lens, plan.resampler, plan.key) for name, model in models.items()
    }
    (_, first), *others = problems.items()
    check_hypothesis(first)
    for name, other in others:
        _check_same_outcomes(name, other.seen, first.seen)
    return problems


def _check_same_outcomes(name: str, model: Predictions, first: Predictions) -> None:
    if model.event != first.event:
        about, other = (one.classes[one.event or 0] for one in (model, first))
        raise ValueError(
            f"Models in one picture must be about the same outcome; {name!r} is about {about!r},"
            f" not {other!r}."
        )
    if model.classes != first.classes:
        raise ValueError(
            f"Models in one picture must have the same outcomes; {name!r} has"
            f" {model.classes}, not {first.classes}."
        )
