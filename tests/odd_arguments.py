"""Arguments that public functions might be called with, most of them wrong; see odd_calls.py."""

import tempfile
from pathlib import Path

import numpy as np

import calibrant as cal
from calibrant import datasets, lenses, partitions, recalibration, resampling, statistics


class Odd:
    """An object that is nothing in particular, with whatever attribute one asks for."""

    def __repr__(self):
        return "<odd>"


def mapped(array):
    """Return an array in a file, which nobody may write to."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "array.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")


def frozen(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


RNG = np.random.default_rng(0)
P2, P3 = RNG.random(60), RNG.dirichlet(np.ones(3), 60)
Y2, Y3 = RNG.integers(0, 2, 60), RNG.integers(0, 3, 60)
CERTAIN = cal.Predictions([1.0, 0.0] * 5, [1, 0] * 5)
DATA = [
    cal.Predictions(P2, Y2),
    cal.Predictions(P3, Y3),
    cal.Predictions(P3.astype(np.float32), Y3, classes=["a", "b", "c"], weights=P2),
    cal.Predictions(P3, Y3, clusters=np.arange(60) // 4),
    cal.Predictions(mapped(P3), mapped(Y3)),
    cal.Predictions(frozen(P2), frozen(Y2)),
    cal.Predictions([0.5], [0]),
    cal.Predictions([[1.0, 0.0, 0.0]] * 4, [0, 1, 2, 2]),
    CERTAIN,
]
NUMBERS = [
    *(0, -1, 1, 2, 10**30, -(10**30), 2**63, 1e-300, 1e300, 0.5, 1.5, -0.0, True, 1j),
    *(float("nan"), float("inf"), float("-inf"), np.float32(0.5), np.int8(-1), np.uint64(2**63)),
    *(np.array(3), np.array([3]), np.datetime64("nat"), np.timedelta64(1, "s")),
]
THINGS = [
    *(None, "", "x", "top", "width:999999999999", "tree:-1", "class:", "top:0", "\0", "é" * 5000),
    *(b"x", [], {}, (), set(), [[]], [None], {"a": 1}, {1: None}, range(3), Odd(), Odd, len),
    *(lambda: 1, lambda *_: None, iter([1, 2]), np.array([]), np.array(["a", None], object)),
    *(
        np.zeros((2, 0)),
        np.zeros((0, 3)),
        np.ma.masked_array([0.5, 0.5], [0, 1]),
        ...,
        NotImplemented,
    ),
    *(type, Exception("x"), Path("/"), memoryview(b"abc"), np.random.default_rng(1), "canonical"),
]
PROBS = [
    *(P2, P3, P3 * 2, -P3, P3 * np.nan, P3 + 1j, P3 > 0.5, P3[::-2], P3.T, P3[:, :1], P3[None]),
    *(P3.tolist(), P3.astype(str), P3.astype(object), P3.astype(">f8"), P3.astype(np.longdouble)),
    *(P3.astype(np.float16), np.full((3, 3), np.inf), np.full((3, 3), 1e308), [[0.5, 0.5], [1.0]]),
    *(np.zeros((1, 3)), np.broadcast_to([0.5, 0.5], (10, 2)), [[1e-320, 1.0]], mapped(P3)),
    *(
        np.eye(3, dtype=int),
        np.array(0.5),
        [True, False],
        P3.view([("a", "f8"), ("b", "f8"), ("c", "f8")]),
    ),
]
LABELS = [
    *(
        Y2,
        Y3,
        Y3 - 1,
        Y3 + 0.5,
        Y3.astype(str),
        Y3 * np.nan,
        Y3 == 1,
        Y3.tolist(),
        Y3[:5],
        Y3[:, None],
    ),
    *(
        np.eye(3)[Y3],
        [10**30] * 60,
        [None] * 60,
        ["a"] * 60,
        Y3.astype(np.uint64) + 2**63,
        frozen(Y3),
    ),
    *(mapped(Y3), Y3.astype("M8[s]"), Y3.astype(complex), [object()] * 60, Y3.astype(np.int8)),
]
FUNCTIONS = [
    *(lambda *_: np.inf, lambda *_: np.nan, lambda *_: 1j, lambda *_: "x", lambda *_: None),
    *(
        lambda first, *_: first,
        lambda *_: [],
        lambda *_: -1.0,
        lambda *_: np.zeros(7),
        lambda *_: 10**400,
    ),
    *(lambda p, *_: np.full(np.shape(p)[:-1], np.inf), lambda p, *_: np.sqrt(p[..., 0] - 2 + 0j)),
    *(lambda p, *_: p * np.nan, lambda p, *_: p[:1], lambda p, *_: np.asarray(p).astype(str)),
]


class Junk(statistics.Statistic):
    """A statistic that gives whatever it is told."""

    def __init__(self, value):
        self.value = value

    def prepare(self, shared):  # noqa: ARG002
        return lambda block: self.value(block.size)


class Junky(resampling.Resampler):
    """A resampler that draws from whatever it is told."""

    def __init__(self, value):
        self.value = value

    def distributions(self, data):
        return self.value(data.probs)


SIZES = [
    *(lambda b: np.full(b, np.inf), lambda b: np.full(b, 1j), lambda b: np.zeros(b + 1)),
    *(
        lambda _: None,
        lambda b: ["x"] * b,
        lambda b: np.full(b, np.nan),
        lambda b: np.zeros((b, 2)),
    ),
]
CELLS = [
    *(partitions.EqualWidth(10**6), partitions.SimplexBins(10**6), partitions.EqualMass(10**6)),
    *(
        partitions.VarianceTree(1e-300),
        partitions.VarianceTree(1e300, "median"),
        partitions.EqualWidth,
    ),
    *(partitions.EqualWidth(3), partitions.SimplexBins(2), "tree:5", "width:0", "mass:x"),
    *(partitions.FromFunction(f) for f in FUNCTIONS),
]
LENSES = [
    *(lenses.Canonical(), lenses.TopLabel(), lenses.TopK(2), lenses.TopK(9), lenses.Marginal(1)),
    *(lenses.Marginal("b"), lenses.Marginal(99), lenses.Pooled(), lenses.Groups([[0], [1, 2]])),
    *(lenses.TopK(2) >> lenses.TopLabel(), lenses.Pooled() >> lenses.TopLabel(), lenses.TopLabel),
    *(lenses.Induced(f, 2) for f in FUNCTIONS),
    *(lenses.Induced(f, 3, vectorized=True) for f in FUNCTIONS),
    *("top", "top:2", "pooled", "class:b", "class:7", "groups:0|1-2", "groups:0-9"),
]
METHODS = [
    *(recalibration.Temperature(), recalibration.Beta(), recalibration.Isotonic()),
    *(recalibration.Vector(), recalibration.Dirichlet(1e300, 0.0), recalibration.Matrix()),
    *(recalibration.Histogram(partitions.EqualWidth(10**6)), recalibration.Temperature, Odd()),
]
STATISTICS = [
    *(statistics.ExpectedMiscalibration(partitions.EqualWidth(5), f) for f in FUNCTIONS),
    *(statistics.WorstMiscalibration(partitions.VarianceTree(9), f) for f in FUNCTIONS),
    *(statistics.SquaredMiscalibration(partitions.EqualWidth(5)), statistics.Cox(), statistics.Cox),
    *(statistics.KernelMiscalibration(1e-300), statistics.KernelMiscalibration(1e300)),
    *(statistics.KernelMiscalibration(form="low-rank", rank=10**6), statistics.Surprise()),
    *(
        statistics.SmoothMiscalibration(),
        statistics.CutoffMiscalibration(),
        statistics.Spiegelhalter(),
        statistics.Neyman(),
        statistics.WorstClass(),
    ),
    *(
        statistics.KolmogorovMiscalibration(),
        statistics.AveragedTwoBin(),
        "ece",
        "kernel:0",
        "skce",
    ),
    *(Junk(f) for f in SIZES),
    *FUNCTIONS,
]
RESAMPLERS = [
    *(resampling.Exact(), resampling.Bootstrap(), resampling.Consistency(), resampling.Exact),
    *(resampling.Exact(f) for f in FUNCTIONS),
    *(resampling.Consistency(f) for f in FUNCTIONS),
    *(Junky(f) for f in FUNCTIONS),
    *(resampling.Exact(draws="counts"), resampling.WildClusters()),
]
FEW = {"n_resamples": [19], "rng": [0]}
GIVEN = {"data": DATA, **FEW}
LENS = {"lens": LENSES}
MODELS = [
    *({"a": DATA[1], "b": DATA[2]}, {"a": DATA[0]}, {"a": DATA[0], "b": DATA[1]}, {}, {1: DATA[0]}),
    *(
        {"a": DATA[1], "b": None},
        {"": DATA[0], "b": CERTAIN},
        [DATA[0]],
        {"a": DATA[6], "b": DATA[6]},
    ),
]
COLUMN = [
    {"g": Y2},
    {"g": Y3[:5]},
    {"g": [None] * 60},
    {"g": P2},
    {},
    "g",
    ["g"],
    {"g": [[1]] * 60},
]
ODDS = {
    "probs": PROBS,
    "labels": LABELS,
    "weights": [*LABELS, P2, P2 * 1e308, -P2],
    "clusters": LABELS,
    "partition": CELLS,
    "lens": LENSES,
    "lenses": [LENSES, *LENSES],
    "statistic": STATISTICS,
    "statistics": [STATISTICS, *STATISTICS],
    "resampler": RESAMPLERS,
    "distance": FUNCTIONS,
    "methods": [METHODS, *([m] for m in METHODS)],
    "models": MODELS,
    "by": COLUMN,
    "columns": COLUMN,
    "psi": FUNCTIONS,
    "data": [*DATA, *MODELS, P2, P3],
    "score": FUNCTIONS,
    "rho": FUNCTIONS,
    "alternatives": MODELS,
}
COSTLY = {"n_resamples", "n", "m"}  # large ones are asked for, and take their time

# Each function with arguments that are fine; those of `ODDS` may also be others of their kind.
CALLS = [
    (
        cal.Predictions,
        {"probs": [P3], "labels": [Y3], "classes": [None], "weights": [None], "clusters": [None]},
    ),
    (cal.Predictions.from_logits, {"logits": [P3], "labels": [Y3], "weights": [None]}),
    (cal.calibration_test, {**GIVEN, **LENS, "statistic": STATISTICS, "resampler": RESAMPLERS}),
    (
        cal.estimate,
        {**GIVEN, **LENS, "statistic": STATISTICS, "resampler": [resampling.Bootstrap()]},
    ),
    (cal.evaluate, {**GIVEN, "lenses": [None], "statistics": [None], "resampler": RESAMPLERS}),
    (cal.classwise, {**GIVEN, "partition": CELLS, "distance": FUNCTIONS}),
    (cal.binwise, {**GIVEN, **LENS, "partition": CELLS, "level": [0.9]}),
    (cal.calibration_function, {"data": DATA, "partition": CELLS}),
    (cal.compare, {"models": MODELS, **FEW, "lenses": [None], "paired": [True]}),
    (cal.slices, {**GIVEN, "by": COLUMN, "lens": ["top"], "least": [5]}),
    (cal.search, {**GIVEN, "columns": COLUMN, "depth": [1], "min_rows": [5]}),
    (cal.power, {**GIVEN, "alternatives": [0.8], "alpha": [0.1]}),
    (cal.recalibrate, {**GIVEN, "methods": [None], "folds": [2]}),
    (cal.reliability_diagram, {**GIVEN, **LENS, "partition": [None], "level": [0.9]}),
    (cal.class_diagram, {**GIVEN, "level": [0.9]}),
    (cal.isotonic_diagram, {**GIVEN, **LENS, "level": [0.9]}),
    (cal.smooth_diagram, {**GIVEN, **LENS, "bandwidth": [None], "level": [0.9]}),
    (cal.cumulative_diagram, {**GIVEN, **LENS, "level": [0.9]}),
    (cal.score_plane, {"models": MODELS, "score": [cal.brier_score], **FEW}),
    (cal.decompose, {"data": DATA, "score": [cal.brier_score], **LENS}),
    (cal.ece, {"data": DATA, "bins": [15]}),
    (cal.log_score, {"data": DATA}),
    (cal.load, {"path": [Path("/nowhere.csv")], "label": [None], "probs": [None]}),
    (cal.load_models, {"paths": [[Path("/nowhere.csv")]], "model": [None], "paired": [True]}),
    (cal.Trajectory, {"statistic": STATISTICS, "lens": LENSES, "n_resamples": [19], "rng": [0]}),
    (datasets.dirichlet, {"n": [10], "m": [3], "alpha": [1.0], "temperature": [1.0], "rng": [0]}),
    (datasets.gaussian_mixture, {"n": [10], "beta0": [1.0], "beta1": [1.0], "rng": [0]}),
    (lenses.Groups, {"groups": [[[0], [1, 2]]]}),
    (lenses.TopK, {"k": [2]}),
    (lenses.Marginal, {"label": [0]}),
    (lenses.Induced, {"psi": FUNCTIONS, "outcomes": [2]}),
    (partitions.EqualWidth, {"k": [2]}),
    (partitions.SimplexBins, {"k": [2]}),
    (partitions.EqualMass, {"k": [2]}),
    (partitions.VarianceTree, {"min_size": [2], "split": ["mean"]}),
    (
        statistics.KernelMiscalibration,
        {"bandwidth": [0.1], "kernel": ["gaussian"], "rank": [9], "seed": [0]},
    ),
    (statistics.ExpectedMiscalibration, {"partition": CELLS, "distance": FUNCTIONS}),
    (recalibration.Dirichlet, {"off_diagonal": [0.1], "intercept": [0.1]}),
    (recalibration.Histogram, {"partition": CELLS}),
    (recalibration.load_map, {"path": ["/nowhere.json"]}),
    (resampling.Exact, {"rho": FUNCTIONS, "draws": ["labels"]}),
    (resampling.Bootstrap, {"refit": [True]}),
]
