"""A reliability diagram as data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from calibrant.calibration import CalibrationFunction
from calibrant.checks.parameters import fraction
from calibrant.diagrams.summaries import cells_sentences
from calibrant.inference import Cellwise
from calibrant.words import be

if TYPE_CHECKING:
    from calibrant.diagrams.interactive import Figure
    from calibrant.diagrams.static import Axes

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Truth = Callable[[Floats], Floats]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Series:
    """The cells of one model.

    Parameters
    ----------
    name : str
        Name of the model; "" if it is the only one.
    cells : Cellwise
        The deviations of all cells, with limits and adjusted p-values.
    histogram : array of shape (bins,) or None
        Share of the predictions of the event in each bin, for two outcomes.
    corners : array of shape (cells, m, m) or None
        The corners of each cell, where the cells are simplices.
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

    @property
    def miscalibration(self) -> float:
        """Mean total variation of outcome frequencies and predictions over the cells."""
        fn = self.function
        return float(fn.proportions @ np.abs(fn.deviations).sum(axis=1)) / 2

    @property
    def pvalue(self) -> float:
        """P-value of the hypothesis of calibration: of the cell that is farthest off, adjusted."""
        return float(self.cells.adjusted_pvalues.min())

    def significant(self, alpha: float) -> Mask:
        """Return which cells (cells,) are off at the family-wise level `alpha`."""
        return self.cells.adjusted_pvalues <= alpha

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "name": self.name,
            "histogram": None if self.histogram is None else self.histogram.tolist(),
            "corners": None if self.corners is None else self.corners.tolist(),
            **self.cells.to_dict(),
        }

    def __repr__(self) -> str:
        return f"Series(name={self.name[:60]!r}, n_cells={self.function.n_cells})"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReliabilityDiagram:
    """Cells with their mean prediction, outcome frequency, limits and adjusted p-value.

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
        Limits of the bins of the histogram of predictions.
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
    def alpha(self) -> float:
        """Family-wise level at which a cell counts as off."""
        return float(self.settings["alpha"])

    @property
    def n_off(self) -> int:
        """Number of cells that are off, in all series."""
        return sum(int(series.significant(self.alpha).sum()) for series in self.series)

    def marked_at(self, alpha: float) -> "ReliabilityDiagram":
        """Return the same diagram with its cells judged at another family-wise level.

        Parameters
        ----------
        alpha : float
            Level at which a cell counts as off, between 0 and 1.

        Returns
        -------
        ReliabilityDiagram
            With the same cells and the same limits.
        """
        return replace(self, settings={**self.settings, "alpha": fraction("alpha", alpha)})

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        classical: bool = False,
        truth: Truth | None = None,
        regions: bool = False,
        summary: bool = False,
    ) -> "Axes":
        """Draw with matplotlib and return the Axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on: plain for two outcomes, ``projection="ternary"`` (mpltern) for
            three, ``projection="3d"`` for four. Default: that of a new figure.
        classical : bool, default False
            Whether to draw the frequency over the prediction with the diagonal, instead of the
            deviation; for two outcomes.
        truth : function, optional
            The true calibration function of the event, which is drawn as a curve; for two
            outcomes.
        regions : bool, default False
            Whether to draw the consistency region of each cell, an ellipse that would hold its
            outcome frequency with probability `level`; for three outcomes.
        summary : bool, default False
            Whether to write the number of rows, the mean distance of cells from the diagonal, and
            the p-value of the cell that is farthest off into the classical view.

        Returns
        -------
        matplotlib.axes.Axes
            The Axes that was drawn on.

        Notes
        -----
        Everything is placed inside the figure if it has a layout engine, such as
        ``layout="constrained"``. Otherwise the Axes is made smaller where labels need space.
        """
        from calibrant.diagrams import static  # noqa: PLC0415 (loads matplotlib)

        self._check_options(classical, truth, regions, summary)
        if self.n_outcomes == 2:
            return static.line(self, ax, classical=classical, truth=truth, summary=summary)
        if self.n_outcomes == 3:
            return static.triangle(self, ax, regions=regions)
        return static.tetrahedron(self, ax)

    def figure(
        self,
        *,
        classical: bool = False,
        truth: Truth | None = None,
        regions: bool = False,
        summary: bool = False,
    ) -> "Figure":
        """Draw with plotly and return the Figure: for a browser, with numbers on hovering.

        Parameters
        ----------
        classical, truth, regions, summary : bool, function, bool, bool
            The options of `plot`.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.
        """
        from calibrant.diagrams import interactive  # noqa: PLC0415 (loads plotly)

        self._check_options(classical, truth, regions, summary)
        if self.n_outcomes == 2:
            return interactive.line(self, classical=classical, truth=truth, summary=summary)
        if self.n_outcomes == 3:
            return interactive.triangle(self, regions=regions)
        return interactive.tetrahedron(self)

    def _check_options(
        self, classical: bool, truth: Truth | None, regions: bool, summary: bool
    ) -> None:
        self._check_option("classical", classical, 2)
        self._check_option("truth", truth is not None, 2)
        self._check_option("regions", regions, 3)
        if summary and not classical:
            raise ValueError("`summary` is for the classical view: set `classical` too.")

    def _check_option(self, name: str, given: bool, needed: int) -> None:
        if given and self.n_outcomes != needed:
            raise ValueError(
                f"`{name}` is for diagrams of {needed} outcomes; this one has {self.n_outcomes}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return {
            "classes": list(self.classes),
            "event": self.event,
            "alpha": self.alpha,
            "edges": self.edges.tolist(),
            "settings": dict(self.settings),
            "series": [series.to_dict() for series in self.series],
        }

    @property
    def sentence(self) -> str:
        """What the diagram shows."""
        return cells_sentences(self)

    def __str__(self) -> str:
        n_cells = sum(series.function.n_cells for series in self.series)
        return (
            f"reliability diagram of {self.n_outcomes} outcomes: {self.n_off} of {n_cells} cells"
            f" {be(self.n_off)} off at {100 * self.alpha:g}% (family-wise)"
        )

    def __repr__(self) -> str:
        return f"<{self}>"
