"""What all diagrams share: how they are drawn, and models seen through one lens for one picture."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from calibrant.arguments import as_lens, check_data
from calibrant.checks.parameters import brief
from calibrant.diagrams.picture import Picture
from calibrant.inference.replicates.problem import Plan, Problem
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.predictions import Predictions
from calibrant.resampling import Resampler
from calibrant.rows import Scan
from calibrant.tables import Lines, Tabular

if TYPE_CHECKING:
    from calibrant.diagrams.charts import Chart
    from calibrant.diagrams.static import Axes

Models = Predictions | Scan | Mapping[str, Predictions | Scan]


class Diagram(Tabular):
    """Data that can be drawn, or read as a table, with what it was made with."""

    __slots__ = ()

    settings: Mapping[str, Any]

    @property
    def alpha(self) -> float:
        """Level at which something counts as significant; family-wise, of bins and points."""
        return float(self.settings["alpha"])

    @property
    def sentence(self) -> str:
        """What the diagram shows."""
        return f"{self}."

    @staticmethod
    def _of_models(pairs: Iterable[tuple[str, str]]) -> str:
        """Join what is said of each model, after its name."""
        named = (f"{name}: {text[0].lower()}{text[1:]}" if name else text for name, text in pairs)
        return " ".join(named)

    def lines(self) -> Lines:
        """Return header and lines of the table; a diagram may have none."""
        return (), ()

    @abstractmethod
    def picture(self) -> Picture:
        """Return what is drawn where, with the options of `plot`."""

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw with matplotlib and return the Axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A plain Axes to draw on. Default: that of a new figure.
        """
        return self._plot(self.picture(), ax)

    def figure(self) -> "Chart":
        """Draw as SVG, with the options of `plot`, and return the `Chart`.

        It shows itself in a notebook, tells numbers on hovering, and saves .svg and .html.
        """
        return self._figure(self.picture())

    def _plot(self, picture: Picture, ax: "Axes | None") -> "Axes":
        from calibrant.diagrams import static  # noqa: PLC0415 (loads matplotlib)

        return static.draw(picture, ax)

    def _figure(self, picture: Picture) -> "Chart":
        from calibrant.diagrams.charts import chart  # noqa: PLC0415

        return chart(picture, self.sentence, self.lines())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the chart, with numbers on hovering."""
        return self.figure()._repr_html_()

    def __repr__(self) -> str:
        return f"<{self}>"


def named(data: Models, *, scans: bool = False) -> Mapping[str, Any]:
    """Return models by name; one that is alone has none. `scans` says whether any may be a Scan."""
    models = data if isinstance(data, Mapping) else {"": data}
    if not models:
        raise ValueError("`data` must be at least one model; found none.")
    for model in models.values():
        check_data(model, scans=scans)
    found = {str(name): model for name, model in models.items()}
    if len(found) < len(models):
        raise ValueError(
            f"`data` must have names that differ as text; found {brief(list(models))}."
        )
    return found


def first(data: Models) -> Any:
    """Return a model, or the first of several."""
    return next(iter(named(data, scans=True).values()))


def chosen_lens(models: Mapping[str, Any], lens: Lens | str | None, most: int = 2) -> Lens:
    """Return the lens that somebody chose for a picture of at most so many outcomes, or a default.

    That is the canonical one if there are no more classes, or than two for several models; else
    the top label.
    """
    if lens is not None:
        return as_lens(lens, first(models))
    most = 2 if len(models) > 1 else most
    few = all(model.m <= most for model in models.values())
    return Canonical() if few else TopLabel()


def subject_of(lens: Lens, problem: Problem) -> str | None:
    """Return what a picture is about, in words: confidences are those of the predicted class."""
    confidences = problem.rows.held and problem.seen.of_confidences
    return TopLabel().subject if confidences and lens == Canonical() else lens.subject


def refuse_clusters(picture: str, resampler: Resampler) -> None:
    """Refuse rows in clusters where labels must be drawn by the row."""
    if resampler.flips_signs:
        raise ValueError(
            f"{picture} takes rows as independent; these have clusters. A reliability diagram on"
            " bins respects them."
        )


def look(models: Mapping[str, Any], lens: Lens, plan: Plan) -> list[tuple[str, Problem, Plan]]:
    """Look at each model through the lens, and check that one picture can show them all.

    Returns name, problem and plan of each; it shows its part of the progress.
    """
    found = []
    for i, (name, model) in enumerate(models.items()):
        problem = plan.look(model, lens, distributions=True)
        found.append((name, problem, plan.part(i, len(models))))
    (_, first, _), *others = found
    first.check_hypothesis()
    for name, other, _ in others:
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
    return found
