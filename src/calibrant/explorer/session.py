"""The models that are explored, and answers about them, each worked out once."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock, RLock
from typing import Any, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_lens, as_region
from calibrant.cross_fitting import recalibrate
from calibrant.cuts.gathering import gathered
from calibrant.diagrams import reliability_diagram
from calibrant.explorer import lessons
from calibrant.explorer.state import State, one_of
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
from calibrant.regions import Region, search
from calibrant.statistics.calibration_errors import BINS

T = TypeVar("T")
MOST_ANSWERS = 48
MOST_SELECTIONS = 4  # of rows, which take memory
MOST_GROUPS = 12  # of a column, where all columns are looked at
PROBED, LONGEST_NAME = 1000, 60  # rows of a column, and letters of a value that names a group
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


class Grouped(NamedTuple):
    """Groups of rows by a column: their names, and the place of the group of each row (n,)."""

    names: list[str]
    of_row: NDArray[np.int32]

    def inside(self, group: str) -> NDArray[np.bool_]:
        """Return which rows are in a group."""
        return np.asarray(self.of_row == self.names.index(one_of("group", group, self.names)))


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
    demo : bool
        Whether they are the networks that come with the package.
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
        demo: bool = False,
    ) -> None:
        self.models, self.first = dict(models), next(iter(models))
        for name, other in models.items():
            if other.classes != models[self.first].classes:
                raise ValueError(
                    f"Models that are explored together must have the same classes; {name!r} has"
                    f" others than {self.first!r}."
                )
        self.files, self.reading, self.options = tuple(files), dict(reading or {}), tuple(options)
        self.demo = demo
        self.draws: dict[str, Any] = {"n_resamples": n_resamples, "rng": rng}
        self._answers, self._selections = Answers(MOST_ANSWERS), Answers(MOST_SELECTIONS)

    def model(self, state: State) -> Predictions:
        """Return the model of a state, with all rows."""
        if state.lesson:
            drawn = State(lesson=state.lesson, beta0=state.beta0, beta1=state.beta1)
            return self._answers.get(("lesson", drawn), lambda: lessons.rows(drawn))
        name = state.model or self.first
        return self.models[one_of("model", name, self.models)]

    def tidy(self, state: State) -> State:
        """Return a state in which no model stands beside itself, and the default has no name."""
        other = "" if state.other == (state.model or self.first) else state.other
        found = replace(state, other=other)
        default = state.lens == self.lens_name(replace(found, lens=""))
        return replace(found, lens="") if default else found

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

    def rows(self, state: State, progress: Progress | None = None) -> NDArray[np.intp]:
        """Return the numbers of the rows that are looked at."""
        if state.found:
            region = self.found(state, progress)
            return self.rows(replace(state, found=""))[region.mask]
        data = self.model(state)
        mask = np.ones(data.n, bool)
        if state.region:
            mask &= as_region(state.region, data)(data.probs)
        if state.group:
            mask &= self.grouped(state).inside(state.group)
        if not mask.any():
            raise ValueError("No row is left: the region and the group have none in common.")
        return np.flatnonzero(mask)

    def found(self, state: State, progress: Progress | None = None) -> Region:
        """Return the region that a search found in the rows that are looked at."""
        number, _, lens = state.found.partition("@")
        searched = self.ask(search, replace(state.source, found="", lens=lens), progress)
        known = {str(i): region for i, region in enumerate(searched.rows, 1)}
        return known[one_of("found", number, known)]

    def conditions(self, state: State, progress: Progress | None = None) -> str:
        """Return the conditions of the region that was found and chosen; "" for none."""
        return self.found(state, progress).conditions if state.found else ""

    def grouping(self, state: State) -> list[str]:
        """Return the columns that make a few groups of rows each."""
        columns = {} if state.lesson else self.model(state).columns
        names = [name for name, values in columns.items() if _named(values)]
        sizes = {name: len(self.grouped(replace(state, by=name)).names) for name in names}
        return [name for name, size in sizes.items() if 1 < size <= MOST_GROUPS]

    def grouped(self, state: State) -> Grouped:
        """Return the groups that the column of a state makes of all rows."""
        data, column = self.model(state), state.by
        values = data.columns[one_of("by", column, data.columns)]

        def gather() -> Grouped:
            texts = Texts.of(column, values, data.n)
            groups = list(gathered(texts.counts, LEAST, column))
            places = {value: i for i, (_, shared, _) in enumerate(groups) for value in shared}
            of_value = np.array([places[value] for value in texts.names.tolist()], np.int32)
            return Grouped([name for name, *_ in groups], of_value[texts.places])

        return self._answers.get(("grouped", state.model, column), gather)

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
        narrowed = state.region or state.group or state.found
        return whole.take(self.rows(state, progress)) if narrowed else whole

    def pair(self, state: State, progress: Progress | None = None) -> Mapping[str, Predictions]:
        """Return the models that are drawn together, by name."""
        if state.repair:
            plain = self.data(replace(state, repair=""))
            return {"as it is": plain, f"after {state.repair}": self.data(state, progress)}
        shown = {state.model or self.first: self.data(state)}
        if state.other and state.other not in shown:
            shown[state.other] = self._beside(state)
        return shown

    def _beside(self, state: State) -> Predictions:
        """Return the other model, of the same rows if both models predict the same."""
        whole = self.models[one_of("other", state.other, self.models)]
        if whole.n != self.model(state).n:
            return self.data(replace(state, model=state.other))
        question = state.source, state.other
        return self._selections.get(question, lambda: whole.take(self.rows(state)))

    def statistic(self, state: State) -> str:
        """Return the statistic of the exact test, with the number of its bins; "" for none."""
        if state.repair or state.other or not (state.statistic or self.two(state)):
            return ""
        name = state.statistic or "ece"
        return f"{name}:{state.bins or BINS}" if name in BINNED else name

    def settings(self, verb: Callable[..., Any], state: State) -> dict[str, Any]:
        """Return the arguments that a state gives a verb, but for the draws."""
        lens, two = self.lens_name(state), self.two(state)
        if verb is slices:
            return {"by": [state.by] if state.by else self.grouping(state), "lens": lens}
        settings: dict[Callable[..., Any], dict[str, Any]] = {
            reliability_diagram: {"lens": lens},
            calibration_test: {"statistic": self.statistic(state), "lens": lens},
            classwise: {},
            search: {"lens": lens if two else None},
        }
        if state.bins and two:
            cut = f"{'mass' if state.mass else 'width'}:{state.bins}"
            settings[reliability_diagram]["partition"] = cut
        return settings.get(verb, {"lenses": lens})

    def ask(self, verb: Callable[..., T], state: State, progress: Progress | None = None) -> T:
        """Return what a verb says of a state, worked out once."""
        together = verb is compare or (verb is reliability_diagram and self.two(state))
        models = self.pair(state, progress) if together else {}
        data: Any = models if len(models) > 1 else self.data(state, progress)
        settings = self.settings(verb, state)
        question = verb.__name__, state.source, tuple(models), repr(settings)
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


def _named(values: Any) -> bool:
    """Whether values are short enough for names of groups: long texts do not make any."""
    return max((len(str(value)) for value in values[:PROBED]), default=0) <= LONGEST_NAME
