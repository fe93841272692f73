"""Count the reports on calibrated models that claim anything.

Labels are drawn from the predictions, so every significant claim is false. Prints how many pages
have one, adjusted together as reports are, and box by box.

Usage: python examples/calibrated_pages.py [number of reports]
"""

import sys

import numpy as np

from calibrant import Predictions, classwise, evaluate
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
    return any(together), any(apart)


def main(trials: int) -> None:
    """Print the shares of pages with a claim."""
    for m, n in ((2, 500), (10, 500)):
        rng, found = np.random.default_rng(m), np.zeros(2)
        for seed in range(trials):
            probs = rng.dirichlet(np.ones(m), n)
            labels = (probs.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(max=m - 1)
            found += claims(Predictions(probs, labels), seed)
        together, apart = 100 * found / trials
        print(f"{m} classes: {together:.1f} % of {trials} pages, {apart:.1f} % box by box")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
