"""The monitor: rows in, evidence out, at any time."""

from collections.abc import Mapping, Sequence
from math import ceil, exp, inf, log
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from calibrant import words
from calibrant.checks.parameters import fraction, is_list, positive, whole
from calibrant.engine.arrays import Floats
from calibrant.lenses import Lens
from calibrant.monitor import bias, findings, saved, sentences
from calibrant.monitor.curve import ThinnedCurve
from calibrant.monitor.findings import Direction, Finding
from calibrant.monitor.late import Waiting, is_empty, known_rows, unlabelled
from calibrant.monitor.merged import Merged
from calibrant.monitor.starts import Start, find_start
from calibrant.monitor.streams import (
    AnyLens,
    Stream,
    check_rows,
    log_mean,
    one_row,
    resolved,
    seen_through,
)
from calibrant.predictions import Predictions

if TYPE_CHECKING:
    from calibrant.diagrams.charts import Chart
    from calibrant.diagrams.static import Axes
    from calibrant.monitor.picture import MonitorDiagram


@final
class Monitor:
    r"""Watch predictions as their outcomes come in, and raise an alarm that you can trust.

    If predictions are calibrated, outcome y_t is drawn from p_t given all rows before. A bet q_t
    that is made before y_t is known multiplies a wealth by q_t(y_t) / p_t(y_t), and so

        E_t = prod_{s <= t} q_s(y_s) / p_s(y_s)

    has mean one, and P(E_t ever reaches 1 / alpha) <= alpha. Look as often as you like.

    Parameters
    ----------
    lens : Lens, str, sequence of them, or None
        What aspect of the predictions is watched, such as ``"top"`` or ``"class:dog"``. Wealth is
        split evenly between several. Default: the event of two classes; of more, bets on the
        predicted class, on temperatures, on single classes and on those behind the predicted one.
    alpha : float, default 0.05
        Probability of a false alarm, ever.
    run_length : float or None, default 1,000,000
        Mean number of rows until a false alarm of the detector of changes, at least. It finds
        changes after many calibrated rows sooner than the test. None: no detector.
    lead : int, default 1
        How many rows are predicted before the outcome of the first of them is known. Then only
        every `lead`-th row may learn from the last; see docs/monitoring.md.

    Notes
    -----
    At most 5 % of calibrated models ever have an `alarm`, however long they are watched. All of
    them have a false `change` some day, after a million rows on average. Rows are numbered from 0;
    those without an outcome do not count. An outcome that was given probability 0 makes the
    evidence infinite.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> monitor = Monitor()
    >>> p = rng.random(2000)
    >>> monitor.update(p, rng.random(2000) < p)
    >>> print(monitor)
    no alarm after 2,000 rows: e-value 0.0809, alarm at 20; bias -0.5 points (-3.9 to +2.9)
    >>> monitor.update(p, rng.random(2000) < p**1.5)
    >>> monitor.alarm, monitor.since, monitor.direction
    (3003, 2048, 'high')
    """

    __slots__ = (
        "_classes", "_crossed", "_curve", "_lenses", "_streams", "_sup", "_waiting",
        "alpha", "change", "impossible", "lead", "lens", "missing", "n", "run_length",
    )  # fmt: skip

    def __init__(
        self,
        lens: AnyLens | Sequence[AnyLens] | None = None,
        alpha: float = 0.05,
        *,
        run_length: float | None = 1_000_000,
        lead: int = 1,
    ) -> None:
        several = is_list(lens)
        self.lens: tuple[AnyLens | None, ...] = tuple(lens) if several else (lens,)  # type: ignore[arg-type, assignment]
        if not self.lens:
            raise ValueError("`lens` must be at least one lens; found none.")
        self.alpha = fraction("alpha", alpha)
        self.lead = whole("lead", lead, least=1, most=10_000)
        self.run_length = None if run_length is None else positive("run_length", run_length)
        self.n = 0
        self.missing = 0
        self.change: int | None = None
        self.impossible: int | None = None
        self._classes: tuple[str, ...] | None = None
        self._lenses: tuple[Lens | None, ...] = ()
        self._streams: list[list[Stream]] = []  # of each lens, `lead` of them
        self._sup = np.zeros(self.lead)  # of log E, of each of the streams that take turns
        self._crossed: list[int | None] = [None] * self.lead
        self._curve = ThinnedCurve()
        self._waiting = Waiting()

    def update(self, probs: Any, labels: ArrayLike | Sequence[Any] | None = None) -> None:
        """Add rows in the order of time: one, or many.

        Parameters
        ----------
        probs : array_like of shape (n, m) or (n,), or Predictions
            As in `Predictions`, which may also be given in place of both.
        labels : array_like of shape (n,)
            Outcomes. Rows whose outcome is None or NaN are left out and counted in `missing`.
        """
        if isinstance(probs, Predictions):
            self._add(probs)
            return
        if labels is None:
            raise TypeError("`labels` must be given: the outcome of each row, None if not known.")
        if is_empty(probs):  # a night without rows
            return
        known, data = known_rows(probs, labels, self._classes)
        if data is not None:
            self._add(data)
        self.missing += int((~known).sum())

    def predict(self, ids: Sequence[Any], probs: ArrayLike) -> None:
        """Add rows whose outcome comes later, in the order of time.

        Parameters
        ----------
        ids : sequence
            A name or number for each row, by which `observe` finds it.
        probs : array_like of shape (n, m) or (n,)
            Predictions.
        """
        if is_empty(probs) and is_empty(ids):  # a night without rows
            return
        data = unlabelled(probs, self._classes)
        check_rows(data, self._classes)
        if not self._streams:
            self._begin(data)
        self._waiting.predict(ids, np.asarray(probs))

    def observe(self, ids: Sequence[Any], labels: Sequence[Any]) -> None:
        """Tell outcomes of rows that were predicted.

        A row is bet on when all rows predicted before it have their outcome: those that come
        early may be of one kind. Tell None where an outcome will never be known.
        """
        probs = self._waiting.asked(ids, labels)
        if not probs:
            return
        self._waiting.observe(ids, *known_rows(np.array(probs), labels, self._classes))
        ready = self._waiting.ready()
        if ready:
            self.update(*self._waiting.rows(ready))
            self._waiting.leave(ready)

    @property
    def waiting(self) -> int:
        """How many rows wait for their outcome, or for that of an earlier row."""
        return len(self._waiting.probs)

    def _add(self, data: Predictions) -> None:
        check_rows(data, self._classes)
        if not self._streams:
            self._begin(data)
        slots = (self.n + np.arange(data.n)) % self.lead
        limit = 0.0
        if self.run_length is not None and self.lead == 1:
            limit = float(self.run_length) * len(self._lenses)
        log_wealth, changed = np.empty((2, len(self._lenses), data.n))
        for j, lens in enumerate(self._lenses):
            seen = seen_through(lens, data)
            for slot, stream in enumerate(self._streams[j]):
                mine = np.flatnonzero(slots == slot) if self.lead > 1 else slice(None)
                part = seen.take(mine) if isinstance(mine, np.ndarray) else seen
                traces = stream.add(part, limit)
                log_wealth[j, mine], changed[j, mine] = traces
        self._look(log_mean(log_wealth), slots)
        self._look_for_change(changed.mean(axis=0))
        self.n += data.n

    def _begin(self, data: Predictions) -> None:
        """Settle what the first rows tell: classes, and the outcomes of each lens."""
        self._lenses = resolved(self.lens, data)
        self._classes = data.classes
        outcomes = [seen_through(lens, data).m for lens in self._lenses]
        self._streams = [[Stream.start(m) for _ in range(self.lead)] for m in outcomes]

    def _look(self, log_wealth: Floats, slots: Any) -> None:
        """Note when each of the streams that take turns crossed its limit, and the curve."""
        limit = log(self._factor / self.alpha)
        for slot in range(self.lead):
            mine = np.flatnonzero(slots == slot) if self.lead > 1 else np.arange(slots.size)
            over = mine[log_wealth[mine] >= limit]
            if self._crossed[slot] is None and over.size:
                self._crossed[slot] = self.n + int(over[0])
            self._sup[slot] = log_wealth[mine].max(initial=self._sup[slot])
        infinite = np.flatnonzero(np.isinf(log_wealth))
        if self.impossible is None and infinite.size:
            self.impossible = self.n + int(infinite[0])
        self._curve.add(self.n, log_wealth)

    def _look_for_change(self, changed: Floats) -> None:
        if self.run_length is None or self.lead > 1 or self.change is not None:
            return
        over = np.flatnonzero(changed >= self.run_length)
        if over.size:
            self.change = self.n + int(over[0])

    @property
    def _needed(self) -> int:
        """How many of the streams that take turns must agree: half of them."""
        return ceil(self.lead / 2)

    @property
    def _factor(self) -> float:
        """What a p-value is multiplied by if half of `lead` dependent ones must be below it."""
        return self.lead / self._needed

    @property
    def log_evalue(self) -> float:
        """The natural logarithm of `evalue`."""
        if not self._streams:
            return 0.0
        every = np.array([[stream.log_wealth for stream in slots] for slots in self._streams])
        return float(log_mean(log_mean(every)[:, None])[0])

    @property
    def evalue(self) -> float:
        """The wealth now: 1 at the start, with mean one if calibrated."""
        return exp(self.log_evalue) if self.log_evalue < 700 else inf

    @property
    def pvalue(self) -> float:
        """A p-value that is valid whenever somebody looks: 1 / largest evidence so far."""
        largest = float(np.sort(self._sup)[-self._needed])
        return min(1.0, self._factor * exp(-largest))

    @property
    def alarm(self) -> int | None:
        """The row at which the evidence first reached 1 / alpha; None if it did not."""
        crossed = sorted(row for row in self._crossed if row is not None)
        return crossed[self._needed - 1] if len(crossed) >= self._needed else None

    @property
    def _best(self) -> Stream:
        """The stream that has won most, of those that have rows."""
        every = [stream for slots in self._streams for stream in slots[: self.n]]
        return max(every, key=lambda stream: stream.log_wealth)

    @property
    def start(self) -> Start | None:
        """The most likely first row of the deviation, and an interval; None without an alarm."""
        if self.alarm is None and self.change is None:
            return None
        return find_start(self._best.state.record, self.lead)

    @property
    def since(self) -> int | None:
        """The most likely row at which the deviation began; None without an alarm."""
        return None if self.start is None else self.start.row

    @property
    def since_interval(self) -> tuple[int, int] | None:
        """Rows between which the deviation began, 95 % sure; None without an alarm."""
        return None if self.start is None else self.start.interval

    @property
    def which(self) -> Finding | None:
        """The bet that has most of the wealth; None before the first row."""
        if not self.n:
            return None
        best = self._best
        j = next(j for j, slots in enumerate(self._streams) if best in slots)
        return findings.find(best, self._outcomes(j))

    def _outcomes(self, j: int) -> tuple[str, ...]:
        """Return the names of the outcomes of a lens."""
        assert self._classes is not None
        return seen_through(self._lenses[j], one_row(self._classes)).classes

    @property
    def direction(self) -> Direction | None:
        """Whether probabilities are too "high", too "low", or "both"; None without an alarm."""
        if self.alarm is None and self.change is None:
            return None
        return None if self.which is None else self.which.direction

    @property
    def bias(self) -> float | None:
        """Mean prediction minus rate of the event, or of the predicted class, over all rows."""
        if not self.n:
            return None
        totals = self._best.state.totals
        return -float(totals.residual[0]) / int(totals.rows[0])

    @property
    def bias_interval(self) -> tuple[float, float] | None:
        """An interval that covers the mean bias of all rows at all times, with 1 - alpha."""
        if not self.n:
            return None
        totals = self._best.state.totals
        sums = float(totals.residual[0]), float(totals.squares[0]), int(totals.rows[0])
        return bias.interval(*sums, self.alpha / sum(map(len, self._streams)))  # the best of them

    def merge(self, *others: "Monitor", independent: bool = False) -> Merged:
        """Return the evidence of this and other monitors together.

        The mean of e-values is one whatever depends on what; the product, which is larger, only
        for streams that are independent of each other. Rows of two monitors cannot become those
        of one: bets learn from the order of time.
        """
        every = (self, *others)
        for k, other in enumerate(others, 1):
            if not isinstance(other, Monitor):
                raise TypeError(f"`others` must be monitors; found {type(other).__name__}.")
            if any(other._saw_what(each) for each in every[:k]):
                raise ValueError("`others` must have seen other rows; found the same twice.")
        logs = [each.log_evalue for each in every]
        return Merged.of(logs, sum(each.n for each in every), independent)

    def _saw_what(self, other: "Monitor") -> bool:
        """Whether another one has seen the same rows."""
        return other is self or (self.n > 0 and other._packed == self._packed)

    def to_dict(self) -> dict[str, Any]:
        """Return all of the monitor as plain values for JSON; `from_dict` continues from there."""
        body = {
            "lens": [saved.spelled(each) for each in self.lens],
            **{name: getattr(self, name) for name in PLAIN},
            "classes": self._classes and list(self._classes),
            "sup": [saved.finite(each) for each in self._sup],
            "crossed": self._crossed,
            "curve": self._curve.to_dict(),
            "waiting": self._waiting.to_list(),
            "streams": self._packed,
        }
        return saved.sealed(body)

    @property
    def _packed(self) -> list[list[dict[str, str]]]:
        """What all rows have left behind, as texts."""
        return [[saved.packed(each) for each in slots] for slots in self._streams]

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "Monitor":
        """Continue with what `to_dict` returned; refuse it if it is damaged."""
        body = saved.opened(state)
        try:
            return cls._continued(body)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise saved.damaged("it is not what a monitor writes") from error

    @classmethod
    def _continued(cls, body: Mapping[str, Any]) -> "Monitor":
        settings = {name: body[name] for name in ("alpha", "run_length", "lead")}
        monitor = cls(body["lens"], **settings)
        for name in ("n", "missing", "change", "impossible"):
            setattr(monitor, name, body[name])
        monitor._sup = np.array([inf if each is None else each for each in body["sup"]])
        monitor._crossed = list(body["crossed"])
        monitor._curve = ThinnedCurve.from_dict(body["curve"])
        monitor._waiting = Waiting.from_list(body["waiting"])
        if body["classes"] is not None:
            monitor._begin(one_row(tuple(body["classes"])))
            monitor._streams = [
                [saved.unpacked(each, fresh.m) for each, fresh in zip(texts, slots, strict=True)]
                for texts, slots in zip(body["streams"], monitor._streams, strict=True)
            ]
        return monitor

    def diagram(self) -> "MonitorDiagram":
        """Return the evidence over time, as a diagram."""
        from calibrant.monitor.picture import MonitorDiagram  # noqa: PLC0415 (knows this class)

        return MonitorDiagram.of(self, self._curve)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the evidence over time with matplotlib, and return the Axes."""
        return self.diagram().plot(ax)

    def figure(self) -> "Chart":
        """Draw the evidence over time as SVG, and return the `Chart`."""
        return self.diagram().figure()

    def _repr_html_(self) -> str:
        return self.diagram()._repr_html_()

    @property
    def sentence(self) -> str:
        """What is known now, in one or two sentences."""
        return f"{words.capital(str(self))}."

    def __str__(self) -> str:
        return sentences.text(self)

    def __repr__(self) -> str:
        return f"<monitor: {self}>"


PLAIN = ("alpha", "run_length", "lead", "n", "missing", "change", "impossible")
