"""Measure what docs/monitoring.md says of the monitor, on streams whose truth is known.

    python examples/monitoring.py false-alarms --sets 1000 --rows 20000 --jobs 16
    python examples/monitoring.py false-alarms --sets 100 --rows 1000000 --jobs 16
    python examples/monitoring.py delays --sets 200
    python examples/monitoring.py curves --sets 100
    python examples/monitoring.py rivals --sets 40
    python examples/monitoring.py changes --sets 30
    python examples/monitoring.py run-length --sets 400
    python examples/monitoring.py since --sets 100
    python examples/monitoring.py bias --sets 300
    python examples/monitoring.py speed
    python examples/monitoring.py picture -o docs/figures/monitoring.png

Each prints a table. Streams have seeds of their own, so that jobs change nothing.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from scipy.stats import binom, chi2, norm

import calibrant as cal
from calibrant.engine.class_bets import ClassBets
from calibrant.engine.wealth import State, bet_on_classes, bet_on_event
from calibrant.monitor.bias import interval
from calibrant.monitor.starts import find_start

LIMIT = np.log(20)  # of log E: an alarm at 5 %
NEVER = 10**9


def logit(p):
    return np.log(p / (1 - p))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def beta(a, b):
    return lambda rng, n: rng.beta(a, b, n)


def tied(rng, n):
    return rng.choice([0.05, 0.1, 0.3, 0.5, 0.7, 0.9], n)


def edges(rng, n):
    """Predictions at edges of tenths, and one rounding step beside them."""
    at = rng.integers(1, 10, n) / 10
    return np.nextafter(at, rng.choice([0.0, 1.0], n))


def drifting(rng, n):
    return sigmoid(np.linspace(-4, 3, n) + rng.normal(0, 0.5, n))


def waves(rng, n):
    return sigmoid(3 * np.sin(np.arange(n) / 500) + rng.normal(0, 0.2, n))


def walking(rng, n):
    return sigmoid(np.clip(np.cumsum(rng.normal(0, 0.02, n)), -5, 5))


def certain(rng, n):
    """Some predictions of exactly 0 and 1."""
    p = rng.random(n)
    p[rng.random(n) < 0.2] = 0.0
    p[rng.random(n) < 0.2] = 1.0
    return p


def learning(rng, n):
    """Predictions that depend on earlier outcomes: the rate of an urn, which is calibrated."""
    p, black = np.empty(n), 1.0
    for i, u in enumerate(rng.random(n)):
        p[i] = black / (i + 2)
        black += u < p[i]
    return p


def vectors(m, spread, distinct=400):
    """Rows of m classes, from a fixed set of vectors: so a thousand classes are fast, too."""

    def draw(rng, n):
        pool = rng.dirichlet(np.full(m, spread), distinct) + 1e-12
        pool /= pool.sum(axis=1, keepdims=True)
        rows = rng.integers(0, distinct, n)
        u = rng.random(n)[:, None]
        labels = np.concatenate(
            [
                (pool.cumsum(axis=1)[part] < u[k : k + 1000]).sum(axis=1)
                for k in range(0, n, 1000)
                for part in [rows[k : k + 1000]]
            ]
        )
        return pool, rows, np.minimum(labels, m - 1).astype(np.int32)

    return draw


CALIBRATED = {
    "Beta(1, 2)": beta(1, 2),
    "uniform": beta(1, 1),
    "extreme": beta(0.05, 0.05),
    "very extreme": beta(0.01, 0.02),
    "rare, 1 in 200": beta(1, 200),
    "rarer, 1 in 5,000": beta(0.5, 2500),
    "nearly certain": beta(50, 1),
    "six values": tied,
    "one half": lambda _, n: np.full(n, 0.5),
    "one in 100": lambda _, n: np.full(n, 0.01),
    "edges of tenths": edges,
    "drifting": drifting,
    "waves": waves,
    "random walk": walking,
    "some 0 and 1": certain,
    "urn": learning,
    "3 classes": vectors(3, 1.0),
    "10 classes": vectors(10, 0.1),
    "100 classes": vectors(100, 0.05),
    "1000 classes": vectors(1000, 0.02),
}


def wave(p):
    return np.clip(p + np.where((p * 10).astype(int) % 2, 0.1, -0.1), 0.001, 0.999)


DEVIATIONS = {  # what is true where p was predicted
    "temperature 1.5": lambda p: sigmoid(logit(p) / 1.5),
    "temperature 1.25": lambda p: sigmoid(logit(p) / 1.25),
    "temperature 0.75": lambda p: sigmoid(logit(p) / 0.75),
    "log-odds + 0.2": lambda p: sigmoid(logit(p) + 0.2),
    "wave, 10 points": wave,
    "dip, 15 points": lambda p: np.where((p > 0.3) & (p < 0.4), p - 0.15, p),
    "rare region": lambda p: np.where(p > 0.8, p - 0.1, p),
}


def smooth(seed):
    """Return a random smooth curve of the log-odds."""
    rng = np.random.default_rng([7, seed])
    size, phase = rng.normal(0, 1, 4), rng.uniform(0, 2 * np.pi, 4)
    height = rng.uniform(0.25, 0.8)

    def truth(p):
        x = np.minimum(np.abs(logit(p)), 6) * np.sign(logit(p)) / 3
        parts = [size[k] / (1 + k) * np.cos((1 + k) * x + phase[k]) for k in range(4)]
        return sigmoid(logit(p) + height * sum(parts))

    return truth


CURVES = {f"curve {k + 1}": smooth(k) for k in range(20)}
TRUTHS = {**DEVIATIONS, **CURVES}


def stream(name, seed, n, start=0):
    """Return predictions, what is true and outcomes, calibrated before row `start`."""
    rng = np.random.default_rng([list(TRUTHS).index(name), seed])
    p = np.clip(rng.beta(1, 2, n), 1e-9, 1 - 1e-9)
    q = TRUTHS[name](p)
    q[:start] = p[:start]
    return p, q, (rng.random(n) < q).astype(np.uint8)


def first(over):
    """Return the first row at which something is true."""
    found = np.flatnonzero(over)
    return int(found[0]) if found.size else NEVER


def false_alarm(name, n, seed):
    rng = np.random.default_rng([1, list(CALIBRATED).index(name), seed])
    draw = CALIBRATED[name]
    made = draw(rng, n)
    if isinstance(made, tuple):
        pool, rows, labels = made
        state, bets = State.start(), ClassBets.start(pool.shape[1])
        most = max(
            bet_on_classes(
                pool[rows[k : k + 5000]], labels[k : k + 5000], state, bets, 0.0
            ).log_wealth.max()
            for k in range(0, n, 5000)
        )
        return most >= LIMIT
    occurred = rng.random(n) < made
    if name == "urn":  # whose outcomes are part of the predictions
        black = np.round(made * (np.arange(n) + 2))
        occurred = np.append(np.diff(black), 0) > 0.5
        made, occurred = made[:-1], occurred[:-1]
    return (
        bet_on_event(made, occurred.astype(np.uint8), State.start(), 0.0).log_wealth.max() >= LIMIT
    )


def table_of_false_alarms(options, each):
    print(f"{'setting':20} {'alarms':>8}   of {options.sets} streams of {options.rows:,} rows")
    total = 0
    for name in CALIBRATED:
        found = sum(each(partial(false_alarm, name, options.rows), range(options.sets)))
        total += found
        print(f"{name:20} {found / options.sets:8.1%}", flush=True)
    every = options.sets * len(CALIBRATED)
    limit = binom.isf(1e-6, options.sets, 0.05) / options.sets
    print(f"all {total / every:.2%}; a setting may show {limit:.1%} by chance")


def delay(name, n, seed):
    """Return rows to the alarm of the monitor, and of somebody who bets on the truth."""
    p, q, y = stream(name, seed, n)
    traces = bet_on_event(p, y, State.start(), 0.0)
    oracle = np.cumsum(np.log(np.where(y, q / p, (1 - q) / (1 - p))))
    return first(traces.log_wealth >= LIMIT), first(oracle >= LIMIT)


def table_of_delays(options, each, names=tuple(DEVIATIONS)):
    print(f"{'deviation':18} {'rows':>8} {'oracle':>8} {'ratio':>6} {'within 10 x':>12}")
    ratios, within = [], []
    for name in names:
        found = np.array(each(partial(delay, name, options.rows), range(options.sets)))
        mine, oracle = np.median(found + 1, axis=0)
        ratios.append(mine / oracle)
        within.append(np.mean(found[:, 0] + 1 <= 10 * oracle))
        print(f"{name:18} {mine:8,.0f} {oracle:8,.0f} {ratios[-1]:6.1f} {within[-1]:12.0%}")
    middle = np.median(ratios)
    print(f"median ratio {middle:.1f}, worst {max(ratios):.1f}; within 10 x {np.mean(within):.1%}")


def repeated_tests(p, y, every=100):
    """Return the row at which tests of all rows so far, every 100, first reject at 5 % together."""
    tenth = np.minimum((p * 10).astype(int), 9)
    for k, n in enumerate(range(every, p.size + 1, every), 1):
        e, v = y[:n] - p[:n], p[:n] * (1 - p[:n])
        x = logit(p[:n])
        scores = np.array([e.sum(), (e * x).sum()])
        spread = np.array([[v.sum(), (v * x).sum()], [(v * x).sum(), (v * x * x).sum()]])
        of_score = chi2.sf(scores @ np.linalg.solve(spread, scores), 2)
        sums = [np.bincount(tenth[:n], each, 10) for each in (e, v)]
        filled = sums[1] > 0
        of_tenths = chi2.sf((sums[0][filled] ** 2 / sums[1][filled]).sum(), filled.sum())
        if 2 * min(of_score, of_tenths) <= 0.05 * 6 / (np.pi * k) ** 2:
            return n - 1
    return NEVER


def isotonic_bets(p, y, every=100):
    """Return the row at which bets on the isotonic fit to all rows before reach 20."""
    from sklearn.isotonic import IsotonicRegression

    wealth, q = 0.0, p
    for n in range(0, p.size, every):
        part = slice(n, n + every)
        if n:
            fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(p[:n], y[:n])
            q = 0.9 * fit.predict(p) + 0.1 * p
        steps = wealth + np.cumsum(np.log(np.where(y, q / p, (1 - q) / (1 - p))[part]))
        if steps.max() >= LIMIT:
            return n + first(steps >= LIMIT)
        wealth = steps[-1]
    return NEVER


def race(name, n, seed):
    p, _, y = stream(name, seed, n)
    mine = first(bet_on_event(p, y, State.start(), 0.0).log_wealth >= LIMIT)
    return mine, repeated_tests(p, y), isotonic_bets(p, y)


def table_of_rivals(options, each):
    print(f"{'deviation':18} {'earlier than tests':>19} {'than isotonic bets':>19}")
    shares = []
    for name in list(DEVIATIONS) + list(CURVES)[:3]:
        found = np.array(each(partial(race, name, options.rows), range(options.sets)))
        told = found[found.min(axis=1) < NEVER]
        shares.append([np.mean(told[:, 0] < told[:, k]) for k in (1, 2)])
        print(f"{name:18} {shares[-1][0]:19.0%} {shares[-1][1]:19.0%}", flush=True)
    print(f"{'all':18} {np.mean(shares, axis=0)[0]:19.0%} {np.mean(shares, axis=0)[1]:19.0%}")


def change(name, before, seed, after=40_000):
    """Return delays after a change: of a fresh monitor, and of the detector at 10^5 and 10^6."""
    p, _, y = stream(name, seed, before + after, before)
    fresh = first(bet_on_event(p[before:], y[before:], State.start(), 0.0).log_wealth >= LIMIT)
    found = [fresh]
    for limit in (1e5, 1e6):
        at = first(bet_on_event(p, y, State.start(), limit).changed >= limit)
        found.append(-1 if at < before else at - before)
    return found


def table_of_changes(options, each):
    print(f"after {options.before:,} calibrated rows: median rows to an alarm")
    print(f"{'deviation':18} {'fresh':>8} {'10^5':>8} {'ratio':>6} {'10^6':>8} {'ratio':>6}")
    for name in [*DEVIATIONS, *list(CURVES)[:5]]:
        found = np.array(each(partial(change, name, options.before), range(options.sets)))
        fresh, *others = (np.median(c[c >= 0]) + 1 for c in found.T)
        told = "".join(f" {other:8,.0f} {other / fresh:6.1f}" for other in others)
        print(
            f"{name:18} {fresh:8,.0f}{told}   {np.mean(found[:, 1] < 0):.0%} too early", flush=True
        )


def false_change(limit, seed):
    rng = np.random.default_rng([3, seed])
    state, rows = State.start(), 0
    while True:
        p = rng.beta(1, 2, 20_000)
        over = bet_on_event(p, (rng.random(p.size) < p).astype(np.uint8), state, limit).changed
        if over[-1] >= limit:
            return rows + first(over >= limit) + 1
        rows += p.size


def table_of_run_lengths(options, each):
    for limit in (2e3, 2e4):
        found = np.array(each(partial(false_change, limit), range(options.sets)))
        error = found.std() / np.sqrt(found.size)
        print(f"A = {limit:,.0f}: {found.mean():,.0f} ± {error:,.0f} rows to a false alarm")


def covered(name, start, seed, more=60_000):
    """Return whether the interval of the start covers it at the alarm; None without an alarm."""
    p, _, y = stream(name, seed, start + more, start)
    traces = bet_on_event(p, y, State.start(), 1e6)
    row = min(first(traces.log_wealth >= LIMIT), first(traces.changed >= 1e6))
    if row == NEVER or row < start:
        return None
    state = State.start()
    bet_on_event(p[: row + 1], y[: row + 1], state, 0.0)
    low, high = find_start(state.record).interval
    return low <= start <= high


def table_of_starts(options, each):
    starts = (0, 1000, 10_000, 100_000)
    print(f"{'deviation':18} " + " ".join(f"{start:>9,}" for start in starts))
    every = []
    for name in [*DEVIATIONS, *list(CURVES)[:3]]:
        told = []
        for start in starts:
            found = each(partial(covered, name, start), range(options.sets))
            known = [each for each in found if each is not None]
            every += known
            told.append(f"{np.mean(known):>9.0%}" if known else f"{'none':>9}")
        print(f"{name:18} " + " ".join(told), flush=True)
    print(f"all {np.mean(every):.1%} of {len(every)}")


def missed(name, n, seed):
    """Return whether the interval of the bias ever misses, and its width against Wald's."""
    rng = np.random.default_rng([4, seed, list(DEVIATIONS).index(name)])
    p, q = rng.beta(1, 2, n), np.empty(n)
    q[:] = DEVIATIONS[name](np.clip(p, 1e-9, 1 - 1e-9))
    y = rng.random(n) < q
    at = np.unique(np.geomspace(10, n, 400).astype(int)) - 1
    sums = [np.cumsum(each)[at] for each in (y - p, (y - p) ** 2, p - q)]
    ends = np.array([interval(s, v, t + 1, 0.05) for s, v, t in zip(*sums[:2], at, strict=True)])
    true = sums[2] / (at + 1)
    wald = 2 * norm.isf(0.025) * np.sqrt(np.cumsum(q * (1 - q))[at]) / (at + 1)
    widths = [np.ptp(ends[k]) / wald[k] for k in np.searchsorted(at, [999, 9999, n - 1])]
    return [bool(((ends[:, 0] > true) | (ends[:, 1] < true)).any()), *widths]


def table_of_biases(options, each):
    print(f"{'deviation':18} {'ever missed':>12} {'widths at 10^3, 10^4':>22} and {options.rows:,}")
    for name in list(DEVIATIONS):
        found = np.array(each(partial(missed, name, options.rows), range(options.sets)), float)
        told = " ".join(f"{each:7.2f}" for each in found.mean(axis=0)[1:])
        print(f"{name:18} {found[:, 0].mean():12.1%} {told}", flush=True)


def table_of_speeds(_options, _each):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 1_000_000)
    y = (rng.random(p.size) < p).astype(np.uint8)
    for limit, name in ((0.0, "test"), (1e9, "test and detector")):
        began = time.process_time()
        bet_on_event(p, y, State.start(), limit)
        print(
            f"{name:18} {p.size / (time.process_time() - began):12,.0f} rows a second of CPU time"
        )
    monitor = cal.Monitor()
    monitor.update(p, y)
    print(f"state {len(str(monitor.to_dict())) / 1024:.0f} KB after {p.size:,} rows")


def draw_picture(options, _each):
    """A model that was calibrated for 6,000 rows and then became too sure of itself."""
    p, _, y = stream("temperature 1.5", 5, 8000, 6000)
    monitor = cal.Monitor()
    for k in range(0, p.size, 500):
        monitor.update(p[k : k + 500], y[k : k + 500])
    print(monitor.sentence)
    axes = monitor.plot()
    axes.figure.set_size_inches(7.0, 3.6)
    axes.figure.savefig(options.output, dpi=160)


TABLES = {
    "false-alarms": table_of_false_alarms,
    "delays": table_of_delays,
    "curves": partial(table_of_delays, names=tuple(CURVES)),
    "rivals": table_of_rivals,
    "changes": table_of_changes,
    "run-length": table_of_run_lengths,
    "since": table_of_starts,
    "bias": table_of_biases,
    "speed": table_of_speeds,
    "picture": draw_picture,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--sets", type=int, default=100, help="streams of each setting")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of a stream")
    parser.add_argument("--before", type=int, default=100_000, help="calibrated rows of changes")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("-o", "--output", default="monitoring.png")
    options = parser.parse_args()
    if options.jobs == 1:
        TABLES[options.table](options, lambda work, seeds: [work(seed) for seed in seeds])
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        TABLES[options.table](
            options, lambda work, seeds: list(pool.map(_seeded, [work] * len(seeds), seeds))
        )


def _seeded(work, seed):
    return work(seed)


if __name__ == "__main__":
    main()
