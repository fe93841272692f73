"""What a search of regions promises, tried on data whose truth is known.

    python examples/regions.py level --sets 1000 --jobs 16
    python examples/regions.py power --sets 400 --jobs 16
    python examples/regions.py clusters --sets 1000 --jobs 16
    python examples/regions.py slopes --sets 250 --jobs 16
    python examples/regions.py tilts --sets 60 --jobs 16
    python examples/regions.py maps --sets 200 --jobs 16
    python examples/regions.py leaks --sets 10000 --jobs 16
    python examples/regions.py speed

`level`: calibrated models in 12 settings; how often any region is rejected at 5 %. `power`: regions
that are planted in 12 settings, in and outside the candidates; how often the search rejects, and a
split does: the strongest region, or leaf of a tree, of one half of the rows, tested on the other.
Then how near the region is, and the nearest of all, whether its interval covers, and how often a
region is rejected that lies beside the planted one. `slopes`: the level of the slope. `tilts`:
regions whose predictions are too extreme, as the slope and the bias find them. `maps`: calibrators
by region, of calibrated models and where a region is planted. `clusters`: correlated rows. `leaks`:
columns that know the label.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from scipy.special import ndtr

import calibrant as cal
from calibrant.cross_fitting.by_region import beside
from calibrant.cuts.columns import distinct_values
from calibrant.engine import threads
from calibrant.inference.replicates.problem import Plan
from calibrant.regions.evidence import search_replicates
from calibrant.regions.leaks import DETERMINED, SUSPECT, known_share
from calibrant.regions.rows import Seen
from calibrant.regions.searching import How, look
from calibrant.resampling import Exact

RESAMPLES = 199
N = 2000


def drawn(probs, rng):
    """Draw labels from probabilities (n,) or (n, m)."""
    if probs.ndim == 1:
        return (rng.random(len(probs)) < probs).astype(int)
    upto = probs.cumsum(axis=1)
    return (upto < rng.random((len(probs), 1)) * upto[:, -1:]).sum(axis=1)


def plain_columns(rng, n=N):
    """Return three numbers and two categories, independent of each other."""
    numbers = {name: rng.normal(size=n) for name in ("age", "dose", "score")}
    return numbers | {"site": rng.choice(list("ABC"), n), "ward": rng.choice(list("uvwxyz"), n)}


def independent(rng):
    """Columns say nothing of each other."""
    return rng.beta(1, 2, N), plain_columns(rng), {}


def correlated(rng):
    """Columns say nearly the same."""
    shared = rng.normal(size=(N, 1))
    numbers = shared + 0.4 * rng.normal(size=(N, 5))
    columns = {f"x{j}": numbers[:, j] for j in range(5)}
    return rng.beta(1, 2, N), columns | {"site": np.where(shared[:, 0] > 0.5, "A", "B")}, {}


def rare(rng):
    """Rare events, and levels of 20 rows."""
    levels = rng.choice(list("ABCDEFGH"), N, p=[0.6, 0.2, 0.1, 0.04, 0.03, 0.01, 0.01, 0.01])
    return rng.beta(1, 30, N), plain_columns(rng) | {"level": levels}, {}


def extreme(rng):
    """Predictions near 0 and 1."""
    return rng.beta(0.2, 0.2, N), plain_columns(rng), {}


def predicted_by_columns(rng):
    """Predictions follow from the columns."""
    columns = plain_columns(rng)
    logit = columns["age"] + 0.7 * columns["dose"] + (columns["site"] == "B")
    return 1 / (1 + np.exp(-logit)), columns, {}


def tied(rng):
    """Four different predictions."""
    return rng.choice([0.1, 0.3, 0.5, 0.9], N), plain_columns(rng), {}


def few_rows(rng):
    """300 rows."""
    return rng.beta(1, 2, 300), plain_columns(rng, 300), {}


def many_columns(rng):
    """Fifteen columns, 1,000 rows."""
    columns = {f"x{j}": rng.normal(size=1000) for j in range(10)}
    return rng.beta(2, 2, 1000), columns | plain_columns(rng, 1000), {}


def dates(rng):
    """Dates, missing values and counts."""
    days = np.datetime64("2024-01-01") + rng.integers(0, 400, N)
    lab = np.where(rng.random(N) < 0.3, np.nan, rng.exponential(size=N))
    return rng.beta(1, 2, N), {"day": days, "lab": lab, "visits": rng.poisson(1, N)}, {}


def three_classes(rng):
    """The top label of three classes."""
    return rng.dirichlet([1, 1, 1], N), plain_columns(rng), {}


def every_class(rng):
    """Each of ten classes."""
    return rng.dirichlet(np.ones(10), N), plain_columns(rng), {"lens": "classes"}


def thousand_classes(rng):
    """The top label of 1,000 classes."""
    probs = rng.dirichlet(np.full(1000, 0.01), 500)
    return probs, plain_columns(rng, 500), {}


LEVELS = (independent, correlated, rare, extreme, predicted_by_columns, tied, few_rows)
LEVELS += (many_columns, dates, three_classes, every_class, thousand_classes)


def one_level(make, seed, statistic="bias"):
    """Return the p-value of one calibrated data set."""
    rng = np.random.default_rng(seed)
    probs, columns, how = make(rng)
    data = cal.Predictions(probs, drawn(probs, rng))
    how |= {"n_resamples": RESAMPLES, "rng": seed, "statistic": statistic}
    return cal.search(data, columns, **how).pvalue


def quantiles(values):
    """Return the ranks of numbers, from 0 to 1."""
    return np.argsort(np.argsort(values)) / len(values)


def planted(name, c):
    """Return which rows of columns c are off."""
    age, dose, score = (quantiles(c[key]) for key in ("age", "dose", "score"))
    return {
        "level and half": (c["site"] == "B") & (age < 0.5),
        "one level": c["site"] == "B",
        "interval, off the grid": (age > 0.31) & (age < 0.49),
        "corner, off the grid": (age > 0.68) & (dose < 0.31),
        "level and level": (c["site"] == "A") & np.isin(c["ward"], ["u", "v"]),
        "three conditions": (c["site"] == "B") & (age < 0.5) & (dose < 0.33),
        "disc": (age - 0.5) ** 2 + (dose - 0.5) ** 2 < 0.06,
        "diagonal": np.abs(age - dose) < 0.1,
        "tail": score > 0.875,
        "two halves": (age < 0.5) & (dose < 0.5),
        "level and corner": (c["ward"] == "w") & (score > 0.4),
        "high predictions": (c["p"] > 0.5) & (c["site"] != "C"),
    }[name]


# How far probabilities of these rows are off: chosen so that a split finds about a third.
PLANTED = {
    "level and half": 0.10, "one level": 0.06, "interval, off the grid": 0.10,
    "corner, off the grid": 0.14, "level and level": 0.13, "three conditions": 0.20,
    "disc": 0.12, "diagonal": 0.12, "tail": 0.12, "two halves": 0.08,
    "level and corner": 0.14, "high predictions": 0.10,
}  # fmt: skip


def shifted(name, factor, rng):
    """Return data with a planted region, its columns, its rows, and the true probabilities."""
    columns, p = plain_columns(rng), rng.beta(2, 3, N)
    rows = planted(name, columns | {"p": p})
    truth = np.clip(p - rows * factor * PLANTED[name], 0.01, 0.99)
    return cal.Predictions(p, drawn(truth, rng)), columns, rows, truth


def one_power(name, factor, seed):
    """Return, of one data set: rejections of search, split and tree; Jaccard, of the nearest
    region that is looked at, too; cover; false.
    """
    rng = np.random.default_rng([seed, 1])
    data, columns, rows, truth = shifted(name, factor, rng)
    plan = Plan.of(data, Exact(), RESAMPLES, seed, None)
    found = cal.search(data, columns, n_resamples=RESAMPLES, rng=seed)
    top = (found.rows or (found.strongest,))[0]
    jaccard = (top.mask & rows).sum() / (top.mask | rows).sum()
    bias = (data.probs[:, 1] - truth)[top.mask].mean()
    looked = look(data, columns, plan, How())
    every = search_replicates(looked.evidence, looked.rows, plan)
    shared = every.evidence.candidates.sums(looked.rows.codes, rows.astype(int)[:, None])[:, 0]
    nearest = (shared / (every.evidence.n + rows.sum() - shared)).max()
    false = bool((every.pvalues[shared == 0] <= 0.05).any())
    half = rng.random(N) < 0.5
    return (
        found.pvalue <= 0.05,
        split_rejects(data, looked, every.evidence.candidates, half),
        tree_rejects(data, columns, half),
        jaccard,
        nearest,
        top.interval[0] <= bias <= top.interval[1],
        false,
    )


def z_of(data, rows):
    """Return the standardised residual of some rows."""
    p, y = data.probs[rows, 1], data.labels[rows]
    return (y - p).sum() / np.sqrt(max((p * (1 - p)).sum(), 1e-9))


def split_rejects(data, looked, candidates, half):
    """Find the strongest of the same regions on one half, and test it on the other."""
    p, y = data.probs[:, 1], data.labels
    units = np.stack((y - p, p * (1 - p)), axis=1)
    whole = np.rint(units * half[:, None] * 2.0**40).astype(np.int64)
    residual, variance = candidates.sums(looked.rows.codes, whole).T / 2.0**40
    enough = variance >= 5
    z = np.where(enough, np.abs(residual) / np.sqrt(np.maximum(variance, 1e-9)), 0)
    mask = candidates.mask(int(np.argmax(z)), looked.rows.codes)
    return abs(z_of(data, mask & ~half)) > 1.96


def tree_rejects(data, columns, half):
    """Grow a tree of depth two on the residuals of one half; test its worst leaf on the other."""
    p = data.probs[:, 1]
    features = []
    for values in (*columns.values(), p):
        if np.asarray(values).dtype.kind == "U":
            features += [(values == level).astype(float) for level in np.unique(values)]
        else:
            features.append(np.asarray(values, float))
    leaves = grow(np.stack(features, axis=1), data.labels - p, half, 2)
    worst = max(leaves, key=lambda leaf: abs(z_of(data, leaf & half)))
    return abs(z_of(data, worst & ~half)) > 1.96


def grow(features, residual, half, depth, rows=None):
    """Return the leaves of a tree: masks of all rows, chosen by the rows of one half."""
    rows = np.ones(len(residual), bool) if rows is None else rows
    if depth == 0:
        return [rows]
    best, chosen = 0.0, None
    here = rows & half
    for j in range(features.shape[1]):
        order = np.argsort(features[here, j], kind="stable")
        x, e = features[here, j][order], residual[here][order]
        left = np.cumsum(e)[:-1]
        k = np.arange(1, len(e))
        gain = left**2 / k + (e.sum() - left) ** 2 / (len(e) - k) - e.sum() ** 2 / len(e)
        gain[(x[1:] == x[:-1]) | (k < 40) | (len(e) - k < 40)] = 0
        at = int(np.argmax(gain))
        if gain[at] > best:
            best, chosen = gain[at], (j, (x[at] + x[at + 1]) / 2)
    if chosen is None:
        return [rows]
    below = features[:, chosen[0]] < chosen[1]
    parts = (rows & below, rows & ~below)
    return [leaf for part in parts for leaf in grow(features, residual, half, depth - 1, part)]


# By what log-odds are multiplied in these rows.
TILTED = {"one level": 0.6, "level and half": 0.4, "two halves": 0.5, "tail": 2.5}


def one_slope(name, seed):
    """Return, of data too extreme in a region: what both find; Jaccard, cover, naively."""
    rng = np.random.default_rng([seed, 4])
    columns, p = plain_columns(rng), rng.beta(2, 3, N)
    rows, odds = planted(name, columns | {"p": p}), np.log(p / (1 - p))
    factor, middle = TILTED[name], odds[rows].mean()
    truth = np.where(rows, 1 / (1 + np.exp(-(middle + factor * (odds - middle)))), p)
    data = cal.Predictions(p, drawn(truth, rng))
    how = {"n_resamples": RESAMPLES, "rng": seed}
    bias = cal.search(data, columns, **how)
    found = cal.search(data, columns, statistic="slope", **how)
    top = found.strongest
    jaccard = (top.mask & rows).sum() / (top.mask | rows).sum()
    x, v = odds[top.mask], (p * (1 - p))[top.mask]
    away = x - v @ x / v.sum()
    norm = np.sqrt(x.size * (away**2).sum())
    off = (p - truth)[top.mask] @ away / norm
    naive = abs(top.off - off) <= 1.96 * np.sqrt(v @ away**2) / norm
    covers = top.interval[0] <= off <= top.interval[1]
    return found.pvalue <= 0.05, bias.pvalue <= 0.05, jaccard, covers, naive


def slopes(sets, jobs):
    """Print how often calibrated models are rejected for a slope."""
    print(f"slopes, calibrated, {len(sets)} sets each: rejected at 5 %")
    for make in (independent, rare, extreme, few_rows):
        work = partial(one_level, make, statistic="slope")
        p = np.array(in_processes(work, sets, jobs))
        print(f"{make.__name__:22} {100 * (p <= 0.05).mean():5.1f} %", flush=True)


def tilts(sets, jobs):
    """Print how often regions are found whose predictions are too extreme, or not enough."""
    print(f"planted slopes, {len(sets)} sets each: rejected by slope, by bias;")
    print("Jaccard of at least one half, interval covers, naive interval covers, in %")
    for name in TILTED:
        found = in_processes(partial(one_slope, name), sets, jobs)
        slope, bias, jaccard, covers, naive = np.array(found, float).T
        numbers = [slope, bias, jaccard >= 0.5, covers, naive]
        print(f"{name:22}", *(f"{100 * each.mean():6.1f}" for each in numbers), flush=True)


def one_map(name, seed):
    """Return what is recommended, and the change of the log loss of fresh rows by it."""
    rng = np.random.default_rng([seed, 5])

    def rows():
        if name == "none":
            columns, p = plain_columns(rng), rng.beta(2, 3, N)
            return cal.Predictions(p, drawn(p, rng)), columns
        return shifted(name, 1.5, rng)[:2]

    data, columns = rows()
    found = cal.recalibrate(data, by=columns, n_resamples=99, rng=seed)
    fresh, beside_them = rows()
    fresh = beside(fresh, beside_them)
    after = found.map()(fresh)
    change = cal.log_score(after) - cal.log_score(fresh)
    return found.recommended != "as it is", found.recommended == "by region", change


def maps(sets, jobs):
    """Print how often calibrators by region are recommended, and what they do to fresh rows."""
    print(f"calibrators by region, {len(sets)} sets each: any recommended, by region;")
    print("change of log loss")
    for name in ("none", "one level", "level and half", "tail"):
        found = np.array(in_processes(partial(one_map, name), sets, jobs), float)
        some, regional, change = found.T
        worse = (change[regional > 0] > 0).mean() if regional.any() else 0.0
        print(
            f"{name:16} {100 * some.mean():6.1f} % {100 * regional.mean():6.1f} %"
            f" {change.mean():+.4f} on average, worse in {100 * worse:.0f} % of those by region",
            flush=True,
        )


def one_cluster(by_cluster, share, seed):
    """Return the p-values with and without clusters of data whose rows are correlated."""
    rng = np.random.default_rng([seed, 2])
    clusters = np.repeat(np.arange(100), 20)
    columns = plain_columns(rng, 100 if by_cluster else N)
    if by_cluster:
        columns = {name: values[clusters] for name, values in columns.items()}
    p = rng.beta(*((1, 20) if share == "rare" else (2, 3)), N)
    shared, own = rng.normal(size=100)[clusters], rng.normal(size=N)
    labels = ndtr(np.sqrt(0.2) * shared + np.sqrt(0.8) * own) < p
    how = {"n_resamples": RESAMPLES, "rng": seed}
    data = cal.Predictions(p, labels, clusters=clusters)
    try:
        flipped = cal.search(data, columns, **how).pvalue
    except ValueError:  # clusters are too few to tell
        flipped = 1.0
    return flipped, cal.search(p, labels, columns, **how).pvalue


def one_leak(kind, seed):
    """Return how much of the label one column tells beside the predictions."""
    rng = np.random.default_rng([seed, 3])
    n = int(rng.choice([200, 500, 2000]))
    p = rng.beta(*[(1, 2), (2, 2), (0.3, 0.3), (1, 20)][seed % 4], n).clip(1e-6, 1 - 1e-6)
    odds = (p / (1 - p)) ** rng.choice([0.3, 0.6, 1.0, 1.6, 3.0])
    y = drawn(odds / (1 + odds), rng)
    if min(y.sum(), n - y.sum()) < 10:
        return np.nan  # too few to tell
    values = columns_of(kind, rng, p, y)
    data = cal.Predictions(p, y)
    distinct = distinct_values({"x": values}, n)["x"]
    return known_share(distinct, Seen({}, {}, [data.labels], p, np.zeros(n, np.int64)))


def columns_of(kind, rng, p, y):
    """Return a column that was known before the outcome, or one that was not."""
    n = len(p)
    score = np.log(p / (1 - p))
    return {
        "honest: noise": rng.normal(size=n),
        "honest: levels": rng.choice(list("abcdefghijklmnop"), n),
        "honest: the score behind p": score,
        "honest: near the score": score + rng.normal(size=n),
        "honest: codes of 12 rows": (np.arange(n) % (n // 12)).astype(str),
        "label, in words": np.where(y == 1, "died", "alive"),
        "label, within numbers": y * 10 + rng.random(n),
        "label, 2 % wrong": np.where(rng.random(n) < 0.02, 1 - y, y),
        "label and a little noise": y + 0.2 * rng.normal(size=n),
        "label of half of the rows": np.where(
            rng.random(n) < 0.5, np.where(y == 1, "yes", "no"), ""
        ),
    }[kind]


KINDS = ("honest: noise", "honest: levels", "honest: the score behind p", "honest: near the score")
KINDS += ("honest: codes of 12 rows", "label, in words", "label, within numbers")
KINDS += ("label, 2 % wrong", "label and a little noise", "label of half of the rows")


def in_processes(work, sets, jobs):
    """Do work with the seeds of sets, each on one thread."""
    if jobs == 1:
        return [work(seed) for seed in sets]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(partial(threads.alone, work), sets, chunksize=8))


def level(sets, jobs):
    """Print how often calibrated models are rejected."""
    print(f"calibrated, {len(sets)} sets each: rejected at 5 %")
    for make in LEVELS:
        p = np.array(in_processes(partial(one_level, make), sets, jobs))
        print(f"{make.__name__:22} {100 * (p <= 0.05).mean():5.1f} %", flush=True)


def power(sets, jobs, factors=(1.0, 1.5)):
    """Print how often planted regions are found, and how well."""
    for factor in factors:
        print(f"\nplanted, {factor:g} times, {len(sets)} sets: rejected by search, split, tree;")
        print("Jaccard of at least one half, that of the nearest region that is looked at,")
        print("interval covers, regions beside rejected, in %")
        for name in PLANTED:
            found = in_processes(partial(one_power, name, factor), sets, jobs)
            a, b, c, jaccard, nearest, covers, false = np.array(found, float).T
            shares = [a, b, c, jaccard >= 0.5, nearest, covers, false]
            numbers = " ".join(f"{100 * share.mean():6.1f}" for share in shares)
            print(f"{name:24} {numbers}", flush=True)


def clusters(sets, jobs):
    """Print how often calibrated models of correlated rows are rejected."""
    print(f"correlated rows in 100 clusters, {len(sets)} sets each:")
    print("rejected by sign flips, and as if alone")
    for by_cluster in (False, True):
        for share in ("common", "rare"):
            found = np.array(in_processes(partial(one_cluster, by_cluster, share), sets, jobs))
            flips, alone = 100 * (found <= 0.05).mean(axis=0)
            what = "by cluster" if by_cluster else "by row"
            print(f"columns {what:11} {share:7} {flips:5.1f} % {alone:5.1f} %", flush=True)


def leaks(sets, jobs):
    """Print how much columns tell of the label."""
    print("share that a column tells: columns; median, smallest to largest; refused, warned")
    for kind in KINDS:
        found = np.array(in_processes(partial(one_leak, kind), sets, jobs))
        found = found[~np.isnan(found)]
        refused, warned = (found >= DETERMINED).mean(), (found >= SUSPECT).mean()
        print(
            f"{kind:28} {found.size:6,} {np.median(found):6.2f}"
            f" {found.min():6.2f} to {found.max():5.2f}"
            f" {100 * refused:6.1f} % {100 * warned:6.1f} %",
            flush=True,
        )


def speed(sets, jobs):  # noqa: ARG001
    """Print how long a large search takes."""
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=100_000) for j in range(6)}
    columns |= {"s": rng.choice(list("abcdef"), 100_000), "t": rng.choice(list("uvw"), 100_000)}
    p = rng.beta(1, 2, 100_000)
    data = cal.Predictions(p, drawn(p, rng))
    for _ in range(3):
        start, busy = time.perf_counter(), time.process_time()
        found = cal.search(data, columns, n_resamples=999)
        wall, busy = time.perf_counter() - start, time.process_time() - busy
        print(f"100,000 rows, {found.n_regions:,} regions: {wall:.2f} s, {busy:.2f} CPU-seconds")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {
        each.__name__: each for each in (level, power, slopes, tilts, maps, clusters, leaks, speed)
    }
    parser.add_argument("part", choices=parts)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first set")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    parts[given.part](range(given.first, given.first + given.sets), given.jobs)
