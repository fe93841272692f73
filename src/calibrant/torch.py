"""A calibration error that PyTorch's loops can add up; needs ``pip install 'calibrant[torch]'``."""

from typing import Any, Literal, final, get_args

from calibrant.checks.doors import needs

needs("calibrant.torch", "torch", "torchmetrics", extra="torch")

import torch  # noqa: E402
from torchmetrics import Metric  # noqa: E402

from calibrant.arguments import as_lens  # noqa: E402
from calibrant.checks.parameters import one_of, whole  # noqa: E402
from calibrant.inference import CalibrationTest, Tally  # noqa: E402
from calibrant.inference.testing.fixed_sums import FixedSums  # noqa: E402
from calibrant.lenses import Lens  # noqa: E402
from calibrant.predictions import Predictions  # noqa: E402
from calibrant.resampling import Exact  # noqa: E402
from calibrant.statistics.calibration_errors import NAMED  # noqa: E402

__all__ = ["CalibrationError"]

Kind = Literal["ece", "mce", "rms"]


@final
class CalibrationError(Metric):  # type: ignore[misc]
    """A calibration error, what chance alone would give, and an exact p-value.

    Rows are not kept: the state is a few tensors of whole numbers, of the same shape however many
    rows there were, and they add up. So one call, many batches and many processes give the same
    bits.

    Parameters
    ----------
    num_classes : int
        Number of classes.
    n_bins : int, default 15
        Number of bins of equal width.
    kind : {"ece", "mce", "rms"}, default "ece"
        Expected, maximum or root mean square calibration error.
    logits : bool, default False
        Whether `preds` are logits; this is never guessed.
    lens : Lens or str, optional
        What aspect is looked at, of two outcomes; default: the event of two classes, and the
        predicted class of more. ``"class:3"`` looks at one class.
    n_resamples, rng
        As in `calibration_test`, for what chance would give. All processes need the same seed.
    **kwargs
        Of `torchmetrics.Metric`.

    Notes
    -----
    `compute` returns a dict of scalars: "estimate", the error; "expected", what a calibrated model
    with these predictions would show on average; "pvalue" of the hypothesis that the model is
    calibrated. `test` has the whole null distribution.

    Predictions on a GPU stay there: the top class is found there, and one number for each row and
    its outcome come to the host.

    Examples
    --------
    >>> metric = CalibrationError(num_classes=3)
    >>> probs = torch.tensor([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]]).repeat(50, 1)
    >>> metric.update(probs, torch.tensor([0, 2]).repeat(50))
    >>> {name: round(float(value), 3) for name, value in metric.compute().items()}
    {'estimate': 0.45, 'expected': 0.052, 'pvalue': 0.001}
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self,
        num_classes: int,
        n_bins: int = 15,
        *,
        kind: Kind = "ece",
        logits: bool = False,
        lens: Lens | str | None = None,
        n_resamples: int = 999,
        rng: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_classes = whole("num_classes", num_classes, least=2)
        self.n_bins, self.logits = whole("n_bins", n_bins, least=1), logits
        one_of("kind", kind, get_args(Kind))
        self._even = Predictions([[1.0 / num_classes] * num_classes], [0])  # knows nothing
        chosen = lens if lens is not None else ("canonical" if num_classes == 2 else "top")
        how = {"resampler": Exact(draws="counts"), "n_resamples": n_resamples, "rng": rng}
        self._settings: dict[str, Any] = {"lens": as_lens(chosen, self._even)} | how
        self._statistic = NAMED[kind](n_bins).statistic
        self._tallied(self._even)  # refuses a lens of more than two outcomes
        for name, zero in FixedSums.zero(n_bins)._asdict().items():
            self.add_state(name, torch.from_numpy(zero), dist_reduce_fx="sum")

    def _tallied(self, data: Predictions) -> Tally:
        """Return a tally of rows."""
        tally = Tally(self._statistic, **self._settings)
        tally.update(data, None)
        return tally

    def update(self, preds: Any, target: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        preds : tensor of shape (n, num_classes), or (n,) of two classes
            Probabilities, or logits.
        target : tensor of shape (n,)
            Classes 0, …, num_classes - 1.
        """
        if not len(preds):  # a process may have fewer batches than others
            return
        found = preds.detach()
        make = Predictions.from_logits if self.logits else Predictions
        data = make(found.float() if found.dtype == torch.bfloat16 else found, target)
        if data.m != self.num_classes:
            raise ValueError(
                f"`preds` must have {self.num_classes} classes, as `num_classes` says; found"
                f" {data.m}."
            )
        (state,) = self._tallied(data).states
        for name, value in FixedSums.of(state, self.n_bins)._asdict().items():
            mine = getattr(self, name)
            setattr(self, name, mine + torch.from_numpy(value).to(mine.device))

    def test(self) -> CalibrationTest:
        """Return the test of all rows that were added, with its null distribution."""
        sums = FixedSums(*(getattr(self, name).cpu().numpy() for name in FixedSums._fields))
        n = int(sums.rows[:, 0].sum())
        if not n:
            raise ValueError("`update` must have been called before there is a result.")
        like = self._tallied(self._even)
        return like.holding([sums.state(like.states[0])], n)

    def compute(self) -> dict[str, Any]:
        """Return the estimate, what a calibrated model would show, and the p-value."""
        found = self.test()
        values = (found.statistic, found.null.mean(), found.pvalue)
        scalars = (torch.tensor(float(value), dtype=torch.float64) for value in values)
        return dict(zip(("estimate", "expected", "pvalue"), scalars, strict=True))
