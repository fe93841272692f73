"""Sums over the rows of nodes, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from calibrant import Predictions, engine
from calibrant.engine.tree import About


@pytest.fixture(params=[np.float32, np.float64])
def rows(request):
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(3), 40).astype(request.param)
    weights = rng.integers(0, 9, 40) / 8
    return Predictions(probs, rng.integers(0, 3, 40), None, weights).rows


NODES = np.arange(40, dtype=np.int32) % 4  # rows of node 3 are left out


def exact(rows, node, values):
    terms = zip(rows.weights, values, NODES, strict=True)
    return sum(Fraction(float(w)) * Fraction(float(x)) for w, x, c in terms if c == node)


def whole_number(limbs):
    return sum(Fraction(int(n), 2**bits) for n, bits in zip(limbs, engine.sums.LIMBS, strict=True))


def test_predictions(rows):
    nothing = About(1, np.zeros((3, 2)))
    mass, limbs = engine.tree.node_sums(rows, (1, 2), NODES, nothing, 2.0)
    for c in range(3):
        assert mass[c] == rows.weights[c == NODES].sum()
        for j in range(2):
            expected = exact(rows, c, rows.probs[:, 1 + j]) / 2
            assert abs(whole_number(limbs[:, c, j]) - expected) < Fraction(20, 2**84)


@pytest.mark.parametrize("power", [2, 3, 4])
def test_powers(rows, power):
    means = np.arange(6).reshape(3, 2) / 7
    _, limbs = engine.tree.node_sums(rows, (0, 2), NODES, About(power, means), 1.0)
    for c in range(3):
        for j in range(2):
            d = rows.probs[:, j].astype(float) - means[c, j]
            expected = exact(rows, c, (d * d, d * d * d, (d * d) * (d * d))[power - 2])
            assert abs(whole_number(limbs[:, c, j]) - expected) < Fraction(20, 2**84)


def test_refusals(rows, monkeypatch):
    nothing = About(1, np.zeros((3, 2)))
    with pytest.raises((ValueError, TypeError), match="`nodes`"):
        engine.tree.node_sums(rows, (1, 2), NODES[1:], nothing, 1.0)
    with pytest.raises((ValueError, TypeError), match="`means`"):
        engine.tree.node_sums(rows, (0, 3), NODES, nothing, 1.0)
    monkeypatch.setattr(engine.tree, "EXACT", 39)
    with pytest.raises(ValueError, match="`rows` must be at most 39; found 40"):
        engine.tree.node_sums(rows, (1, 2), NODES, nothing, 1.0)
