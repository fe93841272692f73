"""A reliability diagram as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import CalibrationFunction
from calibrant.checks.parameters import fraction
from calibrant.checks.seeds import Rng, derive, make_key
from calibrant.inference import Cellwise, cellwise
from calibrant.inference.arguments import check_data, check_lens, check_progress
from calibrant.inference.replicates import Progress, part
from calibrant.lenses import Canonical, Lens
from calibrant.partitions import EqualWidth, Partition, SimplexCells
from calibrant.predictions import Predictions
from calibrant.resampling import Consistency, Exact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from plotly.graph_objects import Figure

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Truth = Callable[[Floats], Floats]

MOST_BINS = 50  # of the histogram: more are too thin to be seen
LARGEST = 4  # outcomes that can be drawn: a tetrahedron has four corners
NO_FIT = (
    "A diagram shows at most four outcomes; found {m}. Look through a lens: TopLabel() or"
    " Marginal(…) for one dimension, TopK(2) or Groups of three for two, Groups of four for three."
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """The cells of one model.

    Parameters
    ----------
    name : of the model; "" if there is one
    cells : the deviations of all cells, with limits and adjusted p-values
    histogram : (bins,) share of the predictions of the event in each bin, for two outcomes
    corners : (cells, m, m) the corners of each cell, where the cells are simplices
    """

    name: str
    cells: Cellwise
    histogram: Floats | None
    corners: Floats | None

    @property
    def function(self) -> CalibrationFunction:
        """The estimated calibration function."""
        return self.cells.function

    @property
    def shown(self) -> Mask:
        """Which cells (cells,) are drawn: those that hold any weight."""
        return self.function.mass > 0

    def significant(self, alpha: float) -> Mask:
        """Which cells (cells,) are off, at a family-wise level `alpha`."""
        return self.cells.adjusted_pvalues <= alpha


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityDiagram:
    """Cells with their mean prediction, outcome frequency, limits and adjusted p-value.

    The number of outcomes decides the picture: two give the deviation over the prediction,
    three arrows in a triangle, four arrows in a tetrahedron.

    Parameters
    ----------
    series : one for each model
    classes : (m,) names of the outcomes
    event : which of two outcomes is drawn
    edges : (bins + 1,) of the histogram of predictions
    alpha : family-wise level at which a cell counts as off
    """

    series: tuple[Series, ...]
    classes: tuple[str, ...]
    event: int
    edges: Floats
    alpha: float = 0.05

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes: 2, 3 or 4."""
        return len(self.classes)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        classical: bool = False,
        truth: Truth | None = None,
        regions: bool = False,
    ) -> "Axes":
        """Draw with matplotlib and return the Axes.

        Parameters
        ----------
        ax : Axes to draw on: plain for two outcomes, ``projection="ternary"`` (mpltern) for
            three, ``projection="3d"`` for four; default: a new figure
        classical : frequency over prediction with the diagonal, instead of the deviation;
            for two outcomes
        truth : the true calibration function of the event, to be drawn in; for two outcomes
        regions : draw the consistency region of each cell, an ellipse that would hold its
            outcome frequency with probability `level`; for three outcomes

        Notes
        -----
        Everything is placed inside the figure if it has a layout engine, such as
        ``layout="constrained"``. Otherwise the Axes is made smaller where labels need room.
        """
        from calibrant.diagrams import static  # noqa: PLC0415 (loads matplotlib)

        self._check(classical, truth, regions)
        if self.n_outcomes == 2:
            return static.line(self, ax, classical=classical, truth=truth)
        if self.n_outcomes == 3:
            return static.triangle(self, ax, regions=regions)
        return static.tetrahedron(self, ax)

    def figure(
        self, *, classical: bool = False, truth: Truth | None = None, regions: bool = False
    ) -> "Figure":
        """Draw with plotly and return the Figure: for a browser, with numbers on hovering.

        The parameters are those of `plot`.
        """
        from calibrant.diagrams import interactive  # noqa: PLC0415 (loads plotly)

        self._check(classical, truth, regions)
        if self.n_outcomes == 2:
            return interactive.line(self, classical=classical, truth=truth)
        if self.n_outcomes == 3:
            return interactive.triangle(self, regions=regions)
        return interactive.tetrahedron(self)

    def _check(self, classical: bool, truth: Truth | None, regions: bool) -> None:
        m = self.n_outcomes
        for name, given, needed in (
            ("classical", classical, 2),
            ("truth", truth is not None, 2),
            ("regions", regions, 3),
        ):
            if given and m != needed:
                raise ValueError(
                    f"`{name}` is for diagrams of {needed} outcomes; this one has {m}."
                )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "classes": list(self.classes),
            "event": self.event,
            "alpha": self.alpha,
            "edges": self.edges.tolist(),
            "series": [
                {
                    "name": s.name,
                    "histogram": None if s.histogram is None else s.histogram.tolist(),
                    **s.cells.to_dict(),
                }
                for s in self.series
            ],
        }

    def __str__(self) -> str:
        off = sum(int(s.significant(self.alpha).sum()) for s in self.series)
        n_cells = sum(s.function.n_cells for s in self.series)
        return (
            f"reliability diagram of {self.n_outcomes} outcomes: {off} of {n_cells} cells are off"
            f" at {100 * self.alpha:g}% (family-wise)"
        )


def reliability_diagram(
    data: Predictions | Mapping[str, Predictions],
    *,
    lens: Lens = Canonical(),
    partition: Partition | None = None,
    resampler: Exact | Consistency = Exact(),
    n_resamples: int = 999,
    level: float = 0.9,
    alpha: float = 0.05,
    rng: Rng = None,
    progress: Progress | None = None,
) -> ReliabilityDiagram:
    """Compute a reliability diagram of two, three or four outcomes.

    Parameters
    ----------
    data : Predictions, or several of them by name for one picture (two outcomes)
    lens : what aspect of the predictions is shown
    partition : the cells; default: EqualWidth(10) for two outcomes, SimplexCells(5) for
        three, SimplexCells(4) for four
    resampler : draws data sets under the hypothesis of calibration
    n_resamples : number of data sets drawn
    level : of the consistency limits; 0.9 gives the 5th and 95th percentile
    alpha : family-wise level at which a cell counts as off
    rng : seed, generator or None
    progress : function of (done, total), called now and then

    Returns
    -------
    ReliabilityDiagram

    Examples
    --------
    >>> data = Predictions([0.2] * 100 + [0.8] * 100, [0, 1] * 50 + [1] * 80 + [0] * 20)
    >>> print(reliability_diagram(data, rng=0))
    reliability diagram of 2 outcomes: 1 of 2 cells are off at 5% (family-wise)
    """
    fraction("alpha", alpha)
    models = data if isinstance(data, Mapping) else {"": data}
    if not models:
        raise ValueError("`data` must be at least one model; found none.")
    for model in models.values():
        check_data(model)
    check_lens(lens)
    check_progress(progress)
    seen = {name: lens(model) for name, model in models.items()}
    first = next(iter(seen.values()))
    _check_outcomes(seen)
    partition = partition or default_partition(first.m)
    bins = min(partition.k, MOST_BINS) if isinstance(partition, EqualWidth) else 20
    edges = np.arange(bins + 1) / bins  # those of EqualWidth, to the last bit
    key = make_key(rng)
    series = []
    for number, (name, model) in enumerate(models.items()):
        cells = cellwise(
            model,
            partition,
            lens=lens,
            resampler=resampler,
            n_resamples=n_resamples,
            level=level,
            rng=int(derive(key, number)),
            progress=part(progress, number, len(models)),
        )
        series.append(_series(name, seen[name], partition, cells, edges))
    return ReliabilityDiagram(tuple(series), first.classes, first.event, edges, alpha)


def _series(
    name: str, seen: Predictions, partition: Partition, cells: Cellwise, edges: Floats
) -> Series:
    histogram = None
    if seen.m == 2:
        weights = seen.weights if seen.weighted else None
        counts = np.histogram(seen.probs[:, seen.event], edges, weights=weights)[0]
        histogram = counts / counts.sum()
    corners = None
    if isinstance(partition, SimplexCells):
        corners = partition.vertices(partition.fit(seen))
    return Series(name, cells, histogram, corners)


def default_partition(m: int) -> Partition:
    """Return the cells of a diagram of m outcomes."""
    if m == 2:
        return EqualWidth(10)
    return SimplexCells(5 if m == 3 else 4)


def _check_outcomes(models: Mapping[str, Predictions]) -> None:
    (_, first), *others = models.items()
    if first.m > LARGEST:
        raise ValueError(NO_FIT.format(m=first.m))
    if others and first.m > 2:
        raise ValueError(
            f"Several models share a picture only if there are two outcomes; found {first.m}. Draw"
            " one diagram for each."
        )
    for name, model in others:
        if model.event != first.event and first.m == 2:
            raise ValueError(
                f"Models in one picture must be about the same outcome; {name!r} is about"
                f" {model.classes[model.event]!r}, not {first.classes[first.event]!r}."
            )
        if model.classes != first.classes:
            raise ValueError(
                f"Models in one picture must have the same outcomes; {name!r} has"
                f" {model.classes}, not {first.classes}."
            )
