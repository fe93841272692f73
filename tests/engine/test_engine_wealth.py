"""The bets: each is fair under the prediction, and they are what their formulas say."""

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.engine.bets import DENSE, OFFSETS, SHIFTS, SLOPES, Bets, line_prior, shift_prior
from calibrant.engine.change import COPIES, EVERY
from calibrant.engine.class_bets import ClassBets
from calibrant.engine.record import EACH, FIRST
from calibrant.engine.wealth import EventState, bet_on_classes, bet_on_event


def copied(state):
    return type(state)(
        *[copied(part) if isinstance(part, tuple) else part.copy() for part in state]
    )


def factor(p, y, state):
    """Return the factor of one row, without a trace in the state."""
    state = copied(state)
    state.totals.log_wealth[0] = 0.0
    traces = bet_on_event(np.array([p]), np.array([y], np.uint8), state, 0.0)
    return np.exp(traces.log_wealth[0])


PREDICTIONS = {
    "Beta(1, 2)": lambda rng, n: rng.beta(1, 2, n),
    "extreme": lambda rng, n: rng.beta(0.05, 0.05, n).clip(1e-300, 1 - 2**-53),
    "rare": lambda rng, n: rng.random(n) * 1e-9,
    "edges": lambda rng, n: np.nextafter(rng.integers(1, 20, n) / 20, rng.choice([0.0, 1.0], n)),
    "one half": lambda _, n: np.full(n, 0.5),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_every_factor_has_mean_one_under_the_prediction(name):
    rng = np.random.default_rng(0)
    state = EventState.start()
    for p in PREDICTIONS[name](rng, 300):
        mean = p * factor(p, 1, state) + (1 - p) * factor(p, 0, state)
        assert abs(mean - 1) < 1e-12
        outcome = rng.random() < expit(0.6 * logit(p) + 0.3)
        bet_on_event(np.array([p]), np.array([outcome], np.uint8), state, 0.0)


@pytest.mark.parametrize(("m", "dtype"), [(3, np.float64), (3, np.float32), (40, np.float64)])
def test_every_factor_on_classes_has_mean_one(m, dtype):
    rng = np.random.default_rng(1)
    state, bets = EventState.start(), ClassBets.start(m)
    for row in rng.dirichlet(np.full(m, 0.3), 60).astype(dtype):
        found = []
        for y in range(m):
            here, also = copied(state), copied(bets)
            here.totals.log_wealth[0] = 0.0
            label = np.array([y], np.int32)
            found.append(np.exp(bet_on_classes(row[None], label, here, also, 0.0).log_wealth[0]))
        exact = row.astype(float) / row.astype(float).sum()
        possible = exact > 0
        assert abs(exact[possible] @ np.array(found)[possible] - 1) < 1e-12
        truth = exact**0.6 / (exact**0.6).sum()
        label = np.array([rng.choice(m, p=truth)], np.int32)
        bet_on_classes(row[None], label, state, bets, 0.0)


def test_the_line_mixture_is_the_mean_of_its_lines():
    """The wealth of the lines alone, as their prior times the likelihood ratio of each."""
    rng = np.random.default_rng(2)
    p = rng.random(50)
    y = (rng.random(50) < p**2).astype(np.uint8)
    state = EventState.start()
    state.bets.parts[:] = [1, 0, 0, 0, 0]
    found = bet_on_event(p, y, state, 0.0).log_wealth[-1]
    ratios = []
    for a in OFFSETS:
        for b in SLOPES:
            q = expit(a + b * logit(p))
            ratios.append(np.prod(np.where(y, q / p, (1 - q) / (1 - p))))
    assert found == pytest.approx(np.log(line_prior() @ ratios), rel=1e-9)


def test_the_dense_tree_is_the_mean_over_all_of_it():
    """Context-tree weighting, as a sum: one node with .2, or ten apart with .8."""
    rng = np.random.default_rng(3)
    p = rng.random(60)
    y = (rng.random(60) < p).astype(np.uint8)
    state = EventState.start()
    state.bets.parts[:] = [0, 1, 0, 0, 0]
    found = bet_on_event(p, y, state, 0.0).log_wealth[-1]

    def mixture(rows):
        ratios = [
            np.prod(np.where(y, np.exp(d), 1.0)[rows] / (1 + p[rows] * np.expm1(d))) for d in SHIFTS
        ]
        return shift_prior(0.1) @ ratios

    whole = mixture(np.full(60, True))
    apart = np.prod([mixture((p * 10).astype(int) == j) for j in range(DENSE[-1])])
    assert found == pytest.approx(np.log(0.2 * whole + 0.8 * apart), rel=1e-9)


def naive_detector(p, y):
    """M of all rows, by its definition: bets that begin at every row."""
    n = p.size
    cells = [(level, j) for level in (1, 2, 5, 10, 20) for j in range(level)]
    total = np.zeros(n)
    prior = line_prior(0.0)
    for k, (a, b) in enumerate((a, b) for a in OFFSETS for b in SLOPES):
        q = expit(a + b * logit(p))
        total += prior[k] / 4 * summed(np.where(y, q / p, (1 - q) / (1 - p)))
    for level, j in cells:
        inside = np.minimum((p * level).astype(int), level - 1) == j
        for d in SHIFTS[1:]:
            ratio = np.where(y, np.exp(d), 1.0) / (1 + p * np.expm1(d))
            total += 1 / (4 * 6 * len(cells)) * summed(np.where(inside, ratio, 1.0))
    return total


def summed(factors):
    found, wealth = np.empty(factors.size), 0.0
    for i, each in enumerate(factors):
        wealth = (wealth + 1) * each
        found[i] = wealth
    return found


def test_the_detector_is_the_sum_over_all_beginnings():
    rng = np.random.default_rng(4)
    p = rng.random(EVERY)  # before the first tree begins
    y = (rng.random(EVERY) < p).astype(np.uint8)
    found = bet_on_event(p, y, EventState.start(), 1e9).changed
    np.testing.assert_allclose(found, naive_detector(p, y), rtol=1e-9)


def test_one_tree_is_kept_for_each_octave_of_age():
    rng = np.random.default_rng(5)
    p = rng.random(2**COPIES * EVERY)
    state = EventState.start()
    bet_on_event(p, (rng.random(p.size) < p).astype(np.uint8), state, 1e300)
    assert (state.change.wealth > 0).all()
    assert state.change.wealth.size == COPIES


def test_no_tree_that_is_replaced_takes_its_wealth_along():
    """Bets on what is all but impossible have the factor 1: every tree that began keeps it."""
    n = 1000 * EVERY + 1
    state = EventState.start()
    bet_on_event(np.full(n, 1e-300), np.zeros(n, np.uint8), state, 1e300)
    assert state.change.wealth.sum() == 1000


def test_blocks_of_the_record_hold_all_rows():
    rng = np.random.default_rng(6)
    p = rng.random(5000)
    y = (rng.random(5000) < p).astype(np.uint8)
    state = EventState.start()
    bet_on_event(p, y, state, 0.0)
    record, count = state.record, int(state.record.filled[0])
    rows = record.rows[:count]
    assert rows.sum() == 5000
    sizes, times = np.unique(rows[:-1], return_counts=True)
    assert (times <= EACH + 1).all()
    assert set(sizes) <= {FIRST * 2**j for j in range(20)}
    starts = np.cumsum(rows) - rows
    sums = np.add.reduceat(y - p, starts)
    np.testing.assert_allclose(record.residual[:count].sum(axis=1), sums, atol=1e-9)
    tenth = np.minimum((p * 10).astype(int), 9)
    expected = np.bincount(tenth, p * (1 - p), 10)
    np.testing.assert_allclose(record.variance[:count].sum(axis=0), expected)


def test_what_is_no_probability_is_refused():
    with pytest.raises(IndexError, match="between 0 and 1"):
        bet_on_event(np.array([1.5]), np.array([1], np.uint8), EventState.start(), 0.0)
    with pytest.raises(IndexError, match="below 2"):
        bet_on_event(np.array([0.5]), np.array([2], np.uint8), EventState.start(), 0.0)
    row = np.full((1, 3), 1 / 3)
    with pytest.raises(IndexError, match="below 3"):
        bet_on_classes(row, np.array([3], np.int32), EventState.start(), ClassBets.start(3), 0.0)


def test_weights_stay_normalised():
    rng = np.random.default_rng(7)
    p = rng.beta(1, 2, 20_000)
    state = EventState.start()
    bet_on_event(p, (rng.random(p.size) < p**2).astype(np.uint8), state, 0.0)
    bets: Bets = state.bets
    for weights in (bets.parts, bets.line):
        assert weights.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(bets.dense.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(bets.sparse.sum(axis=1), 1, atol=1e-12)
