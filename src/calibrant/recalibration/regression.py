"""Logistic regression of the outcomes on log-probabilities."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.predictions import Predictions
from calibrant.recalibration.blocks import Blocks
from calibrant.recalibration.designs import Design
from calibrant.recalibration.likelihood import Likelihood
from calibrant.recalibration.newton import minimise
from calibrant.recalibration.penalty import Penalty
from calibrant.recalibration.temperature import inverse_temperature

Floats = NDArray[np.float64]


class Regression(NamedTuple):
    """What was found: parameters, the smallest probability, and the penalised mean log loss."""

    theta: Floats  # (m, k)
    floor: float
    objective: float


def regress(
    data: Predictions, design: Design, penalty: Penalty, start: Floats | None = None
) -> Regression:
    """Find the parameters of the least penalised log loss.

    Parameters
    ----------
    data : Predictions
        Predictions and outcomes.
    design : Design
        How logits depend on the parameters.
    penalty : Penalty
        Of the parameters.
    start : array of shape (m, k), optional
        Where to begin; default: temperature scaling. It does not change what is found.
    """
    likelihood = Likelihood(Blocks.of(data, design.shape), design, penalty)
    if start is None:
        start = (inverse_temperature(data) or 1.0) * design.identity
    theta = minimise(likelihood, start.ravel())
    return Regression(theta.reshape(design.shape), likelihood.blocks.floor, likelihood.value(theta))
