"""Models in the plane of miscalibration and discrimination."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from calibrant.checks.seeds import Rng
from calibrant.diagrams.problems import chosen_lens, first, look, named, refuse_clusters
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan, Progress, part
from calibrant.inference.testing.families import pvalue
from calibrant.lenses import Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.scores import Decomposition, Score, brier_score, decompose
from calibrant.statistics import ScoreMiscalibration
from calibrant.verbs import takes_models

if TYPE_CHECKING:
    from calibrant.diagrams.charts import Chart
    from calibrant.diagrams.static import Axes

ALPHA = 0.05  # level at which a model counts as miscalibrated
SAME = 1e-9  # relative, of uncertainties


@final
@dataclass(frozen=True, slots=True)
class PlanePoint:
    """One model.

    Parameters
    ----------
    name : str
        Name of the model.
    parts : Decomposition
        Its score, and the parts of it.
    expected : float
        Mean of the miscalibration if the model were calibrated.
    pvalue : float
        Of the exact test of the miscalibration.
    """

    name: str
    parts: Decomposition
    expected: float
    pvalue: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        parts = self.parts.to_dict()
        return {"name": self.name, **parts, "expected": self.expected, "pvalue": self.pvalue}


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScorePlane:
    """Discrimination over miscalibration, for many models.

    Parameters
    ----------
    points : tuple of PlanePoint
        One for each model.
    settings : mapping
        What it was made with; `score` is the name of the score.
    """

    points: tuple[PlanePoint, ...]
    settings: Mapping[str, Any]

    @property
    def uncertainty(self) -> float | None:
        """The uncertainty that all models share, so that lines of equal score exist; else None."""
        every = [point.parts.uncertainty for point in self.points]
        same = max(every) - min(every) <= SAME * max(every)
        return every[0] if same else None

    @property
    def alpha(self) -> float:
        """Level at which a model counts as miscalibrated."""
        return float(self.settings["alpha"])

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw with matplotlib and return the Axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            A plain Axes to draw on. Default: that of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The Axes that was drawn on.
        """
        from calibrant.diagrams import pictures, static  # noqa: PLC0415 (loads matplotlib)

        return static.draw(pictures.plane_picture(self), ax)

    def figure(self) -> "Chart":
        """Draw as SVG and return the `Chart`, which tells numbers on hovering."""
        from calibrant.diagrams import charts, pictures  # noqa: PLC0415

        return charts.chart(pictures.plane_picture(self), f"{self}.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return {
            "points": [point.to_dict() for point in self.points],
            "settings": dict(self.settings),
        }

    def __str__(self) -> str:
        best = min(self.points, key=lambda point: point.parts.score)
        return f"score plane of {len(self.points)} models, best {best.name!r}: {best.parts}"

    def __repr__(self) -> str:
        return f"<{self}>"


@takes_models
def score_plane(
    models: Mapping[str, Predictions],
    score: Score = brier_score,
    *,
    lens: Lens | str | None = None,
    n_resamples: int = 999,
    rng: Rng = None,
    progress: Progress | None = None,
) -> ScorePlane:
    """Split the score of many models into miscalibration, discrimination and uncertainty.

    A good model is at the upper left: much discrimination, little miscalibration. Models of the
    same outcomes have the same uncertainty, and are then equally good along parallel lines.

    Parameters
    ----------
    models : mapping of str to Predictions
        The models by name.
    score : function, default brier_score
        `brier_score` or `log_score`; see `scores.decompose`.
    lens, n_resamples, rng, progress
        As for `isotonic_diagram`.

    Returns
    -------
    ScorePlane
        With the exact p-value of each model's miscalibration.

    Examples
    --------
    >>> good = Predictions([0.2, 0.4, 0.6, 0.8] * 20, [0, 0, 1, 1] * 20)
    >>> print(score_plane({"good": good}, rng=0))
    score plane of 1 models, best 'good': 0.2000 = 0.2000 (miscalibration) - 0.5000 \
(discrimination) + 0.5000 (uncertainty)
    """
    statistic = ScoreMiscalibration(score)
    found = named(models)
    lens = chosen_lens(found, lens)
    plan = Plan.of(first(found), Exact(), n_resamples, rng, progress)
    refuse_clusters("The score plane", plan.resampler)
    points = []
    for i, (name, problem) in enumerate(look(found, lens, plan).items()):
        mine = Plan(plan.resampler, plan.n_resamples, plan.seed, part(progress, i, len(found)))
        parts = decompose(problem.seen, score)
        (value,), (null,) = values_and_replicates(problem, [statistic], mine)
        points.append(PlanePoint(name, parts, float(null.mean()), float(pvalue(value, null))))
    return ScorePlane(
        tuple(points), plan.settings(lens=lens, score=getattr(score, "__name__", ""), alpha=ALPHA)
    )
