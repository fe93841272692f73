"""The predictions of a network at several steps of its training, in a small file.

Probabilities of the classes that are not the predicted one are stored in fixed point, in units of
1/65535; the predicted class takes what is left of 1. Every stored probability is thus within
8e-6 of the original (7e-5 for the predicted class). Fixed point rounds a likelihood of 1e-6 to 0,
so the probability of the true class is also kept in float32 wherever it is below 0.01: the
negative log-likelihood of the decoded predictions is finite and agrees with the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

UNIT = 65535
RARE = 0.01


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Predictions of one network on the same rows after each of several training steps.

    Parameters
    ----------
    steps
        (c,) number of optimiser steps made
    probs
        (c, n, m) predictions after each
    labels
        (n,) true classes
    """

    steps: npt.NDArray[np.int64]
    probs: npt.NDArray[np.floating[Any]]
    labels: npt.NDArray[np.int64]

    def save(self, path: Path) -> None:
        """Write the predictions, rounded as the module says."""
        probs = self.probs.astype(np.float64)
        top = probs.argmax(2)
        codes = np.rint(probs * UNIT).astype(np.uint16)
        np.put_along_axis(codes, top[:, :, None], 0, axis=2)
        likelihood = probs[:, np.arange(len(self.labels)), self.labels]
        rare = (likelihood < RARE) & (top != self.labels)
        np.savez_compressed(
            path,
            steps=self.steps.astype(np.int32),
            labels=self.labels.astype(np.uint8),
            codes=np.ascontiguousarray(codes.transpose(1, 2, 0)),  # this order compresses best
            top=np.ascontiguousarray(top.astype(np.uint8).T),
            rare_at=np.argwhere(rare).astype(np.int32),
            rare=likelihood[rare].astype(np.float32),
        )

    @staticmethod
    def load(path: Path) -> Trajectory:
        """Read what `save` wrote; the rows of `probs`, in float64, add up to 1."""
        with np.load(path) as file:
            steps, labels = file["steps"].astype(np.int64), file["labels"].astype(np.int64)
            probs = file["codes"].transpose(2, 0, 1) / np.float64(UNIT)
            top = file["top"].T.astype(np.int64)
            checkpoint, row = file["rare_at"].T
            probs[checkpoint, row, labels[row]] = file["rare"]
        np.put_along_axis(probs, top[:, :, None], 1 - probs.sum(2, keepdims=True), axis=2)
        return Trajectory(steps, probs, labels)
