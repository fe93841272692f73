"""What the report on one model holds: computed here, drawn elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, final

import numpy as np

from calibrant.checks.seeds import derive
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.inference import Classwise, Evaluation, classwise
from calibrant.inference.replicates import Progress, part
from calibrant.lenses import Canonical, Groups, Lens, Marginal, TopK, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.predictions import Predictions
from calibrant.reporting.words import (
    Verdict,
    capital,
    cell_sentences,
    classes_verdict,
    verdict,
)
from calibrant.scores import all_scores

MOST_CLASSES = 20  # classes with a diagram and a line of their own
MOST_CELLS = 10  # worst cells in words
BINS = EqualWidth(10)  # of diagrams of two outcomes, and of every class
# How sentences speak of the outcomes of the built-in lenses.
SPOKEN = {
    "predicted class": "the predicted class",
    "other": "another class",
    "1st": "the most probable class",
    "2nd": "the second most probable class",
    "rest": "one of the less probable classes",
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """How a report was computed.

    Parameters
    ----------
    key : of the draws of single diagrams
    seed : what the user gave as `rng`, or a number drawn from it
    n_resamples : data sets drawn under the hypothesis
    groups : lens for the simplex or tetrahedron; None for the default
    region : condition that the rows were chosen by; None for all rows
    """

    key: np.uint64
    seed: int
    n_resamples: int
    groups: Lens | None
    region: str | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A diagram with its place in the report.

    Parameters
    ----------
    name : for links
    title : of its section
    lens : through which it was drawn
    diagram : the diagram
    rng : seed of its draws
    """

    name: str
    title: str
    lens: Lens
    diagram: ReliabilityDiagram
    rng: int

    def spoken(self) -> list[str]:
        """Return the outcomes as a sentence names them."""
        own = isinstance(self.lens, TopLabel | TopK)
        return [SPOKEN.get(c, f"“{c}”") if own else f"“{c}”" for c in self.diagram.classes]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """Everything the report says about one model."""

    name: str
    data: Predictions
    scores: dict[str, float]
    evaluation: Evaluation
    verdicts: tuple[Verdict, ...]
    drawings: tuple[Drawing, ...]
    classes: Classwise | None
    class_drawings: tuple[Drawing, ...]
    worst_cells: tuple[str, ...]
    digest: str


def compute(
    name: str,
    data: Predictions,
    evaluation: Evaluation,
    settings: Settings,
    progress: Progress | None = None,
) -> Contents:
    """Compute what the report says about a model beyond its evaluation."""
    stages = [part(progress, number, 3) for number in range(3)] if data.m > 2 else [progress]
    drawings = _drawings(data, settings, stages[0])
    classes = None
    class_drawings: tuple[Drawing, ...] = ()
    if data.m > 2:
        classes = classwise(
            data, BINS, n_resamples=settings.n_resamples, rng=settings.seed, progress=stages[1]
        )
        class_drawings = _class_drawings(data, classes, settings, stages[2])
    return Contents(
        name=name,
        data=data,
        scores=all_scores(data),
        evaluation=evaluation,
        verdicts=_verdicts(data, evaluation, drawings[0].diagram, classes),
        drawings=drawings,
        classes=classes,
        class_drawings=class_drawings,
        worst_cells=_worst_cells(drawings),
        digest=digest(data),
    )


def draw(
    data: Predictions,
    about: tuple[str, str, Lens],
    settings: Settings,
    stream: tuple[int, ...],
    progress: Progress | None = None,
) -> Drawing:
    """Compute a diagram, with its name, title and lens, with draws of its own."""
    rng = int(derive(settings.key, *stream))
    name, title, lens = about
    diagram = reliability_diagram(
        data, lens=lens, n_resamples=settings.n_resamples, rng=rng, progress=progress
    )
    return Drawing(name, title, lens, diagram, rng)


def _drawings(
    data: Predictions, settings: Settings, progress: Progress | None
) -> tuple[Drawing, ...]:
    wanted: list[tuple[str, str, Lens]] = []
    if data.m == 2:
        wanted.append(("main", f"Probability of “{data.classes[1]}”", Canonical()))
    else:
        wanted.append(("main", "Probability of the predicted class", TopLabel()))
    if data.m in (3, 4):
        wanted.append(("simplex", "All classes", Canonical()))
    if data.m > 4:
        wanted.append(("top2", "The two most probable classes", TopK(2)))
    if data.m > 4 or settings.groups is not None:
        wanted.append(("groups", "Groups of classes", settings.groups or default_groups(data)))
    return tuple(
        draw(data, about, settings, (10 + number,), part(progress, number, len(wanted)))
        for number, about in enumerate(wanted)
    )


def default_groups(data: Predictions) -> Groups:
    """Return the two most frequent classes and all others."""
    counts = np.bincount(data.labels, data.weights, data.m)
    first, second = np.argsort(-counts, kind="stable")[:2].tolist()
    others = [j for j in range(data.m) if j not in (first, second)]
    names = {data.classes[first]: [first], data.classes[second]: [second]}
    rest = f"the {len(others)} others"
    while rest in names:
        rest += "…"
    return Groups({**names, rest: others})


def _class_drawings(
    data: Predictions, classes: Classwise, settings: Settings, progress: Progress | None
) -> tuple[Drawing, ...]:
    """Draw the classes with the strongest evidence, in the order of the classes."""
    worst = np.lexsort((-classes.values, classes.adjusted_pvalues))[:MOST_CLASSES]
    wanted = [(j, (f"class{j}", data.classes[j], Marginal(j))) for j in sorted(worst.tolist())]
    return tuple(
        draw(data, about, settings, (100, j), part(progress, number, len(wanted)))
        for number, (j, about) in enumerate(wanted)
    )


def _verdicts(
    data: Predictions, evaluation: Evaluation, main: ReliabilityDiagram, classes: Classwise | None
) -> tuple[Verdict, ...]:
    def about(subject: str, lens: Lens, diagram: ReliabilityDiagram | None) -> Verdict:
        rows = [row for row in evaluation.rows if row.lens == lens]
        return verdict(subject, rows, diagram, len(evaluation.rows))

    if classes is None:
        return (about(f"the probabilities of “{data.classes[1]}”", Canonical(), main),)
    whole = f"the full distributions over all {data.m} classes"
    return (
        about("the top-class probabilities", TopLabel(), main),
        about(whole, Canonical(), None),
        classes_verdict(classes),
    )


def _worst_cells(drawings: Sequence[Drawing]) -> tuple[str, ...]:
    cells = [
        (size, f"{drawing.title}: {sentence}")
        for drawing in drawings
        for size, sentence in cell_sentences(drawing.diagram, drawing.spoken(), MOST_CELLS)
    ]
    largest = sorted(cells, key=lambda pair: -pair[0])[:MOST_CELLS]
    return tuple(capital(text) for _, text in largest)


def digest(data: Predictions) -> str:
    """Return the SHA-256 of the classes, probabilities, labels and weights."""
    state = sha256()
    pieces: list[Any] = ["\x1f".join(data.classes).encode(), str(data.probs.dtype).encode()]
    pieces += [data.probs, data.labels, np.ascontiguousarray(data.weights)]
    for piece in pieces:
        state.update(piece)
    return state.hexdigest()
