"""All classes at once: cells, weights and sums of every entry, and classes that are drawn."""

from fractions import Fraction

import integers
import numpy as np
import oracles
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from calibrant import engine
from calibrant.checks.parameters import make_key
from calibrant.engine.arrays import Replicates, Source

CLASSES = engine.classes
KEY = make_key(5)


def exact_sums(data, cells, offsets):
    """Return weight and sum of predictions of every cell, in fractions of limbs."""
    unit = engine.sums.unit_of(data.rows)
    mass = [Fraction(0)] * int(offsets[-1])
    limbs = [[0, 0, 0] for _ in mass]
    for i in range(data.n):
        for j in range(data.m):
            at = int(offsets[j]) + int(cells[i][j])
            mass[at] += Fraction(data.weights[i])
            terms = integers.limbs(data.weights[i] / unit * float(data.probs[i, j]))
            limbs[at] = [a + b for a, b in zip(limbs[at], terms, strict=True)]
    values = engine.sums.value(np.array(limbs).T) * unit
    return [float(m) for m in mass], values.tolist()


@settings(max_examples=40)
@given(problems(), st.sampled_from((1, 2, 3, 10, 256, 257)))
def test_intervals_of_every_entry(data, k):
    unit = engine.sums.unit_of(data.rows)
    cells, mass, limbs = CLASSES.class_boxes(data.rows, engine.grid.edges(k), unit)
    sums = engine.sums.value(limbs) * unit
    expected = [[oracles.interval(p, k) for p in row] for row in data.probs.astype(float).tolist()]
    assert cells.tolist() == expected
    offsets = np.arange(data.m + 1) * k
    assert (mass.tolist(), sums.tolist()) == exact_sums(data, expected, offsets)


@settings(max_examples=40)
@given(problems(), st.data())
def test_sums_in_cells_that_are_known(data, draw):
    counts = draw.draw(st.lists(st.integers(1, 4), min_size=data.m, max_size=data.m))
    offsets = np.concatenate(([0], np.cumsum(counts)))
    cells = np.random.default_rng(0).integers(0, counts, (data.n, data.m)).astype(np.int32)
    unit = engine.sums.unit_of(data.rows)
    mass, limbs = CLASSES.class_sums(data.rows, cells, offsets, unit)
    sums = engine.sums.value(limbs) * unit
    assert (mass.tolist(), sums.tolist()) == exact_sums(data, cells.tolist(), offsets)


@settings(max_examples=40)
@given(problems(), st.sampled_from((0, 7)))
def test_classes_that_are_drawn(data, first):
    offsets = np.arange(data.m + 1) * 3
    cells = np.random.default_rng(0).integers(0, 3, (data.n, data.m)).astype(np.uint8)
    replicates = Replicates(2, 9)
    source = Source(data.probs, None, KEY, first)
    found = CLASSES.class_counts(data.rows, cells, offsets, source, replicates)
    expected = np.zeros((3 * data.m, replicates.size))
    for t, labels in enumerate(engine.draws.draw_labels(source, replicates)):
        for i, y in enumerate(labels):
            expected[3 * y + cells[i, y], t] += data.weights[i]
    np.testing.assert_array_equal(found, expected)
