"""Calls of the engine with arrays of wrong shapes and types, or indices out of range.

Run as a program it makes each in a process of its own, since what is not refused may read or
write beyond the end of an array, and prints what became of them.
"""

import numpy as np
from apart import tell

from calibrant import Predictions
from calibrant.engine import (
    arrays,
    classes,
    draws,
    grid,
    line,
    null,
    poisson_binomial,
    resample,
    rows,
    sums,
    tree,
    wealth,
)
from calibrant.engine import (
    norms as of_cells,
)
from calibrant.engine.arrays import Order, Replicates, Source
from calibrant.engine.class_bets import ClassBets

N, M, CELLS = 20, 3, 4
FAR = 10**9
KEY = np.uint64(3)
RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(M), N)
LABELS = RNG.integers(0, M, N).astype(np.int32)
ROWS = Predictions(PROBS, LABELS).rows
BINARY = Predictions(PROBS[:, 0], (LABELS == 0).astype(int)).rows
OF_ROWS = (np.arange(N) % CELLS).astype(np.int32)
ORDER = sums.sort_rows(OF_ROWS, CELLS)
BEYOND = Order(ORDER.rows + np.int32(FAR), ORDER.starts)  # rows that are not there
OPEN = Order(ORDER.rows, ORDER.starts + FAR)  # cells that begin nowhere
SHORT = Order(ORDER.rows[:3], ORDER.starts)
FEW = Order(ORDER.rows, ORDER.starts[:2])
MASS = np.bincount(OF_ROWS).astype(float)
SOURCE = Source(PROBS, None, KEY, 0)
REPLICATES = Replicates(0, 5)
KEYS = KEY, draws.replicate_keys(KEY, REPLICATES)
CUTS = draws.event_cuts(BINARY.probs, np.array([1]))
EDGES = grid.edges(5)
TOP = rows.check(PROBS, 1e-9, 1e-3).top
OFFSETS = np.array([0, 2, 4, 6])
OF_ENTRIES = np.zeros((N, M), np.uint8)
FALSE_LABELS = LABELS + np.int32(FAR)
NODES = [[0, 1, 2], [-1, 0, -1], [-1, 1, -1]]
STATE = wealth.EventState.start()


def tables(size):
    return sums.CellTables(np.zeros((size, M)), np.zeros((size, M)), 1)


def norms(size):
    return sums.CellNorms(*np.zeros((3, size)))


def by_cell(order=ORDER, span=(0, CELLS), size=CELLS, of=CELLS, some=ROWS):
    return sums.by_cell(some, order, span, tables(size), norms(of))


def null_totals(order=ORDER, source=SOURCE, wanted=(0, 3), some=ROWS):
    cells = null.SortedCells(order, MASS, float(N))
    return null.null_totals(some, cells, source, REPLICATES, wanted)


def resampled(order=ORDER, some=ROWS):
    cells = null.SortedCells(order, MASS, float(N))
    return resample.resampled_totals(some, cells, KEY, REPLICATES)


ONCE = np.ones((REPLICATES.size, len(PROBS)), np.int32)


def redrawn(order=ORDER, some=ROWS, times=ONCE, event=None, table=None):
    cells = null.SortedCells(order, MASS, float(N))
    drawn = resample.Redrawn(SOURCE._replace(table=table), event, times, REPLICATES)
    return resample.redrawn_totals(some, cells, drawn)


def event_counts(order=ORDER, cuts=CUTS, span=(0, CELLS), some=BINARY):
    return null.event_counts(some, order, cuts, KEYS, span)


def event_residuals(order=ORDER, cuts=CUTS, some=BINARY, cells=CELLS):
    terms = np.ones(cells), np.ones((2, cells))
    return null.event_residuals(some, order, cuts, KEYS, terms)


def count_outcomes(span=(0, N), outcomes=None, some=ROWS, size=2):
    outcomes = np.zeros((N, 2), np.uint8) if outcomes is None else outcomes
    return null.count_outcomes(some, span, outcomes, np.zeros((M, size)))


def cell_counts(order=ORDER, source=SOURCE, span=(0, CELLS), some=ROWS):
    return null.cell_counts(some, order, source, REPLICATES, span)


def add_counts(order=ORDER, source=None, at=None, tables=None):
    at = np.arange(CELLS) if at is None else at
    tables = np.zeros((CELLS, M, REPLICATES.size)) if tables is None else tables
    source = SOURCE if source is None else source
    return null.add_counts(ROWS, order, source, REPLICATES, (at, tables))


def add_squares(order=ORDER, span=(0, N), rows=N, outcome=0):
    cells = null.SortedCells(order, MASS, float(N))
    squares = arrays.blank(null.Squares, m=M, size=2)
    outcomes = np.full((rows, 2), outcome, np.int32)
    return null.add_squares(ROWS, cells, span, outcomes, squares)


def class_counts(cells=OF_ENTRIES, offsets=OFFSETS, source=SOURCE, some=ROWS):
    return classes.class_counts(some, cells, offsets, source, REPLICATES)


def node_sums(nodes=OF_ROWS, columns=(0, M), means=None):
    about = tree.About(2, np.zeros((CELLS, M)) if means is None else means)
    return tree.node_sums(ROWS, columns, nodes, about, 1.0)


def walk(nodes, thresholds=3):
    return tree.walk(PROBS, np.array(nodes, np.int32).reshape(-1, 3), np.zeros(thresholds))


def pool(events, losses, cells=4):
    return line.pool(events, np.full(cells, 2.0), losses, 0, line.Pools.start(2))


def walk_rows(outcomes, end=4):
    """Walk over four rows of two predictions."""
    rows = line.Line(np.ones(4), np.array([2, end]), np.array([0.2, 0.7]), *np.full((2, 2), 2.0))
    rows = rows._replace(decays=np.ones((1, 2)))
    return line.walk_rows(rows, outcomes, (1, True), arrays.blank(line.Walk, scales=1, size=2))


def source_of(probs=PROBS, table=None):
    return Source(probs, table, KEY, 0)


FALSE_TABLE = np.full((N, M), FAR)


def bet_on_event(p, occurred=None):
    known = (LABELS == 0).astype(np.uint8)
    return wealth.bet_on_event(p, known if occurred is None else occurred, STATE, 1e6)


def bet_on_classes(probs, labels):
    return wealth.bet_on_classes(probs, labels, STATE, ClassBets.start(M), 1e6)


CALLS = {
    # rows
    "check, one dimension": lambda: rows.check(PROBS[0], 1e-9, 1e-3),
    "check, integers": lambda: rows.check(np.eye(3, dtype=int), 1e-9, 1e-3),
    "check, a list": lambda: rows.check(PROBS.tolist(), 1e-9, 1e-3),
    "check, no columns": lambda: rows.check(PROBS[:, :0], 1e-9, 1e-3),
    "check, half precision": lambda: rows.check(PROBS.astype(np.float16), 1e-9, 1e-3),
    "check, long double": lambda: rows.check(PROBS.astype(np.longdouble), 1e-9, 1e-3),
    "top_classes, none": lambda: rows.top_classes(PROBS, 0),
    "top_classes, fewer than none": lambda: rows.top_classes(PROBS, -1),
    "top_classes, more than there are": lambda: rows.top_classes(PROBS, M + 1),
    "against_top, labels": lambda: rows.against_top(rows.Ranked(LABELS[:3], TOP)),
    "against_top, probs": lambda: rows.against_top(
        rows.Ranked(LABELS, rows.Top(TOP.classes, TOP.probs[:3]))
    ),
    "against_rest, few events": lambda: rows.against_rest(ROWS, LABELS[:3]),
    "against_rest, no class": lambda: rows.against_rest(ROWS, np.array([FAR])),
    "against_rest, a float": lambda: rows.against_rest(ROWS, np.array([0.0])),
    "against_rest, few labels": lambda: rows.against_rest(
        ROWS._replace(labels=LABELS[:1]), np.array([0])
    ),
    "group_sums, few": lambda: rows.group_sums(PROBS, np.zeros(2, np.int32), 2),
    "group_sums, no group": lambda: rows.group_sums(PROBS, np.array([0, 1, FAR], np.int32), 2),
    "group_sums, below 0": lambda: rows.group_sums(PROBS, np.array([0, 1, -5], np.int32), 2),
    "group_sums, no groups": lambda: rows.group_sums(PROBS, np.zeros(3, np.int32), 0),
    # grid
    "intervals, no column": lambda: grid.intervals(PROBS, FAR, EDGES),
    "intervals, column below 0": lambda: grid.intervals(PROBS, -1, EDGES),
    "intervals, one edge": lambda: grid.intervals(PROBS, 0, EDGES[:1]),
    "intervals, no edges": lambda: grid.intervals(PROBS, 0, EDGES[:0]),
    "intervals, edges in a table": lambda: grid.intervals(PROBS, 0, np.zeros((4, 4))),
    "box_keys, columns": lambda: grid.box_keys(PROBS, (1, FAR), EDGES),
    "box_keys, one edge": lambda: grid.box_keys(PROBS, (0, 2), EDGES[:1]),
    "simplex_keys, columns": lambda: grid.simplex_keys(
        PROBS, (1, FAR), EDGES, grid.Digits.of(4, 5)
    ),
    "simplex_keys, few digits": lambda: grid.simplex_keys(
        PROBS, (0, 2), EDGES, grid.Digits(1, 5, 1)
    ),
    "simplex_keys, no digits": lambda: grid.simplex_keys(
        PROBS, (0, 2), EDGES, grid.Digits(4, 5, 0)
    ),
    # sums
    "add_up, few cells": lambda: sums.add_up(ROWS, OF_ROWS[:3], CELLS),
    "add_up, no cell": lambda: sums.add_up(ROWS, OF_ROWS, CELLS - 1),
    "add_up, cells below 0": lambda: sums.add_up(ROWS, OF_ROWS - np.int32(1), CELLS),
    "add_up, floats": lambda: sums.add_up(ROWS, OF_ROWS.astype(float), CELLS),
    "add_up, a list": lambda: sums.add_up(ROWS, OF_ROWS.tolist(), CELLS),
    "add_up, few labels": lambda: sums.add_up(ROWS._replace(labels=LABELS[:1]), OF_ROWS, CELLS),
    "add_up, no label": lambda: sums.add_up(ROWS._replace(labels=FALSE_LABELS), OF_ROWS, CELLS),
    "add_up, few weights": lambda: sums.add_up(
        ROWS._replace(weights=np.ones(2), step=1), OF_ROWS, CELLS
    ),
    "add_up, step": lambda: sums.add_up(ROWS._replace(step=10**8), OF_ROWS, CELLS),
    "add_up, no event": lambda: sums.add_up(BINARY._replace(event=FAR), OF_ROWS, CELLS),
    "add_up, event below 0": lambda: sums.add_up(BINARY._replace(event=-1), OF_ROWS, CELLS),
    "add_ranked_intervals, labels": lambda: sums.add_ranked_intervals(
        rows.Ranked(LABELS[:3], TOP), EDGES
    ),
    "add_intervals, three outcomes": lambda: sums.add_intervals(ROWS, EDGES),
    "add_intervals, one edge": lambda: sums.add_intervals(BINARY, EDGES[:1]),
    "add_intervals, no label": lambda: sums.add_intervals(
        BINARY._replace(labels=FALSE_LABELS), EDGES
    ),
    "add_intervals, no event": lambda: sums.add_intervals(BINARY._replace(event=FAR), EDGES),
    "sort_rows, no cell": lambda: sums.sort_rows(OF_ROWS, CELLS - 1),
    "sort_rows, below 0": lambda: sums.sort_rows(OF_ROWS - np.int32(9), CELLS),
    "sort_rows, a table": lambda: sums.sort_rows(OF_ROWS[None], CELLS),
    "by_cell, few rows": lambda: by_cell(SHORT),
    "by_cell, no rows": lambda: by_cell(BEYOND),
    "by_cell, few cells": lambda: by_cell(FEW),
    "by_cell, no cells": lambda: by_cell(OPEN),
    "by_cell, span": lambda: by_cell(span=(0, 10**6)),
    "by_cell, span below 0": lambda: by_cell(span=(-(10**6), CELLS)),
    "by_cell, small tables": lambda: by_cell(size=0),
    "by_cell, few norms": lambda: by_cell(of=0),
    "by_cell, no label": lambda: by_cell(some=ROWS._replace(labels=FALSE_LABELS)),
    # draws
    "draw_labels, integers": lambda: draws.draw_labels(source_of(np.eye(3, dtype=int)), REPLICATES),
    "draw_labels, one dimension": lambda: draws.draw_labels(source_of(PROBS[0]), REPLICATES),
    "draw_labels, small table": lambda: draws.draw_labels(
        source_of(table=np.zeros((5, M), int)), REPLICATES
    ),
    "draw_labels, table of floats": lambda: draws.draw_labels(
        source_of(table=np.zeros((N, M))), REPLICATES
    ),
    "draw_labels, empty table": lambda: draws.draw_labels(
        source_of(table=np.zeros((0, M), int)), REPLICATES
    ),
    "draw_labels, backwards": lambda: draws.draw_labels(SOURCE, Replicates(5, 0)),
    "event_cuts, no class": lambda: draws.event_cuts(PROBS, np.array([M])),
    "event_cuts, below 0": lambda: draws.event_cuts(PROBS, np.array([-1])),
    "event_cuts, few": lambda: draws.event_cuts(PROBS, np.zeros(5, int)),
    "event_cuts, none": lambda: draws.event_cuts(PROBS, np.zeros(0, int)),
    "event_cuts, no array": lambda: draws.event_cuts(1j, np.array([1])),
    "event_probs, no array": lambda: draws.event_probs(1j, np.array([1])),
    "event_probs, no class": lambda: draws.event_probs(PROBS, np.array([M])),
    "draw_copies, few": lambda: draws.draw_copies(SOURCE, np.ones(3, int), 0),
    "draw_copies, below 0": lambda: draws.draw_copies(
        SOURCE, np.where(np.arange(N) < 10, -1, 1), 0
    ),
    "draw_rows, no row": lambda: draws.draw_rows(
        draws.OutcomeSource(SOURCE), np.array([0, N]), REPLICATES
    ),
    "draw_rows, few cuts": lambda: draws.draw_rows(
        draws.OutcomeSource(SOURCE, CUTS[:3]), np.array([N - 1]), REPLICATES
    ),
    "draw_times, below 0": lambda: draws.draw_times(-1, KEY, 0),
    # events
    "event_counts, few thresholds": lambda: event_counts(cuts=CUTS[:3]),
    "event_counts, few rows": lambda: event_counts(SHORT),
    "event_counts, no rows": lambda: event_counts(BEYOND),
    "event_counts, no cells": lambda: event_counts(OPEN),
    "event_counts, span": lambda: event_counts(span=(0, 10**6)),
    "event_counts, span below 0": lambda: event_counts(span=(-(10**6), CELLS)),
    "event_residuals, few thresholds": lambda: event_residuals(cuts=CUTS[:3]),
    "event_residuals, no rows": lambda: event_residuals(BEYOND),
    "event_residuals, no cells": lambda: event_residuals(OPEN),
    "event_residuals, more cells": lambda: event_residuals(cells=CELLS + 1),
    "count_outcomes, span": lambda: count_outcomes((5, N + 5)),
    "count_outcomes, more rows": lambda: count_outcomes((0, N - 1)),
    "count_outcomes, no outcome": lambda: count_outcomes(outcomes=np.full((N, 2), M, np.uint8)),
    "count_outcomes, few replicates": lambda: count_outcomes(size=1),
    "count_outcomes, few weights": lambda: count_outcomes(some=ROWS._replace(step=1)),
    "block_counts, a table": lambda: poisson_binomial.block_counts(PROBS, 128),
    "block_counts, no length": lambda: poisson_binomial.block_counts(PROBS[:, 0], 0),
    "block_counts, length below 0": lambda: poisson_binomial.block_counts(PROBS[:, 0], -1),
    # pools and values
    "pool, more replicates": lambda: pool(np.ones((4, 3)), np.ones((2, 4))),
    "pool, one dimension": lambda: pool(np.ones(4), np.ones((2, 4))),
    "pool, little mass": lambda: pool(np.ones((4, 2)), np.ones((2, 4)), cells=3),
    "pool, few losses": lambda: pool(np.ones((4, 2)), np.ones((2, 3))),
    "pool, integers": lambda: pool(np.ones((4, 2), int), np.ones((2, 4))),
    "tally, a table": lambda: line.tally(PROBS, PROBS[:, 0] > 0),
    "tally, integers": lambda: line.tally(np.arange(3), np.arange(3) > 1),
    "tally, numbers for events": lambda: line.tally(PROBS[:, 0], PROBS[:, 1]),
    "tally, few events": lambda: line.tally(PROBS[:, 0], PROBS[1:, 1] > 0),
    "walk_rows, few outcomes": lambda: walk_rows(np.zeros((2, 2), np.int32)),
    "walk_rows, many outcomes": lambda: walk_rows(np.zeros((5, 2), np.int32)),
    "walk_rows, early ends": lambda: walk_rows(np.zeros((4, 2), np.int32), 3),
    "middle, little mass": lambda: line.middle(np.arange(3.0), np.ones(2)),
    # null
    "null_totals, few rows": lambda: null_totals(SHORT),
    "null_totals, no rows": lambda: null_totals(BEYOND),
    "null_totals, few cells": lambda: null_totals(FEW),
    "null_totals, no cells": lambda: null_totals(OPEN),
    "null_totals, few predictions": lambda: null_totals(source=source_of(PROBS[:5])),
    "null_totals, more classes than outcomes": lambda: null_totals(
        source=source_of(np.tile(PROBS / 10, (1, 10)))
    ),
    "null_totals, no outcome": lambda: null_totals(source=source_of(table=FALSE_TABLE)),
    "null_totals, no norm": lambda: null_totals(wanted=(0, 10**5)),
    "null_totals, norm below 0": lambda: null_totals(wanted=(-(10**5), 3)),
    "null_totals, few weights": lambda: null_totals(some=ROWS._replace(step=10**7)),
    "cell_counts, few rows": lambda: cell_counts(SHORT),
    "cell_counts, no rows": lambda: cell_counts(BEYOND),
    "cell_counts, span": lambda: cell_counts(span=(0, 10**6)),
    "cell_counts, few predictions": lambda: cell_counts(source=source_of(PROBS[:5])),
    "cell_counts, no outcome": lambda: cell_counts(source=source_of(table=FALSE_TABLE)),
    # counts
    "add_counts, few rows": lambda: add_counts(order=SHORT),
    "add_counts, few places": lambda: add_counts(at=np.arange(2)),
    "add_counts, no place": lambda: add_counts(at=np.arange(CELLS) + FAR),
    "add_counts, place below 0": lambda: add_counts(at=np.arange(CELLS) - FAR),
    "add_counts, few outcomes": lambda: add_counts(tables=np.zeros((CELLS, 1, REPLICATES.size))),
    "add_counts, few replicates": lambda: add_counts(tables=np.zeros((CELLS, M, 1))),
    "add_counts, few numbers": lambda: add_counts(
        source=source_of()._replace(numbers=np.arange(3))
    ),
    "table_totals, few cells": lambda: null.table_totals(
        np.zeros((CELLS, M, 2)), np.zeros((2, M)), MASS, (0, 3)
    ),
    "table_totals, few masses": lambda: null.table_totals(
        np.zeros((CELLS, M, 2)), np.zeros((CELLS, M)), MASS[:1], (0, 3)
    ),
    # poisson_binomial
    "power_sums, few cells": lambda: poisson_binomial.power_sums(PROBS[:, 0], OF_ROWS[:3], CELLS),
    "power_sums, no cell": lambda: poisson_binomial.power_sums(PROBS[:, 0], OF_ROWS, 1),
    "add_values, few cells": lambda: poisson_binomial.add_values(PROBS[:, 0], OF_ROWS[:3], CELLS),
    "add_values, no cell": lambda: poisson_binomial.add_values(PROBS[:, 0], OF_ROWS, 1),
    # resample
    "resampled_sums, few rows": lambda: resample.resampled_sums(ROWS, SHORT, KEY, REPLICATES, 1.0),
    "resampled_totals, few cells": lambda: resampled(FEW),
    "resampled_totals, no cells": lambda: resampled(OPEN),
    "resampled_totals, no rows": lambda: resampled(BEYOND),
    "resampled_totals, no label": lambda: resampled(some=ROWS._replace(labels=FALSE_LABELS)),
    "redrawn_totals, few cells": lambda: redrawn(FEW),
    "redrawn_totals, no rows": lambda: redrawn(BEYOND),
    "redrawn_totals, no label": lambda: redrawn(some=ROWS._replace(labels=FALSE_LABELS)),
    "redrawn_totals, few times": lambda: redrawn(times=ONCE[:, 1:]),
    "redrawn_totals, times below 0": lambda: redrawn(times=-ONCE),
    "redrawn_totals, times of no number": lambda: redrawn(times=ONCE * 1.0),
    "redrawn_totals, an event of many": lambda: redrawn(event=np.array([1])),
    "redrawn_totals, few events": lambda: redrawn(event=np.zeros(5, int)),
    "redrawn_totals, no outcome": lambda: redrawn(table=np.full((1, M), M)),
    "reach, sizes below 0": lambda: poisson_binomial.reach(
        np.ones(2), np.array([2, -1]), np.ones(2), 1.0
    ),
    "reach, few sizes": lambda: poisson_binomial.reach(
        np.ones(2), np.ones(1, int), np.ones(2), 1.0
    ),
    "poisson_times, below 0": lambda: resample.poisson_times(-1, 0, KEY, 0),
    # classes
    "class_boxes, one edge": lambda: classes.class_boxes(ROWS, EDGES[:1], 1.0),
    "class_sums, few cells": lambda: classes.class_sums(ROWS, OF_ENTRIES[:3], OFFSETS, 1.0),
    "class_sums, no cell": lambda: classes.class_sums(
        ROWS, OF_ENTRIES + np.uint8(200), OFFSETS, 1.0
    ),
    "class_sums, few offsets": lambda: classes.class_sums(ROWS, OF_ENTRIES, OFFSETS[:2], 1.0),
    "class_sums, false offsets": lambda: classes.class_sums(
        ROWS, OF_ENTRIES, np.array([0, FAR, FAR + 1, 3]), 1.0
    ),
    "class_counts, few cells": lambda: class_counts(OF_ENTRIES[:3]),
    "class_counts, no cell": lambda: class_counts(OF_ENTRIES.astype(np.int32) + np.int32(FAR)),
    "class_counts, few offsets": lambda: class_counts(offsets=OFFSETS[:2]),
    "class_counts, more rows than cells": lambda: class_counts(
        some=ROWS._replace(probs=np.tile(PROBS, (200, 1)))
    ),
    "class_counts, no class": lambda: class_counts(source=source_of(table=FALSE_TABLE)),
    # squares
    "add_squares, span": lambda: add_squares(span=(0, FAR)),
    "add_squares, few outcomes": lambda: add_squares(rows=3),
    "add_squares, no outcome": lambda: add_squares(outcome=FAR),
    "add_squares, no rows": lambda: add_squares(BEYOND),
    "add_squares, few cells": lambda: add_squares(FEW),
    # totals
    "weighted_sum, few shares": lambda: of_cells.weighted_sum(np.ones((4, 2)), np.ones(3)),
    "add_cells, more replicates": lambda: of_cells.add_cells(
        of_cells.Totals.zeros(2), 0, np.ones((4, 3)), np.ones((4, 1))
    ),
    # tree
    "grow, columns": lambda: tree.grow(ROWS, (0, FAR), 2.0, medians=False),
    "grow, no columns": lambda: tree.grow(ROWS, (5, 1), 2.0, medians=False),
    "grow, columns below 0": lambda: tree.grow(ROWS, (-1, 1), 2.0, medians=False),
    "node_sums, few nodes": lambda: node_sums(nodes=OF_ROWS[:3]),
    "node_sums, columns": lambda: node_sums(columns=(2, 2)),
    "node_sums, few means": lambda: node_sums(means=np.zeros((CELLS, 1))),
    "walk, coordinate": lambda: walk([[FAR, 1, 2], *NODES[1:]]),
    "walk, child": lambda: walk([[0, 10**8, 10**8], *NODES[1:]]),
    "walk, child below 0": lambda: walk([[0, -(10**8), -(10**8)], *NODES[1:]]),
    "walk, no nodes": lambda: walk([], 0),
    "walk, few thresholds": lambda: walk(NODES, 2),
    # wealth
    "bet_on_event, no probability": lambda: bet_on_event(PROBS[:, 0] * FAR),
    "bet_on_event, below 0": lambda: bet_on_event(-PROBS[:, 0]),
    "bet_on_event, nan": lambda: bet_on_event(np.full(N, np.nan)),
    "bet_on_event, few outcomes": lambda: bet_on_event(PROBS[:3, 0]),
    "bet_on_event, outcomes": lambda: bet_on_event(PROBS[:, 0], LABELS.astype(np.uint8)),
    "bet_on_classes, labels": lambda: bet_on_classes(PROBS, FALSE_LABELS),
    "bet_on_classes, few labels": lambda: bet_on_classes(PROBS, LABELS[:3]),
    "bet_on_classes, more classes": lambda: bet_on_classes(np.full((N, 4), 0.25), LABELS),
    "bet_on_classes, nan": lambda: bet_on_classes(np.full((N, M), np.nan), LABELS),
}


if __name__ == "__main__":
    tell(CALLS)
