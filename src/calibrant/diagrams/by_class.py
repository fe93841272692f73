"""Accuracy and confidence of every predicted class: which of them the model is too sure of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant import tables
from calibrant.arguments import check_data, takes_arrays
from calibrant.checks.parameters import Rng, fraction
from calibrant.diagrams import picture
from calibrant.diagrams.diagram import Diagram
from calibrant.diagrams.listed import amount, with_sign
from calibrant.diagrams.picture import Areas, Floats, Frame, Key, Label, Lines, Marks, Part, Picture
from calibrant.inference import Binwise
from calibrant.inference.replicates.problem import Plan, Progress, fields, watched
from calibrant.inference.testing.binwise import of_problem
from calibrant.lenses import TopLabel
from calibrant.partitions import FromFunction
from calibrant.predictions import Predictions
from calibrant.resampling import Exact
from calibrant.sizes import bias_of
from calibrant.words import ALPHA, NEEDED, be, capital, many, percent, pvalue, rows_of, too_few

Ints = NDArray[np.int64]

LEVEL = 1 - ALPHA  # of all intervals at once, and of the band of all classes
ENDS = 10  # classes at either end of a table of many
NAMED = 5  # classes at either end that a picture names
FEW = 20  # classes that a table tells of one by one
LETTERS = 26  # of a name in a picture
APART = 0.06  # of the height, between names
ASIDE = 0.02  # of the width, from a mark to its name
HEADER = ("class", "n", "confidence", "accuracy", "gap")  # accuracy minus confidence
WIDER = (
    "A small p beside an interval that includes 0: p is the chance of such gaps if predictions are"
    " right; intervals hold for all classes at once whatever is wrong with them, and are wider."
)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassDiagram(Diagram):
    """Accuracy minus confidence of each predicted class.

    Parameters
    ----------
    names : tuple of str (k,)
        The classes that were predicted.
    cells : Binwise
        What was predicted and what occurred in the rows of each, with limits and p-values that are
        adjusted for all classes.
    intervals : array of shape (k, 2)
        Of accuracy minus confidence: all of them hold at once with probability 95 %.
    instead : tuple of str (k,)
        The class that occurred most often where the prediction was wrong, and how often.
    settings : mapping
        What it was made with.
    """

    names: tuple[str, ...]
    cells: Binwise
    intervals: Floats
    instead: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def deviations(self) -> Floats:
        """Accuracy minus confidence of each predicted class (k,)."""
        event = self.cells.function.event or 0
        return self.cells.function.deviations[:, event]

    @property
    def order(self) -> Ints:
        """Numbers of the classes (k,), from the most over- to the most underconfident."""
        return np.argsort(self.deviations, kind="stable")

    @property
    def significant(self) -> picture.Mask:
        """Which classes (k,) are significant at the family-wise level `alpha`."""
        return np.asarray(self.cells.adjusted_pvalues <= self.alpha)

    def judged(self, together: Callable[[Floats], Floats]) -> "ClassDiagram":
        """Return the same diagram, its p-values adjusted further, for what else is tested."""
        return replace(self, cells=replace(self.cells, together=together))

    def picture(self) -> Picture:
        """Show all classes by rank, within what chance allows for all of them at once."""
        order, k = self.order, len(self.names)
        at = np.stack((np.arange(1.0, k + 1), self.deviations[order]), axis=1)
        low, high = (each[order, self._event] for each in self._limits())
        names, ends = self._names(at, float(max(high.max(), 0) - min(low.min(), at[0, 1])))
        frame = Frame(
            f"{k:,} predicted classes, from the most over- to the most underconfident",
            "accuracy −\N{NO-BREAK SPACE}confidence",
            (0.5 - 0.03 * k, 0.5 + 1.03 * k),
            picture.with_margins([np.zeros(1), at[:, 1], low, high, ends]),
            whole=True,
        )
        parts: list[Part] = [Areas(_steps(at[:, 0], low, high)[None], "band")]
        parts.append(Lines(np.array([[(0.5, 0.0), (k + 0.5, 0.0)]]), "zero"))
        return Picture(
            label="Accuracy minus confidence of each predicted class, in their order.",
            parts=(*parts, *names, self._marks(at, order)),
            keys=tuple(self._keys()),
            frame=frame,
        )

    @property
    def _event(self) -> int:
        return self.cells.function.event or 0

    def _limits(self) -> tuple[Floats, Floats]:
        """Return where all classes of a calibrated model are at once; too few draws tell less."""
        size = self.cells.largest.size
        if size < NEEDED:
            return self.cells.lower, self.cells.upper
        return self.cells.simultaneous(LEVEL)

    def _marks(self, at: Floats, order: Ints) -> Marks:
        fn = self.cells.function
        shares, p = fn.proportions[order], self.cells.adjusted_pvalues[order]
        return Marks(
            at=at,
            off=self.significant[order],
            notes=tuple(map(self._note, order.tolist(), p.tolist())),
            sizes=np.sqrt(shares / shares.max(initial=1e-300)) * (order.size <= FEW),
            shapes=("circle",) * order.size,
        )

    def _note(self, j: int, p: float) -> str:
        fn, e = self.cells.function, self._event
        means = f"confidence {fn.predicted[j, e]:.3f}, accuracy {fn.observed[j, e]:.3f}"
        low, high = map(with_sign, self.intervals[j].tolist())
        off = with_sign(float(self.deviations[j]))
        lines = [
            f"{self.names[j]}: {rows_of(float(fn.counts[j]), fn.weighted)}",
            means,
            f"{off} ({low} to {high})",
        ]
        return "\n".join([*lines, f"adjusted {pvalue(p, self.cells.largest.size)}"])

    def _names(self, at: Floats, height: float) -> tuple[list[Part], Floats]:
        """Name the classes at both ends, apart from each other, and say how far names reach.

        Those on the left stand below the marks, those on the right above them.
        """
        order, k = self.order, len(self.names)
        left, gap = min(NAMED, k // 2), APART * height
        first = max(left, k - NAMED)  # on the right
        parts: list[Part] = []
        reach = [0.0]
        for numbers, up in ((range(left)[::-1], -1.0), (range(first, k), 1.0)):
            taken = -np.inf
            for i in numbers:
                x, y = at[i].tolist()
                taken = max(up * y + 0.8 * gap, taken + gap)
                if abs(taken) < 0.6 * gap:  # the line at 0 would strike the name out
                    taken = 0.6 * gap
                place = np.array([x - up * ASIDE * k, up * taken])
                parts.append(Lines(np.array([[(x, y), place]]), "leader"))
                parts.append(Label(place, _short(self.names[order[i]]), (-0.5 * up, 0), "name"))
            reach.append(up * taken if numbers else 0.0)
        return parts, np.array(reach)

    def _keys(self) -> list[Key]:
        band = picture.band_name(LEVEL, "all classes")
        if self.cells.largest.size < NEEDED:
            band = picture.band_name(self.cells.level, "each class")
        return [
            Key(picture.significant_name(self.alpha, "all classes"), "mark", "mark off"),
            Key("not significant", "mark", "mark"),
            Key(band, "area", "band"),
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return a record for each predicted class, the most overconfident first."""
        fn, e, p = self.cells.function, self._event, self.cells.adjusted_pvalues
        return [
            {
                "class": self.names[j],
                "n": fn.counts[j].item(),
                "confidence": float(fn.predicted[j, e]),
                "accuracy": float(fn.observed[j, e]),
                "deviation": float(self.deviations[j]),
                "low": float(self.intervals[j, 0]),
                "high": float(self.intervals[j, 1]),
                "adjusted_pvalue": float(p[j]),
                "instead": self.instead[j],
            }
            for j in self.order.tolist()
        ]

    def lines(self) -> tables.Lines:
        """Return header and lines of the table: all classes, the most overconfident first.

        The gap is accuracy minus confidence.
        """
        header = [*HEADER, f"{percent(LEVEL)} interval", "adjusted p", "when wrong, mostly"]
        return header, [_line(record) for record in self.records()]

    @property
    def note(self) -> str:
        """Say why an interval may include 0 where p is small, if one does."""
        return WIDER if self._unclear.any() else ""

    @property
    def _unclear(self) -> NDArray[np.bool_]:
        """The classes that are significant, with an interval that includes 0."""
        low, high = self.intervals.T
        return np.asarray(self.significant & (low <= 0) & (high >= 0))

    def ends(self) -> tables.Lines:
        """Return the table, of many classes only the most over- and the most underconfident."""
        header, lines = self.lines()
        many_of_them = len(lines) > FEW
        return header, [*lines[:ENDS], *lines[-ENDS:]] if many_of_them else lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return {"alpha": self.alpha, **fields(self, "settings"), "classes": self.records()}

    @property
    def sentence(self) -> str:
        """What the diagram shows."""
        n_resamples = self.cells.largest.size
        if n_resamples < NEEDED:
            return f"Classes cannot be judged with {many(n_resamples, 'resample')}: {too_few()}."
        if not self.cells.decided:
            return "Classes cannot be judged: too few clusters can tell."
        if not self.significant.any():
            which = f"None of the {len(self.names):,} predicted classes"
            return f"{which} is further off than chance allows."
        return (
            f"{capital(str(self))}. If the model were calibrated, the chance of any such class"
            f" would be at most {percent(self.alpha)}."
        )

    def __str__(self) -> str:
        off, (low, high) = self.significant, self.intervals.T
        count = int(off.sum())
        ways = {
            "overconfident": off & (high < 0),
            "underconfident": off & (low > 0),
            "with an interval that includes 0": self._unclear,
        }
        text = ", ".join(f"{which.sum():,} {word}" for word, which in ways.items() if which.any())
        return (
            f"{count:,} of {len(self.names):,} predicted classes {be(count)} further off than"
            f" chance allows{': ' * bool(text)}{text}"
        )


@takes_arrays
def class_diagram(
    data: Predictions,
    *,
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> ClassDiagram:
    r"""Compare accuracy with confidence among the rows of each predicted class.

    .. math:: d_k = \frac1{n_k} \sum_{i : \hat y_i = k} (1[y_i = k] - p_{ik}), \qquad
        \hat y_i = \arg\max_k p_{ik}

    Below 0 the model is overconfident when it names the class, above 0 underconfident. Classes that
    are never predicted are left out.

    Parameters
    ----------
    data : Predictions
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
    level : float, default 0.9
        Of the pointwise limits of ``cells``.
    n_resamples, rng, progress
        As in `calibration_test`.

    Returns
    -------
    ClassDiagram
        As data. It draws all classes by rank, names those at both ends, and gives a table.

    Examples
    --------
    >>> probs = [[0.9, 0.1, 0.0]] * 40 + [[0.2, 0.8, 0.0]] * 40
    >>> data = Predictions(probs, [0] * 22 + [1] * 50 + [2] * 8, ["cat", "dog", "bird"])
    >>> found = class_diagram(data, rng=0)
    >>> print(found)
    1 of 2 predicted classes is further off than chance allows: 1 overconfident
    >>> [(record["class"], round(record["deviation"], 2)) for record in found.records()]
    [('cat', -0.35), ('dog', 0.0)]
    """
    check_data(data)
    if data.of_confidences:
        raise ValueError(
            "`data` must have the probabilities of all classes; found confidences, of which nobody"
            " knows what was predicted."
        )
    plan = Plan.of(data, Exact(), n_resamples, rng, progress)
    problem = plan.look(data, TopLabel(), distributions=True)
    problem.check_hypothesis()
    predicted = data.probs.argmax(axis=1)
    named, half = FromFunction(lambda _: predicted), plan.part(0, 2)
    cells = of_problem(problem, named, half, fraction("level", level))
    held: Any = cells.function.fitted
    which = held.names.tolist()
    return ClassDiagram(
        names=tuple(data.classes[k] for k in which),
        cells=cells,
        intervals=_intervals(problem.seen, predicted, which, plan.part(1, 2).progress),
        instead=tuple(_instead(data, predicted, which)),
        settings=plan.settings(lens=TopLabel(), level=level, alpha=ALPHA),
    )


def _intervals(
    seen: Predictions, predicted: NDArray[Any], which: Sequence[int], progress: Progress | None
) -> Floats:
    """Return limits (k, 2) of accuracy minus confidence that hold for all classes at once."""
    order = np.argsort(predicted, kind="stable")
    starts, stops = (np.searchsorted(predicted[order], which, side) for side in ("left", "right"))
    level, found = 1 - (1 - LEVEL) / len(which), []
    spans = zip(starts.tolist(), stops.tolist(), strict=True)
    for start, stop in watched(spans, len(which), progress):
        bias = bias_of(seen.take(order[start:stop]), level=level)
        found.append((max(-bias.high, -1.0), min(-bias.low, 1.0)))
    return np.array(found)


def _instead(data: Predictions, predicted: NDArray[Any], which: Sequence[int]) -> list[str]:
    """Return what occurred most often in place of each class, and how often."""
    wrong = np.flatnonzero((predicted != data.labels) & (data.weights > 0))
    pairs, counts = np.unique(
        predicted[wrong].astype(np.int64) * data.m + data.labels[wrong], return_counts=True
    )
    instead = dict.fromkeys(which, "")
    for place in np.argsort(counts, kind="stable").tolist():
        k, true = divmod(int(pairs[place]), data.m)
        instead[k] = f"{data.classes[true]} ({counts[place]:,})"
    return list(instead.values())


def _steps(rank: Floats, low: Floats, high: Floats) -> Floats:
    """Return the outline (points, 2) of a band that is constant around each rank."""
    x = np.repeat(rank, 2) + np.tile([-0.5, 0.5], rank.size)
    upper = np.stack((x, np.repeat(high, 2)), axis=1)
    lower = np.stack((x, np.repeat(low, 2)), axis=1)
    return np.concatenate((upper, lower[::-1]))


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def _line(record: Mapping[str, Any]) -> list[str]:
    off, low, high = (with_sign(record[name]) for name in ("deviation", "low", "high"))
    return [
        record["class"],
        amount(record["n"]),
        f"{record['confidence']:.3f}",
        f"{record['accuracy']:.3f}",
        off,
        f"{low} to {high}",
        f"{record['adjusted_pvalue']:.3g}",
        record["instead"],
    ]
