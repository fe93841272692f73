"""Count false alarms of the monitor on calibrated streams of twenty kinds.

    python examples/monitoring_false_alarms.py --rows 20000 --sets 200
    python examples/monitoring_false_alarms.py --jobs 16 --seconds 200 --out DIR

The first takes so many streams of each kind. The second takes 1,000 of 20,000 rows and 100 of 10^6
rows of each, those of many classes first. Both end after --seconds, say how many streams were
finished until then, and write false-alarms.txt and .json into --out. NumPy and the compiled loops
are all that is needed. Streams have seeds of their own, so that jobs change nothing.
"""

import argparse
import json
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import lgamma
from pathlib import Path

import numpy as np
from monitoring_streams import CALIBRATED, NEVER, first_row

from calibrant.engine.class_bets import ClassBets
from calibrant.engine.wealth import State, bet_on_classes

LIMIT = np.log(20)  # of log E: an alarm at 5 %
LONG = 1_000_000
MANY = ("1000 classes", "100 classes")
TASK = 1_000_000  # rows of streams that one process takes at a time


def false_alarm(name, n, seed, until=np.inf):
    """Return how many rows of a calibrated stream were watched, and whether there is an alarm."""
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
    return n, row < NEVER


def _of_classes(pool, rows, labels, until):
    state, bets, portion = State.start(), ClassBets.start(pool.shape[1]), 500
    for k in range(0, rows.size, portion):
        part = slice(k, k + portion)
        if (bet_on_classes(pool[rows[part]], labels[part], state, bets, 0.0)[0] >= LIMIT).any():
            return rows.size, True
        if time.monotonic() > until:
            return min(k + portion, rows.size), False
    return rows.size, False


def task(name, n, seeds, until):
    """Return rows watched and alarms of some streams of a kind, and how many were not begun."""
    found = []
    for seed in seeds:
        if time.monotonic() > until:
            break
        found.append(false_alarm(name, n, seed, until))
    return name, n, found


def full():
    """Yield kind, rows and seeds of all that is promised, in the order in which they are wanted."""
    others = [name for name in reversed(CALIBRATED) if name not in MANY]
    yield MANY[0], LONG, range(16)
    yield MANY[1], LONG, range(100)
    yield from ((name, 20_000, range(1000)) for name in [*MANY, *others])
    yield MANY[0], LONG, range(16, 32)
    yield from ((name, LONG, range(100)) for name in others)
    yield MANY[0], LONG, range(32, 100)


def tasks(options):
    """Yield kind, rows and seeds of what one process does at a time."""
    plan = full()
    if options.rows:
        plan = ((name, options.rows, range(options.sets)) for name in CALIBRATED)
    for name, n, seeds in plan:
        step = max(1, TASK // n)
        for k in range(seeds.start, seeds.stop, step):
            if not options.kinds or name in options.kinds:
                yield name, n, range(k, min(k + step, seeds.stop))


def done(options, until):
    """Yield the results of tasks as they come."""
    if options.jobs == 1:
        yield from (task(*each, until) for each in tasks(options))
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        for each in as_completed([pool.submit(task, *each, until) for each in tasks(options)]):
            yield each.result()


def summary(streams):
    """Return, for each kind and length, how many streams there were and had an alarm.

    Those that were cut short at the end of time count: what they did not see has no alarm.
    """
    found = []
    for (name, n), each in sorted(streams.items(), key=lambda item: item[0][1]):
        alarms = int(sum(alarm for _, alarm in each))
        cut = [rows for rows, _ in each if rows < n]
        counts = {"streams": len(each), "alarms": alarms, "cut": len(cut), "rows_of_cut": sum(cut)}
        chance = at_least(alarms, len(each))
        found.append({"kind": name, "rows": n, **counts, "chance": chance})
    return [each for each in found if each["streams"]]


def at_least(count, n, share=0.05):
    """Return the chance that so many or more of n streams have an alarm, at 5 %."""
    k = range(count, n + 1)
    logs = [lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) for i in k]
    known = np.array(logs) + np.array(k) * np.log(share) + (n - np.array(k)) * np.log1p(-share)
    return min(1.0, float(np.exp(known).sum()))


def table(found):
    """Return lines of text."""
    lines = [f"{'kind':18} {'rows':>9} {'streams':>8} {'alarms':>7}         at 5 %  cut"]
    for n in sorted({each["rows"] for each in found}):
        these = [each for each in found if each["rows"] == n]
        lines += [_line(each) for each in these]
        total = {name: sum(each[name] for each in these) for name in ("streams", "alarms", "cut")}
        chance = at_least(total["alarms"], total["streams"])
        lines.append(_line({"kind": "all", "rows": n, "chance": chance, **total}))
    return lines


def _line(each):
    share = each["alarms"] / max(each["streams"], 1)
    told = f"{each['kind']:18} {each['rows']:9,} {each['streams']:8,} {each['alarms']:7,}"
    return f"{told} {share:7.1%} {each['chance']:6.2g} {each['cut']:4}"


def write(found, folder):
    """Write the table and its numbers into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "false-alarms.txt").write_text("\n".join(table(found)) + "\n")
    (folder / "false-alarms.json").write_text(json.dumps(found, indent=1))


def main():
    """Count, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows of a stream; without it, all lengths")
    parser.add_argument("--sets", type=int, default=100, help="streams of each kind, with --rows")
    parser.add_argument("--kinds", nargs="*", choices=CALIBRATED, help="only these kinds")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=1e6, help="end after so many")
    parser.add_argument("--out", type=Path, help="folder for the results")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    streams, written = defaultdict(list), time.monotonic()
    for name, n, found in done(options, until):
        streams[name, n] += found
        if options.out and time.monotonic() > written + 10:
            write(summary(streams), options.out)
            written = time.monotonic()
    print("\n".join(table(summary(streams))))
    if options.out:
        write(summary(streams), options.out)


if __name__ == "__main__":
    main()
