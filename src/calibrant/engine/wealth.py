r"""The wealth of somebody who bets against predictions, row by row, in one loop.

log E_t = log E_{t-1} + log f_t, where f_t is the factor of all bets. Rows are added one after the
other in a fixed order: in what portions they come does not change a bit. A prediction of 0 or 1
that fails makes E infinite; one that comes true has the factor 1.
"""

from math import inf, log
from typing import Annotated, NamedTuple

from calibrant.engine.arrays import Array, Floats, Ints, blank, within
from calibrant.engine.bets import BetPlan, Bets, event_bet
from calibrant.engine.change import ChangeDetector, add_row
from calibrant.engine.class_bets import ClassBets, ClassScratch, class_bet, normalised
from calibrant.engine.kernel import f8, helper, i4, i8, kernel, out, real, u1
from calibrant.engine.record import CAPACITY, BlockRecord, note


class StreamTotals(NamedTuple):
    """Sums over all rows so far."""

    rows: Annotated[Ints, out(i8["1"])]
    log_wealth: Annotated[Floats, out(f8["1"])]
    changed: Annotated[Floats, out(f8["1"])]  # M of the detector, as it was when it first alarmed
    residual: Annotated[Floats, out(f8["1"])]  # sum of y - p
    squares: Annotated[Floats, out(f8["1"])]  # sum of (y - p)^2

    @classmethod
    def start(cls) -> "StreamTotals":
        """Return the sums of no rows."""
        return blank(cls)


class Traces(NamedTuple):
    """What is written for each row: log E and M after it."""

    log_wealth: Annotated[Floats, out(f8["n"])]
    changed: Annotated[Floats, out(f8["n"])]

    @classmethod
    def start(cls, n: int) -> "Traces":
        """Return empty traces for n rows."""
        return blank(cls, n=n)


class EventState(NamedTuple):
    """All that is known of the rows so far, of one event."""

    totals: StreamTotals
    bets: Bets
    change: ChangeDetector
    record: BlockRecord

    @classmethod
    def start(cls) -> "EventState":
        """Return the state before the first row."""
        return cls(StreamTotals.start(), Bets.start(), ChangeDetector.start(), BlockRecord.start())


def bet_on_event(p: Floats, occurred: Array, state: EventState, limit: float) -> Traces:
    """Add rows of an event: predictions p (n,) and whether it occurred (n,), 0 or 1.

    limit : of M, at which the detector stops; 0 for no detector
    """
    within("occurred", occurred, 2)
    within("state.record.filled", state.record.filled, CAPACITY)
    _expect_probabilities(p)
    traces = Traces.start(p.size)
    _bet_on_event(p, occurred, state, BetPlan.start(), limit, traces)
    return traces


def bet_on_classes(
    probs: Array, labels: Array, state: EventState, of_classes: ClassBets, limit: float
) -> Traces:
    """Add rows of several classes: predictions (n, m) and labels (n,)."""
    within("labels", labels, probs.shape[1])
    within("state.record.filled", state.record.filled, CAPACITY)
    _expect_probabilities(probs)
    traces = Traces.start(len(labels))
    scratch = ClassScratch.start(probs.shape[1])
    _bet_on_classes(probs, labels, state, of_classes, (BetPlan.start(), scratch), limit, traces)
    return traces


def _expect_probabilities(p: Array) -> None:
    """Refuse what is not between 0 and 1: it would lead beyond the nodes of a tree."""
    if p.size and not (float(p.min()) >= 0.0 and float(p.max()) <= 1.0):
        raise IndexError("`p` must be between 0 and 1.")


@helper
def impossible(p, occurred):
    """Whether what was said to be certain did not happen."""
    return (p <= 0.0 and occurred == 1) or (p >= 1.0 and occurred == 0)


@helper
def add_up(p, occurred, factor, totals):
    """Add a row to all sums, given its factor."""
    totals.rows[0] += 1
    totals.log_wealth[0] += log(factor)
    totals.residual[0] += occurred - p
    totals.squares[0] += (occurred - p) * (occurred - p)


@kernel(f8["n"], u1["n"], EventState, BetPlan, f8, Traces)
def _bet_on_event(p, occurred, state, plan, limit, traces):
    totals, bets, change, record = state  # apart: a tuple of many arrays is slow to hand over
    for i in range(p.shape[0]):
        happened = int(occurred[i])
        factor = 1.0
        if impossible(p[i], happened):
            factor = inf
        elif 0.0 < p[i] < 1.0:
            factor = event_bet(p[i], happened, bets, plan)
        add_up(p[i], happened, factor, totals)
        note(p[i], happened, record)
        if totals.changed[0] < limit and 0.0 < p[i] < 1.0:
            totals.changed[0] = add_row(p[i], totals.rows[0], change, plan)
        traces.log_wealth[i] = totals.log_wealth[0]
        traces.changed[i] = totals.changed[0]


@kernel(real["n m"], i4["n"], EventState, ClassBets, (BetPlan, ClassScratch), f8, Traces)
def _bet_on_classes(probs, labels, state, of_classes, plan_and_scratch, limit, traces):
    totals, bets, change, record = state
    plan, scratch = plan_and_scratch
    for i in range(probs.shape[0]):
        top = normalised(probs[i], scratch)
        p, happened = scratch.probs[top], int(labels[i] == top)
        factor = 1.0
        if scratch.probs[labels[i]] <= 0.0:
            factor = inf
        elif p < 1.0:
            of_event = event_bet(p, happened, bets, plan)
            factor = class_bet(labels[i], top, of_event, of_classes, plan, scratch)
        add_up(p, happened, factor, totals)
        note(p, happened, record)
        if totals.changed[0] < limit and p < 1.0:
            totals.changed[0] = add_row(p, totals.rows[0], change, plan)
        traces.log_wealth[i] = totals.log_wealth[0]
        traces.changed[i] = totals.changed[0]
