"""The models that are explored, and answers about them, each worked out once."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_lens, as_region
from calibrant.checks.parameters import listed
from calibrant.cross_fitting import recalibrate
from calibrant.diagrams import reliability_diagram
from calibrant.explorer import lessons
from calibrant.explorer.state import State
from calibrant.inference import (
    Evaluation,
    calibration_test,
    classwise,
    compare,
    evaluate,
    slices,
)
from calibrant.inference.replicates.problem import Progress
from calibrant.inference.verdicts.groups import LEAST, Texts
from calibrant.lenses import Lens
from calibrant.monitor.periods import OverTime, over_time
from calibrant.predictions import Predictions
from calibrant.recalibration.spelled import as_method
from calibrant.regions import search
from calibrant.statistics.calibration_errors import BINS

T = TypeVar("T")
MOST_ANSWERS = 48
MOST_SELECTIONS = 4  # of rows, which take memory
MOST_DRAWN = 4  # outcomes of a diagram
BINNED = ("ece", "mce", "ace", "rms")  # statistics of bins


@final
class Answers:
    """The latest answers, by question. Two who ask the same wait for one who works it out."""

    def __init__(self, most: int) -> None:
        self.most = most
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
                        while len(self._found) > self.most:
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
    """Models of the same classes, and what is asked about them.

    Parameters
    ----------
    models : mapping of str to Predictions
        By name; the first is shown if nobody chose one.
    files : sequence of path, default ()
        Where they come from, if from files.
    reading : mapping
        How `load` was told to read these.
    options : sequence of str
        The same as options of the command.
    n_resamples, rng
        As in `calibration_test`.
    """

    def __init__(
        self,
        models: Mapping[str, Predictions],
        files: Sequence[Path] = (),
        n_resamples: int = 999,
        rng: int = 0,
        reading: Mapping[str, Any] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self.models, self.first = dict(models), next(iter(models))
        for name, other in models.items():
            if other.classes != models[self.first].classes:
                raise ValueError(
                    f"Models that are explored together must have the same classes; {name!r} has"
                    f" others than {self.first!r}."
                )
        self.files, self.reading, self.options = tuple(files), dict(reading or {}), tuple(options)
        self.draws: dict[str, Any] = {"n_resamples": n_resamples, "rng": rng}
        self._answers, self._selections = Answers(MOST_ANSWERS), Answers(MOST_SELECTIONS)

    def model(self, state: State) -> Predictions:
        """Return the model of a state, with all rows."""
        if state.lesson:
            drawn = State(lesson=state.lesson, beta0=state.beta0, beta1=state.beta1)
            return self._answers.get(("lesson", drawn), lambda: lessons.rows(drawn))
        name = state.model or self.first
        return self.models[_one_of("model", name, self.models)]

    def tidy(self, state: State) -> State:
        """Return a state in which no model stands beside itself."""
        itself = state.other == (state.model or self.first)
        return replace(state, other="") if itself else state

    def lens_name(self, state: State) -> str:
        """Return the lens: the one that was chosen, or the one that a diagram has by default."""
        most = 2 if state.other or state.repair else MOST_DRAWN
        return state.lens or ("canonical" if self.model(state).m <= most else "top")

    def lens(self, state: State) -> Lens:
        """Return the lens itself."""
        return as_lens(self.lens_name(state), self.model(state))

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
            found = {name: rows for name, rows, _ in self.group_rows(state)}
            mask &= found[_one_of("group", state.group, found)]
        if not mask.any():
            raise ValueError("No row is left: the region and the group have none in common.")
        return np.flatnonzero(mask)

    def group_rows(self, state: State) -> list[tuple[str, NDArray[np.bool_], int]]:
        """Return the groups of the column of a state: name, rows (n,), number of rows."""
        data = self.model(state)
        texts = partial(Texts.of, state.by, data.columns[_one_of("by", state.by, data.columns)])
        question = "group_rows", state.model, state.by
        return self._answers.get(question, lambda: list(texts(data.n).groups(LEAST)))

    def data(self, state: State, progress: Progress | None = None) -> Predictions:
        """Return the rows that are looked at, recalibrated if that was chosen."""
        return self._selections.get(state.source, lambda: self._data(state, progress))

    def _data(self, state: State, progress: Progress | None) -> Predictions:
        whole = self.model(state)
        if state.repair:
            method = as_method(state.repair, whole.m)
            rng = self.draws["rng"]
            found = recalibrate(whole, [method], n_resamples=1, rng=rng, progress=progress)
            whole = found.predictions(found.rows[1].name)
        narrowed = state.region or state.group
        return whole.take(self.rows(state)) if narrowed else whole

    def pair(self, state: State, progress: Progress | None = None) -> Mapping[str, Predictions]:
        """Return the models that are drawn together, by name."""
        if state.repair:
            plain = self.data(replace(state, repair=""))
            return {"as it is": plain, f"after {state.repair}": self.data(state, progress)}
        shown = {state.model or self.first: self.data(state)}
        if state.other and state.other not in shown:
            shown[state.other] = self.data(replace(state, model=state.other))
        return shown

    def statistic(self, state: State) -> str:
        """Return the statistic of the exact test, with the number of its bins; "" for none."""
        if state.repair or state.other or not (state.statistic or self.two(state)):
            return ""
        name = state.statistic or "ece"
        return f"{name}:{state.bins or BINS}" if name in BINNED else name

    def settings(self, verb: Callable[..., Any], state: State) -> dict[str, Any]:
        """Return what a verb is told of a state, but for the draws."""
        lens, two = self.lens_name(state), self.two(state)
        if verb is reliability_diagram and state.bins and two:
            return {"lens": lens, "partition": state.partition}
        told: dict[Callable[..., Any], dict[str, Any]] = {
            reliability_diagram: {"lens": lens},
            calibration_test: {"statistic": self.statistic(state), "lens": lens},
            classwise: {},
            slices: {"by": state.by, "lens": lens},
            search: {"lens": lens if two else None},
        }
        return told.get(verb, {"lenses": lens})

    def ask(self, verb: Callable[..., T], state: State, progress: Progress | None = None) -> T:
        """Return what a verb says of a state, worked out once."""
        together = verb is compare or (verb is reliability_diagram and self.two(state))
        models = self.pair(state, progress) if together else {}
        data: Any = models if len(models) > 1 else self.data(state, progress)
        settings = self.settings(verb, state)
        seen = replace(state, style="", bin=-1, low=0.0, high=1.0, page=0, tab="bins")
        question = verb.__name__, seen, tuple(settings.items())
        return self._answers.get(
            question, lambda: verb(data, **settings, **self.draws, progress=progress)
        )

    def evaluations(self, state: State, progress: Progress | None = None) -> list[Evaluation]:
        """Return the verdicts on the lens of a state, before a calibrator and after it."""
        alone = replace(state, other="")
        before = [replace(alone, repair="", lens=self.lens_name(state))] if state.repair else []
        return [self.ask(evaluate, one, progress) for one in (*before, alone)]

    def when(self, state: State) -> OverTime | None:
        """Return the rows watched in the order of their dates; None if there are none."""
        return self._answers.get(("when", state.source), lambda: over_time(self.data(state)))


def _one_of(name: str, found: str, known: Iterable[str]) -> str:
    """Return what is known; refuse anything else."""
    if found not in known:
        raise ValueError(f"`{name}` must be one of {listed(known)}; found {found!r}.")
    return found
