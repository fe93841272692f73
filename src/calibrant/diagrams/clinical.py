"""The pictures of clinical papers, as data: a flexible calibration curve, and a decision curve."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibrant import tables
from calibrant.arguments import as_lens, takes_arrays, takes_models
from calibrant.diagrams import picture
from calibrant.diagrams.diagram import Diagram, Models, named
from calibrant.diagrams.picture import Areas, Floats, Frame, Key, Lines, Marks, Part, Picture
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.risks import Clinical, clinical
from calibrant.risks.sample import number
from calibrant.risks.utility import NetBenefit
from calibrant.words import capital, percent

BINS = 50  # of the histogram of predictions
NOTES = 24  # places along a curve, about, that say more on hovering
BELOW = 0.25  # of the largest net benefit that is shown below 0


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FlexibleDiagram(Diagram):
    """The observed frequency over the predicted risk, with a confidence band.

    Parameters
    ----------
    found : Clinical
        The numbers; its `curve` is drawn.
    event : str
        Name of the event.
    histogram : array of shape (bins,)
        Shares of predictions in even bins from 0 to 1.
    settings : mapping
        What it was made with.
    """

    found: Clinical
    event: str
    histogram: Floats
    settings: Mapping[str, Any]

    def picture(self) -> Picture:
        """Show the curve and its band beside the diagonal, over a histogram."""
        curve = self.found.curve
        lower, upper, points = (
            np.stack((curve.x, each), axis=1) for each in (curve.low, curve.high, curve.y)
        )
        at = _evenly(curve.x)
        notes = [
            f"predicted {curve.x[t]:.3f}, observed {curve.y[t]:.3f}\n"
            f"{percent(self.found.level)} interval: {curve.low[t]:.3f} to {curve.high[t]:.3f}"
            for t in at
        ]
        parts: tuple[Part, ...] = (
            Areas(np.concatenate((lower, upper[::-1]))[None], "band"),
            picture.reference(1.0),
            Lines(points[None], "curve"),
            _spots(points[at], notes),
        )
        keys = (
            Key("flexible curve (lowess)", "line", "curve"),
            Key(f"{percent(self.found.level)} confidence band (each point)", "area", "band"),
            Key("calibrated", "line", "zero"),
            Key("share of predictions", "area", "bar"),
        )
        prediction = picture.prediction_name(None, self.event)
        square = picture.SQUARE
        return Picture(
            label=f"Observed frequency over the {prediction}.",
            parts=parts,
            keys=keys,
            frame=Frame(prediction, "observed frequency", square, square, square=True),
            strip=(self.histogram,),
            summary=self._summary(),
        )

    def records(self) -> list[dict[str, Any]]:
        """Return some points of the curve, with their limits."""
        curve = self.found.curve
        names = {"predicted": curve.x, "observed": curve.y, "low": curve.low, "high": curve.high}
        return [{name: float(each[t]) for name, each in names.items()} for t in _evenly(curve.x)]

    def lines(self) -> tables.Lines:
        """Return header and lines of the table."""
        header = ("predicted", "observed", f"{percent(self.found.level)} interval")
        return header, [
            [f"{one['predicted']:.3f}", f"{one['observed']:.3f}", _interval(one)]
            for one in self.records()
        ]

    def _summary(self) -> tuple[str, ...]:
        names = {"O/E": "observed_expected", "slope": "slope", "AUC": "auc"}
        found = {name: getattr(self.found, field).value for name, field in names.items()}
        return tuple(f"{name} {value:.2f}".replace("-", "−") for name, value in found.items())

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return {"event": self.event, "histogram": self.histogram.tolist(), **self.found.to_dict()}

    @property
    def sentence(self) -> str:
        """What the diagram shows."""
        return f"{capital(str(self))}."

    def __str__(self) -> str:
        found = self.found
        return (
            f"flexible calibration curve, O/E {found.observed_expected}, slope {found.slope},"
            f" AUC {found.auc}"
        )


@takes_arrays
def flexible_diagram(
    data: Predictions, *, lens: Lens | str = Canonical(), level: float = 0.95
) -> FlexibleDiagram:
    """Draw a flexible calibration curve, as clinical papers show it, with a confidence band.

    It is the lowess curve of R's ``val.prob``, with the numbers of `cal.clinical`. To see what
    chance does to a calibrated model, use `smooth_diagram` or `isotonic_diagram`.

    Parameters
    ----------
    data, lens, level
        As in `clinical`.

    Examples
    --------
    >>> data = Predictions([0.1, 0.2, 0.6, 0.7, 0.9] * 20, [0, 1, 0, 1, 1] * 20)
    >>> print(flexible_diagram(data))  # doctest: +ELLIPSIS
    flexible calibration curve, O/E 1.200 (1.009 to 1.384), slope 0.660 ...
    """
    found = clinical(data, lens=lens, level=level)
    seen = _seen(data, lens)
    event = seen.event or 0
    p = seen.probs[:, event].astype(np.float64)
    bars = np.histogram(p, BINS, (0.0, 1.0), weights=seen.weights)[0]
    return FlexibleDiagram(
        found, seen.classes[event], np.asarray(bars / seen.weights.sum()), found.settings
    )


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DecisionCurve(Diagram):
    """Net benefit over the treatment threshold, of one or more models.

    Parameters
    ----------
    series : mapping of str to NetBenefit
        Of each model; the name of one that is alone is "".
    event : str
        Name of the event.
    settings : mapping
        What it was made with.
    """

    series: Mapping[str, NetBenefit]
    event: str
    settings: Mapping[str, Any]

    def picture(self) -> Picture:
        """Show the net benefit of each model, of treating all, and of treating none."""
        alone = len(self.series) == 1
        longest = max(self.series.values(), key=lambda one: float(one.thresholds[-1]))
        top = max(float(max(one.value.max(), _rate(one))) for one in self.series.values())
        if alone:
            top = max(top, float(longest.high.max()) / 1.05)
        frame = Frame(
            horizontal=f"threshold: predicted probability of class {self.event}",
            vertical="net benefit",
            x=(-0.02 * longest.thresholds[-1], 1.02 * float(longest.thresholds[-1])),
            y=(-BELOW * top, 1.1 * top),
        )
        parts: list[Part] = []
        if alone:
            parts.append(_band(longest, frame))
        parts.append(Lines(np.array([[(0.0, 0.0), (longest.thresholds[-1], 0.0)]]), "zero"))
        ends = np.append(0.0, longest.thresholds), np.append(_rate(longest), longest.treat_all)
        parts.append(Lines(_cut(*ends, frame)[None], "mean"))
        for i, one in enumerate(self.series.values()):
            model = None if alone else i
            points = _cut(one.thresholds, one.value, frame)
            parts.append(Lines(points[None], "curve", model))
        parts += [self._places(name, one, frame) for name, one in self.series.items()]
        return Picture(
            label=f"Net benefit over the threshold, of {len(self.series)} models.",
            parts=tuple(parts),
            keys=tuple(self._keys()),
            frame=frame,
        )

    def records(self) -> list[dict[str, Any]]:
        """Return some thresholds of each model, with net benefits and their limits."""
        found = []
        for name, one in self.series.items():
            at = _evenly(one.thresholds)
            columns = {"threshold": one.thresholds, "net_benefit": one.value, "low": one.low}
            columns |= {"high": one.high, "treat_all": one.treat_all}
            named_so = {"model": name} if name else {}
            found += [named_so | {key: float(each[t]) for key, each in columns.items()} for t in at]
        return found

    def lines(self) -> tables.Lines:
        """Return header and lines of the table."""
        leading = ["model"] if len(self.series) > 1 else []
        level = percent(float(self.settings["level"]))
        header = [*leading, "threshold", "net benefit", f"{level} interval", "treating all"]
        return header, [
            [
                *(one[name] for name in leading),
                f"{one['threshold']:.3g}",
                number(one["net_benefit"]),
                _interval(one),
                number(one["treat_all"]),
            ]
            for one in self.records()
        ]

    def _places(self, title: str, one: NetBenefit, frame: Frame) -> Marks:
        """Return places along a curve that say their numbers on hovering."""
        at = [t for t in _evenly(one.thresholds) if frame.y[0] <= one.value[t] <= frame.y[1]]
        notes = [
            f"{title}\n" * bool(title) + f"threshold {one.thresholds[t]:.3g}\nnet benefit"
            f" {number(one.value[t])} ({number(one.low[t])} to {number(one.high[t])})\n"
            f"treating all {number(one.treat_all[t])}"
            for t in at
        ]
        return _spots(np.stack((one.thresholds[at], one.value[at]), axis=1), notes)

    def _keys(self) -> Iterator[Key]:
        for i, name in enumerate(self.series):
            yield Key(name or "the model", "line", "curve", None if len(self.series) == 1 else i)
        yield Key("treating all", "line", "mean")
        yield Key("treating none", "line", "zero")
        if len(self.series) == 1:
            level = percent(float(self.settings["level"]))
            yield Key(f"{level} confidence band (each threshold)", "area", "band")

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        series = [{"name": name, **one.to_dict()} for name, one in self.series.items()]
        return {"event": self.event, "series": series, "settings": dict(self.settings)}

    @property
    def sentence(self) -> str:
        """What the diagram shows."""
        sentences = ((name, f"{capital(one.text())}.") for name, one in self.series.items())
        return self._of_models(sentences)

    def __str__(self) -> str:
        found = next(iter(self.series.values()))
        if len(self.series) > 1:
            return f"decision curve of {len(self.series)} models"
        return f"decision curve, {found.text()}"


@takes_models
def decision_curve(
    data: Models, *, lens: Lens | str = Canonical(), level: float = 0.95
) -> DecisionCurve:
    r"""Draw the net benefit over thresholds (Vickers and Elkin, 2006).

    .. math:: \mathrm{NB}(t) = \frac{TP}{n} - \frac{FP}{n} \cdot \frac{t}{1 - t}

    Parameters
    ----------
    data : Predictions or mapping of str to Predictions
        One model, or more by name.
    lens, level
        As in `clinical`.

    Examples
    --------
    >>> data = Predictions([0.1, 0.2, 0.6, 0.7, 0.9] * 20, [0, 1, 0, 1, 1] * 20)
    >>> decision_curve(data).series[""].value.round(3)[[0, 49]].tolist()
    [0.596, 0.2]
    """
    models = named(data)
    found = {name: clinical(model, lens=lens, level=level) for name, model in models.items()}
    seen = _seen(next(iter(models.values())), lens)
    series = {name: one.decision for name, one in found.items()}
    first = next(iter(found.values()))
    return DecisionCurve(series, seen.classes[seen.event or 0], first.settings)


def _interval(record: Mapping[str, Any]) -> str:
    return f"{number(record['low'])} to {number(record['high'])}"


def _seen(data: Any, lens: Lens | str) -> Predictions:
    return as_lens(lens, data)(data)


def _evenly(x: Floats) -> list[int]:
    """Return places along a curve, about evenly."""
    at = np.searchsorted(x, np.linspace(x[0], x[-1], NOTES)).clip(max=x.size - 1)
    return [int(place) for place in np.unique(at)]


def _spots(at: Floats, notes: list[str]) -> Marks:
    count = len(notes)
    return Marks(
        at=at,
        off=np.zeros(count, bool),
        notes=tuple(notes),
        sizes=np.ones(count),
        shapes=("circle",) * count,
        look="spot",
    )


def _rate(one: NetBenefit) -> float:
    """Return the share of rows with the event, the net benefit of treating all at threshold 0."""
    t = one.thresholds[0]
    return float(one.treat_all[0] * (1 - t) + t)


def _cut(x: Floats, y: Floats, frame: Frame) -> Floats:
    """Return a curve (points, 2) up to where it first leaves the frame below."""
    low = frame.y[0]
    below = np.flatnonzero(y < low)
    if not below.size or below[0] == 0:
        return np.stack((x, y.clip(low)), axis=1)
    end = int(below[0])
    share = (y[end - 1] - low) / (y[end - 1] - y[end])
    last = x[end - 1] + share * (x[end] - x[end - 1])
    return np.stack((np.append(x[:end], last), np.append(y[:end], low)), axis=1)


def _band(one: NetBenefit, frame: Frame) -> Areas:
    low, high = (each.clip(*frame.y) for each in (one.low, one.high))
    x = np.concatenate((one.thresholds, one.thresholds[::-1]))
    return Areas(np.stack((x, np.concatenate((low, high[::-1]))), axis=1)[None], "band")
