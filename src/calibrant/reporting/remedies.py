"""What would help: the model before and after recalibration."""

from dataclasses import dataclass
from typing import final

from calibrant.cross_fitting import Recalibration, recalibrate
from calibrant.cross_fitting.result import AS_IT_IS
from calibrant.diagrams import ReliabilityDiagram, reliability_diagram
from calibrant.inference.replicates.plan import Progress
from calibrant.lenses import Canonical, Lens, TopLabel
from calibrant.predictions import Predictions
from calibrant.recalibration import Temperature
from calibrant.rows import Scan

LARGE = 1 << 17  # probabilities beyond which only the temperature is tried


@final
@dataclass(frozen=True, slots=True, eq=False)
class Remedy:
    """What recalibration does to a model.

    Parameters
    ----------
    advice : str
        What to do, in a sentence.
    found : Recalibration or None
        The methods side by side; None if the rows do not allow it.
    diagram : ReliabilityDiagram or None
        The model before and after the recommended method; None if it should be left as it is.
    code : str
        The line of Python that does it, or "".
    """

    advice: str
    found: Recalibration | None = None
    diagram: ReliabilityDiagram | None = None
    code: str = ""


def remedy(
    data: Predictions | Scan, seed: int, n_resamples: int, progress: Progress | None
) -> Remedy:
    """Recalibrate a model, or say in a sentence why that is not possible."""
    if isinstance(data, Scan):
        if progress is not None:
            progress(1, 1)
        return Remedy(
            "Recalibration was not tried, since rows were read in batches. Methods have few"
            " parameters: a sample of the rows that fits into memory is enough to fit one."
        )
    methods = [Temperature()] if data.probs.size > LARGE else None
    try:
        found = recalibrate(data, methods, n_resamples=n_resamples, rng=seed, progress=progress)
    except ValueError as error:
        return Remedy(f"Recalibration was not tried: {str(error).replace('`', '')}")
    if found.recommended == AS_IT_IS:
        return Remedy(found.recommendation, found)
    models = {AS_IT_IS: data, f"after {found.recommended}": found.predictions()}
    lens: Lens = Canonical() if data.m == 2 else TopLabel()
    diagram = reliability_diagram(models, lens=lens, n_resamples=n_resamples, rng=seed)
    code = f"repaired = calibrant.recalibration.{found.row().method!r}.fit(data)(new)"
    return Remedy(found.recommendation, found, diagram, code)
