"""Scores of predictions, §2.1: how good they are, of which calibration is one part.

All are means over the rows, weighted if there are weights.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from calibrant.arguments import as_lens, as_rows, check_data, takes_arrays
from calibrant.calibration import isotonic
from calibrant.checks.parameters import short
from calibrant.engine import threads
from calibrant.lenses import Canonical, Lens
from calibrant.predictions import Predictions
from calibrant.rows import Batch, Scan
from calibrant.words import percent

__all__ = [
    "Decomposition",
    "accuracy",
    "all_scores",
    "brier_score",
    "decompose",
    "log_score",
    "row_scores",
    "spherical_score",
]

Floats = NDArray[np.float64]
Score = Callable[[Predictions], float]

HIGH, LOW = 2.0**20, 2.0**52  # a score is cut into multiples of 1 / HIGH, and the rest of 1 / LOW


@takes_arrays
def log_score(data: Predictions) -> float:
    """Mean of -log g(x)_y, the negative log-likelihood of a row; smaller is better.

    Infinite if an outcome was given probability 0.

    Examples
    --------
    >>> round(log_score(Predictions([0.5, 0.75], [0, 1])), 6)
    0.490415
    """
    return _means(data)[0]


@takes_arrays
def brier_score(data: Predictions) -> float:
    """Mean of ‖g(x) - e_y‖₂² over all classes, from 0 to 2; smaller is better.

    Examples
    --------
    >>> brier_score(Predictions([0.5, 0.75], [0, 1]))
    0.3125
    """
    return _means(data)[1]


@takes_arrays
def spherical_score(data: Predictions) -> float:
    """Mean of g(x)_y / ‖g(x)‖₂, from 0 to 1; larger is better.

    Examples
    --------
    >>> round(spherical_score(Predictions([0.5, 1.0], [0, 1])), 6)
    0.853553
    """
    return _means(data)[2]


@takes_arrays
def accuracy(data: Predictions) -> float:
    """Share of rows whose most probable class is the outcome; ties go to the lower index.

    Examples
    --------
    >>> accuracy(Predictions([0.5, 0.75], [1, 1]))
    0.5
    """
    return _means(data)[3]


def all_scores(data: Predictions | Scan) -> dict[str, float]:
    """Return every score under its name, from one pass over the rows.

    Where a file held confidences in predictions, the share of these that are right stands in place
    of the accuracy, which would be that of guessing which are right.

    Examples
    --------
    >>> all_scores(Predictions([0.5, 0.75], [1, 1]))["accuracy"]
    0.5
    """
    rows = as_rows(data)
    name = "accuracy"
    if rows.held:
        given = rows.at_hand("scores").given
        log, brier, spherical, hits = _means(given)
        if given.of_confidences:
            name = "share_correct"
            hits = float(np.average(given.labels == 1, weights=given.weights))
    else:
        (found,) = rows.fold([rows.part(ScoreReduction(rows.unit))])
        log, brier, spherical, hits = found.means()
    return {name: hits, "log_score": log, "brier_score": brier, "spherical_score": spherical}


class Impossible(NamedTuple):
    """Outcomes that were given probability 0: no calibrated model has one."""

    n: int  # how many they are
    row: int  # the first of them, counted from 0
    outcome: str  # what occurred there
    event: float | None = None  # what the event of two outcomes was given there, 0 or 1
    hard: bool = False  # whether all predictions are 0 and 1

    @property
    def sentence(self) -> str:
        """Say which rows these are."""
        if self.event is None:
            given = f"was given {percent(0)} for what occurred, “{self.outcome}”"
            found = f"row {self.row:,} (counted from 0) {given}"
        else:
            then = "did not occur" if self.event else "occurred"
            found = (
                f"in row {self.row:,} (counted from 0), what was given {percent(self.event)} {then}"
            )
        found += f", the first of {self.n:,} outcomes of probability 0" * (self.n > 1)
        asked = " (every probability is 0 or 1: are these predicted classes?)"
        return found + asked * self.hard


def impossible(data: Predictions) -> Impossible | None:
    """Return the outcomes that were given probability 0; None if there are none.

    Those of an event that was given 1 are among them, where rounding left the other outcome more.

    Examples
    --------
    >>> print(impossible(Predictions([0.5, 1.0], [1, 0])).sentence)
    in row 1 (counted from 0), what was given 100 % did not occur
    """
    given = np.where(data.weights > 0, data.probs[np.arange(data.n), data.labels], 1.0)
    if data.event is not None and given.all():
        event = data.probs[:, data.event]
        given = np.where(data.labels == data.event, event, 1 - event)
    rows = np.flatnonzero((given == 0) & (data.weights > 0))
    if not rows.size:
        return None
    first = int(rows[0])
    label = int(data.labels[first])
    given_event = None if data.event is None else float(label != data.event)
    hard = bool(((data.probs == 0) | (data.probs == 1)).all())
    return Impossible(int(rows.size), first, data.classes[label], given_event, hard)


def why_infinite(data: Predictions | Scan, scores: Mapping[str, float]) -> str:
    """Say why the log score of `data` is infinite; nothing if it is not."""
    if not np.isinf(scores["log_score"]):
        return ""
    rows = as_rows(data)
    found = impossible(rows.at_hand("scores").given) if rows.held else None
    return "an outcome was given 0 %" if found is None else found.sentence


@final
@dataclass(frozen=True, slots=True)
class Decomposition:
    """A proper score in three parts: score = miscalibration - discrimination + uncertainty.

    Parameters
    ----------
    score : float
        Of the predictions.
    miscalibration : float
        MCB: what the best increasing function of the predictions would gain. At least 0.
    discrimination : float
        DSC: what that function gains over the constant event rate. At least 0.
    uncertainty : float
        UNC: the score of the constant event rate.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.score:.4f} = {self.miscalibration:.4f} (miscalibration)"
            f" - {self.discrimination:.4f} (discrimination) + {self.uncertainty:.4f} (uncertainty)"
        )


@takes_arrays
def decompose(
    data: Predictions, score: Score = brier_score, *, lens: Lens | str = Canonical()
) -> Decomposition:
    r"""Split a proper score into miscalibration, discrimination and uncertainty.

    .. math:: S(p) = \underbrace{S(p) - S(q)}_{MCB} - \underbrace{(S(\bar y) - S(q))}_{DSC}
        + \underbrace{S(\bar y)}_{UNC}

    q is the isotonic regression of outcomes on predictions p of the event (CORP), y-bar its rate.

    Parameters
    ----------
    data : Predictions
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
    score : function, default brier_score
        `brier_score` or `log_score`.
    lens : Lens, default Canonical()
        What aspect of the predictions is looked at; it must leave two outcomes, as `TopLabel` and
        `Marginal` do.

    Notes
    -----
    `brier_score` adds up both outcomes. So it and its parts are twice those of the event alone,
    which other software gives for two classes. The log loss is the same for both.

    Miscalibration is biased upwards: q also fits noise. Whether it is more than that is the exact
    test of ``statistics.ScoreMiscalibration(score)``. Score and miscalibration are infinite if the
    log loss is.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers", PNAS.

    Examples
    --------
    >>> data = Predictions([0.1, 0.4, 0.5, 0.8], [0, 1, 0, 1])
    >>> print(decompose(data))
    0.3300 = 0.0800 (miscalibration) - 0.2500 (discrimination) + 0.5000 (uncertainty)
    """
    check_data(data)
    seen = as_lens(lens, data)(data)
    if seen.event is None:
        raise ValueError(
            f"`decompose` needs a problem with two outcomes; found {seen.m}. Look through a lens"
            " such as `TopLabel()` or `Marginal(…)`."
        )
    found = isotonic(seen, seen.event)
    losses = event_losses(score, found.values)
    total = float(found.mass.sum())
    held = _times(found.events, losses[0]) + _times(found.mass - found.events, losses[1])
    best = least_loss(score, found.pooled(found.events), found.pooled(found.mass))
    gained = float(np.maximum(found.pooled(held) - best, 0.0).sum()) / total
    constant = float(least_loss(score, found.events.sum(), total)) / total
    return Decomposition(
        score=float(held.sum()) / total,
        miscalibration=gained,
        discrimination=max(constant - float(best.sum()) / total, 0.0),
        uncertainty=constant,
    )


def event_losses(score: Score, p: Floats) -> Floats:
    """Return the score of a row that predicts p (k,), if the event occurs and if not: (2, k)."""
    if score is brier_score:
        return 2.0 * np.stack(((1.0 - p) ** 2, p**2))
    if score is log_score:
        with np.errstate(divide="ignore"):
            return -np.stack((np.log(p), np.log1p(-p)))
    name = str(getattr(score, "__name__", repr(score)))
    raise ValueError(f"`score` must be `brier_score` or `log_score`; found {short(name)}.")


def least_loss(score: Score, events: Any, mass: Any) -> Any:
    """Return the sum of the score if the frequency is predicted for rows of this mass (…)."""
    others = mass - events
    if score is brier_score:
        return 2.0 * events * others / mass
    up, down = (_times(e, np.log(np.where(e > 0, e / mass, 1.0))) for e in (events, others))
    return -(up + down)


def _times(weight: Any, loss: Any) -> Any:
    """Multiply, and let an infinite loss without weight be 0."""
    return np.where(weight > 0, weight, 0.0) * np.where(weight > 0, loss, 0.0)


def row_scores(data: Predictions) -> Floats:
    """Return the log loss and the Brier score of every row: (2, n).

    Examples
    --------
    >>> row_scores(Predictions([0.5, 0.75], [0, 1])).round(4).tolist()
    [[0.6931, 0.2877], [0.5, 0.125]]
    """
    out = np.empty((2, data.n))

    def work(start: int, stop: int) -> None:
        out[:, start:stop] = _of_rows(data, slice(start, stop))[1:3]

    threads.run(work, threads.row_blocks(data.probs.shape))
    return out


def _means(data: Predictions) -> list[float]:
    """Return the log, Brier and spherical score and the accuracy."""
    check_data(data)
    spans = threads.row_blocks(data.probs.shape)
    sums = np.empty((len(spans), 5))

    def work(start: int, stop: int) -> None:
        rows = slice(start, stop)
        scores = _weighted(_of_rows(data, rows), data.weights[rows] if data.weighted else None)
        sums[start // spans[0][1]] = scores.sum(axis=1)

    threads.run(work, spans)
    total = sums.sum(axis=0)
    return [float(score) for score in total[1:] / total[0]]


def _weighted(scores: Floats, weights: Floats | None) -> Floats:
    """Return scores (5, k) times weights; an infinite one of a row without weight does not count.

    Contiguous as without weights, so that sums are rounded alike.
    """
    if weights is None:
        return scores
    return np.asarray(scores.compress(weights > 0, axis=1) * weights[weights > 0])


def _of_rows(data: Predictions, rows: slice) -> Floats:
    """Return ones and the log, Brier and spherical scores and the hits of some rows (5, k)."""
    probs = data.probs[rows].astype(np.float64, copy=False)
    labels = data.labels[rows]
    p = np.take_along_axis(probs, labels[:, None], axis=1)[:, 0]
    square = np.einsum("ij,ij->i", probs, probs)
    with np.errstate(divide="ignore"):
        log = -np.log(p)
    hits = probs.argmax(axis=1) == labels
    return np.stack((np.ones_like(p), log, square - 2 * p + 1, p / np.sqrt(square), hits))


class ScoreSums(NamedTuple):
    """Weighted sums of scores, in units of 1 / LOW, and how many were infinite."""

    sums: NDArray[Any]  # (5,) of Python's integers, which have no end
    infinite: int

    def means(self) -> list[float]:
        """Return the log, Brier and spherical score and the accuracy."""
        log, *others = (self.sums[1:] / self.sums[0]).tolist()
        return [float("inf") if self.infinite else log, *others]


@final
@dataclass(frozen=True, slots=True)
class ScoreReduction:
    """Scores of rows, added up exactly once each was rounded to a multiple of 2^-52."""

    unit: float  # of weights, which none exceeds

    def zero(self) -> ScoreSums:
        return ScoreSums(np.array([0] * 5, object), 0)

    def add(self, state: ScoreSums, batch: Batch) -> ScoreSums:
        """Add the rows of a batch."""
        given = batch.given
        scores = _of_rows(given, slice(None))
        scores = _weighted(scores, given.weights / self.unit if given.weighted else None)
        infinite = np.isinf(scores)
        scores[infinite] = 0.0
        high = np.rint(scores * HIGH)
        low = np.rint((scores - high / HIGH) * LOW)
        large, small = (part.astype(np.int64).sum(axis=1).astype(object) for part in (high, low))
        sums = large * int(LOW / HIGH) + small
        return self.merge(state, ScoreSums(sums, int(infinite.sum())))

    def merge(self, a: ScoreSums, b: ScoreSums) -> ScoreSums:
        return ScoreSums(a.sums + b.sums, a.infinite + b.infinite)


def __dir__() -> list[str]:
    return __all__
