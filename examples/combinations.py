"""Compare ways to combine tests of two outcomes, on the models of examples/power.py.

Every member of a family is tested at 5 % with 199 draws that all share. A combination is a function
of their p-values, whose own p-value is its rank among the draws. Prints how often each rejects, one
line a model of which some test rejects at least 12 % and some do not reject 97 %, and their means.

Usage: python examples/combinations.py [--folder FOLDER] [--samples 120]
"""

import argparse
from pathlib import Path

import numpy as np
from power import ALPHA, FEW, PLAIN, RESAMPLES, SEEN, Source, sources, weak_spots

from calibrant import lenses, resampling, statistics
from calibrant.inference.replicates.driver import values_and_replicates
from calibrant.inference.replicates.problem import Plan
from calibrant.inference.testing.families import pvalues_of_row

MEMBERS = (
    *(statistics.Cox(), statistics.Neyman()),
    *(statistics.KernelMiscalibration(0.02), statistics.KernelMiscalibration(0.03)),
    *(statistics.SmoothMiscalibration(), statistics.CutoffMiscalibration()),
    *(statistics.AveragedTwoBin(), statistics.Spiegelhalter()),
)
WAYS = {  # weights of the members, in a harmonic mean; None: the smallest p-value of two
    "smallest": None,
    "mean": (1, 1),
    "+ kernel 0.02 / 4": (1, 1, 0.25),
    "+ kernel 0.02 / 2": (1, 1, 0.5),
    "+ kernel 0.02": (1, 1, 1),
    "+ kernel 0.03 / 4": (1, 1, 0, 0.25),
    "+ two-bin": (1, 1, 0, 0, 0, 0, 1),
    "+ Spiegelhalter": (1, 1, 0, 0, 0, 0, 0, 1),
}


def combined(p: np.ndarray, weights: tuple[float, ...] | None) -> bool:
    """Say whether p-values (members, B + 1) reject together."""
    if weights is None:
        evidence = -p[:2].min(axis=0)
    else:
        evidence = (np.array(weights)[:, None] / p[: len(weights)]).sum(axis=0)
    return bool((evidence >= evidence[0] - 1e-9 * abs(evidence[0])).mean() <= ALPHA)


def measured(source: Source, seed: int, samples: int) -> np.ndarray:
    """Return how often members and combinations reject, in per cent."""
    rng, hits = np.random.default_rng(seed), []
    for number in range(samples):
        data = source(rng)
        plan = Plan.of(data, resampling.Exact(), RESAMPLES, number, None)
        problem = plan.look(data, lenses.Canonical() if data.m == 2 else lenses.TopLabel())
        values, nulls = values_and_replicates(problem, MEMBERS, plan)
        p = np.stack([pvalues_of_row(row) for row in np.column_stack((values, nulls))])
        hits.append([*(p[:, 0] <= ALPHA), *(combined(p, way) for way in WAYS.values())])
        if number + 1 == FEW and np.mean(hits) > 0.9:
            break
    return 100 * np.mean(hits, axis=0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--samples", type=int, default=120)
    given = parser.parse_args()
    print(f"| model | best | {' | '.join(WAYS)} |\n|---{'|---:' * (len(WAYS) + 1)}|")
    shown = []
    for seed, (name, source) in enumerate([*sources(given.folder), *weak_spots()]):
        found = measured(source, seed, given.samples)
        row = np.array([found[: len(MEMBERS)].max(), *found[len(MEMBERS) :]])
        if row[0] >= SEEN and row.min() < PLAIN:
            shown.append(row)
            print(f"| {name} | {' | '.join(f'{x:.0f}' for x in row)} |", flush=True)
    table = np.array(shown)
    print(f"| mean | {' | '.join(f'{x:.1f}' for x in table.mean(axis=0))} |")
    lost = (table - table[:, [1]]).min(axis=0)
    print(f"| most lost against the smallest | {' | '.join(f'{x:.1f}' for x in lost)} |")


if __name__ == "__main__":
    main()
