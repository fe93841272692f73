"""Calibration during training, Figure 3: what a training loop calls after each epoch."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibrant.checks.parameters import finite
from calibrant.checks.seeds import Rng, derive, make_key
from calibrant.diagrams.style import INK, MODELS
from calibrant.inference import calibration_test, table
from calibrant.inference.pvalues import spread
from calibrant.inference.replicates import Statistic
from calibrant.lenses import Lens, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.scores import accuracy, log_score
from calibrant.statistics import ExpectedMiscalibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADER = ("step", "log score", "accuracy", "value", "if calibrated", "p")


@final
@dataclass(frozen=True, slots=True)
class TrajectoryRow:
    """What was found after one step of training.

    Parameters
    ----------
    step : of the training, in the unit of the user
    log_score : mean negative log-likelihood
    accuracy : share of rows whose most probable class is the outcome
    value : the statistic
    null_mean, null_sd : of the statistic if the predictions were calibrated
    pvalue : of the hypothesis that they are
    """

    step: float
    log_score: float
    accuracy: float
    value: float
    null_mean: float
    null_sd: float
    pvalue: float

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers."""
        return asdict(self)

    def cells(self) -> list[str]:
        """Return the texts of a line of the table."""
        return [
            f"{self.step:g}",
            f"{self.log_score:.4f}",
            f"{self.accuracy:.4f}",
            f"{self.value:.4f}",
            f"{self.null_mean:.4f} ± {self.null_sd:.4f}",
            f"{self.pvalue:.3g}",
        ]


@final
@dataclass(slots=True, eq=False)
class Trajectory:
    """Scores, miscalibration and p-value of a model while it is trained.

    Call `record` in the training loop with predictions on rows that are not trained on.

    Parameters
    ----------
    statistic : what is tested; the default, with the default lens, is the "expected calibration
        error" of the paper's Figure 3
    lens : what aspect of the predictions is looked at
    resampler : draws data sets under the hypothesis
    n_resamples : number of data sets drawn at each step
    rng : seed, generator or None
    name : of the model, for a picture with several

    Notes
    -----
    Every step has draws of its own. A p-value is valid for a step that was chosen in advance;
    the smallest of many steps is not a p-value.

    Examples
    --------
    >>> from calibrant import datasets
    >>> trajectory = Trajectory(n_resamples=99)
    >>> for step, temperature in enumerate([3, 1, 0.6]):
    ...     data = datasets.dirichlet(2000, 3, temperature=temperature, rng=0)
    ...     row = trajectory.record(step, data)
    >>> print(trajectory.table())
    step  log score  accuracy   value    if calibrated     p
    ----  ---------  --------  ------  ---------------  ----
       0     0.9341    0.6015  0.1606  0.0147 ± 0.0066  0.01
       1     0.8377    0.6015  0.0151  0.0207 ± 0.0062  0.76
       2     0.8944    0.6015  0.1120  0.0187 ± 0.0054  0.01
    >>> trajectory.best.step
    1.0
    """

    statistic: Statistic = ExpectedMiscalibration(EqualWidth(10))
    lens: Lens = TopLabel()
    resampler: Resampler = Exact()
    n_resamples: int = 999
    rng: Rng = 0
    name: str = ""
    _key: np.uint64 = field(init=False, repr=False)
    _rows: list[TrajectoryRow] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        self._key = make_key(self.rng)

    def record(self, step: float, data: Predictions) -> TrajectoryRow:
        """Evaluate the predictions made after this step, keep the row and return it."""
        at = finite("step", step)
        if self._rows and at <= self._rows[-1].step:
            raise ValueError(
                f"`step` must be larger than the last one, {self._rows[-1].step:g}; found {at:g}."
            )
        test = calibration_test(
            data,
            self.statistic,
            lens=self.lens,
            resampler=self.resampler,
            n_resamples=self.n_resamples,
            rng=int(derive(self._key, len(self._rows))),
        )
        row = TrajectoryRow(
            step=at,
            log_score=log_score(data),
            accuracy=accuracy(data),
            value=test.statistic,
            null_mean=float(test.null.mean()),
            null_sd=spread(test.null),
            pvalue=test.pvalue,
        )
        self._rows.append(row)
        return row

    @property
    def rows(self) -> tuple[TrajectoryRow, ...]:
        """What was recorded, in order."""
        return tuple(self._rows)

    @property
    def best(self) -> TrajectoryRow:
        """The row with the smallest log score; the first one if several are equally good."""
        if not self._rows:
            raise ValueError("Nothing was recorded yet: call record(step, data) first.")
        return min(self._rows, key=lambda row: row.log_score)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "name": self.name,
            "statistic": str(self.statistic),
            "lens": str(self.lens),
            "resampler": type(self.resampler).__name__,
            "n_resamples": self.n_resamples,
            "rows": [row.to_dict() for row in self._rows],
        }

    def table(self) -> str:
        """Return the table as text."""
        return table.text(HEADER, [row.cells() for row in self._rows])

    def _repr_html_(self) -> str:
        return table.html(HEADER, [row.cells() for row in self._rows])

    def __str__(self) -> str:
        named = f" of {self.name}" if self.name else ""
        if not self._rows:
            return f"trajectory{named}: nothing recorded yet"
        best = self.best
        return (
            f"trajectory{named}, {len(self._rows)} steps: best log score {best.log_score:.4g} at"
            f" step {best.step:g}, where the statistic is {best.value:.4g} against"
            f" {best.null_mean:.4g} if calibrated (p = {best.pvalue:.3g})"
        )

    def plot(self, *others: "Trajectory", alpha: float = 0.05) -> "Figure":
        """Draw log score, accuracy, statistic and p-value over the steps: Figure 3.

        Dotted: the mean of the statistic if the predictions were calibrated.

        Parameters
        ----------
        others : further trajectories for the same picture
        alpha : the level that is drawn in as a line among the p-values

        Returns
        -------
        matplotlib.figure.Figure with four Axes; a star marks the best log score of each
        """
        import matplotlib.pyplot as plt  # noqa: PLC0415

        drawn = [(one, one.best) for one in (self, *others)]
        figure, axes = plt.subplots(2, 2, figsize=(7.2, 5.2), sharex=True, layout="constrained")
        for number, (one, best) in enumerate(drawn):
            for ax, column in zip(axes.flat, COLUMNS, strict=True):
                _draw(ax, one, column, MODELS[number % len(MODELS)])
                star = {"ms": 10, "mec": INK, "mew": 0.6, "mfc": MODELS[number % len(MODELS)]}
                ax.plot(best.step, getattr(best, column), "*", zorder=3, **star)
        for ax, label in zip(axes.flat, COLUMNS.values(), strict=True):
            ax.set_ylabel(label)
            ax.spines[["top", "right"]].set_visible(False)
        for ax in axes[1]:
            ax.set_xlabel("step")
        axes[1, 1].set_yscale("log")
        axes[1, 1].axhline(alpha, color=INK, lw=0.8, ls="--")
        handles, names = axes[0, 0].get_legend_handles_labels()
        if names:
            figure.legend(
                handles,
                names,
                loc="outside upper center",
                ncols=min(4, len(names)),
                frameon=False,
                fontsize="small",
            )
        return figure


COLUMNS = {
    "log_score": "negative log-likelihood",
    "accuracy": "accuracy",
    "value": "miscalibration",
    "pvalue": "p-value",
}


def _draw(ax: "Axes", trajectory: Trajectory, column: str, colour: str) -> None:
    """Draw one column over the steps, and the mean of the statistic if calibrated, dotted."""
    steps = [row.step for row in trajectory.rows]
    values = [getattr(row, column) for row in trajectory.rows]
    ax.plot(steps, values, color=colour, lw=1.1, label=trajectory.name or None)
    if column == "value":
        ax.plot(steps, [row.null_mean for row in trajectory.rows], color=colour, lw=0.9, ls=":")
