"""A gate for tests of a model: it fails unless predictions are shown to be off by less."""

from calibrant.arguments import check_data, takes_arrays
from calibrant.checks.parameters import Rng, fraction
from calibrant.inference.verdicts.evaluation import evaluate
from calibrant.inference.verdicts.verdict import Verdict
from calibrant.lenses import Lens
from calibrant.predictions import Predictions
from calibrant.rows import Scan
from calibrant.words import many, points


@takes_arrays
def assert_calibrated(
    data: Predictions | Scan,
    *,
    below: float,
    lens: Lens | str | None = None,
    n_resamples: int = 999,
    rng: Rng = 0,
) -> Verdict:
    """Fail a test unless predictions are shown to be off by less than a limit.

    The upper end of the 95 % interval of `Verdict.size`, the root mean square deviation, must be
    below the limit. So a calibrated model can fail if there are too few rows to show it; the
    message says which it is.

    Parameters
    ----------
    data : Predictions or Scan
        Or probabilities, with labels after them; or a data frame, with ``label="y"``.
    below : float
        The limit, between 0 and 1: 0.02 is two points.
    lens : Lens or str, optional
        What aspect is looked at. Default: the event of two classes, and the predicted class of
        more. It must have two outcomes: of more, how far off they are has no upper bound.
    n_resamples, rng
        As in `evaluate`; the same seed gives the same answer.

    Returns
    -------
    Verdict
        What was found, if it is below.

    Examples
    --------
    >>> from calibrant import datasets
    >>> good = datasets.dirichlet(4000, 3, temperature=1, rng=0)
    >>> assert_calibrated(good, below=0.05).rejected
    False
    >>> assert_calibrated(datasets.dirichlet(4000, 3, temperature=0.5, rng=0), below=0.05)
    Traceback (most recent call last):
        ...
    AssertionError: Not calibrated within 5.0 points: shown to be off by at least 12.7 points...
    """
    __tracebackhide__ = True  # pytest shows the line of the test instead
    check_data(data, scans=True)
    limit = fraction("below", below)
    chosen = ("canonical" if data.m == 2 else "top") if lens is None else lens
    found = evaluate(data, lenses=chosen, n_resamples=n_resamples, rng=rng).verdicts[0]
    if found.scanned or (found.interval is not None and found.interval[1] is None):
        raise ValueError(f"`lens`: {found.why_not_below(limit)}.")
    if not found.shown_below(limit):
        raise AssertionError(_explained(found, limit, data.n))
    return found


def _explained(found: Verdict, limit: float, n: int) -> str:
    """Say whether predictions are off by more, or rows too few, and all that is known."""
    asked = f"calibrated within {points(limit)}"
    if found.interval is None:
        return f"Not shown to be {asked}: {many(n, 'row')}, {found.why_not_below(limit)}."
    if found.shown_above(limit):
        why = f"Not {asked}: shown to be off by at least {points(found.interval[0])}"
        remedy = "cal.recalibrate(data) says which calibrator would help."
    else:
        high = points(found.interval[1] or 0.0)
        why = f"Not shown to be {asked}: with {many(n, 'row')}, they may be off by up to {high}"
        remedy = "More rows narrow the interval, and cal.power(data) says what rows would show."
    return f"{why}. {found.sentence} {remedy}"
