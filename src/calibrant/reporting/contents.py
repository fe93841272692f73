"""What the report on one model holds: computed here, judged together, drawn elsewhere."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from calibrant import diagrams, inference
from calibrant.arguments import as_rows
from calibrant.calibration import calibration_function
from calibrant.cross_fitting import Recalibration
from calibrant.cross_fitting.before_after import recalibrated, some_rows
from calibrant.cross_fitting.result import AS_IT_IS
from calibrant.inference.replicates.problem import Plan, Progress, part
from calibrant.inference.testing.resampled import omnibus_test
from calibrant.inference.verdicts.groups import kept_columns
from calibrant.lenses import Canonical, Groups, Lens, Marginal, TopK, TopLabel
from calibrant.monitor.periods import OverTime, over_time
from calibrant.partitions import EqualWidth
from calibrant.predictions import Predictions
from calibrant.recalibration import Temperature
from calibrant.regions import Region, Regions, search
from calibrant.reporting import sentences
from calibrant.reporting.judging import judged_together
from calibrant.resampling import Exact
from calibrant.risks import Clinical
from calibrant.rows import Scan
from calibrant.scores import all_scores
from calibrant.words import NEEDED, capital

MOST_CLASSES = 20  # classes with a diagram each, and with a line in a table
MOST_WORST = 10  # worst bins in words
BINS = EqualWidth(10)  # for the tests of single classes
FOLDS = 5  # of recalibration
LARGE = 1 << 17  # probabilities beyond which only the temperature is tried
ENOUGH = 1 << 21  # probabilities on which it is tried: of more, on some rows
RANKS = (  # the outcomes of TopK(2) in a sentence
    "the most probable class",
    "the second most probable class",
    "one of the less probable classes",
)


class Settings(NamedTuple):
    """How a report is computed."""

    seed: int  # that the user gave, or one drawn from the generator
    n_resamples: int
    groups: Lens | None = None  # for the triangle or tetrahedron of groups; None for the default
    region: str | None = None  # condition that the rows were chosen by; None for all rows

    def draws(self, progress: Progress | None = None) -> dict[str, Any]:
        """Return arguments by which all of a page see the same draws."""
        return {"n_resamples": self.n_resamples, "rng": self.seed, "progress": progress}


class Placed(NamedTuple):
    """A diagram with its place in the report."""

    name: str  # for links
    title: str  # of its section
    diagram: diagrams.ReliabilityDiagram
    outcomes: Sequence[str]  # as a sentence names them


class Remedy(NamedTuple):
    """What recalibration does to a model."""

    advice: str  # what to do, in a sentence
    found: Recalibration | None = None  # the methods; None if the rows do not allow it
    diagram: diagrams.ReliabilityDiagram | None = None  # before and after what is recommended
    code: str = ""  # the line of Python that does it


class Where(NamedTuple):
    """What a search by columns beside the predictions found, or why there was none."""

    found: Regions | None = None
    why: str = ""


class ClinicalPart(NamedTuple):
    """The numbers and pictures of clinical papers, of two classes."""

    found: Clinical
    curve: diagrams.FlexibleDiagram
    decision: diagrams.DecisionCurve


class Contents(NamedTuple):
    """Everything the report says about one model."""

    name: str  # "" if it is the only one
    data: Predictions | Scan
    scores: dict[str, float]
    evaluation: inference.Evaluation
    drawings: tuple[Placed, ...]
    curve: diagrams.CurveDiagram | None  # None if there are too few resamples, clusters, or a scan
    by_class: diagrams.ClassDiagram | None  # of predicted classes; None of two, or of a scan
    classes: inference.Classwise | None  # None if there are two
    class_drawings: tuple[Placed, ...]
    remedy: Remedy
    slices: inference.Slices | None  # None if no columns were kept beside the predictions
    over_time: OverTime | None  # None if none of them has dates
    where: Where | None  # None if there are none
    risks: ClinicalPart | None = None  # None of three classes or more, confidences, and a scan

    @property
    def verdicts(self) -> list[sentences.Sentence]:
        """What the tests mean: the main aspect first, single classes last."""
        main, diagram = main_lens(self.data), self.drawings[0].diagram
        found = sorted(self.evaluation.verdicts, key=lambda verdict: verdict.lens != main)
        tests = self.evaluation.rows
        lines = [sentences.line_of(v, diagram if v.lens == main else None, tests) for v in found]
        if self.classes is not None:
            lines.append(sentences.classes_verdict(self.classes))
        return [*lines, sentences.regions_verdict(self.regions)] if self.regions else lines

    @property
    def regions(self) -> Sequence[Region]:
        """The regions that are shown to be off."""
        return () if self.where is None or self.where.found is None else self.where.found.rows

    @property
    def advice(self) -> str:
        """What to do, in a sentence."""
        found = self.remedy.found
        if not self.regions or found is None or found.recommended != AS_IT_IS:
            return self.remedy.advice
        return (
            "No calibrator of all rows is called for, but regions are off: one by region may help,"
            " calibrant.recalibrate(data, by=…), or calibrant recalibrate FILE --by COLUMNS."
        )

    def worst_bins(self) -> list[str]:
        """Return sentences about the bins that matter most: share times deviation."""
        found = []
        for drawing in self.drawings:
            worst = sentences.bin_sentences(drawing.diagram, drawing.outcomes, MOST_WORST)
            found += [(size, capital(f"{drawing.title}: {text}")) for size, text in worst]
        return [text for _, text in sorted(found, key=lambda pair: -pair[0])[:MOST_WORST]]


def main_lens(data: Predictions | Scan) -> Lens:
    """Return the aspect that comes first: the event of two classes, the top label of more."""
    return Canonical() if data.m == 2 else TopLabel()


def compute(
    name: str,
    data: Predictions | Scan,
    evaluation: inference.Evaluation,
    settings: Settings,
    progress: Progress | None = None,
) -> Contents:
    """Compute what the report says about a model beyond its evaluation."""
    columns = kept_columns(data)
    n_stages = (3 if data.m == 2 else 6) + 2 * bool(columns)
    stages = [part(progress, i, n_stages) for i in range(n_stages)]
    drawings = _drawings(data, _wanted(data, settings.groups), settings, stages[0])
    curve = _curve(data, settings, stages[1])
    classes, by_class = None, None
    class_drawings: tuple[Placed, ...] = ()
    if data.m > 2:
        by_class = _by_class(data, settings, stages[2])
        classes = inference.classwise(data, BINS, **settings.draws(stages[3]))
        class_drawings = _drawings(data, _single_classes(classes), settings, stages[4])
    groups, where = None, None
    if columns:
        groups = inference.slices(data, columns, **settings.draws(stages[-3]))
        where = _where(data, settings, stages[-2])
    found = Contents(
        name=name,
        data=data,
        scores=all_scores(data),
        evaluation=evaluation,
        drawings=drawings,
        curve=curve,
        by_class=by_class,
        classes=classes,
        class_drawings=class_drawings,
        remedy=remedy(data, settings, stages[-1], _test_of(evaluation)),
        slices=groups,
        over_time=over_time(data) if isinstance(data, Predictions) else None,
        where=where,
        risks=_risks(data),
    )
    return judged_together(found)


def _where(data: Predictions | Scan, settings: Settings, progress: Progress | None) -> Where:
    """Search regions by the columns that were kept, or say in a sentence why not."""
    try:
        return Where(search(data, lens=main_lens(data), **settings.draws(progress)))
    except ValueError as error:
        return Where(None, f"Regions were not searched: {str(error).replace('`', '')}")


def _risks(data: Any) -> ClinicalPart | None:
    """Judge the risks of an event, where there is one, if clusters are enough."""
    if data.m > 2 or not as_rows(data).held or getattr(data, "of_confidences", False):
        return None
    try:
        curve = diagrams.flexible_diagram(data)
    except ValueError:  # too few clusters
        return None
    decision = diagrams.DecisionCurve({"": curve.found.decision}, curve.event, curve.settings)
    return ClinicalPart(curve.found, curve, decision)


def _drawings(
    data: Predictions | Scan,
    wanted: Sequence[tuple[str, str, Lens]],
    settings: Settings,
    progress: Progress | None,
) -> tuple[Placed, ...]:
    """Compute a diagram for each (name, title, lens)."""
    drawings = []
    for i, (name, title, lens) in enumerate(wanted):
        draws = settings.draws(part(progress, i, len(wanted)))
        diagram = diagrams.reliability_diagram(data, lens=lens, **draws)
        outcomes = RANKS if lens == TopK(2) else sentences.spoken_outcomes(diagram)
        drawings.append(Placed(name, title, diagram, outcomes))
    return tuple(drawings)


def _curve(
    data: Predictions | Scan, settings: Settings, progress: Progress | None
) -> diagrams.CurveDiagram | None:
    """Draw an isotonic curve of the event, or the predicted class; with the draws of the bins."""
    if not as_rows(data).held or settings.n_resamples < NEEDED or data.clusters is not None:
        return None
    return diagrams.isotonic_diagram(data, **settings.draws(progress))


def _by_class(
    data: Any, settings: Settings, progress: Progress | None
) -> diagrams.ClassDiagram | None:
    """Compare accuracy and confidence of predicted classes; with the draws of the bins."""
    if not as_rows(data).held:
        return None
    return diagrams.class_diagram(data, **settings.draws(progress))


def _wanted(data: Any, groups: Lens | None) -> list[tuple[str, str, Lens]]:
    """Return the name, title and lens of each diagram; the main one first."""
    wanted = [("main", _main_title(data), main_lens(data))]
    if data.m in (3, 4):
        wanted.append(("simplex", "All classes", Canonical()))
    if data.m > 4:
        wanted.append(("top2", "The two most probable classes", TopK(2)))
    if 4 < data.m <= MOST_CLASSES:  # the two of largest prediction are next to nothing of more
        groups = groups or default_groups(data)
    if groups is not None:
        wanted.append(("groups", "Groups of classes", groups))
    return wanted


def _main_title(data: Any) -> str:
    """Return the title of the diagram that comes first."""
    if data.m > 2 or (as_rows(data).held and data.of_confidences):
        return "Confidence"
    return f"Probability of “{data.classes[1]}”"


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


def _single_classes(classes: inference.Classwise) -> list[tuple[str, str, Lens]]:
    """Return the classes that get a diagram each, in the order of their table: none of many."""
    order = classes.ranked.tolist() if len(classes.classes) <= MOST_CLASSES else []
    return [(f"class{j}", classes.classes[j], Marginal(j)) for j in order]


def _test_of(evaluation: inference.Evaluation) -> inference.CalibrationTest | None:
    """Return the test of the full distributions, as `calibration_test` makes it of these draws."""
    rows = [row for row in evaluation.rows if row.lens == Canonical() and row.decided]
    if not rows:
        return None
    values, nulls = [row.value for row in rows], np.stack([row.null for row in rows])
    return omnibus_test([row.statistic for row in rows], values, nulls, evaluation.settings)


def remedy(
    data: Any,
    settings: Settings,
    progress: Progress | None = None,
    test: inference.CalibrationTest | None = None,
) -> Remedy:
    """Recalibrate a model, or say in a sentence why that is not possible.

    Of very many rows, on some of them, as the advice says; the model as it is is tested on all.

    test : of the model as it is, if it was made with the same draws
    """
    if not as_rows(data).held:
        if progress is not None:
            progress(1, 1)
        return Remedy(
            "Recalibration was not tried, since rows were read in batches. Methods have few"
            " parameters: a sample of the rows that fits into memory is enough to fit one."
        )
    methods = [Temperature()] if data.probs.size > LARGE else None
    some = some_rows(data, settings.seed, ENOUGH)
    try:
        plan = Plan.of(some, Exact(), settings.n_resamples, settings.seed, progress)
        found = recalibrated(some, methods, FOLDS, plan, test)
    except ValueError as error:
        return Remedy(f"Recalibration was not tried: {str(error).replace('`', '')}")
    advice = found.recommendation
    if some.n < data.n:
        advice += f" It was tried on {some.n:,} of the {data.n:,} rows, drawn at random."
    if found.recommended == AS_IT_IS:
        return Remedy(advice, found)
    models = {AS_IT_IS: some, f"after {found.recommended}": found.predictions()}
    diagram = diagrams.reliability_diagram(models, lens=main_lens(data), **settings.draws())
    code = f"recalibrated = calibrant.recalibration.{found.row().method!r}.fit(data)(new)"
    return Remedy(advice, found, diagram, code)
