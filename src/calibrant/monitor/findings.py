"""Which bet made the money: its kind, the place where it won most, and the direction."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, final

import numpy as np

from calibrant.engine.arrays import Floats
from calibrant.engine.bets import DENSE, KNOTS, PARTS, REACH, SHIFTS, SLOPES, SPARSE
from calibrant.engine.class_bets import KINDS
from calibrant.engine.record import TENTHS
from calibrant.monitor.starts import CENTERS, LINES, LOGITS
from calibrant.monitor.streams import Stream

Direction = Literal["high", "low", "both"]
ONE_SIDED = 0.9  # share of the variance that is shifted to one side


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """The bet that has most of the wealth.

    Parameters
    ----------
    bet : str
        Its kind, such as "line" or "one class".
    where : tuple of float, or None
        The tenth of the probabilities in which it won most; None for bets on classes.
    name : str or None
        The class that it is about, if it is about one.
    direction : "high", "low", "both" or None
        Whether probabilities are too high or too low, or each in some places.
    text : str
        All that in a few words.
    """

    bet: str
    where: tuple[float, float] | None
    name: str | None
    direction: Direction | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return asdict(self)

    def __str__(self) -> str:
        return self.text


def find(stream: Stream, classes: tuple[str, ...]) -> Finding:
    """Return the bet of a stream that has most of the wealth."""
    if stream.of_classes is not None:
        kind = int(stream.of_classes.kinds.argmax())
        if kind > 0:
            return _of_classes(tuple(KINDS)[kind], stream, classes)
    return _of_event(tuple(PARTS)[int(stream.state.bets.parts.argmax())], stream)


def _of_event(part: str, stream: Stream) -> Finding:
    """Say in which tenth a bet on the event won most, and in what direction."""
    shifts = tenth_shifts(part, stream)
    record = stream.state.record
    variance = record.variance[: int(record.filled[0])].sum(axis=0)
    gains = shifts**2 * variance
    tenth = int(gains.argmax())
    where = tenth / TENTHS, (tenth + 1) / TENTHS
    total = float(gains.sum()) or 1.0
    up = float(gains[shifts > 0].sum()) / total
    direction: Direction = "low" if up >= ONE_SIDED else "high" if up <= 1 - ONE_SIDED else "both"
    if part == "line" and direction == "both":
        slope = SLOPES[int(stream.state.bets.line.argmax()) % len(SLOPES)]
        text = "probabilities are too extreme" if slope < 1 else "probabilities are too timid"
        return Finding(part, where, None, direction, text)
    places = f"most from {where[0]:.1f} to {where[1]:.1f}"
    text = {
        "both": f"probabilities are too high in some places and too low in others, {places}",
        "high": f"probabilities are too high, {places}",
        "low": f"probabilities are too low, {places}",
    }[direction]
    return Finding(part, where, None, direction, text)


def tenth_shifts(part: str, stream: Stream) -> Floats:
    """Return the shift of the log-odds that a bet expects, at the centre of each tenth."""
    bets = stream.state.bets
    if part == "line":
        return np.asarray(LINES[int(bets.line.argmax())])
    if part == "tenths":
        return np.asarray(bets.dense[-DENSE[-1] :] @ np.array(SHIFTS))
    if part == "region":
        leaves = bets.sparse[-SPARSE[-1] :] @ np.array(SHIFTS)
        return np.asarray(leaves.reshape(TENTHS, -1).mean(axis=1))
    if part == "curve":
        return np.asarray(np.interp(CENTERS, np.linspace(0, 1, KNOTS), bets.mean[0]))
    return np.asarray(np.interp(LOGITS, np.linspace(-REACH, REACH, KNOTS), bets.mean[1]))


def _of_classes(kind: str, stream: Stream, classes: tuple[str, ...]) -> Finding:
    """Say which class, or what else, a bet on classes is about."""
    bets = stream.of_classes
    assert bets is not None
    if kind == "one class":
        c = int(bets.one.sum(axis=1).argmax())
        up = float(bets.one[c] @ np.array(SHIFTS[1:])) > 0
        return _of_class(kind, classes[c], f"class {classes[c]}", up)
    if kind == "one predicted class":
        c = int(bets.predicted[:, 0].argmin())
        up = float(bets.predicted[c] @ np.array(SHIFTS)) > 0
        return _of_class(kind, classes[c], f"class {classes[c]} where it is predicted", up)
    weights = bets.temperature if kind == "temperature" else bets.rest
    extreme = float(weights @ np.array(SLOPES)) < 1
    behind = "" if kind == "temperature" else " of the classes that are not predicted"
    text = f"probabilities{behind} are too {'extreme' if extreme else 'timid'}"
    return Finding(kind, None, None, "both", text)


def _of_class(kind: str, name: str, subject: str, up: bool) -> Finding:
    direction: Direction = "low" if up else "high"
    return Finding(kind, None, name, direction, f"probabilities of {subject} are too {direction}")
