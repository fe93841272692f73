"""Calibration errors under the names that the field gives them: ECE, MCE, ACE, RMS, classwise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

from calibrant.calibration import Block, View, observed
from calibrant.distances import total_variation
from calibrant.lenses import Lens, TopLabel
from calibrant.partitions import EqualMass, EqualWidth
from calibrant.predictions import Predictions
from calibrant.rows import Scan
from calibrant.statistics.classwise import ClasswiseMiscalibration
from calibrant.statistics.miscalibration import (
    ExpectedMiscalibration,
    RootMeanSquareMiscalibration,
    WorstMiscalibration,
)
from calibrant.statistics.statistic import Evaluate, Floats, Statistic

BINS = 15  # of the papers
Look = Literal["event", "top", "all", "always"]


@final
@dataclass(frozen=True, slots=True)
class CalibrationError(Statistic):
    """A calibration error under its common name, such as `ece`.

    Parameters
    ----------
    name : str
        Such as "ECE".
    statistic : Statistic
        What it is.
    settings : str
        What a reader needs beside the name, such as "15 bins".
    look : {"event", "top", "all", "always"}, default "event"
        "event": the event of two outcomes, and the predicted class of more. "top": the predicted
        class of two outcomes, too, so that p becomes max(p, 1 - p); confidences, and what a lens
        shows, stay as they are. "all": the problem as it is. "always": through the lens.
    software : str, optional
        Whose way of computing it this is, with its version.
    through : Lens, default TopLabel()
        The lens that shows the predicted class.

    Examples
    --------
    >>> error = ECE(10)
    >>> print(error)
    ECE, 10 bins
    >>> error(Predictions([[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]], [0, 2]))
    0.625
    """

    name: str
    statistic: Statistic
    settings: str
    look: Look = "event"
    software: str = ""
    through: Lens = TopLabel()

    @property
    def takes_changed_rows(self) -> bool:  # type: ignore[override]
        return self.statistic.takes_changed_rows

    @property
    def threaded(self) -> bool:  # type: ignore[override]
        return self.statistic.threaded

    @property
    def from_totals(self) -> bool:  # type: ignore[override]
        return self.statistic.from_totals

    def lens_of(self, data: "Predictions | View") -> Lens | None:
        """Return the lens that this is seen through, for data or a view; None if there is none."""
        if self.look == "all":
            return None
        if data.m > 2 or self.look == "always":
            return self.through
        folds = self.look == "top" and data.event == 1 and not _of_confidences(data)
        return self.through if folds else None

    def prepare(self, view: View) -> Evaluate:
        lens = self.lens_of(view)
        if lens is None:
            return self.statistic.prepare(view)
        seen = view.through(lens)
        inner = self.statistic.prepare(seen)

        def evaluate(block: Block) -> Floats:
            return inner(block.through(seen))

        return evaluate

    def __call__(self, data: Predictions | Scan) -> float:
        """Return the statistic of `data`."""
        if isinstance(data, Scan):
            view = View(data, self.lens_of(View(data)))
            return float(self.statistic.prepare(view)(observed(None))[0])
        lens = self.lens_of(data)
        return self.statistic(data if lens is None else lens(data))

    def sentence(self, value: float, expected: float) -> str:
        """Say a value in a line, with what a calibrated model would show.

        Examples
        --------
        >>> ECE(15).sentence(0.0424, 0.0039)
        'ECE 0.0424 (15 bins; a calibrated model would show 0.0039)'
        """
        beside = f"{self.settings}; a calibrated model would show {expected:.2g}"
        return f"{self.name} {value:.3g} ({beside})"

    def __str__(self) -> str:
        whose = f" as {self.software} computes it" if self.software else ""
        return f"{self.name}{whose}, {self.settings}"


def _of_confidences(data: "Predictions | View") -> bool:
    return (data if isinstance(data, Predictions) else data.data).of_confidences


def _bins(count: int, kind: str = "bins") -> str:
    return f"{count} {kind}" if count != 1 else "one bin"


def ECE(bins: int = BINS) -> CalibrationError:  # noqa: N802 (as it is written)
    """Return the expected calibration error on equal widths: Σ share · |accuracy - confidence|."""
    return CalibrationError("ECE", ExpectedMiscalibration(EqualWidth(bins)), _bins(bins))


def MCE(bins: int = BINS) -> CalibrationError:  # noqa: N802
    """Return the maximum calibration error: the worst bin that holds rows."""
    return CalibrationError("MCE", WorstMiscalibration(EqualWidth(bins)), _bins(bins))


def ACE(bins: int = BINS) -> CalibrationError:  # noqa: N802
    """Return the expected calibration error on equal masses, also known as adaptive."""
    statistic = ExpectedMiscalibration(EqualMass(bins))
    return CalibrationError("ACE", statistic, _bins(bins, "bins of equal mass"))


def RMS(bins: int = BINS) -> CalibrationError:  # noqa: N802
    """Return the root mean square calibration error on equal widths."""
    statistic = RootMeanSquareMiscalibration(EqualWidth(bins))
    return CalibrationError("RMS calibration error", statistic, _bins(bins))


def ClasswiseECE(bins: int = BINS) -> CalibrationError:  # noqa: N802
    """Return the mean over the classes of the expected calibration error of each."""
    statistic = ClasswiseMiscalibration(EqualWidth(bins), total_variation)
    return CalibrationError("classwise ECE", statistic, _bins(bins), "all")


NAMED: dict[str, Callable[[int], CalibrationError]] = {
    "ece": ECE,
    "mce": MCE,
    "ace": ACE,
    "rms": RMS,
    "classwise_ece": ClasswiseECE,
}
