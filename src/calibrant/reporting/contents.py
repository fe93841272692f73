"""What the report on one model holds: computed here, drawn elsewhere."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, final

import numpy as np

from calibrant._random import derive
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.inference import Classwise, Evaluation, EvaluationRow, classwise, evaluate
from calibrant.inference.comparison import SCORES
from calibrant.lenses import Canonical, Groups, Lens, Marginal, TopK, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.predictions import Predictions
from calibrant.reporting.words import Verdict, cell_sentences, verdict

MOST_CLASSES = 20  # classes with a diagram of their own
MOST_CELLS = 10  # worst cells in words
LARGE = 1_000_000  # probabilities beyond which standard errors use fewer data sets


@final
@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """How a report was computed.

    Parameters
    ----------
    key : of all draws
    seed : what the user gave as `rng`, if it was a number
    n_resamples, n_bootstrap : data sets drawn
    groups : lens for the simplex or tetrahedron; None for the default
    """

    key: np.uint64
    seed: int | None
    n_resamples: int
    groups: Lens | None

    def n_bootstrap(self, data: Predictions) -> int:
        """Return the number of data sets for standard errors."""
        return 200 if data.probs.size <= LARGE else 50


@final
@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """Everything the report says about one model."""

    name: str
    data: Predictions
    scores: dict[str, float]
    evaluation: Evaluation
    verdicts: tuple[Verdict, ...]
    diagrams: tuple[tuple[str, str, ReliabilityDiagram], ...]
    classes: Classwise | None
    class_diagrams: tuple[tuple[str, ReliabilityDiagram], ...]
    worst_cells: tuple[str, ...]
    digest: str


def compute(name: str, data: Predictions, settings: Settings) -> Contents:
    """Evaluate one model for the report."""
    rng = int(settings.key)
    evaluation = evaluate(
        data,
        n_resamples=settings.n_resamples,
        n_bootstrap=settings.n_bootstrap(data),
        rng=rng,
    )
    diagrams = tuple(_diagrams(data, settings))
    main = diagrams[0][2]
    classes = None
    class_diagrams: tuple[tuple[str, ReliabilityDiagram], ...] = ()
    if data.m > 2:
        partition = EqualWidth(10)
        classes = classwise(data, partition, n_resamples=settings.n_resamples, rng=rng)
        class_diagrams = tuple(_class_diagrams(data, classes, settings))
    cells = [
        sentence
        for _, title, diagram in diagrams
        for sentence in cell_sentences(title, diagram, MOST_CELLS)
    ]
    return Contents(
        name=name,
        data=data,
        scores={score.__name__: score(data) for score in SCORES},
        evaluation=evaluation,
        verdicts=tuple(_verdicts(data, evaluation, main)),
        diagrams=diagrams,
        classes=classes,
        class_diagrams=class_diagrams,
        worst_cells=tuple(text for _, text in sorted(cells, reverse=True)[:MOST_CELLS]),
        digest=digest(data),
    )


def _diagrams(data: Predictions, settings: Settings) -> list[tuple[str, str, ReliabilityDiagram]]:
    wanted: list[tuple[str, str, Lens]] = []
    if data.m == 2:
        wanted.append(("main", f"Probability of {data.classes[1]}", Canonical()))
    else:
        wanted.append(("main", "Probability of the predicted class", TopLabel()))
    if data.m in (3, 4):
        wanted.append(("simplex", "All classes", Canonical()))
    if data.m > 4:
        wanted.append(("top2", "The two most probable classes", TopK(2)))
    if data.m > 4 or settings.groups is not None:
        lens = settings.groups or default_groups(data)
        wanted.append(("groups", "Groups of classes", lens))
    return [
        (
            name,
            title,
            reliability_diagram(
                data,
                lens=lens,
                n_resamples=settings.n_resamples,
                rng=int(derive(settings.key, 10 + number)),
            ),
        )
        for number, (name, title, lens) in enumerate(wanted)
    ]


def default_groups(data: Predictions) -> Groups:
    """Return the two most frequent classes and all others."""
    counts = np.bincount(data.labels, data.weights, data.m)
    first, second = np.argsort(-counts, kind="stable")[:2].tolist()
    others = [j for j in range(data.m) if j not in (first, second)]
    names = {data.classes[first]: [first], data.classes[second]: [second]}
    return Groups({**names, f"the {len(others)} others": others})


def _class_diagrams(
    data: Predictions, classes: Classwise, settings: Settings
) -> list[tuple[str, ReliabilityDiagram]]:
    worst = np.lexsort((-classes.values, classes.adjusted_pvalues))[:MOST_CLASSES]
    return [
        (
            data.classes[j],
            reliability_diagram(
                data,
                lens=Marginal(int(j)),
                n_resamples=settings.n_resamples,
                rng=int(derive(settings.key, 100, int(j))),
            ),
        )
        for j in sorted(worst.tolist())
    ]


def _verdicts(data: Predictions, evaluation: Evaluation, main: ReliabilityDiagram) -> list[Verdict]:
    if data.m == 2:
        row = _row(evaluation, Canonical())
        return [verdict(f"the probabilities of {data.classes[1]}", row, main)]
    return [
        verdict("the top-class probabilities", _row(evaluation, TopLabel()), main),
        verdict(
            f"the full distributions over all {data.m} classes",
            _row(evaluation, Canonical()),
            None,
        ),
    ]


def _row(evaluation: Evaluation, lens: Lens) -> EvaluationRow:
    """Return the row of a lens with the last partition, which follows the data, and TV."""
    rows = [row for row in evaluation.rows if row.lens == lens]
    return rows[-2]


def digest(data: Predictions) -> str:
    """Return the SHA-256 of the classes, probabilities, labels and weights."""
    state = sha256()
    parts: list[Any] = ["\x1f".join(data.classes).encode(), str(data.probs.dtype).encode()]
    parts += [data.probs, data.labels, np.ascontiguousarray(data.weights)]
    for part in parts:
        state.update(part)
    return state.hexdigest()
