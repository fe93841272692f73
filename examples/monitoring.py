"""Measure what docs/monitoring.md says of the monitor, on streams whose truth is known.

    python examples/monitoring.py delays --sets 200
    python examples/monitoring.py curves --sets 100
    python examples/monitoring.py rivals --sets 40
    python examples/monitoring.py changes --sets 30
    python examples/monitoring.py run-length --sets 400
    python examples/monitoring.py since --sets 100
    python examples/monitoring.py bias --sets 300
    python examples/monitoring.py speed
    python examples/monitoring.py picture -o docs/figures/monitoring.png

Each prints a table. Streams have seeds of their own, so that jobs change nothing. False alarms are
counted by `monitoring_false_alarms.py`.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from monitoring_rivals import RIVALS
from monitoring_streams import CURVES, DEVIATIONS, NEVER, first, first_row, stream
from scipy.stats import norm

import calibrant as cal
from calibrant.engine.wealth import EventState, bet_on_event
from calibrant.monitor.bias import interval
from calibrant.monitor.starts import find_start

LIMIT = np.log(20)  # of log E: an alarm at 5 %


def alarmed(traces):
    """Return after which rows the test has an alarm."""
    return traces.log_wealth >= LIMIT


def delay(name, n, seed):
    """Return rows to the alarm of the monitor, and of somebody who bets on the truth."""
    p, q, y = stream(name, seed, n)
    oracle = np.cumsum(np.log(np.where(y, q / p, (1 - q) / (1 - p))))
    return first_row(p, y, alarmed), first(oracle >= LIMIT)


def table_of_delays(options, each, names=tuple(DEVIATIONS)):
    """Print rows to the alarm beside those of the oracle."""
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


def race(name, n, seed):
    """Return the rows of the alarms of the monitor and of its rivals."""
    p, _, y = stream(name, seed, n)
    return first_row(p, y, alarmed), *(rival(p, y) for rival in RIVALS.values())


def table_of_rivals(options, each):
    """Print how often the monitor is earlier than others, of streams in which one has an alarm."""
    print(f"earlier than {'':18}" + " ".join(f"{name:>18}" for name in RIVALS))
    every = []
    for name in list(DEVIATIONS) + list(CURVES)[3:6]:
        every.append(np.array(each(partial(race, name, options.rows), range(options.sets))))
        _print_race(name, every[-1])
    _print_race("all", np.concatenate(every))


def _print_race(name, rows):
    shares = []
    for rival in rows.T[1:]:
        one = np.minimum(rows[:, 0], rival) < NEVER
        shares.append(f"{np.mean((rows[:, 0] < rival)[one]):9.0%} of {one.sum():5}")
    print(f"{name:18} " + " ".join(f"{each:>18}" for each in shares), flush=True)


def change(name, before, seed, after=40_000):
    """Return rows to an alarm of the detector at 10^5 and 10^6; -1 for one before the change."""
    p, _, y = stream(name, seed, before + after, before)
    limits = (1e5, 1e6)
    found = [first_row(p, y, partial(changed_at, limit), limit) for limit in limits]
    return [-1 if at < before else at - before for at in found]


def changed_at(limit, traces):
    """Return after which rows the detector has an alarm."""
    return traces.changed >= limit


def table_of_changes(options, each):
    """Print rows to an alarm after a late change, beside those of a fresh monitor."""
    print(f"after {options.before:,} calibrated rows: median rows to an alarm")
    print(f"{'deviation':18} {'fresh':>8} {'10^5':>8} {'ratio':>6} {'10^6':>8} {'ratio':>6}")
    for name in options.names or [*DEVIATIONS, *list(CURVES)[1:6]]:
        fresh = each(partial(delay, name, 40_000), range(5 * options.sets))
        alone = np.median([rows for rows, _ in fresh]) + 1
        found = np.array(each(partial(change, name, options.before), range(options.sets)))
        late = [np.median(column[column >= 0]) + 1 for column in found.T]
        delays = "".join(f" {rows:8,.0f} {rows / alone:6.1f}" for rows in late)
        left = (found >= 0).sum(axis=0)
        print(f"{name:18} {alone:8,.0f}{delays}   {left[0]} and {left[1]} streams", flush=True)


def false_change(limit, seed):
    """Return the rows to a false alarm of the detector."""
    rng = np.random.default_rng([3, seed])
    state, rows = EventState.start(), 0
    while True:
        p = rng.beta(1, 2, 20_000)
        over = bet_on_event(p, (rng.random(p.size) < p).astype(np.uint8), state, limit).changed
        if over[-1] >= limit:
            return rows + first(over >= limit) + 1
        rows += p.size


def table_of_run_lengths(options, each):
    """Print the mean of those rows."""
    for limit in (2e3, 2e4):
        found = np.array(each(partial(false_change, limit), range(options.sets)))
        error = found.std() / np.sqrt(found.size)
        print(f"A = {limit:,.0f}: {found.mean():,.0f} ± {error:,.0f} rows to a false alarm")


def covered(name, start, seed, more=60_000):
    """Return whether the interval of the start covers it at the alarm, its width and the delay.

    None without an alarm, and of one before the start.
    """
    p, _, y = stream(name, seed, start + more, start)
    row = first_row(p, y, lambda traces: alarmed(traces) | (traces.changed >= 1e6), 1e6)
    if row == NEVER or row < start:
        return None
    state = EventState.start()
    bet_on_event(p[: row + 1], y[: row + 1], state, 0.0)
    low, high = find_start(state.record).interval
    return low <= start <= high, high - low + 1, row - start + 1


def table_of_starts(options, each):
    """Print how often the interval of the start covers it, its median width and the delay."""
    starts = (0, 1000, 10_000, 100_000)
    print(f"{'':18} " + " ".join(f"{start:>27,}" for start in starts))
    print("deviation" + " " * 10 + " ".join(f"{'covers    of width  delay':>27}" for _ in starts))
    every = []
    for name in options.names or [*DEVIATIONS, *list(CURVES)[:3]]:
        coverages = []
        for start in starts:
            found = each(partial(covered, name, start), range(options.sets))
            known = [each for each in found if each is not None]
            every += known
            coverages.append(_coverage(known))
        print(f"{name:18} " + " ".join(coverages), flush=True)
    print(f"all {np.mean([each[0] for each in every]):.1%} of {len(every)}")


def _coverage(known):
    if not known:
        return f"{'none':>27}"
    share, width, delay = np.mean(known, axis=0)[0], *np.median(known, axis=0)[1:]
    return f"{share:7.1%}{len(known):5}{width:8,.0f}{delay:7,.0f}"


def missed(name, n, seed):
    """Return whether the interval of the bias ever misses, and its width against Wald's."""
    rng = np.random.default_rng([4, seed, list(DEVIATIONS).index(name)])
    p, q = rng.beta(1, 2, n), np.empty(n)
    q[:] = DEVIATIONS[name](np.clip(p, 1e-9, 1 - 1e-9))
    y = rng.random(n) < q
    at = np.unique(np.geomspace(10, n, 120).astype(int)) - 1
    sums = [np.cumsum(each)[at] for each in (y - p, (y - p) ** 2, p - q)]
    ends = np.array([interval(s, v, t + 1, 0.05) for s, v, t in zip(*sums[:2], at, strict=True)])
    true = sums[2] / (at + 1)
    wald = 2 * norm.isf(0.025) * np.sqrt(np.cumsum(q * (1 - q))[at]) / (at + 1)
    widths = [np.ptp(ends[k]) / wald[k] for k in np.searchsorted(at, [999, 9999, n - 1])]
    return [bool(((ends[:, 0] > true) | (ends[:, 1] < true)).any()), *widths]


def table_of_biases(options, each):
    """Print how often the interval of the bias ever misses."""
    print(f"{'deviation':18} {'ever missed':>12} {'widths at 10^3, 10^4':>22} and {options.rows:,}")
    for name in list(DEVIATIONS):
        found = np.array(each(partial(missed, name, options.rows), range(options.sets)), float)
        widths = " ".join(f"{each:7.2f}" for each in found.mean(axis=0)[1:])
        print(f"{name:18} {found[:, 0].mean():12.1%} {widths}", flush=True)


def table_of_speeds(_options, _each):
    """Print rows a second, and the size of the state."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 1_000_000)
    y = (rng.random(p.size) < p).astype(np.uint8)
    for limit, name in ((0.0, "test"), (1e9, "test and detector")):
        began = time.process_time()
        bet_on_event(p, y, EventState.start(), limit)
        print(
            f"{name:18} {p.size / (time.process_time() - began):12,.0f} rows a second of CPU time"
        )
    monitor = cal.Monitor()
    monitor.update(p, y)
    print(f"state {len(str(monitor.to_dict())) / 1024:.0f} KB after {p.size:,} rows")


def draw_picture(options, _each):
    """A model that was calibrated for 6,000 rows and then became too sure of itself."""
    p, _, y = stream("temperature 1.5", 5, 9000, 6000)
    monitor = cal.Monitor()
    for k in range(0, p.size, 500):
        monitor.update(p[k : k + 500], y[k : k + 500])
    print(monitor.sentence)
    axes = monitor.plot()
    axes.figure.set_size_inches(7.0, 3.6)
    axes.figure.savefig(options.output, dpi=160)


TABLES = {
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
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--sets", type=int, default=100, help="streams of each setting")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of a stream")
    parser.add_argument("--before", type=int, default=100_000, help="calibrated rows of changes")
    parser.add_argument("--names", nargs="*", help="deviations of changes and since")
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
