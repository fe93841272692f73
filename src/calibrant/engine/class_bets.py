r"""Bets on which of several classes occurs, beside those on whether the predicted one does.

With p_(1) the most probable class: temperatures, q proportional to p^b; a shift of the log-odds of
one class, averaged over classes; a shift of those of the predicted class, for each class that is
predicted; and temperatures of the others, given that the predicted class did not occur.
"""

from math import exp, log
from typing import Annotated, NamedTuple

from calibrant.engine.arrays import Floats, blank
from calibrant.engine.bets import (
    FLOOR,
    SLOPES,
    bet,
    raise_odds,
    share_wealth,
    shift_bet,
    shift_factor,
    shift_prior,
)
from calibrant.engine.kernel import f8, helper, out

KINDS = {
    "predicted class": 0.40,
    "temperature": 0.15,
    "one class": 0.15,
    "one predicted class": 0.15,
    "other classes": 0.15,
}


class ClassBets(NamedTuple):
    """Weights of all bets on classes, which sum to one in each mixture."""

    kinds: Annotated[Floats, out(f8["kinds"])]
    temperature: Annotated[Floats, out(f8["slopes"])]
    one: Annotated[Floats, out(f8["m 6"])]  # of the shifts of each class, summing to one over all
    predicted: Annotated[Floats, out(f8["m shifts"])]  # of the shifts, for each predicted class
    rest: Annotated[Floats, out(f8["slopes"])]

    @classmethod
    def start(cls, m: int) -> "ClassBets":
        """Return the weights before the first row."""
        bets = blank(cls, kinds=len(KINDS), slopes=len(SLOPES), shifts=7, m=m)
        bets.kinds[:] = tuple(KINDS.values())
        bets.temperature[:] = 1.0 / len(SLOPES)
        bets.rest[:] = 1.0 / len(SLOPES)
        bets.one[:] = 1.0 / (6 * m)
        bets.predicted[:] = shift_prior(0.7)
        return bets


class ClassScratch(NamedTuple):
    """Scratch memory for what is worked out of one row."""

    probs: Annotated[Floats, out(f8["m"])]
    powers: Annotated[Floats, out(f8["slopes"])]  # sums of p^b over the classes behind the top
    factors: Annotated[Floats, out(f8["slopes"])]

    @classmethod
    def start(cls, m: int) -> "ClassScratch":
        """Return what a row of m classes needs."""
        return blank(cls, m=m, slopes=len(SLOPES))


@helper
def normalised(row, scratch):
    """Write a row of probabilities that sum to one in double precision; return its top class."""
    total, top = 0.0, 0
    for c in range(row.shape[0]):
        total += float(row[c])
        if row[c] > row[top]:
            top = c
    for c in range(row.shape[0]):
        scratch.probs[c] = float(row[c]) / total
    return top


@helper
def sum_powers(top, scratch):
    """Write the sums of p^b over all classes but the top one."""
    scratch.powers[:] = 0.0
    for c in range(scratch.probs.shape[0]):
        if c != top and scratch.probs[c] > 0.0:
            raise_odds(scratch.probs[c], log(scratch.probs[c]), scratch.factors)
            for k in range(scratch.powers.shape[0]):
                scratch.powers[k] += scratch.factors[k]


@helper
def temperature_bet(label, top, bets, plan, scratch):
    """Return the factor of a temperature of all classes."""
    of_top, own = log(scratch.probs[top]), log(scratch.probs[label])
    for k in range(plan.slopes.shape[0]):
        total = scratch.powers[k] + exp(plan.slopes[k] * of_top)
        scratch.factors[k] = exp((plan.slopes[k] - 1.0) * own) / total
    return bet(bets.temperature, scratch.factors)


@helper
def rest_bet(label, top, bets, plan, scratch):
    """Return the factor of a temperature of all classes but the top one, if that failed."""
    if label == top:
        return 1.0
    own, one = log(scratch.probs[label]), 0.0
    for c in range(scratch.probs.shape[0]):
        if c != top:
            one += scratch.probs[c]
    for k in range(plan.slopes.shape[0]):
        scratch.factors[k] = exp((plan.slopes[k] - 1.0) * own) * one / scratch.powers[k]
    return bet(bets.rest, scratch.factors)


@helper
def one_class_bet(label, bets, plan, scratch):
    """Return the factor of a shift of one class, averaged over classes."""
    total = 0.0
    for c in range(scratch.probs.shape[0]):
        for k in range(6):
            factor = shift_factor(scratch.probs[c], c == label, plan.ratios[k + 1])
            bets.one[c, k] *= factor
            total += bets.one[c, k]
    for c in range(scratch.probs.shape[0]):
        for k in range(6):
            bets.one[c, k] = max(bets.one[c, k] / total, FLOOR)
    return total


@helper
def class_bet(label, top, of_event, bets, plan, scratch):
    """Return the factor of the mixture of all bets on classes.

    of_event : the factor of the bets on whether the predicted class occurs, whose shifts' factors
    are in `plan.moves`
    """
    sum_powers(top, scratch)
    temperature = temperature_bet(label, top, bets, plan, scratch)
    one = one_class_bet(label, bets, plan, scratch)
    predicted = shift_bet(bets.predicted, top, plan.moves)
    rest = rest_bet(label, top, bets, plan, scratch)
    return share_wealth(bets.kinds, of_event, temperature, one, predicted, rest)
