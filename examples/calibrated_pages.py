"""Count the reports on calibrated models that claim anything.

Labels are drawn from the predictions, so every significant claim is false. Rows are in groups by
two columns that have nothing to do with them. Prints how many pages have a claim, adjusted together
as reports are, and box by box.

Usage: python examples/calibrated_pages.py [number of reports]
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from types import MappingProxyType

import numpy as np

from calibrant import Predictions, classwise, evaluate, slices
from calibrant.predictions import Beside
from calibrant.reporting.contents import BINS, Settings, compute
from calibrant.words import ALPHA

B = 199


def claims(data: Predictions, seed: int) -> tuple[bool, bool]:
    """Return whether the page claims anything, and whether it would box by box."""
    evaluation = evaluate(data, n_resamples=B, rng=seed)
    page = compute("", data, evaluation, Settings(seed, B, None, None))
    together = [verdict.off for verdict in page.verdicts]
    together += [one.diagram.n_off > 0 for one in (*page.drawings, *page.class_drawings)]
    apart = [verdict.rejected for verdict in evaluation.verdicts]
    for one in page.drawings:
        cells = one.diagram.series[0].cells
        apart.append(bool((cells.largest >= cells.standardised.max()).mean() < ALPHA))
    if page.curve is not None:
        together.append(page.curve.series[0].pvalue <= ALPHA)
        band = page.curve.series[0].band
        apart.append(bool((band.largest >= band.farthest).mean() < ALPHA))
    if page.classes is not None:
        alone = classwise(data, BINS, n_resamples=B, rng=seed)
        apart += [bool((alone.adjusted_pvalues <= ALPHA).any()), alone.mean_pvalue <= ALPHA]
    assert page.slices is not None
    together += [row.verdict.rejected for row in page.slices.rows]
    groups = slices(data, list(data.columns), n_resamples=B, rng=seed)
    apart += [row.verdict.rejected for row in groups.rows]
    return any(together), any(apart)


def calibrated(m: int, n: int, seed: int) -> Predictions:
    """Return predictions, and labels that are drawn from them, in groups."""
    rng = np.random.default_rng([m, seed])
    probs = rng.dirichlet(np.ones(m), n)
    labels = (probs.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(max=m - 1)
    data = Predictions(probs, labels)
    groups = {"sex": rng.integers(0, 2, n).astype(str), "ward": rng.integers(0, 4, n).astype(str)}
    beside = Beside(None, MappingProxyType(groups))
    return Predictions.trusted(data.probs, data.labels, data.classes, event=1, beside=beside)


def of_page(m: int, n: int, seed: int) -> tuple[bool, bool]:
    """Make the page of one calibrated model, and look for claims."""
    return claims(calibrated(m, n, seed), seed)


def main(trials: int) -> None:
    """Print the shares of pages with a claim."""
    with ProcessPoolExecutor() as pool:
        for m, n in ((2, 500), (10, 500)):
            found = list(pool.map(partial(of_page, m, n), range(trials)))
            together, apart = 100 * np.mean(found, axis=0)
            print(f"{m} classes: {together:.1f} % of {trials} pages, {apart:.1f} % box by box")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
