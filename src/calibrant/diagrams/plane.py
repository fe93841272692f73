"""Models in the plane of miscalibration and discrimination, with lines of equal score."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibrant import tables
from calibrant.arguments import takes_models
from calibrant.checks.parameters import Rng
from calibrant.diagrams.diagram import Diagram, chosen_lens, first, look, named, refuse_clusters
from calibrant.diagrams.picture import Frame, Key, Label, Lines, Marks, Part, Picture, Range
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan, Progress, fields
from calibrant.inference.testing import families
from calibrant.lenses import Lens
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.scores import Decomposition, Score, brier_score, decompose
from calibrant.statistics import ScoreMiscalibration
from calibrant.words import ALPHA, decimal, percent, pvalue, score_name

SAME = 1e-9  # relative, of uncertainties
APART = 0.05  # of the height: names are at least so far from each other


@final
@dataclass(frozen=True, slots=True)
class PlanePoint:
    """One model."""

    name: str
    parts: Decomposition  # of its score
    expected: float  # mean of the miscalibration if the model were calibrated
    pvalue: float  # of the exact test of the miscalibration

    @property
    def at(self) -> tuple[float, float]:
        """Its place: miscalibration and discrimination."""
        return self.parts.miscalibration, self.parts.discrimination

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {"name": self.name, **self.parts.to_dict(), **fields(self, "expected", "pvalue")}


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScorePlane(Diagram):
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

    def picture(self) -> Picture:
        """Show a mark for each model, the way to it from what chance alone gives, and its name."""
        across, (low, high) = plane_ranges(self)
        # Names are set from below, and of models that are alike, from the right.
        known = sorted(_known(self), key=lambda point: (round(point.at[1], 6), -point.at[0]))
        names = _names(known, (across, (low, high)))
        high = max([high, *(label.at[1] + APART * (high - low) for label, _ in names)])
        parts: list[Part] = []
        for score, ends in plane_lines(self, (across, (low, high))):
            parts.append(Lines(np.array(ends)[None], "equal"))
            parts.append(Label(np.array(ends[1]), f"{score:.3g}", (-1, 1), "small"))
        parts += [leader for _, leader in names if leader is not None]
        parts += [Lines(np.array([[(p.expected, p.at[1]), p.at]]), "chance") for p in known]
        parts += [_marks(self, known), *(label for label, _ in names)]
        horizontal = f"miscalibration of the {score_name(str(self.settings['score']))} (MCB)"
        frame = Frame(horizontal, "discrimination (DSC)", across, (low, high))
        label = f"Discrimination over miscalibration of {len(self.points)} models."
        return Picture(label, tuple(parts), tuple(_keys(self)), frame)

    def records(self) -> list[dict[str, Any]]:
        """Return a record for each model."""
        return [point.to_dict() for point in self.points]

    def lines(self) -> tables.Lines:
        """Return header and lines of the table of models."""
        score = score_name(str(self.settings["score"]))
        header = ["model", score, "miscalibration", "if calibrated", "discrimination", "p"]
        lines = []
        for point in self.points:
            parts = point.parts
            numbers = parts.score, parts.miscalibration, point.expected, parts.discrimination
            lines.append([point.name, *map(decimal, numbers), f"{point.pvalue:.3g}"])
        return header, lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return fields(self, "points", "settings")

    def __str__(self) -> str:
        best = min(self.points, key=lambda point: point.parts.score)
        return f"score plane of {len(self.points)} models, best {best.name!r}: {best.parts}"


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
    """Compare many models: split their scores into miscalibration and discrimination.

    A good model is at the upper left: much discrimination, little miscalibration. Models of the
    same outcomes have the same uncertainty, and are then equally good along parallel lines.

    Parameters
    ----------
    models : mapping of str to Predictions
        The models by name.
    score : function, default brier_score
        `brier_score` or `log_score`; see `scores.decompose`.
    lens, n_resamples, rng, progress
        As in `isotonic_diagram`.

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
    for name, problem, mine in look(found, lens, plan):
        parts = decompose(problem.seen, score)
        (value,), (null,) = values_and_replicates(problem, [statistic], mine)
        points.append(
            PlanePoint(name, parts, float(null.mean()), float(families.pvalue(value, null)))
        )
    return ScorePlane(
        tuple(points), plan.settings(lens=lens, score=getattr(score, "__name__", ""), alpha=ALPHA)
    )


def plane_ranges(diagram: ScorePlane) -> tuple[Range, Range]:
    """Return the ranges of both axes, with space for names on the right."""
    known = _known(diagram)
    right = max([1e-3, *(max(p.parts.miscalibration, p.expected) for p in known)])
    heights = [p.parts.discrimination for p in known] or [0.0, 1.0]
    low, high = min(heights), max(heights)
    reach = max(high - low, 0.5 * right, 1e-3)
    return (-0.03 * right, 1.35 * right), (low - 0.15 * reach, high + 0.15 * reach)


def plane_lines(
    diagram: ScorePlane, ranges: tuple[Range, Range]
) -> list[tuple[float, list[tuple[float, float]]]]:
    """Return lines of equal score, DSC = MCB + UNC - score: the score, and both ends."""
    if diagram.uncertainty is None:
        return []
    (left, right), (low, high) = ranges
    # A line passes through (0, UNC - score); those that cross the picture have it in this range.
    ends = low - right, high - left
    step = 10 ** np.floor(np.log10((ends[1] - ends[0]) / 4))
    n_steps = (ends[1] - ends[0]) / step
    step *= 5 if n_steps > 20 else 2 if n_steps > 8 else 1
    scores = diagram.uncertainty - np.array(ends)
    found = []
    for score in np.arange(np.ceil(scores[1] / step), scores[0] / step) * step:
        above = diagram.uncertainty - float(score)
        x0, x1 = max(left, low - above), min(right, high - above)
        found.append((float(score), [(x0, x0 + above), (x1, x1 + above)]))
    return found


def _known(diagram: ScorePlane) -> list[PlanePoint]:
    """Return the models that have a place: an infinite score has none."""
    return [point for point in diagram.points if np.isfinite(point.parts.miscalibration)]


def _names(
    points: list[PlanePoint], ranges: tuple[Range, Range]
) -> list[tuple[Label, Lines | None]]:
    """Return names on the right that do not overlap, with a line to those that had to give way."""
    width, height = (float(np.ptp(each)) for each in ranges)
    taken = -np.inf
    found = []
    for point in points:
        x, y = point.at
        moved, taken = taken + APART * height > y, max(y, taken + APART * height)
        place = np.array([x + 0.03 * width, taken])
        leader = Lines(np.array([[(x, y), place]]), "leader") if moved else None
        found.append((Label(place, point.name, (0.5, 0), "name"), leader))
    return found


def _marks(diagram: ScorePlane, points: list[PlanePoint]) -> Marks:
    return Marks(
        at=np.array([point.at for point in points]).reshape(-1, 2),
        off=np.array([point.pvalue <= diagram.alpha for point in points], bool),
        notes=tuple(_note(point, diagram.settings["n_resamples"]) for point in points),
        sizes=np.full(len(points), 0.6),
        shapes=("circle",) * len(points),
    )


def _note(point: PlanePoint, n_resamples: int) -> str:
    parts = point.parts
    return (
        f"{point.name}\nscore {parts.score:.4f}\nmiscalibration {parts.miscalibration:.4f},"
        f" {point.expected:.4f} if calibrated, {pvalue(point.pvalue, n_resamples)}\n"
        f"discrimination {parts.discrimination:.4f}, uncertainty {parts.uncertainty:.4f}"
    )


def _keys(diagram: ScorePlane) -> list[Key]:
    keys = [
        Key(f"miscalibrated ({percent(diagram.alpha)})", "mark", "mark off"),
        Key("not significant", "mark", "mark"),
        Key("from chance alone", "line", "chance"),
    ]
    if diagram.uncertainty is not None:
        keys.append(Key("equal scores", "line", "equal"))
    return keys
