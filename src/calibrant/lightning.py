"""Calibration while Lightning trains; needs ``pip install 'calibrant[lightning]'``."""

from typing import Any, final

from calibrant.checks.doors import needs

needs("calibrant.lightning", "torch", "lightning", extra="lightning")

import torch  # noqa: E402
from lightning.pytorch.callbacks import Callback  # noqa: E402

from calibrant.predictions import Predictions  # noqa: E402
from calibrant.trajectory import Trajectory  # noqa: E402

__all__ = ["CalibrationCallback"]


@final
class CalibrationCallback(Callback):  # type: ignore[misc]
    """Test the predictions of each validation, keep a row of them and log three numbers.

    `validation_step` returns a dict of "logits" or "probs" (n, m), and "labels" (n,). Logged are
    "val_calibration_error", "val_calibration_expected" (what a calibrated model would show) and
    "val_calibration_pvalue".

    Parameters
    ----------
    trajectory : Trajectory, optional
        Where rows are kept, by the step of the training; default: ``Trajectory(rng=0)``.

    Notes
    -----
    The predictions of one validation are kept until its end, on the device where they are. On
    several processes they are gathered, and lie as Lightning's sampler took them: the bits are
    those of one process, unless the sampler repeats rows to give every process as many.
    """

    def __init__(self, trajectory: Trajectory | None = None) -> None:
        self.trajectory = Trajectory(rng=0) if trajectory is None else trajectory
        self._parts: list[tuple[str, Any, Any]] = []

    def on_validation_epoch_start(self, *_: Any) -> None:
        """Forget what was gathered."""
        self._parts = []

    def on_validation_batch_end(self, _trainer: Any, _module: Any, outputs: Any, *_: Any) -> None:
        """Keep the predictions of a batch."""
        kinds = [kind for kind in ("logits", "probs") if kind in (outputs or {})]
        if len(kinds) != 1 or "labels" not in outputs:
            raise ValueError(
                "`validation_step` must return a dict of 'logits' or 'probs', and 'labels'; found"
                f" {sorted(outputs) if isinstance(outputs, dict) else type(outputs).__name__}."
            )
        self._parts.append((kinds[0], outputs[kinds[0]].detach(), outputs["labels"]))

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Evaluate all of them."""
        if trainer.sanity_checking or not self._parts:
            return
        kinds, *found = zip(*self._parts, strict=True)
        preds, labels = (_gathered(trainer, pl_module, parts) for parts in found)
        self._parts = []
        make = Predictions.from_logits if kinds[0] == "logits" else Predictions
        row = self.trajectory.follow(trainer.global_step, make(preds, labels))
        pl_module.log_dict({f"val_{name}": value for name, value in row.logged().items()})


def _gathered(trainer: Any, module: Any, parts: Any) -> Any:
    """Return the rows of all batches and processes, as Lightning's sampler took them."""
    mine = torch.cat(parts)
    several = trainer.world_size > 1
    return module.all_gather(mine).transpose(0, 1).flatten(0, 1) if several else mine
