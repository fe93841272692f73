"""What the report on one model holds: computed here, drawn elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibrant.calibration import calibration_function
from calibrant.cross_fitting import Recalibration, recalibrate
from calibrant.cross_fitting.result import AS_IT_IS
from calibrant.diagrams import (
    CurveDiagram,
    ReliabilityDiagram,
    isotonic_diagram,
    reliability_diagram,
)
from calibrant.inference import Classwise, Evaluation, Slices, classwise, slices
from calibrant.inference.replicates.problem import Progress, part
from calibrant.inference.verdicts.groups import kept_columns
from calibrant.lenses import Canonical, Groups, Lens, Marginal, TopK, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.predictions import Predictions
from calibrant.recalibration import Temperature
from calibrant.reporting.sentences import (
    Line,
    bin_sentences,
    classes_verdict,
    line_of,
    spoken_outcomes,
)
from calibrant.reporting.together import judged_together
from calibrant.rows import Scan
from calibrant.scores import all_scores
from calibrant.verbs import as_rows
from calibrant.words import NEEDED, capital

MOST_CLASSES = 20  # classes with a diagram and a line of their own
MOST_WORST = 10  # worst bins in words
BINS = EqualWidth(10)  # for the tests of single classes
LARGE = 1 << 17  # probabilities beyond which only the temperature is tried
RANKS = (  # the outcomes of TopK(2) in a sentence
    "the most probable class",
    "the second most probable class",
    "one of the less probable classes",
)


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """How a report is computed."""

    seed: int  # that the user gave, or one drawn from the generator
    n_resamples: int
    groups: Lens | None  # for the triangle or tetrahedron of groups; None for the default
    region: str | None  # condition that the rows were chosen by; None for all rows

    def draws(self, progress: Progress | None = None) -> dict[str, Any]:
        """Return arguments by which all of a page see the same draws."""
        return {"n_resamples": self.n_resamples, "rng": self.seed, "progress": progress}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A diagram with its place in the report."""

    name: str  # for links
    title: str  # of its section
    diagram: ReliabilityDiagram
    outcomes: Sequence[str]  # as a sentence names them


@final
@dataclass(frozen=True, slots=True, eq=False)
class Remedy:
    """What recalibration does to a model."""

    advice: str  # what to do, in a sentence
    found: Recalibration | None = None  # the methods; None if the rows do not allow it
    diagram: ReliabilityDiagram | None = None  # before and after the recommended method, if any
    code: str = ""  # the line of Python that does it


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contents:
    """Everything the report says about one model."""

    name: str  # "" if it is the only one
    data: Predictions | Scan
    scores: dict[str, float]
    evaluation: Evaluation
    drawings: tuple[Drawing, ...]
    curve: CurveDiagram | None  # None if there are too few resamples, clusters, or a scan
    classes: Classwise | None  # None if there are two
    class_drawings: tuple[Drawing, ...]
    remedy: Remedy
    slices: Slices | None  # None if no columns were kept beside the predictions

    @property
    def main_lens(self) -> Lens:
        """The aspect that comes first: the event of two classes, the top label of more."""
        return Canonical() if self.data.m == 2 else TopLabel()

    @property
    def verdicts(self) -> list[Line]:
        """What the tests mean: the main aspect first, single classes last."""
        main, diagram = self.main_lens, self.drawings[0].diagram
        found = sorted(self.evaluation.verdicts, key=lambda verdict: verdict.lens != main)
        lines = [line_of(v, diagram if v.lens == main else None) for v in found]
        return lines if self.classes is None else [*lines, classes_verdict(self.classes)]

    def worst_bins(self) -> list[str]:
        """Return sentences about the bins that matter most: share times deviation."""
        found = []
        for drawing in self.drawings:
            for size, sentence in bin_sentences(drawing.diagram, drawing.outcomes, MOST_WORST):
                found.append((size, capital(f"{drawing.title}: {sentence}")))
        largest = sorted(found, key=lambda pair: -pair[0])[:MOST_WORST]
        return [sentence for _, sentence in largest]

    def __repr__(self) -> str:
        return f"Contents(name={self.name[:60]!r}, data={self.data!r})"


def compute(
    name: str,
    data: Predictions | Scan,
    evaluation: Evaluation,
    settings: Settings,
    progress: Progress | None = None,
) -> Contents:
    """Compute what the report says about a model beyond its evaluation."""
    columns = kept_columns(data)
    n_stages = (3 if data.m == 2 else 5) + bool(columns)
    drawings = _drawings(
        data, _wanted(data, settings.groups), settings, part(progress, 0, n_stages)
    )
    curve = _curve(data, settings, part(progress, 1, n_stages))
    classes = None
    class_drawings: tuple[Drawing, ...] = ()
    if data.m > 2:
        classes = classwise(data, BINS, **settings.draws(part(progress, 2, n_stages)))
        wanted = _worst_classes(classes)
        class_drawings = _drawings(data, wanted, settings, part(progress, 3, n_stages))
    groups = None
    if columns:
        now = part(progress, n_stages - 2, n_stages)
        groups = slices(data, columns, **settings.draws(now))
    found = Contents(
        name=name,
        data=data,
        scores=all_scores(data),
        evaluation=evaluation,
        drawings=drawings,
        curve=curve,
        classes=classes,
        class_drawings=class_drawings,
        remedy=remedy(data, settings, part(progress, n_stages - 1, n_stages)),
        slices=groups,
    )
    return judged_together(found)


def _drawings(
    data: Predictions | Scan,
    wanted: Sequence[tuple[str, str, Lens]],
    settings: Settings,
    progress: Progress | None,
) -> tuple[Drawing, ...]:
    """Compute a diagram for each (name, title, lens)."""
    drawings = []
    for i, (name, title, lens) in enumerate(wanted):
        draws = settings.draws(part(progress, i, len(wanted)))
        diagram = reliability_diagram(data, lens=lens, **draws)
        outcomes = RANKS if lens == TopK(2) else spoken_outcomes(diagram)
        drawings.append(Drawing(name, title, diagram, outcomes))
    return tuple(drawings)


def _curve(
    data: Predictions | Scan, settings: Settings, progress: Progress | None
) -> CurveDiagram | None:
    """Draw an isotonic curve of the event, or the predicted class; with the draws of the bins."""
    if not as_rows(data).held or settings.n_resamples < NEEDED or data.clusters is not None:
        return None
    return isotonic_diagram(data, **settings.draws(progress))


def _wanted(data: Predictions | Scan, groups: Lens | None) -> list[tuple[str, str, Lens]]:
    """Return the name, title and lens of each diagram; the main one first."""
    wanted: list[tuple[str, str, Lens]] = []
    if data.m == 2:
        wanted.append(("main", f"Probability of “{data.classes[1]}”", Canonical()))
    else:
        wanted.append(("main", "Confidence", TopLabel()))
    if data.m in (3, 4):
        wanted.append(("simplex", "All classes", Canonical()))
    if data.m > 4:
        wanted.append(("top2", "The two most probable classes", TopK(2)))
        groups = groups or default_groups(data)
    if groups is not None:
        wanted.append(("groups", "Groups of classes", groups))
    return wanted


def default_groups(data: Predictions | Scan) -> Groups:
    """Return the two classes of largest mean prediction, and all others.

    Labels have no say: bins of groups that were chosen by what occurred would be off by choice.
    """
    rows = as_rows(data)
    if rows.held:
        given = rows.at_hand("groups of classes").given
        mean = given.weights @ given.probs
    else:
        mean = calibration_function(data, EqualWidth(1)).predicted[0]
    first, second = np.argsort(-mean, kind="stable")[:2].tolist()
    others = [j for j in range(data.m) if j not in (first, second)]
    names = {data.classes[first]: [first], data.classes[second]: [second]}
    rest = f"the {len(others)} others"
    while rest in names:
        rest += "…"
    return Groups({**names, rest: others})


def _worst_classes(classes: Classwise) -> list[tuple[str, str, Lens]]:
    """Return the classes with the strongest evidence, in the order of their table."""
    worst = np.lexsort((-classes.values, classes.adjusted_pvalues))[:MOST_CLASSES]
    return [(f"class{j}", classes.classes[j], Marginal(j)) for j in worst.tolist()]


def remedy(data: Any, settings: Settings, progress: Progress | None = None) -> Remedy:
    """Recalibrate a model, or say in a sentence why that is not possible."""
    if not as_rows(data).held:
        if progress is not None:
            progress(1, 1)
        return Remedy(
            "Recalibration was not tried, since rows were read in batches. Methods have few"
            " parameters: a sample of the rows that fits into memory is enough to fit one."
        )
    methods = [Temperature()] if data.probs.size > LARGE else None
    try:
        found = recalibrate(data, methods, **settings.draws(progress))
    except ValueError as error:
        return Remedy(f"Recalibration was not tried: {str(error).replace('`', '')}")
    if found.recommended == AS_IT_IS:
        return Remedy(found.recommendation, found)
    models = {AS_IT_IS: data, f"after {found.recommended}": found.predictions()}
    lens: Lens = Canonical() if data.m == 2 else TopLabel()
    diagram = reliability_diagram(models, lens=lens, **settings.draws())
    code = f"repaired = calibrant.recalibration.{found.row().method!r}.fit(data)(new)"
    return Remedy(found.recommendation, found, diagram, code)
