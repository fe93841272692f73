"""Reliability diagrams on bins, §4.4: as data, and how they are computed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from calibrant import tables
from calibrant.arguments import as_partition, takes_models
from calibrant.calibration import calibration_function
from calibrant.checks.parameters import Rng, fraction, one_of
from calibrant.diagrams.attributes import attributes_picture
from calibrant.diagrams.bins import Truth, bins_picture, simplex_picture
from calibrant.diagrams.diagram import Diagram, Models, chosen_lens, first, look, named, subject_of
from calibrant.diagrams.familiar import bars_picture, line_picture
from calibrant.diagrams.listed import bin_lines, bin_records
from calibrant.diagrams.picture import UNIT, Floats, Picture, Range, corner
from calibrant.diagrams.series import Series
from calibrant.inference.replicates.problem import Plan, Problem, Progress, fields
from calibrant.inference.testing.binwise import of_problem
from calibrant.lenses import Lens
from calibrant.partitions import EqualMass, EqualWidth, Partition, SimplexBins
from calibrant.resampling import Exact, Resampler
from calibrant.words import ALPHA, NEEDED, be, many, percent, too_few

if TYPE_CHECKING:
    from calibrant.diagrams.charts import Chart
    from calibrant.diagrams.static import Axes

MOST_BINS = 50  # of the histogram: more are too thin to be seen
OTHER_BINS = 20  # of the histogram, where the bins of the diagram have no equal widths
USUAL = EqualWidth(10)  # bins of two outcomes
CROWD = 0.9  # of the rows in one bin: then bins of equal mass show more
Style = Literal["deviations", "bars", "line", "attributes"]
STYLES = ("deviations", "bars", "line", "attributes")
ALONE = ("bars", "attributes")  # which show one model
LARGEST = 4  # outcomes that can be drawn: a tetrahedron has four corners


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityDiagram(Diagram):
    """Bins with their mean prediction, outcome frequency, limits and adjusted p-value.

    The number of outcomes decides the picture: two give the deviation over the prediction,
    three arrows in a triangle, four arrows in a tetrahedron.

    Parameters
    ----------
    series : tuple of Series
        One for each model.
    classes : tuple of str (m,)
        Names of the outcomes.
    event : int
        Which of two outcomes is drawn; 0 if there are more.
    edges : array of shape (bins + 1,)
        Limits of the bins of the histogram of predictions; from 0 to 1, or over the corner that
        is drawn, if all bins lie there.
    settings : mapping
        What it was made with: lens, partition and resampler in words, `n_resamples`, `level`,
        `alpha`, and the seed that gives the same draws again.
    subject : str, optional
        What a diagram of two outcomes is about, in words. Default: the name of its class.
    """

    series: tuple[Series, ...]
    classes: tuple[str, ...]
    event: int
    edges: Floats
    settings: Mapping[str, Any]
    subject: str | None = None

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes: 2, 3 or 4."""
        return len(self.classes)

    @property
    def n_off(self) -> int:
        """Number of significant bins, in all series."""
        return sum(int(series.significant(self.alpha).sum()) for series in self.series)

    @property
    def shown(self) -> Range:
        """The part of the unit interval that is drawn: a corner, if all bins lie there."""
        return float(self.edges[0]), float(self.edges[-1])

    def marked_at(self, alpha: float) -> "ReliabilityDiagram":
        """Return the same diagram with its bins judged at another family-wise level.

        Parameters
        ----------
        alpha : float
            Level at which a bin counts as significant, between 0 and 1.
        """
        return replace(self, settings={**self.settings, "alpha": fraction("alpha", alpha)})

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        style: Style = "deviations",
        truth: Truth | None = None,
        regions: bool = False,
        climatology: float | None = None,
    ) -> "Axes":
        """Draw with matplotlib and return the Axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on: plain for two or three outcomes, ``projection="3d"`` for four.
            Default: that of a new figure.
        style : {"deviations", "bars", "line", "attributes"}, default "deviations"
            How two outcomes are drawn. "deviations": observed minus predicted, with what chance
            allows. "bars": the frequency of each bin and its gap to the mean prediction, as papers
            draw them, of one model. "line": points that a line joins, as scikit-learn draws them.
            "attributes": the line of one model with climatology and no skill, as forecasters draw
            it. The last three have a diagonal, and the ECE on the bins that are drawn in a corner.
        truth : function, optional
            The true calibration function of the event, which is drawn as a curve; for two
            outcomes, not with bars.
        regions : bool, default False
            Whether to draw the consistency region of each bin, an ellipse that would hold its
            outcome frequency with probability `level`; for three outcomes.
        climatology : float, optional
            Probability of the event from a longer record, for "attributes". Default: its
            frequency in the data.

        Notes
        -----
        Where all bins lie in a corner, such as those of rare events, the axes show that corner,
        and say so. A layout engine, such as ``layout="constrained"``, makes space for labels;
        without one, the Axes is made smaller where they need it.
        """
        return self._plot(self.picture(style, truth, regions, climatology), ax)

    def figure(
        self,
        *,
        style: Style = "deviations",
        truth: Truth | None = None,
        regions: bool = False,
        climatology: float | None = None,
    ) -> "Chart":
        """Draw as SVG, with the options of `plot`: a `Chart` that shows and saves itself."""
        return self._figure(self.picture(style, truth, regions, climatology))

    def picture(
        self,
        style: Style = "deviations",
        truth: Truth | None = None,
        regions: bool = False,
        climatology: float | None = None,
    ) -> Picture:
        """Return what is drawn where, with the options of `plot`."""
        one_of("style", style, STYLES)
        self._check_option("style", style != "deviations", 2)
        self._check_option("truth", truth is not None, 2)
        self._check_option("regions", regions, 3)
        if style in ALONE and truth is not None:
            raise ValueError(f"`truth` is for 'deviations' and 'line', not for {style!r}.")
        if style == "attributes":
            return attributes_picture(self, _probability(climatology))
        if climatology is not None:
            raise ValueError(f"`climatology` is for 'attributes', not for {style!r}.")
        if style == "bars":
            return bars_picture(self)
        if style == "line":
            return line_picture(self, truth=truth)
        if self.n_outcomes > 2:
            return simplex_picture(self, regions=regions)
        return bins_picture(self, truth=truth)

    def _check_option(self, name: str, given: bool, needed: int) -> None:
        if given and self.n_outcomes != needed:
            raise ValueError(
                f"`{name}` is for diagrams of {needed} outcomes; this one has {self.n_outcomes}."
            )

    def lines(self) -> tables.Lines:
        """Return header and lines of the table of bins."""
        return bin_lines(self)

    @property
    def note(self) -> str:
        """Say what the band of a bin is, and what it is not."""
        outside = percent(round(1 - self.series[0].cells.level, 10))
        return (
            f"The band is each bin's own: about {outside} of the bins of a calibrated model lie"
            " outside. Adjusted p allows for all bins."
        )

    def records(self) -> list[dict[str, Any]]:
        """Return a record for each bin: rows, means, deviation, its limits and p-value.

        Of more than two outcomes, for each bin and outcome.
        """
        return bin_records(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return fields(self, "classes", "event", "alpha", "edges", "settings", "series")

    @property
    def sentence(self) -> str:
        """What the diagram shows."""
        text = self._of_models((series.name, self._sentence(series)) for series in self.series)
        if not self.n_off or len(self.series[0].cells.largest) < NEEDED:
            return text
        return (
            f"{text} If a model were calibrated, the chance of any such bin would be at most"
            f" {percent(self.alpha)}."
        )

    def _sentence(self, series: Series) -> str:
        count, n_bins = int(series.significant(self.alpha).sum()), series.function.n_cells
        n_resamples = series.cells.largest.size
        if n_resamples < NEEDED:
            return f"Bins cannot be judged with {many(n_resamples, 'resample')}: {too_few()}."
        if not series.cells.decided:
            return "Bins cannot be judged: too few clusters can tell."
        if count == 0:
            which = "The only bin is not" if n_bins == 1 else f"None of the {n_bins:,} bins is"
        else:
            which = "The only bin" if n_bins == 1 else f"{count:,} of {n_bins:,} bins"
            which += f" {be(count)}"
        return f"{which} further off than chance allows."

    def __str__(self) -> str:
        n_bins = sum(series.function.n_cells for series in self.series)
        return (
            f"reliability diagram of {self.n_outcomes} outcomes: {self.n_off} of {n_bins} bins"
            f" {be(self.n_off)} significant at {100 * self.alpha:g}% (family-wise)"
        )


def _probability(climatology: float | None) -> float | None:
    return None if climatology is None else fraction("climatology", climatology)


@takes_models
def reliability_diagram(
    data: Models,
    *,
    lens: Lens | str | None = None,
    partition: Partition | str | None = None,
    resampler: Resampler | str = Exact(),
    n_resamples: int = 999,
    level: float = 0.9,
    rng: Rng = None,
    progress: Progress | None = None,
) -> ReliabilityDiagram:
    """Compare predicted with observed frequencies, bin by bin, for two to four outcomes.

    A bin counts as significant at the family-wise level 0.05; see `ReliabilityDiagram.marked_at`.

    Parameters
    ----------
    data : Predictions, Scan, or mapping of str to such
        The predictions; more than one model, by name, for one picture of two outcomes.
    lens : Lens or str, optional
        What aspect of the predictions is shown. Default: canonical for up to four classes, and for
        two of several models; else the top label.
    partition : Partition, optional
        The bins. Default: EqualWidth(10) for two outcomes, or EqualMass(10) if one of these would
        hold more than 90 % of the rows of a single model; SimplexBins(5) for three,
        SimplexBins(4) for four.
    level : float, default 0.9
        Level of the consistency limits; 0.9 gives the 5th and 95th percentile.
    resampler, n_resamples, rng, progress
        As in `calibration_test`.

    Returns
    -------
    ReliabilityDiagram
        The diagram as data, with its settings.

    Examples
    --------
    >>> from calibrant import Predictions
    >>> data = Predictions([0.2] * 100 + [0.8] * 100, [0, 1] * 50 + [1] * 80 + [0] * 20)
    >>> print(reliability_diagram(data, rng=0))
    reliability diagram of 2 outcomes: 1 of 2 bins is significant at 5% (family-wise)
    """
    models = named(data, scans=True)
    plan = Plan.of(first(models), resampler, n_resamples, rng, progress)
    chosen = chosen_lens(models, lens, LARGEST)
    looked = look(models, chosen, plan)
    seen = looked[0][1].view
    _check_number_of_outcomes(seen.m, len(models))
    cut = _usual(looked) if partition is None else as_partition(partition)
    n_bars = min(cut.k, MOST_BINS) if isinstance(cut, EqualWidth) else OTHER_BINS
    edges = np.arange(n_bars + 1) / n_bars  # those of EqualWidth, to the last bit
    series = []
    for name, problem, mine in looked:
        histogram = _histogram(problem, edges)
        cells = of_problem(problem, cut, mine, fraction("level", level))
        corners = cut.vertices(cells.function.fitted) if isinstance(cut, SimplexBins) else None
        series.append(Series(name, cells, histogram(), corners))
    shown = _shown(looked, series)
    if shown != UNIT:
        edges = np.linspace(*shown, OTHER_BINS + 1)
        series = _recounted(looked, series, edges)
    return ReliabilityDiagram(
        series=tuple(series),
        classes=seen.classes,
        event=seen.event or 0,
        edges=edges,
        settings=plan.settings(lens=chosen, partition=cut, level=level, alpha=ALPHA),
        subject=subject_of(chosen, looked[0][1]),
    )


def _shown(looked: Sequence[tuple[str, Problem, Plan]], series: Sequence[Series]) -> Range:
    """Return the part of the unit interval where all bins lie, with what was observed there."""
    view = looked[0][1].view
    if view.m != 2 or not all(problem.rows.held for _, problem, _ in looked):
        return UNIT
    functions = [each.function for each in series]
    both = [
        each[fn.mass > 0, view.event or 0]
        for fn in functions
        for each in (fn.predicted, fn.observed)
    ]
    return corner(both)


def _recounted(
    looked: Sequence[tuple[str, Problem, Plan]], series: Sequence[Series], edges: Floats
) -> list[Series]:
    """Return the same bins with histograms between these edges."""
    pairs = zip(looked, series, strict=True)
    return [replace(one, histogram=_histogram(each[1], edges)()) for each, one in pairs]


def _usual(looked: Sequence[tuple[str, Problem, Plan]]) -> Partition:
    """Return the default bins: of equal mass where one of equal width holds nearly all rows.

    Several models have equal widths: their bins of equal mass would hide each other.
    """
    problem = looked[0][1]
    if problem.view.m != 2:
        return SimplexBins(5 if problem.view.m == 3 else 4)
    crowded = len(looked) == 1 and problem.rows.held and _crowded(problem)
    return EqualMass(USUAL.k) if crowded else USUAL


def _crowded(problem: Problem) -> bool:
    """Whether a bin of equal width holds nearly all rows, and those of equal mass would not."""
    shares = _histogram(problem, np.arange(USUAL.k + 1) / USUAL.k)()
    if shares is None or shares.max() <= CROWD:
        return False
    masses = calibration_function(problem.seen, EqualMass(USUAL.k)).proportions
    return float(masses.max()) <= CROWD


def _check_number_of_outcomes(m: int, n_models: int) -> None:
    if m > LARGEST:
        raise ValueError(
            f"A diagram shows at most four outcomes; found {m}. Look through a lens: `TopLabel()`"
            " or `Marginal(…)` for one dimension, `TopK(2)` or `Groups(…)` of three groups for"
            " two, `Groups(…)` of four for three."
        )
    if n_models > 1 and m > 2:
        raise ValueError(
            f"Models can share a picture only if there are two outcomes; found {m}. Draw one"
            " diagram for each."
        )


def _histogram(problem: Problem, edges: Floats) -> Callable[[], Floats | None]:
    """Return what gives the shares of the rows between edges; None if there are more outcomes.

    The cells of scanned rows are asked for at once, and looked at when they were found.
    """
    if problem.view.m != 2:
        return lambda: None
    if problem.rows.held:
        seen = problem.seen
        weights = seen.weights if seen.weighted else None
        counts = np.histogram(seen.probs[:, seen.event], edges, weights=weights)[0]
        return lambda: np.asarray(counts / seen.weights.sum())
    cells: Any = problem.view.cells(EqualWidth(edges.size - 1))

    def shares() -> Floats:
        out = np.zeros(edges.size - 1)
        out[cells.fitted.keys[:, 0].astype(int)] = cells.proportions
        return out

    return shares
