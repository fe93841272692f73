"""Calibration while Hugging Face trains; needs ``pip install 'calibrant[transformers]'``."""

from typing import Any, final

from calibrant.checks.doors import needs

needs("calibrant.transformers", "transformers", extra="transformers")

import numpy as np  # noqa: E402
from transformers import TrainerCallback  # noqa: E402

from calibrant.predictions import Predictions  # noqa: E402
from calibrant.trajectory import Trajectory  # noqa: E402

__all__ = ["CalibrationCallback"]
IGNORED = -100  # the label of tokens that are not evaluated


@final
class CalibrationCallback(TrainerCallback):  # type: ignore[misc]
    """Test the predictions of each evaluation of a Trainer, and keep a row of them.

    It is both a callback, which learns the step, and what computes metrics:
    ``Trainer(..., compute_metrics=calibration, callbacks=[calibration])``. The Trainer then logs
    "eval_calibration_error", "eval_calibration_expected" (what a calibrated model would show) and
    "eval_calibration_pvalue".

    Parameters
    ----------
    trajectory : Trajectory, optional
        Where rows are kept, by the step of the training; default: ``Trajectory(rng=0)``.
    """

    def __init__(self, trajectory: Trajectory | None = None) -> None:
        self.trajectory = Trajectory(rng=0) if trajectory is None else trajectory
        self._step = 0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Learn the step."""
        self._step = int(state.global_step)

    def __call__(self, evaluated: Any) -> dict[str, float]:
        """Return the metrics of an evaluation: logits (…, m) and labels (…)."""
        logits, labels = evaluated.predictions, evaluated.label_ids
        logits = np.asarray(logits[0] if isinstance(logits, tuple) else logits)
        places = np.asarray(labels).reshape(-1)
        if logits.ndim < 2 or places.size != logits.size // logits.shape[-1]:
            raise ValueError(
                "the model must give logits for each class of every label; found logits of shape"
                f" {logits.shape} and labels of shape {np.shape(labels)}."
            )
        kept = places != IGNORED
        data = Predictions.from_logits(logits.reshape(places.size, -1)[kept], places[kept])
        return self.trajectory.follow(self._step, data).logged()
