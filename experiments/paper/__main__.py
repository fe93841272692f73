"""Redo the paper from the committed predictions: results, figures and docs/paper.md.

python -m experiments.paper
"""

from __future__ import annotations

import time

from . import calibrated, examples, figures, gaussian_mixture, page, tables, training

PARTS = (examples, gaussian_mixture, tables, calibrated, figures, training, page)


def main() -> None:
    """Run every part and say how long it took."""
    for part in PARTS:
        started = time.perf_counter()
        part.main()
        print(
            f"{part.__name__.rpartition('.')[2]}: {time.perf_counter() - started:.0f} s", flush=True
        )
    print(
        "Written: docs/paper.md, docs/figures/paper/ and experiments/paper/results/, from the"
        " committed predictions.\nHow to train the networks again: experiments/README.md."
    )


if __name__ == "__main__":
    main()
