r"""A detector of late changes: the sum of bets that begin at every row.

A bet that begins after row s has the wealth E_s(t), whose mean is at most one. Their sum M over s
has M_t - t as a supermartingale if all rows are calibrated, so the mean number of rows until
M reaches A is at least A. Half of M begins a bet on every line and on every shift in an interval
at each row: M_k becomes (M_k + 1) L_k. The other half begins a dense tree every 32 rows, counts
it 32 times, and keeps one for each octave of age; a younger one that takes the place of an older
one goes on with the wealth of both.
"""

from typing import Annotated, NamedTuple

from calibrant.engine.arrays import Array, Floats, Ints, blank
from calibrant.engine.bets import DENSE, NODES, line_prior, shift_prior, tree_bet
from calibrant.engine.kernel import f8, helper, i8, out

LEVELS = (1, 2, 5, 10, 20)  # numbers of equal intervals in which shifts are looked for
INTERVALS = sum(LEVELS)
COPIES = 12  # trees, of ages up to 2^12 times `EVERY`
EVERY = 32  # rows between the beginnings of two trees
TREE_START = 0.25  # odds of a node against its children


class ChangeDetector(NamedTuple):
    """Wealths of the bets that began at all rows before."""

    levels: Annotated[Array, out(i8["levels"])]
    prior: Annotated[Floats, out(f8["lines"])]  # weights of lines, which sum to one half
    lines: Annotated[Floats, out(f8["lines"])]
    shifts: Annotated[Floats, out(f8["intervals 6"])]
    sums: Annotated[Floats, out(f8["intervals"])]  # of the wealths of an interval's shifts
    touched: Annotated[Ints, out(i8["intervals"])]  # rows until its wealths were last worked out
    fresh: Annotated[Floats, out(f8["shifts"])]  # weights with which a tree begins
    trees: Annotated[Floats, out(f8["copies tenths shifts"])]
    odds: Annotated[Floats, out(f8["copies tenths"])]
    wealth: Annotated[Floats, out(f8["copies"])]  # of each tree; 0 before it begins

    @classmethod
    def start(cls) -> "ChangeDetector":
        """Return the detector before the first row."""
        lengths = {"levels": len(LEVELS), "lines": 49, "intervals": INTERVALS, "shifts": 7}
        change = blank(cls, copies=COPIES, tenths=NODES[DENSE], **lengths)
        change.levels[:] = LEVELS
        change.prior[:] = line_prior(0.0) / 2
        change.fresh[:] = shift_prior(0.1)
        return change


@helper
def add_row(p, t, change, plan):
    """Return M after row t, the first of which is 1, given the factors of lines and shifts."""
    total = 0.0
    for k in range(change.lines.shape[0]):
        change.lines[k] = (change.lines[k] + 1.0) * plan.lines[k]
        total += change.prior[k] * change.lines[k]
    shifted = add_shifts(p, t, change, plan.moves)
    tree = add_trees(p, t, change, plan)
    return 0.5 * (total + shifted * (0.5 / (6.0 * INTERVALS))) + 0.5 * tree


@helper
def add_shifts(p, t, change, moves):
    """Return the sum of wealths of all shifts in all intervals; those of others gain one a row."""
    first = 0
    for level in range(change.levels.shape[0]):
        cell = first + min(int(p * change.levels[level]), change.levels[level] - 1)
        gained, total = float(t - change.touched[cell]), 0.0
        for k in range(6):
            change.shifts[cell, k] = (change.shifts[cell, k] + gained) * moves[k + 1]
            total += change.shifts[cell, k]
        change.sums[cell] = total - 6.0 * t  # so that 6 t added later gives what it is then
        change.touched[cell] = t
        first += change.levels[level]
    total = 6.0 * INTERVALS * t
    for cell in range(change.sums.shape[0]):
        total += change.sums[cell]
    return total


@helper
def add_trees(p, t, change, plan):
    """Return `EVERY` times the sum of wealths of trees, one of which begins every so many rows."""
    if t > 1 and (t - 1) % EVERY == 0:
        begin_tree((t - 1) // EVERY, change)
    total = 0.0
    for j in range(change.wealth.shape[0]):
        if change.wealth[j] > 0.0:
            factor = tree_bet(p, plan.dense, change.trees[j], change.odds[j], plan.moves)
            change.wealth[j] *= factor
            total += change.wealth[j]
    return EVERY * total


@helper
def begin_tree(tick, change):
    """Begin a tree; one of each octave replaces that of the next, at multiples of 2^j.

    The wealth of the one that is replaced is added: none is lost, so M_t - t stays a martingale.
    """
    for j in range(change.wealth.shape[0] - 1, 0, -1):
        if tick % (1 << j) == 0:
            change.wealth[j] += change.wealth[j - 1]
            change.wealth[j - 1] = 0.0
            for node in range(change.odds.shape[1]):
                change.odds[j, node] = change.odds[j - 1, node]
                for k in range(change.fresh.shape[0]):
                    change.trees[j, node, k] = change.trees[j - 1, node, k]
    change.wealth[0] += 1.0
    for node in range(change.odds.shape[1]):
        change.odds[0, node] = TREE_START
        for k in range(change.fresh.shape[0]):
            change.trees[0, node, k] = change.fresh[k]
