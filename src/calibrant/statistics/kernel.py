"""The squared kernel calibration error, which needs no cells."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from calibrant import engine
from calibrant.calibration import Block, View
from calibrant.checks.parameters import one_of, truth, whole
from calibrant.predictions import Predictions
from calibrant.statistics import bandwidths, kernel_sample
from calibrant.statistics.kernel_forms import Form, FullForm, LineForm, LowRankForm
from calibrant.statistics.kernel_sample import Sample, on_a_line
from calibrant.statistics.outcomes import batches
from calibrant.statistics.statistic import Evaluate, Statistic

Floats = NDArray[np.float64]

FULL = 20_000  # rows up to which all pairs are looked at
KERNELS = {"exponential": 0, "gaussian": 1, "laplacian": 0}  # as the engine counts them
DISTANCES = {"total_variation": 0, "euclidean": 1}
FORMS = ("auto", "full", "low-rank")


@final
@dataclass(frozen=True, slots=True)
class KernelMiscalibration(Statistic):
    r"""The squared kernel calibration error (SKCE): pairs of rows that are off in the same way.

    .. math:: \frac{1}{n (n - 1)} \sum_{i \ne j} k(p_i, p_j) \, (e_{y_i} - p_i)' (e_{y_j} - p_j),
              \quad k = \exp(-d / s) \text{ or } \exp(-d^2 / (2 s^2))

    Parameters
    ----------
    bandwidth : float, "median", ("median", share) or a tuple of these, default "median"
        The scale s: a number, the median of d over all n² ordered pairs of rows, or a share of
        it. Several, such as ``(0.1, 0.4)``, stand for the sum of their kernels.
    kernel : {"exponential", "gaussian", "laplacian"}
        The kernel; Laplacian is another name of exponential.
    distance : {"total_variation", "euclidean"}
        The distance d. A Gaussian kernel of more than two outcomes takes the Euclidean one.
    unbiased : bool, default True
        Whether no row is paired with itself; else the mean is over all n² pairs.
    form : {"auto", "full", "low-rank"}
        "full": all pairs. "low-rank": all pairs, with k(p, q) replaced by what `rank` landmarks
        show of it (Nyström). "auto": all pairs of up to 20,000 rows, and of any number if there
        are two outcomes and the kernel is exponential; else low-rank. `settled` tells which.
    rank : int, default 256
        Number of landmarks, drawn from the predictions, uncertain ones more often.
    seed : int, default 0
        Of the choice of landmarks, which depends on nothing else but the predictions.

    Notes
    -----
    The unbiased form has mean 0 if the model is calibrated, and may be negative; the biased one is
    never negative, and `null_mean` is its mean. Neither is in units of probability. The low-rank
    form is another statistic: close to the full one where predictions are few or the bandwidth is
    wide, and its exact test is just as valid, since data and replicates are measured alike.

    A row of weight w is w rows, all of them paired: with W the sum of the weights and
    r = e_y - p, it is (sum_ij w_i w_j k_ij r_i'r_j - sum_i w_i k_ii |r_i|²) / (W (W - 1)), and 0
    if W is below 2; biased, it is the first sum over W².

    The median is exact; of more than 20,000 rows with three outcomes or more, in the low-rank
    form, it is that of 10,000 rows. It collapses where a model is confident: a number is safer.

    Cost: n log n for two outcomes and the exponential kernel, n² m for all pairs, n m `rank` else;
    a replicate costs n, n² / m and n `rank`.

    References
    ----------
    Widmann, Lindsten and Zachariah (2019), Calibration tests in multi-class classification.

    Examples
    --------
    >>> data = Predictions([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1])
    >>> round(KernelMiscalibration(0.5)(data), 4)
    -0.011
    """

    bandwidth: Any = "median"
    kernel: Literal["exponential", "gaussian", "laplacian"] = "exponential"
    distance: Literal["total_variation", "euclidean"] = "total_variation"
    unbiased: bool = True
    form: Literal["auto", "full", "low-rank"] = "auto"
    rank: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        bandwidths.parse(self.bandwidth)
        for name, known in (("kernel", KERNELS), ("distance", DISTANCES), ("form", FORMS)):
            one_of(name, getattr(self, name), known)
        truth("unbiased", self.unbiased)
        whole("rank", self.rank, least=1)
        whole("seed", self.seed, least=0)
        if isinstance(self.bandwidth, list):
            object.__setattr__(self, "bandwidth", tuple(self.bandwidth))

    def prepare(self, view: View) -> Evaluate:
        """Find the bandwidth, and add up what does not depend on labels."""
        sample, kernel = self._chosen(view)
        form = self._form(sample, kernel)
        pairs = sample.pairs(unbiased=self.unbiased)

        def evaluate(block: Block) -> Floats:
            found = [form.sums(some) for some in batches(block, form.most)]
            return np.concatenate(found) / pairs if pairs > 0 else np.zeros(block.size)

        return evaluate

    def null_mean(self, data: Predictions) -> float:
        """Return the mean if labels are redrawn from the predictions: 0 if unbiased.

        With weights it is not: a row has one label, whatever its weight.
        """
        return kernel_sample.null_mean(*self._chosen(View.of(data)), unbiased=self.unbiased)

    def null_spread(self, data: Predictions) -> float:
        r"""Return the standard deviation if labels are redrawn from the predictions.

        .. math:: \frac{1}{n (n - 1)} \sqrt{2 \sum_{i \ne j} k(p_i, p_j)^2 \, tr(C_i C_j)},
                  \quad C = diag(p) - p p'

        It is that of all pairs, whatever the form.
        """
        return kernel_sample.null_spread(*self._chosen(View.of(data)), unbiased=self.unbiased)

    def settled(self, data: Predictions) -> Self:
        """Return the statistic with what `data` make of it: bandwidths as numbers, and the form."""
        sample, kernel = self._chosen(View.of(data))
        scales = tuple(kernel.scales.tolist())
        bandwidth = scales[0] if len(scales) == 1 else scales
        if self._compressed(sample, kernel):
            return replace(self, bandwidth=bandwidth, form="low-rank")
        return replace(self, bandwidth=bandwidth, form="full")

    def _chosen(self, view: View) -> tuple[Sample, Any]:
        """Return the rows that count, and the kernel."""
        m = view.m
        if m < 2:
            raise ValueError("`lens` must show at least two outcomes; found one, which is certain.")
        if m > 2 and (self.kernel, self.distance) == ("gaussian", "total_variation"):
            raise ValueError(
                f"`distance` must be 'euclidean' for a Gaussian kernel of {m} outcomes: that of the"
                " total variation is not positive definite."
            )
        sample = view.remember("kernel sample", lambda: Sample.of(view.data))
        scales = [
            chosen.amount * (self._median(view, sample) if chosen.of_median else 1.0)
            for chosen in bandwidths.parse(self.bandwidth)
        ]
        kind, distance = KERNELS[self.kernel], DISTANCES[self.distance]
        return sample, engine.kernels.Kernel(kind, distance, np.array(scales))

    def _median(self, view: View, sample: Sample) -> float:
        """Return the median distance, which statistics of one call share."""
        exactly = sample.rows.size <= FULL or self.form == "full"
        distance = DISTANCES[self.distance]
        median = view.remember(
            ("median distance", distance, exactly),
            lambda: bandwidths.median_distance(
                sample.points, distance, sample.event, exactly=exactly
            ),
        )
        return bandwidths.check_median(median)

    def _compressed(self, sample: Sample, kernel: Any) -> bool:
        """Whether the form is of low rank."""
        if self.form != "auto":
            return self.form == "low-rank"
        return sample.rows.size > FULL and not on_a_line(sample, kernel)

    def _form(self, sample: Sample, kernel: Any) -> Form:
        """Return a way to compute it."""
        if self._compressed(sample, kernel):
            return LowRankForm.of(sample, kernel, self.rank, self.seed, unbiased=self.unbiased)
        form = LineForm if on_a_line(sample, kernel) else FullForm
        return form.of(sample, kernel, unbiased=self.unbiased)

    def __str__(self) -> str:
        scales = ", ".join(str(chosen) for chosen in bandwidths.parse(self.bandwidth))
        bias = "" if self.unbiased else "biased "
        kind = "" if self.kernel == "exponential" else f"{self.kernel} "
        distance = "" if self.distance == "total_variation" else f" of {self.distance} distance"
        form = "" if self.form == "auto" else f", {self.form}"
        return f"{bias}{kind}kernel {scales}{distance}{form}"
