"""Calls as users write them: `test_package` runs them, and lets mypy check them."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import calibrant as cal
from calibrant import evaluate, lenses, recalibration, statistics

FEW = 9
RNG = np.random.default_rng(0)
probs: NDArray[np.float64] = RNG.dirichlet(np.ones(3), 50)
labels = RNG.integers(0, 3, 50)
data = cal.Predictions(probs, labels)

found: cal.Evaluation = evaluate(probs, labels, lenses="top", statistics="kernel:0.1", rng=0)
found = cal.evaluate(probs.tolist(), labels.tolist(), lenses=["top", lenses.Marginal(1)])
found = cal.evaluate(data, lenses="class:1", resampler="exact", n_resamples=FEW)
test: cal.CalibrationTest = cal.calibration_test(probs, labels)
test = cal.calibration_test(probs, labels, "kernel:0.1", lens="top", n_resamples=FEW)
test = cal.calibration_test(data, statistic=statistics.SquaredMiscalibration("width:15"))
value: float = cal.ece(probs, labels)
value = cal.ece(probs, labels=labels, bins=10)
value = cal.log_score(probs, labels) + cal.accuracy(data)
models: cal.Comparison = cal.compare({"a": probs, "b": probs}, labels, n_resamples=FEW)
models = cal.compare({"a": data, "b": data}, lenses="top", n_resamples=FEW)
size: cal.Estimate = cal.estimate(data, "squared:width:15", resampler="bootstrap")
classes: cal.Classwise = cal.classwise(probs, labels, partition="width:15", distance="tv")
better: cal.Recalibration = cal.recalibrate(
    probs, labels, [recalibration.Histogram("width:5")], n_resamples=FEW
)
picture: cal.ReliabilityDiagram = cal.reliability_diagram(
    {"a": probs, "b": probs}, labels, lens="top", partition="mass:5", n_resamples=FEW
)

if TYPE_CHECKING:  # each of these must be refused, or mypy says that a comment is unused
    cal.evaluate(probs)  # type: ignore[call-overload]
    cal.evaluate(probs, labels, lens="top")  # type: ignore[call-overload]
    cal.calibration_test(data, 3)  # type: ignore[call-overload]
    cal.nonsense  # type: ignore[attr-defined]  # noqa: B018
