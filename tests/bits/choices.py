"""What there is to choose: lenses, statistics, resamplers and verbs, by names of our own."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import calibrant as cal
from calibrant import distances, lenses, partitions, recalibration, resampling, statistics

SEED = 7
RESAMPLES = 19


def either(module: Any, *names: str) -> Any:
    """Return what a module has under the first of these names that it knows."""
    return next(getattr(module, name) for name in names if hasattr(module, name))


# Lenses of m classes.


def _thirds(m: int) -> list[range]:
    cuts = [0, max(1, m // 3), max(2, 2 * m // 3), m]
    return [range(a, b) for a, b in pairwise(cuts) if a < b]


def _likely(y: int, mu: Any) -> int:
    return int(mu[y] > 0.2)


def _rank(y: int, probs: Any) -> Any:
    return np.minimum((probs > probs[:, [y]]).sum(axis=1), 2)


LENSES: dict[str, Callable[[int], Any]] = {
    "canonical": lambda _: lenses.Canonical(),
    "top": lambda _: lenses.TopLabel(),
    "top 3": lambda m: lenses.TopK(min(3, m - 1)),
    "class": lambda m: lenses.Marginal(m // 2),
    "groups": lambda m: lenses.Groups(_thirds(m)),
    "two groups": lambda m: lenses.Groups([range(1, m), [0]]),
    "pooled": lambda _: lenses.Pooled(),
    "induced": lambda _: lenses.Induced(_likely, 2),
    "induced at once": lambda _: lenses.Induced(_rank, 3, vectorized=True),
    "groups, top": lambda m: lenses.Groups(_thirds(m)) >> lenses.TopLabel(),
    "top 3, class": lambda m: lenses.TopK(min(3, m - 1)) >> lenses.Marginal(1),
}
ABOUT_ONE = ("canonical", "top", "class")
TWO = ("top", "class", "two groups", "pooled", "induced", "groups, top", "top 3, class")


def two_outcomes(lens: str, m: int) -> bool:
    """Whether a lens shows two outcomes of m classes."""
    return lens in TWO or (m == 2 and lens != "induced at once")


# Statistics: those on bins are "kind, partition, distance".


def largest_gap(p: Any, q: Any) -> Any:
    """Return a distance that is made of no norm of the package."""
    return np.abs(p - q).max(axis=-1)


def half_sure(probs: Any) -> Any:
    """Return a number for each row."""
    return probs.max(axis=1) >= 0.5


def first_digit(probs: Any) -> Any:
    """Return a name for each row."""
    return np.array([f"bin {p:.1f}" for p in probs[:, 0]])


def mean_gap(data: Any) -> float:
    """Return a statistic that is a function of the data alone."""
    return float(abs((data.labels == 0).mean() - data.probs[:, 0].astype(float).mean()))


class OfLabels(statistics.Statistic):
    """A user's statistic that asks for labels."""

    def prepare(self, shared: Any) -> Any:
        """Keep the predictions."""
        probs = shared.data.probs.astype(float)
        rows = np.arange(len(probs))

        def evaluate(block: Any) -> Any:
            return np.array([1 - probs[rows, labels].mean() for labels in block.labels()])

        return evaluate


PARTITIONS: dict[str, Callable[[], Any]] = {
    "width 1": lambda: partitions.EqualWidth(1),
    "width 3": lambda: partitions.EqualWidth(3),
    "width 10": lambda: partitions.EqualWidth(10),
    "width 15": lambda: partitions.EqualWidth(15),
    "simplex 3": lambda: either(partitions, "SimplexBins", "SimplexCells")(3),
    "simplex 8": lambda: either(partitions, "SimplexBins", "SimplexCells")(8),
    "mass 5": lambda: partitions.EqualMass(5),
    "tree": lambda: partitions.VarianceTree(20),
    "tree of medians": lambda: partitions.VarianceTree(20, "median"),
    "function": lambda: partitions.FromFunction(half_sure),
    "function of names": lambda: partitions.FromFunction(first_digit),
}
DISTANCES: dict[str, Any] = {
    "tv": distances.total_variation,
    "euclidean": distances.euclidean,
    "squared": distances.squared_euclidean,
    "own": largest_gap,
}
KINDS = ("expected", "worst", "unbiased squared")
ON_ROWS: dict[str, Callable[[], Any]] = {
    "omnibus": lambda: None,
    "kernel": statistics.KernelMiscalibration,
    "kernel 0.1": lambda: statistics.KernelMiscalibration(0.1),
    "kernel, several": lambda: statistics.KernelMiscalibration((0.05, 0.2)),
    "kernel, laplacian": lambda: statistics.KernelMiscalibration(0.3, "laplacian", "euclidean"),
    "kernel, gaussian": lambda: statistics.KernelMiscalibration(0.3, "gaussian", "euclidean"),
    "kernel, biased": lambda: statistics.KernelMiscalibration(0.2, unbiased=False),
    "kernel, full": lambda: statistics.KernelMiscalibration(0.2, form="full"),
    "kernel, low rank": lambda: statistics.KernelMiscalibration(0.2, form="low-rank", rank=16),
    "log": statistics.Surprise,
    "score brier": statistics.ScoreMiscalibration,
    "score log": lambda: statistics.ScoreMiscalibration(
        either(cal.scores, "log_loss", "log_score")
    ),
    "score spherical": lambda: statistics.ScoreMiscalibration(cal.spherical_score),
    "function": lambda: mean_gap,
    "own": OfLabels,
    "cox": statistics.Cox,
    "cutoff": statistics.CutoffMiscalibration,
    "kolmogorov": statistics.KolmogorovMiscalibration,
    "smooth": statistics.SmoothMiscalibration,
    "spiegelhalter": statistics.Spiegelhalter,
    "two-bin": statistics.AveragedTwoBin,
}
OF_TWO = (
    *("score brier", "score log", "cox", "cutoff", "kolmogorov", "smooth", "spiegelhalter"),
    "two-bin",
)


def make_statistic(name: str) -> Any:
    """Return the statistic of a name."""
    if name in ON_ROWS:
        return ON_ROWS[name]()
    kind, partition, distance = name.split(", ")
    if kind == "unbiased squared":
        return statistics.SquaredMiscalibration(PARTITIONS[partition]())
    family = {
        "expected": statistics.ExpectedMiscalibration,
        "worst": statistics.WorstMiscalibration,
    }
    return family[kind](PARTITIONS[partition](), DISTANCES[distance])


# Resamplers.


def flatter(probs: Any) -> Any:
    """Return another hypothesis: a little less sure than the predictions."""
    flat = 0.9 * probs.astype(float) + 0.1 / probs.shape[1]
    return flat / flat.sum(axis=1, keepdims=True)


class Flattened(resampling.Resampler):
    """A user's resampler that says what labels are drawn from."""

    def distributions(self, data: Any) -> Any:
        """Return distributions."""
        return flatter(data.probs)


class Halves(resampling.Resampler):
    """A user's resampler that draws every other row twice."""

    def distributions(self, data: Any) -> Any:
        """Return the predictions."""
        return data.probs

    def times(self, data: Any, key: Any, b: int) -> Any:  # noqa: ARG002
        """Return 0 and 2 in turn."""
        return (2 * ((np.arange(data.n) + b) % 2)).astype(np.int32)


class Rotated(resampling.Resampler):
    """A user's resampler that draws whole data sets."""

    def draw(self, data: Any, key: Any, b: int) -> Any:
        """Move every label that is drawn to the next class."""
        drawn = resampling.Exact().draw(data, key, b)
        return data.with_labels((drawn.labels + 1) % data.m)


RESAMPLERS: dict[str, Callable[[], Any]] = {
    "exact": resampling.Exact,
    "exact, rho": lambda: resampling.Exact(flatter),
    "exact, tempered": lambda: resampling.Exact(resampling.Tempered(1.5)),
    "exact, shifted": lambda: resampling.Exact(resampling.Shifted(0, 0.5)),
    "counts": lambda: resampling.Exact(draws="counts"),
    "counts, rho": lambda: resampling.Exact(flatter, draws="counts"),
    "consistency": resampling.Consistency,
    "consistency, rho": lambda: resampling.Consistency(flatter),
    "wild": resampling.WildClusters,
    "wild, rho": lambda: resampling.WildClusters(flatter),
    "bootstrap": resampling.Bootstrap,
    "bootstrap, bins kept": lambda: resampling.Bootstrap(refit=False),
    "own distributions": Flattened,
    "own times": Halves,
    "own draw": Rotated,
}

# Other verbs: a function of rows (Predictions or a Scan) and of the setting.

DRAWS = {"n_resamples": RESAMPLES, "rng": SEED}


def _second(data: Any) -> Any:
    """Return another model of the same rows: it is less sure. Of scanned rows, the same."""
    if not isinstance(data, cal.Predictions):
        return data
    weights = data.weights if data.weighted else None
    return cal.Predictions(
        flatter(data.probs), data.labels, weights=weights, clusters=data.clusters
    )


def _halves(data: Any) -> Any:
    """Return what rows are grouped by: the name of a column of files, or its values."""
    known = isinstance(data, cal.Predictions)
    return {"half": [f"half {i % 2}" for i in range(data.n)]} if known else "half"


def _grid(*names: str) -> Any:
    return statistics.grid([PARTITIONS[name]() for name in names])


def _methods(*names: str) -> Any:
    return [getattr(recalibration, name)() for name in names]


def _binwise(data: Any, partition: str, **options: Any) -> Any:
    verb = either(cal, "binwise", "cellwise")
    return verb(data, PARTITIONS[partition](), **DRAWS, **options)


def _classwise(data: Any, partition: str, distance: str) -> Any:
    return cal.classwise(data, PARTITIONS[partition](), DISTANCES[distance], **DRAWS)


def _trajectory(data: Any) -> Any:
    found = cal.Trajectory(n_resamples=RESAMPLES, rng=SEED)
    for step in range(2):
        found.record(step, data)
    return found


VERBS: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda data: cal.evaluate(data, **DRAWS),
    "evaluate, grid": lambda data: cal.evaluate(
        data, statistics=_grid("width 10", "tree"), **DRAWS
    ),
    "tests of an evaluation": lambda data: list(
        cal.evaluate(
            data, lenses=["top", "canonical"], statistics=_grid("width 3", "width 10"), **DRAWS
        ).rows
    ),
    "evaluate, nested": lambda data: cal.evaluate(
        data, lenses="top", statistics=_grid("width 3", "width 15", "mass 5"), **DRAWS
    ),
    "evaluate, lenses": lambda data: cal.evaluate(
        data, lenses=["top", "pooled", "class:0"], statistics=_grid("width 10"), **DRAWS
    ),
    "evaluate, rho": lambda data: cal.evaluate(
        data, lenses="top", resampler=resampling.Exact(flatter), **DRAWS
    ),
    "classwise, width 15": lambda data: _classwise(data, "width 15", "tv"),
    "classwise, width 3": lambda data: _classwise(data, "width 3", "euclidean"),
    "classwise, simplex": lambda data: _classwise(data, "simplex 3", "squared"),
    "classwise, mass": lambda data: _classwise(data, "mass 5", "squared"),
    "classwise, tree": lambda data: _classwise(data, "tree", "tv"),
    "classwise, own": lambda data: _classwise(data, "width 10", "own"),
    "classwise, function": lambda data: _classwise(data, "function", "euclidean"),
    "binwise": lambda data: _binwise(data, "width 3"),
    "binwise, top": lambda data: _binwise(data, "width 10", lens="top"),
    "binwise, mass": lambda data: _binwise(data, "mass 5", lens="class:0"),
    "binwise, tree": lambda data: _binwise(data, "tree", lens="top"),
    "binwise, pooled": lambda data: _binwise(data, "width 10", lens="pooled"),
    "binwise, rho": lambda data: _binwise(
        data, "width 10", lens="top", resampler=resampling.Exact(flatter)
    ),
    "binwise, counts": lambda data: _binwise(
        data, "width 10", lens="top", resampler=resampling.Exact(draws="counts")
    ),
    "binwise, consistency": lambda data: _binwise(
        data, "width 3", resampler=resampling.Consistency()
    ),
    "compare": lambda data: cal.compare({"a": data, "b": _second(data)}, **DRAWS),
    "compare, not paired": lambda data: cal.compare(
        {"a": data, "b": _second(data)}, statistics=_grid("width 10"), paired=False, **DRAWS
    ),
    "slices": lambda data: cal.slices(data, _halves(data), **DRAWS),
    "slices, canonical": lambda data: cal.slices(data, _halves(data), lens="canonical", **DRAWS),
    "power": lambda data: cal.power(data, lens="top", **DRAWS),
    "power, alternatives": lambda data: cal.power(
        data,
        {"hot": resampling.Tempered(1.3), "shifted": resampling.Shifted(0, 0.4)},
        statistic=make_statistic("expected, width 10, tv"),
        **DRAWS,
    ),
    "recalibrate": lambda data: cal.recalibrate(
        data, _methods("Temperature", "Isotonic"), folds=3, **DRAWS
    ),
    "recalibrate, beta": lambda data: cal.recalibrate(data, _methods("Beta"), folds=3, **DRAWS),
    "recalibrate, vector": lambda data: cal.recalibrate(data, _methods("Vector"), folds=3, **DRAWS),
    "recalibrate, matrices": lambda data: cal.recalibrate(
        data, _methods("Dirichlet", "Matrix"), folds=3, **DRAWS
    ),
    "recalibrate, histogram": lambda data: cal.recalibrate(
        data, [recalibration.Histogram(PARTITIONS["width 3"]())], folds=3, **DRAWS
    ),
    "calibration function": lambda data: _function(data, "width 3"),
    "calibration function, tree": lambda data: _function(data, "tree"),
    "scores": lambda data: [
        cal.ece(data),
        cal.accuracy(data),
        cal.brier_score(data),
        either(cal, "log_loss", "log_score")(data),
        cal.spherical_score(data),
    ],
    "decompose": lambda data: cal.decompose(data, lens="class:0"),
    "decompose, top": lambda data: cal.decompose(data, lens="top"),
    "reliability diagram": lambda data: cal.reliability_diagram(data, lens="top", **DRAWS),
    "isotonic diagram": lambda data: cal.isotonic_diagram(data, lens="top", **DRAWS),
    "smooth diagram": lambda data: cal.smooth_diagram(data, lens="top", **DRAWS),
    "cumulative diagram": lambda data: cal.cumulative_diagram(data, lens="top", **DRAWS),
    "score plane": lambda data: cal.score_plane({"a": data, "b": _second(data)}, **DRAWS),
    "trajectory": _trajectory,
}


def _function(data: Any, partition: str) -> Any:
    found = cal.calibration_function(data, PARTITIONS[partition]())
    return [found.counts, found.predicted, found.observed]


# Verbs that take rows as independent.
INDEPENDENT = (
    *("power", "isotonic", "smooth", "cumulative", "score plane", "binwise, consistency"),
    "binwise, counts",
)
