"""The squared kernel calibration error, which needs no cells."""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, final

import numpy as np

from calibrant import engine
from calibrant.calibration import Block, View
from calibrant.checks.parameters import brief, one_of, positive, truth, whole
from calibrant.predictions import Predictions
from calibrant.statistics.kernel_forms import (
    Form,
    FullForm,
    LineForm,
    LowRankForm,
    PositiveRows,
    WeightedPairs,
)
from calibrant.statistics.statistic import Evaluate, Floats, Statistic, Summed, batches

FULL = 20_000  # rows up to which all pairs are looked at
KERNELS = {"exponential": 0, "gaussian": 1, "laplacian": 0}  # as the engine counts them
DISTANCES = {"total_variation": 0, "euclidean": 1}
FORMS = ("auto", "full", "low-rank")
MEDIAN = "median"
SAMPLE = 10_000  # rows that stand for all where there are too many pairs


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
    r = e_y - p, it is ``(sum_ij w_i w_j k_ij r_i'r_j - sum_i w_i k_ii |r_i|²) / (W (W - 1))``, and
    0 if W is below 2; biased, it is the first sum over W².

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
        parse_bandwidths(self.bandwidth)
        for name, known in (("kernel", KERNELS), ("distance", DISTANCES), ("form", FORMS)):
            one_of(name, getattr(self, name), known)
        truth("unbiased", self.unbiased)
        whole("rank", self.rank, least=1)
        whole("seed", self.seed, least=0)
        if isinstance(self.bandwidth, list):
            object.__setattr__(self, "bandwidth", tuple(self.bandwidth))

    def prepare(self, view: View) -> Evaluate:
        pairs = self._pairs(view)
        form: Form = view.remember(("kernel form", self), lambda: self._form(pairs))
        count = pairs.count

        def of_pair(found: Floats) -> Floats:
            return found / count if count > 0 else np.zeros(found.size)

        if isinstance(form, LowRankForm):
            return Summed(form, lambda sums: of_pair(form.finish(sums)))

        def evaluate(block: Block) -> Floats:
            return of_pair(np.concatenate([form.sums(some) for some in batches(block, form.most)]))

        return evaluate

    def null_mean(self, data: Predictions) -> float:
        """Return the mean if labels are redrawn from the predictions: 0 if unbiased.

        With weights it is not: a row has one label, whatever its weight.
        """
        return self._pairs(View.of(data)).null_mean()

    def null_spread(self, data: Predictions) -> float:
        r"""Return the standard deviation if labels are redrawn from the predictions.

        .. math:: \frac{1}{n (n - 1)} \sqrt{2 \sum_{i \ne j} k(p_i, p_j)^2 \, tr(C_i C_j)},
                  \quad C = diag(p) - p p'

        It is that of all pairs, whatever the form.
        """
        return self._pairs(View.of(data)).null_spread()

    def settled(self, data: Predictions) -> Self:
        """Return the statistic with what `data` make of it: bandwidths as numbers, and the form."""
        pairs = self._pairs(View.of(data))
        scales = tuple(pairs.kernel.scales.tolist())
        bandwidth = scales[0] if len(scales) == 1 else scales
        form: Any = "low-rank" if self._compressed(pairs) else "full"
        return replace(self, bandwidth=bandwidth, form=form)

    def _pairs(self, view: View) -> WeightedPairs:
        """Return the rows that count, and the kernel."""
        m = view.m
        if m < 2:
            raise ValueError("`lens` must show at least two outcomes; found one, which is certain.")
        if m > 2 and (self.kernel, self.distance) == ("gaussian", "total_variation"):
            raise ValueError(
                f"`distance` must be 'euclidean' for a Gaussian kernel of {m} outcomes: that of the"
                " total variation is not positive definite."
            )
        sample = view.remember("kernel sample", lambda: PositiveRows.of(view))
        scales = [
            chosen.amount * (self._median(view, sample) if chosen.of_median else 1.0)
            for chosen in parse_bandwidths(self.bandwidth)
        ]
        kind, distance = KERNELS[self.kernel], DISTANCES[self.distance]
        return WeightedPairs(
            sample, engine.pairs.KernelSum(kind, distance, np.array(scales)), self.unbiased
        )

    def _median(self, view: View, sample: PositiveRows) -> float:
        """Return the median distance, which statistics of one call share."""
        exactly = sample.size <= FULL or self.form == "full"
        distance = DISTANCES[self.distance]
        median: float = view.remember(
            ("median distance", distance, exactly),
            lambda: median_distance(sample, distance, exactly=exactly),
        )
        if median > 0:
            return median
        raise ValueError(
            "`bandwidth` must be a number here, such as 0.1: at least half of all pairs of"
            " predictions are equal, so that their median distance is 0."
        )

    def _compressed(self, pairs: WeightedPairs) -> bool:
        if self.form != "auto":
            return self.form == "low-rank"
        return pairs.sample.size > FULL and not pairs.on_a_line

    def _form(self, pairs: WeightedPairs) -> Form:
        if self._compressed(pairs):
            return LowRankForm.of(pairs, self.rank, self.seed)
        return LineForm(pairs) if pairs.on_a_line else FullForm.of(pairs)

    def __str__(self) -> str:
        scales = ", ".join(str(chosen) for chosen in parse_bandwidths(self.bandwidth))
        bias = "" if self.unbiased else "biased "
        kind = "" if self.kernel == "exponential" else f"{self.kernel} "
        distance = "" if self.distance == "total_variation" else f" of {self.distance} distance"
        form = "" if self.form == "auto" else f", {self.form}"
        return f"{bias}{kind}kernel {scales}{distance}{form}"


class Bandwidth(NamedTuple):
    """A number, or a share of the median distance."""

    amount: float
    of_median: bool

    def __str__(self) -> str:
        if not self.of_median:
            return f"{self.amount:g}"
        return MEDIAN if self.amount == 1 else f"{self.amount:g} × {MEDIAN}"


def parse_bandwidths(value: Any) -> tuple[Bandwidth, ...]:
    """Return the bandwidths of a number, "median", ("median", share), or several of these."""
    if not isinstance(value, tuple | list) or _is_share(value):
        return (_bandwidth(value),)
    if not value:
        raise ValueError("`bandwidth` must name at least one; found none.")
    return tuple(_bandwidth(item) for item in value)


def _is_share(value: Any) -> bool:
    """Whether this is ("median", a number)."""
    pair = isinstance(value, tuple | list) and len(value) == 2
    return pair and value[0] == MEDIAN and not isinstance(value[1], str | tuple | list)


def _bandwidth(value: Any) -> Bandwidth:
    """Return one bandwidth, or refuse it."""
    share = (MEDIAN, 1.0) if isinstance(value, str) and value == MEDIAN else value
    if _is_share(share):
        return Bandwidth(float(positive("bandwidth", share[1])), of_median=True)
    if isinstance(value, str | tuple | list):
        raise ValueError(
            "`bandwidth` must be a number above 0, 'median', ('median', share) or several of"
            f" these; found {brief(value)}."
        )
    return Bandwidth(float(positive("bandwidth", value)), of_median=False)


def median_distance(sample: PositiveRows, distance: int, *, exactly: bool) -> float:
    """Return the median distance of all ordered pairs of rows, i = j too.

    For two outcomes it is exact for any number of rows; for more, where not `exactly`, it is
    that of `SAMPLE` rows, spread evenly over all as sorted by a hash of the prediction.
    """
    if sample.event is not None:
        width = float(engine.line.middle(sample.ties.values, sample.ties.mass))
        return width * np.sqrt(2.0) if distance == engine.pairs.EUCLIDEAN else width
    points = sample.points if exactly else _sampled(sample.points)
    return float(engine.median.median_distance(points, distance))


def _sampled(points: Any) -> Any:
    """Return a few rows of weight 1 in place of many: the same ones in whatever order they are."""
    order = np.argsort(engine.landmarks.hashes(points.probs, 0), kind="stable")
    mass = np.cumsum(points.weights[order])
    marks = (np.arange(SAMPLE) + 0.5) * (mass[-1] / SAMPLE)
    rows = order[np.searchsorted(mass, marks)]
    return engine.pairs.Points(points.probs[rows], np.ones(SAMPLE))
