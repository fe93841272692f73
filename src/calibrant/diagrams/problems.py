"""Models seen through one lens, for one picture."""

from collections.abc import Iterable, Mapping
from typing import Any

from calibrant.arguments import as_lens, check_data
from calibrant.inference.replicates.problem import Plan
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.predictions import Predictions
from calibrant.resampling import Resampler
from calibrant.rows import Scan

Models = Predictions | Scan | Mapping[str, Predictions | Scan]


def named(data: Models, *, scans: bool = False) -> Mapping[str, Any]:
    """Return models by name; one that is alone has none. `scans` says whether any may be a Scan."""
    models = data if isinstance(data, Mapping) else {"": data}
    if not models:
        raise ValueError("`data` must be at least one model; found none.")
    for model in models.values():
        check_data(model, scans=scans)
    return models


def first(data: Models) -> Any:
    """Return a model, or the first of several."""
    return next(iter(named(data, scans=True).values()))


def default_lens(models: Mapping[str, Predictions], most: int = 2) -> Lens:
    """Return the lens of a picture of at most so many outcomes, two for several models.

    It is the canonical one if there are no more classes than that, else the top label.
    """
    most = 2 if len(models) > 1 else most
    few = all(model.m <= most for model in models.values())
    return Canonical() if few else TopLabel()


def chosen_lens(data: Models, lens: Lens | str | None, most: int = 2) -> Lens:
    """Return the lens that somebody chose, or the default."""
    models = named(data, scans=True)
    return default_lens(models, most) if lens is None else as_lens(lens, first(models))


def refuse_clusters(picture: str, resampler: Resampler) -> None:
    """Refuse rows in clusters where labels must be drawn by the row."""
    if resampler.flips_signs:
        raise ValueError(
            f"{picture} takes rows as independent; these have clusters. A reliability diagram on"
            " bins respects them."
        )


def look(models: Mapping[str, Any], lens: Lens, plan: Plan) -> dict[str, Any]:
    """Look at each model through the lens, and check that one picture can show them all."""
    problems = {name: plan.look(model, lens, distributions=True) for name, model in models.items()}
    (_, first), *others = problems.items()
    first.check_hypothesis()
    for name, other in others:
        views = other.view, first.view
        about, wanted = (view.classes[view.event or 0] for view in views)
        if views[0].event != views[1].event:
            raise ValueError(
                f"Models in one picture must be about the same outcome; {name!r} is about"
                f" {about!r}, not {wanted!r}."
            )
        if views[0].classes != views[1].classes:
            raise ValueError(
                f"Models in one picture must have the same outcomes; {name!r} has"
                f" {views[0].classes}, not {views[1].classes}."
            )
    return problems


def named_sentences(told: Iterable[tuple[str, str]]) -> str:
    """Join what is said of each model, after its name."""
    return " ".join(f"{name}: {text[0].lower()}{text[1:]}" if name else text for name, text in told)
