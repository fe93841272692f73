"""Figure 3: LeNet on MNIST during training, from five initialisations.

python -m experiments.paper.training
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl

from calibrant import Predictions, Trajectory, calibration_test
from calibrant.lenses import Canonical, TopLabel
from calibrant.partitions import EqualWidth, VarianceTree
from calibrant.resampling import Consistency, Exact
from calibrant.statistics import ExpectedMiscalibration

from ..mnist.trajectory import Trajectory as Recorded
from . import files

SEED = 3
INITIALISATIONS = (1, 2, 3, 4, 5)
TOP = {"statistic": ExpectedMiscalibration(EqualWidth(10)), "lens": TopLabel()}
ALL = {"statistic": ExpectedMiscalibration(VarianceTree(1000)), "lens": Canonical()}
WAYS: dict[str, dict[str, Any]] = {
    "top-label-consistency": {**TOP, "resampler": Consistency(), "n_resamples": 199},
    "top-label-exact": {**TOP, "resampler": Exact(), "n_resamples": 999},
    "canonical-exact": {**ALL, "resampler": Exact(), "n_resamples": 999},
}
AT_BEST = {**ALL, "resampler": Consistency(), "n_resamples": 199}


def follow(number: int, recorded: Recorded) -> dict[str, Trajectory]:
    """Record the training from one initialisation in every way."""
    followed = {
        way: Trajectory(**settings, rng=SEED + number, name=f"start {number}")
        for way, settings in WAYS.items()
    }
    for step, probs in zip(recorded.steps, recorded.probs, strict=True):
        data = Predictions(probs, recorded.labels)
        for trajectory in followed.values():
            trajectory.record(int(step), data)
    return followed


def at_best(recorded: Recorded, step: float) -> float:
    """Return the paper's p-value of all classes where the likelihood is best."""
    probs = recorded.probs[list(recorded.steps).index(int(step))]
    return calibration_test(Predictions(probs, recorded.labels), rng=SEED, **AT_BEST).pvalue


def draw(way: str, trajectories: list[Trajectory]) -> None:
    """Draw all initialisations, on scales that show the beginning and the small values."""
    figure = trajectories[0].plot(*trajectories[1:])
    for ax in figure.axes:
        ax.set_xscale("log")
    for place in (0, 2):
        figure.axes[place].set_yscale("log")
    files.save(f"mnist-{way}", figure, dpi=90)


def main() -> None:
    """Write the rows and the figures."""
    mpl.use("Agg")
    followed: dict[str, list[Trajectory]] = {way: [] for way in WAYS}
    consistency = []
    for number in INITIALISATIONS:
        recorded = Recorded.load(files.MNIST / f"lenet{number}.npz")
        for way, trajectory in follow(number, recorded).items():
            followed[way].append(trajectory)
        consistency.append(at_best(recorded, followed["canonical-exact"][-1].best.step))
    result: dict[str, Any] = {"seed": SEED, "canonical_consistency_pvalues_at_best": consistency}
    for way, trajectories in followed.items():
        draw(way, trajectories)
        result[way] = [trajectory.to_dict() for trajectory in trajectories]
    files.write("training", result)


if __name__ == "__main__":
    main()
