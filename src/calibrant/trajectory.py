"""Calibration during training, Figure 3: what a training loop calls after each epoch."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, final

from calibrant import tables, words
from calibrant.checks.parameters import Rng, as_seed, derive, finite, fraction, make_key
from calibrant.inference import calibration_test
from calibrant.inference.replicates.problem import Plan, check_resamples
from calibrant.inference.testing.families import spread
from calibrant.lenses import Lens, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.predictions import Predictions
from calibrant.resampling import Exact, Resampler
from calibrant.resampling.resamplers import as_resampler
from calibrant.scores import accuracy, log_score
from calibrant.statistics import ExpectedMiscalibration
from calibrant.statistics.statistic import AnyStatistic

if TYPE_CHECKING:
    from calibrant.diagrams.static import Figure

HEADER = ("step", "log loss", "accuracy", "value", "if calibrated", "p")


@final
@dataclass(frozen=True, slots=True)
class TrajectoryRow:
    """What was found after one step of training.

    Parameters
    ----------
    step : float
        Step of the training, in the unit of the user.
    log_score : float
        Mean negative log-likelihood.
    accuracy : float
        Share of rows whose most probable class is the outcome.
    value : float
        The statistic.
    null_mean, null_sd : float
        Mean and standard deviation of the statistic if the predictions were calibrated.
    pvalue : float
        P-value of the hypothesis that they are.
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
@dataclass(slots=True, eq=False, repr=False)
class Trajectory(tables.Tabular):
    """Scores, miscalibration and p-value of a model while it is trained.

    Call `record` in the training loop with predictions on rows that are not trained on.

    Parameters
    ----------
    statistic : Statistic or callable, default ExpectedMiscalibration(EqualWidth(10))
        What is tested. The default, with the default lens, is the "expected calibration error"
        of the paper's Figure 3.
    lens : Lens, default TopLabel()
        What aspect of the predictions is looked at.
    resampler, n_resamples, rng
        As in `calibration_test`, for each step.
    name : str, default ""
        Name of the model, for a picture of more than one.

    Notes
    -----
    Every step has draws of its own. A p-value is valid for a step that was chosen in advance;
    the smallest of many steps is not a p-value.

    Examples
    --------
    >>> from calibrant import datasets
    >>> trajectory = Trajectory(n_resamples=99, rng=0)
    >>> for step, temperature in enumerate([3, 1, 0.6]):
    ...     data = datasets.dirichlet(2000, 3, temperature=temperature, rng=0)
    ...     row = trajectory.record(step, data)
    >>> print(trajectory.table())
    step  log loss  accuracy   value    if calibrated     p
    ----  --------  --------  ------  ---------------  ----
       0    0.9341    0.6015  0.1606  0.0159 ± 0.0070  0.01
       1    0.8377    0.6015  0.0151  0.0215 ± 0.0061  0.85
       2    0.8944    0.6015  0.1120  0.0192 ± 0.0056  0.01
    >>> trajectory.best.step
    1.0
    """

    statistic: AnyStatistic = ExpectedMiscalibration(EqualWidth(10))
    lens: Lens | str = TopLabel()
    resampler: Resampler | str = Exact()
    n_resamples: int = 999
    rng: Rng = None
    name: str = ""
    _seed: int = field(init=False)
    _rows: list[TrajectoryRow] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.n_resamples = check_resamples(self.n_resamples)
        self._seed = as_seed(self.rng)

    @property
    def settings(self) -> dict[str, Any]:
        """How the rows are computed, and the seed that gives the same draws again."""
        plan = Plan(as_resampler(self.resampler), self.n_resamples, self._seed)
        return plan.settings(statistic=self.statistic, lens=self.lens)

    def record(self, step: float, data: Predictions) -> TrajectoryRow:
        """Evaluate the predictions made after a step, keep the row and return it.

        Parameters
        ----------
        step : float
            Step of the training; larger than the last one.
        data : Predictions
            Predictions on rows that are not trained on.
        """
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
            rng=int(derive(make_key(self._seed), len(self._rows))),
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
        """The row with the smallest log loss; the first of those that are equally good."""
        if not self._rows:
            raise ValueError("Nothing was recorded yet: call `record(step, data)` first.")
        return min(self._rows, key=lambda row: row.log_score)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts."""
        return {"name": self.name, "settings": self.settings, "rows": self.records()}

    def lines(self) -> tables.Lines:
        """Return header and lines of the table."""
        return HEADER, [row.cells() for row in self._rows]

    def plot(self, *others: "Trajectory", alpha: float = 0.05) -> "Figure":
        """Draw log loss, accuracy, statistic and p-value over the steps: Figure 3.

        A star marks the best log loss. Dotted: the mean of the statistic of a calibrated model.

        Parameters
        ----------
        *others : Trajectory
            Further trajectories for the same picture.
        alpha : float, default 0.05
            Level that is drawn as a line among the p-values.

        Returns
        -------
        matplotlib.figure.Figure
            A figure with four Axes.
        """
        from calibrant.diagrams import static  # noqa: PLC0415 (loads matplotlib)

        drawn = (self, *others)
        for one in drawn:
            _ = one.best  # refuses one without rows before a figure is made
        return static.trajectories(drawn, fraction("alpha", alpha))

    def __str__(self) -> str:
        named = f" of {self.name}" if self.name else ""
        if not self._rows:
            return f"trajectory{named}: nothing recorded yet"
        best = self.best
        p = words.pvalue(best.pvalue, self.n_resamples, " ")
        return (
            f"trajectory{named}, {len(self._rows)} steps: best log loss {best.log_score:.4g} at"
            f" step {best.step:g}, where the statistic is {best.value:.4g} against"
            f" {best.null_mean:.4g} if calibrated ({p})"
        )

    def __repr__(self) -> str:
        return f"<{self}>"
