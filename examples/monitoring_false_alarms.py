"""Count false alarms of the monitor on calibrated streams of twenty kinds.

    python examples/monitoring_false_alarms.py --rows 20000 --sets 200
    python examples/monitoring_false_alarms.py --jobs 16 --seconds 200 --out DIR

The first takes so many streams of each kind. The second takes 1,000 of 20,000 rows and 100 of 10^6
rows of each, those of many classes first. Both end after --seconds. A line of DIR/streams.csv is
kept of each stream that was watched to its alarm or its end; the same command goes on from there.
NumPy and the compiled loops are all that is needed. Streams have seeds of their own, so that jobs
change nothing.
"""

import argparse
import csv
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import lgamma
from pathlib import Path

import numpy as np
from monitoring_streams import CALIBRATED, NEVER, first_row

from calibrant.engine.class_bets import ClassBets
from calibrant.engine.wealth import EventState, bet_on_classes

LIMIT = np.log(20)  # of log E: an alarm at 5 %
LONG = 1_000_000
MANY = ("1000 classes", "100 classes")
TASK = 1_000_000  # rows of streams that one process takes at a time
PORTION = 50  # rows of many classes that are bet on at a time


def false_alarm(name, n, seed, until=np.inf):
    """Return whether a calibrated stream has an alarm; None if time ended first."""
    if time.monotonic() > until:
        return None
    rng = np.random.default_rng([1, list(CALIBRATED).index(name), seed])
    made = CALIBRATED[name](rng, n)
    if isinstance(made, tuple):
        return _of_classes(*made, until)
    occurred = rng.random(n) < made
    if name == "urn":  # whose outcomes are part of the predictions
        black = np.round(made * (np.arange(n) + 2))
        occurred = np.append(np.diff(black), 0) > 0.5
        made, occurred = made[:-1], occurred[:-1]
    row = first_row(made, occurred.astype(np.uint8), lambda traces: traces.log_wealth >= LIMIT)
    return row < NEVER


def _of_classes(pool, rows, labels, until):
    state, bets = EventState.start(), ClassBets.start(pool.shape[1])
    buffer = np.empty((PORTION, pool.shape[1]))  # one for all portions: new memory takes its time
    for k in range(0, rows.size, PORTION):
        part = rows[k : k + PORTION]
        probs = np.take(pool, part, axis=0, out=buffer[: part.size], mode="clip")
        traces = bet_on_classes(probs, labels[k : k + PORTION], state, bets, 0.0)
        if (traces.log_wealth >= LIMIT).any():
            return True
        if time.monotonic() > until:
            return None
    return False


def task(name, n, seeds, until):
    """Return kind, rows, seed and alarm of some streams, as far as there is time."""
    found = [(name, n, seed, false_alarm(name, n, seed, until)) for seed in seeds]
    return [each for each in found if each[-1] is not None]


def full():
    """Yield kind, rows and seeds of all that is promised, in the order in which they are wanted."""
    others = [name for name in reversed(CALIBRATED) if name not in MANY]
    yield from ((name, 20_000, range(1000)) for name in [*MANY, *others])
    yield from ((name, LONG, range(100)) for name in [*MANY, *others])


def tasks(options, known):
    """Yield kind, rows and seeds of what one process does at a time."""
    plan = full()
    if options.rows:
        plan = ((name, options.rows, range(options.sets)) for name in CALIBRATED)
    for name, n, seeds in plan:
        if options.kinds and name not in options.kinds:
            continue
        left = [seed for seed in seeds if (name, n, seed) not in known]
        step = max(1, TASK // n)
        yield from ((name, n, left[k : k + step]) for k in range(0, len(left), step))


def done(options, known, until):
    """Yield the results of tasks as they come."""
    if options.jobs == 1:
        yield from (task(*each, until) for each in tasks(options, known))
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        submitted = [pool.submit(task, *each, until) for each in tasks(options, known)]
        for each in as_completed(submitted):
            yield each.result()


def at_least(count, n, share=0.05):
    """Return the chance that so many or more of n streams have an alarm, at 5 %."""
    k = range(count, n + 1)
    logs = [lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) for i in k]
    known = np.array(logs) + np.array(k) * np.log(share) + (n - np.array(k)) * np.log1p(-share)
    return min(1.0, float(np.exp(known).sum()))


def table(streams):
    """Return lines of text: how many streams of each kind and length there are, and alarms."""
    lines = [f"{'kind':18} {'rows':>9} {'streams':>8} {'alarms':>7}         at 5 %"]
    for n in sorted({n for _, n, _ in streams}):
        kinds = defaultdict(list)
        for (name, rows, _), alarm in streams.items():
            if rows == n:
                kinds[name].append(alarm)
                kinds["all"].append(alarm)
        for name in [*CALIBRATED, "all"]:
            if name in kinds:
                alarms, count = sum(kinds[name]), len(kinds[name])
                chance = f"{alarms / count:7.1%} {at_least(alarms, count):6.2g}"
                lines.append(f"{name:18} {n:9,} {count:8,} {alarms:7,} {chance}")
    return lines


def read(path):
    """Return the streams of a file by kind, rows and seed, and whether each had an alarm."""
    if path is None or not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            (name, int(n), int(seed)): alarm == "1" for name, n, seed, alarm in csv.reader(file)
        }


def main():
    """Count, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows of a stream; without it, all lengths")
    parser.add_argument("--sets", type=int, default=100, help="streams of each kind, with --rows")
    parser.add_argument("--kinds", nargs="*", choices=CALIBRATED, help="only these kinds")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=1e6, help="end after so many")
    parser.add_argument("--out", type=Path, help="folder for streams.csv")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    path = options.out and options.out / "streams.csv"
    streams = read(path)
    for found in done(options, set(streams), until):
        streams.update({tuple(key): alarm for *key, alarm in found})
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", newline="") as file:
                csv.writer(file).writerows((*key, int(alarm)) for *key, alarm in found)
    print("\n".join(table(streams)))


if __name__ == "__main__":
    main()
