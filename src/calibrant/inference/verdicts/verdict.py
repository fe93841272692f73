"""What tests say about one aspect of calibration: whether, in which direction, how far."""

from dataclasses import dataclass
from typing import Any, Literal, final

from calibrant import words
from calibrant.inference.replicates.problem import fields
from calibrant.lenses import Lens, TopLabel
from calibrant.scores import Impossible
from calibrant.sizes import LEVEL
from calibrant.words import ALPHA, CLUSTERS, NEEDED

Direction = Literal["high", "low", "both"]

CONFIDENCES = "the confidences"  # what predictions of no class are about
SMALLEST = 0.0005  # size that is told: below it, no more was seen than chance gives
NOT_WORKED_OUT = (
    "how far off they are is not worked out for scanned rows that are pooled or have no numbers"
)
BALANCED = (
    "the weights depend on the labels: they are the same within each class and differ between"
    " classes, which makes a calibrated model look miscalibrated"
)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verdict:
    """What is known about one aspect of calibration.

    Parameters
    ----------
    lens : Lens
        The aspect.
    subject : str
        Its name in a sentence, a plural.
    pvalue : float
        Of its tests taken together, adjusted for all that were made.
    n_tests : int
        How many these were.
    n_resamples : int
        Number of data sets drawn under the hypothesis.
    direction : {"high", "low", "both"} or None
        Of two outcomes: whether predictions are too high or too low on average, or too high in
        some bins and too low in others. None if nothing was shown.
    bias : float or None
        Of two outcomes: mean prediction minus rate.
    bias_interval : tuple of float or None
        95 % interval of it; None of scanned rows whose size is not worked out.
    size : float or None
        The root mean square deviation, in units of the total variation of two outcomes: what
        directions show that were learned on other rows, and at least the bias where a direction is
        told. None if there are fewer than 10 rows.
    interval : tuple of float or None
        95 % limits of it. The upper one is None for more than two outcomes: deviations that no
        direction finds have no upper bound.
    balanced : bool
        Whether weights look as if they depend on what occurred: the same within each class, and
        different between classes. Then none of this is valid.
    detectable : float or None
        Where nothing was shown: by how much, as `size` measures it, a model would have to be too
        confident for these tests to show it in four of five data sets.
    scanned : bool
        Whether rows were read in batches and their size was not worked out: they are pooled, or
        have no numbers by which a sample is chosen.
    n_clusters : int or None
        Number of clusters of rows; None if rows are independent.
    impossible : Impossible or None
        Outcomes that were given probability 0, each of which refutes calibration by itself; None
        if there are none, and of scanned rows.
    clusters_worth : float or None
        How many clusters they are worth for a test: fewer where an outcome is rare, or some are
        large beside the others. With fewer than six nothing can be told, and the p-value is 1.
    """

    lens: Lens
    subject: str
    pvalue: float
    n_tests: int
    n_resamples: int
    direction: Direction | None
    bias: float | None
    bias_interval: tuple[float, float] | None
    size: float | None
    interval: tuple[float, float | None] | None
    balanced: bool = False
    detectable: float | None = None
    scanned: bool = False
    n_clusters: int | None = None
    impossible: Impossible | None = None
    clusters_worth: float | None = None

    @property
    def rejected(self) -> bool:
        """Whether calibration is rejected at 5 %."""
        return self.pvalue <= ALPHA

    def shown_below(self, limit: float) -> bool:
        """Whether predictions are shown to be off by less: the interval ends below the limit."""
        high = None if self.interval is None else self.interval[1]
        return high is not None and high < limit

    def why_not_below(self, limit: float) -> str:
        """Say why they are not shown to be off by less, after a subject such as "they"."""
        if self.scanned:
            return NOT_WORKED_OUT
        if self.interval is None:
            return "too few rows to say how far off they are"
        if self.interval[1] is None:
            return (
                "how far off the probabilities of more than two outcomes are has no upper bound;"
                " use a lens of two, such as `TopLabel()` or `Marginal(…)`"
            )
        high = words.points(self.interval[1])
        return f"may be off by {high}, not shown to be below {words.points(limit)}"

    def shown_above(self, limit: float) -> bool:
        """Whether predictions are shown to be off by more: the interval begins above the limit."""
        return self.interval is not None and self.interval[0] > limit

    @property
    def decided(self) -> bool:
        """Whether resamples and clusters were enough to reject anything, whatever the data."""
        return self.rejected or (self.n_resamples >= NEEDED and self.clusters_tell)

    @property
    def clusters_tell(self) -> bool:
        """Whether rows are independent, or come in clusters enough to tell."""
        return self.clusters_worth is None or self.clusters_worth >= CLUSTERS

    @property
    def lead(self) -> str:
        """The answer, in a few words."""
        if not self.rejected:
            return self._not_rejected()
        subject, high, low = self._spoken
        if self.direction == "both":
            return f"{subject} {high} in some places and {low} in others"
        if self.direction is not None:
            way = high if self.direction == "high" else low
            return f"{subject} {way}, by {self._bias_text()} on average"
        return f"{words.capital(self.subject)} are miscalibrated"

    @property
    def _spoken(self) -> tuple[str, str, str]:
        """What is judged, and the words for what is too high and too low."""
        if self.lens == TopLabel() or self.subject == CONFIDENCES:
            return "The model is", "overconfident", "underconfident"
        return f"{words.capital(self.subject)} are", "too high", "too low"

    def _not_rejected(self) -> str:
        """Say what is known if the tests do not reject."""
        if self.impossible is not None:
            return f"{words.capital(self.subject)} are miscalibrated, though no test rejects"
        if self.decided:
            return f"No evidence that {self.subject} are miscalibrated"
        few = words.many(self.n_resamples, "resample")
        if not self.clusters_tell:
            few = words.many(self.n_clusters or 0, "cluster")
        return f"Cannot tell with {few} whether {self.subject} are calibrated"

    def _bias_text(self) -> str:
        """Say by how much mean prediction and rate differ."""
        by = words.points(abs(self.bias or 0.0))
        if self.bias_interval is None:
            return by
        return f"{by} ({words.span(*sorted(map(abs, self.bias_interval)))})"

    @property
    def facts(self) -> str:
        """The numbers."""
        tests = f", adjusted for {self.n_tests:,} tests" if self.n_tests > 1 else ""
        p = f"{words.pvalue(self.pvalue, self.n_resamples)}{tests}"
        needed = words.too_few()
        if not self.clusters_tell:
            needed = words.few_clusters(self.clusters_worth or 0.0, self.n_clusters or 0)
        size = f"{self._size_text()}{self._mean_text()}{self._power_text()}"
        facts = f"{p if self.decided else needed}; {size}"
        if self.impossible is not None:
            facts = f"{self.impossible.sentence}, which alone refutes calibration; {facts}"
        return facts + (f". Yet {BALANCED}" if self.balanced else "")

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        return f"{self.lead}: {self.facts}."

    @property
    def amount(self) -> str:
        """How far off they are, in a few words."""
        if self.size is None:
            return "not known"
        if self.size >= SMALLEST:
            return words.points(self.size)
        return "unclear" if self.rejected else "none seen"

    def _size_text(self) -> str:
        """Say how far off they are, or may be."""
        if self.scanned:
            return NOT_WORKED_OUT
        if self.size is None or self.interval is None:
            return "too few rows to say how far off they are"
        low, high = self.interval
        kind = f"root mean square, {words.percent(LEVEL)} interval"
        if high is None:
            return self._bound_text(low)
        if not self.rejected or self.size < SMALLEST:
            return f"off by at most {words.points(high)} ({kind})"
        return f"off by {words.points(self.size)} ({kind} {words.span(low, high)} points)"

    def _bound_text(self, low: float) -> str:
        """Say how far off they are at least: of more than two outcomes there is no upper bound."""
        if not self.rejected:
            return "how far off they may be has no upper bound for more than two outcomes"
        about = f"calibrators would repair about {words.points(self.size or 0.0)}"
        if low < SMALLEST:
            return f"how far off they are is not shown ({about}, root mean square)"
        sure = words.percent((1 + LEVEL) / 2)
        return f"off by at least {words.points(low)} (root mean square, {sure} sure); {about}"

    def _mean_text(self) -> str:
        """Say what the mean of all rows shows, where the answer itself does not."""
        if not self.rejected or self.direction in ("high", "low") or self.bias_interval is None:
            return ""
        low, high = self.bias_interval
        if low <= 0 <= high:
            ends = " to ".join(words.signed(100 * end, 1) for end in (low, high))
            return f"; not shown to be off on average (bias {ends} points)"
        return f"; on average {self._spoken[1 if low > 0 else 2]} by {self._bias_text()}"

    def _power_text(self) -> str:
        """Say what would have been seen."""
        if self.detectable is None or self.rejected:
            return ""
        amount = f"{100 * self.detectable:.2g} points"
        share = words.percent(0.8)
        return f"; overconfidence of about {amount} would show in {share} of such data sets"

    def cells(self) -> list[str]:
        """Return the texts of a line of a table: size, interval, bias, p-value."""
        interval = "" if self.interval is None else words.span(*self.interval)
        bias = "" if self.bias is None else words.signed(100 * self.bias, 1)
        p = f"{self.pvalue:.3g}" if self.clusters_tell else "cannot tell"
        return [self.amount, interval, bias, p]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        names = (
            "lens",
            "rejected",
            "decided",
            "pvalue",
            "direction",
            "bias",
            "bias_interval",
            "size",
        )
        return fields(self, *names, "interval", "balanced", "detectable", "sentence")

    def __repr__(self) -> str:
        return f"<{self.lens}: {self.sentence[:400]}>"

    def __str__(self) -> str:
        return self.sentence
