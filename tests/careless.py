"""Lenses, resamplers, partitions and statistics that break the rules of their recipes.

Run as a program it tries each in a process of its own, and prints what became of it.
"""

import numpy as np
from apart import tell

from calibrant import Predictions, binwise, calibration_test, estimate
from calibrant.lenses import Lens
from calibrant.partitions import EqualWidth
from calibrant.resampling import Resampler
from calibrant.statistics import ExpectedMiscalibration, Statistic

RNG = np.random.default_rng(0)
N = 500
DATA = Predictions(RNG.dirichlet(np.ones(3), N), RNG.integers(0, 3, N))
ETA = ExpectedMiscalibration(EqualWidth(5))


class Seen(Lens):
    """A lens that shows two outcomes with whatever labels it is told."""

    def __init__(self, labels):
        self.labels = labels

    def __call__(self, data):
        probs = data.probs[:, :2] / data.probs[:, :2].sum(axis=1, keepdims=True)
        return data.induced(probs, self.labels(data), ("a", "b"))


class From(Resampler):
    """Labels drawn from what it is told."""

    def __init__(self, distributions):
        self.given = distributions

    def distributions(self, data):
        return self.given(data.probs)


class Times(Resampler):
    """Rows that stand as often as it is told."""

    def __init__(self, times):
        self.given = times

    def times(self, data, key, b):  # noqa: ARG002
        return self.given(data.n)


class Drawn(Resampler):
    """Whole data sets, with the labels that it is told."""

    def __init__(self, labels):
        self.given = labels

    def draw(self, data, key, b):  # noqa: ARG002
        return data.with_labels(self.given(data.n))


class Beyond(Statistic):
    """Asks for cells that are not there."""

    def prepare(self, shared):
        cells = shared.cells(EqualWidth(3))
        return lambda block: block.counts(cells, 0, 10**6).sum(axis=(1, 2))


class Few(Statistic):
    """Gives one number for all replicates."""

    def prepare(self, shared):  # noqa: ARG002
        return lambda block: np.zeros(min(block.size, 1))


class Cells:
    """A partition that names the cells that it is told."""

    fixed = True

    def __init__(self, name):
        self.name = name

    def locate(self, data):
        fitted, cells = EqualWidth(3).locate(data)
        return fitted, self.name(cells)

    def fit(self, data):
        return self.locate(data)[0]


def run(statistic=ETA, **how):
    return calibration_test(DATA, statistic, n_resamples=20, rng=0, **how)


def run_estimate(resampler):
    return estimate(DATA, ETA, resampler=resampler, n_resamples=5, rng=0)


CALLS = {
    "lens, no outcome": lambda: ETA(Seen(lambda d: d.labels * np.int32(10**7))(DATA)),
    "lens, no outcome, in a test": lambda: run(lens=Seen(lambda d: d.labels * np.int32(10**7))),
    "lens, few labels": lambda: ETA(Seen(lambda d: d.labels[:5])(DATA)),
    "lens, few labels, in a test": lambda: run(lens=Seen(lambda d: d.labels[:5])),
    "distributions, few rows": lambda: run(resampler=From(lambda p: p[:3])),
    "distributions, few rows, a function": lambda: run(
        lambda d: float(ETA(d)), resampler=From(lambda p: p[:3])
    ),
    "distributions, more classes": lambda: run(resampler=From(lambda p: np.tile(p, (1, 50)) / 50)),
    "distributions, not numbers": lambda: run(resampler=From(lambda p: p * np.nan)),
    "distributions, integers": lambda: run(resampler=From(lambda p: np.rint(p).astype(int))),
    "distributions, a list": lambda: run(resampler=From(lambda p: p.tolist())),
    "times, below 0": lambda: run_estimate(Times(lambda n: np.full(n, -1))),
    "times, few": lambda: run_estimate(Times(lambda n: np.ones(n - 1, int))),
    "times, never": lambda: run_estimate(Times(lambda n: np.zeros(n, int))),
    "data sets, no outcome": lambda: run_estimate(Drawn(lambda n: np.full(n, 10**7))),
    "data sets, few labels": lambda: run_estimate(Drawn(lambda n: np.zeros(n - 1, int))),
    "statistic, no cells": lambda: run(Beyond()),
    "statistic, few numbers": lambda: run(Few()),
    "partition, no cell": lambda: ExpectedMiscalibration(Cells(lambda c: c + 10**6))(DATA),
    "partition, below 0": lambda: ExpectedMiscalibration(Cells(lambda c: c - 1))(DATA),
    "partition, few rows": lambda: ExpectedMiscalibration(Cells(lambda c: c[:3]))(DATA),
    "partition, no cell, binwise": lambda: binwise(DATA, Cells(lambda c: c + 10**6), n_resamples=5),
}

if __name__ == "__main__":
    tell(CALLS)
