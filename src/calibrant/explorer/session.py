"""The models that are explored, and answers about them, each worked out once."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_lens, as_region
from calibrant.checks.parameters import listed
from calibrant.cross_fitting import recalibrate
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.explorer import lessons
from calibrant.explorer.state import State
from calibrant.inference import (
    CalibrationTest,
    Classwise,
    Comparison,
    Evaluation,
    Slices,
    calibration_test,
    classwise,
    compare,
    evaluate,
    slices,
)
from calibrant.inference.replicates.problem import Progress
from calibrant.inference.verdicts.groups import LEAST, Texts
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.monitor.periods import OverTime, over_time
from calibrant.predictions import Predictions
from calibrant.recalibration.spelled import as_method
from calibrant.regions import Regions, search
from calibrant.statistics.calibration_errors import BINS
from calibrant.statistics.spelled import as_statistic

T = TypeVar("T")
MOST_ANSWERS = 48
MOST_DRAWN = 4  # outcomes of a diagram
SEED = 0
BINNED = ("ece", "mce", "ace", "rms")  # statistics of bins


@final
class Answers:
    """The latest answers, by question. Two who ask the same wait for one who works it out."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, Any] = OrderedDict()
        self._locks: dict[Any, RLock] = {}
        self._guard = Lock()

    def get(self, question: Any, work: Callable[[], T]) -> T:
        """Return the answer, worked out if it is not known."""
        with self._guard:
            lock = self._locks.setdefault(question, RLock())
        try:
            with lock:
                if question not in self._found:
                    answer = work()
                    with self._guard:
                        self._found[question] = answer
                        while len(self._found) > MOST_ANSWERS:
                            self._found.popitem(last=False)
                with self._guard:
                    if question in self._found:
                        self._found.move_to_end(question)
                        return self._found[question]  # type: ignore[no-any-return]
                return answer
        finally:
            with self._guard:
                self._locks.pop(question, None)


@final
class Session:
    """Models of the same classes, and what is asked about them."""

    def __init__(
        self, models: Mapping[str, Predictions], files: Sequence[Path] = (), n_resamples: int = 999
    ) -> None:
        self.models = dict(models)
        self.files = tuple(files)
        self.draws: dict[str, Any] = {"n_resamples": n_resamples, "rng": SEED}
        self._answers = Answers()

    @property
    def first(self) -> str:
        """Name of the model that is shown if nobody chose one."""
        return next(iter(self.models))

    def model(self, state: State) -> Predictions:
        """Return the model of a state, with all rows."""
        if state.lesson:
            drawn = State(lesson=state.lesson, beta0=state.beta0, beta1=state.beta1)
            return self._answers.get(("lesson", drawn), lambda: lessons.rows(drawn))
        name = state.model or self.first
        if name not in self.models:
            raise ValueError(f"`model` must be one of {listed(self.models)}; found {name!r}.")
        return self.models[name]

    def lens(self, state: State) -> Lens:
        """Return the lens: the one that was chosen, or the one that a diagram has by default."""
        data = self.model(state)
        if state.lens:
            return as_lens(state.lens, data)
        most = 2 if state.other or state.repair else MOST_DRAWN
        return Canonical() if data.m <= most else TopLabel()

    def two(self, state: State) -> bool:
        """Whether the lens shows two outcomes."""
        return self.lens(state)(self.model(state).take(np.arange(1))).m == 2

    def rows(self, state: State) -> NDArray[np.intp]:
        """Return the numbers of the rows that are looked at."""
        data = self.model(state)
        mask = np.ones(data.n, bool)
        if state.region:
            mask &= as_region(state.region, data)(data.probs)
        if state.group:
            mask &= self._members(data, state)
        if not mask.any():
            raise ValueError("No row is left: the region and the group have none in common.")
        return np.flatnonzero(mask)

    def _members(self, data: Predictions, state: State) -> NDArray[np.bool_]:
        """Return which rows belong to the group that was chosen, as `slices` groups them."""
        if state.by not in data.columns:
            raise ValueError(f"`by` must be one of {listed(data.columns)}; found {state.by!r}.")
        found = {name: rows for name, rows, _ in self.group_rows(state)}
        if state.group not in found:
            raise ValueError(f"`group` must be one of {listed(found)}; found {state.group!r}.")
        return found[state.group]

    def group_rows(self, state: State) -> list[tuple[str, NDArray[np.bool_], int]]:
        """Return the groups of the column of a state: name, rows (n,), number of rows."""
        data = self.model(state)
        question = "group_rows", State(model=state.model, by=state.by, lesson=state.lesson)
        return self._answers.get(
            question, lambda: list(Texts.of(state.by, data.columns[state.by], data.n).groups(LEAST))
        )

    def data(self, state: State) -> Predictions:
        """Return the rows that are looked at, recalibrated if that was chosen."""
        return self._answers.get(("data", state.source), lambda: self._data(state))

    def _data(self, state: State) -> Predictions:
        whole = self.model(state)
        if state.repair:
            method = as_method(state.repair, whole.m)
            found = recalibrate(whole, [method], n_resamples=1, rng=SEED)
            whole = found.predictions(found.rows[1].name)
        narrowed = state.region or state.group
        return whole.take(self.rows(state)) if narrowed else whole

    def pair(self, state: State) -> Mapping[str, Predictions]:
        """Return the models that are drawn together, by name."""
        shown = {state.model or self.first: self.data(state)}
        if state.repair:
            plain = self.data(replace(state, repair=""))
            return {"as it is": plain, f"after {state.repair}": self.data(state)}
        if state.other and state.other not in shown:
            shown[state.other] = self.data(replace(state, model=state.other))
        return shown

    def _ask(self, verb: Callable[..., T], state: State, data: Any, **settings: Any) -> T:
        """Work out a verb of the rows of a state, with its settings, once."""
        seen = replace(state, style="", bin=-1, low=0.0, high=1.0, page=0, tab="bins")
        progress = settings.pop("progress", None)
        question = verb.__name__, seen, tuple(sorted((k, str(v)) for k, v in settings.items()))
        return self._answers.get(
            question, lambda: verb(data, **settings, **self.draws, progress=progress)
        )

    def diagram(self, state: State, progress: Progress | None = None) -> ReliabilityDiagram:
        """Return the reliability diagram of one model or two."""
        lens, models = self.lens(state), self.pair(state)
        two = self.two(state)
        data: Any = models if two and len(models) > 1 else self.data(state)
        partition = state.partition if two else None
        return self._ask(
            reliability_diagram, state, data, lens=lens, partition=partition, progress=progress
        )

    def test(self, state: State, progress: Progress | None = None) -> CalibrationTest | None:
        """Return the exact test of the statistic; None where outcomes are more than two."""
        if not (state.statistic or self.two(state)):
            return None
        return self._ask(
            calibration_test,
            state,
            self.data(state),
            statistic=as_statistic(self.statistic(state)),
            lens=self.lens(state),
            progress=progress,
        )

    def statistic(self, state: State) -> str:
        """Return the short name of the statistic, with the number of its bins."""
        name = state.statistic or "ece"
        return f"{name}:{state.bins or BINS}" if name in BINNED else name

    def evaluations(
        self, state: State, progress: Progress | None = None
    ) -> Mapping[str, Evaluation]:
        """Return the verdict on the lens of a state, before and after a calibrator."""
        lens, alone = self.lens(state), replace(state, other="")
        before = [replace(alone, repair="", lens=state.lens or str(lens))] if state.repair else []
        names = self.pair(alone)
        return {
            name: self._ask(evaluate, one, self.data(one), lenses=lens, progress=progress)
            for name, one in zip(names, [*before, alone], strict=True)
        }

    def comparison(self, state: State, progress: Progress | None = None) -> Comparison:
        """Return what may be concluded about two models."""
        lens, models = self.lens(state), self.pair(state)
        return self._ask(compare, state, models, lenses=lens, progress=progress)

    def classes(self, state: State, progress: Progress | None = None) -> Classwise:
        """Return how far off each class is."""
        return self._ask(classwise, state, self.data(state), progress=progress)

    def groups(self, state: State, progress: Progress | None = None) -> Slices:
        """Return how far off the groups of a column are, through the lens."""
        plain = replace(state, group="")
        lens, data = self.lens(state), self.data(plain)
        return self._ask(slices, plain, data, by=state.by, lens=lens, progress=progress)

    def where(self, state: State, progress: Progress | None = None) -> Regions:
        """Return the regions of rows that are off, by the columns of the file and predictions."""
        lens = self.lens(state) if self.two(state) else None
        return self._ask(search, state, self.data(state), lens=lens, progress=progress)

    def when(self, state: State) -> OverTime | None:
        """Return the rows watched in the order of their dates; None if there are none."""
        return self._answers.get(("when", state.source), lambda: over_time(self.data(state)))
