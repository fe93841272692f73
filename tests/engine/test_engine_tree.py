"""Walking down a tree, against plain Python, and sums over nodes, against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from calibrant import Predictions, engine
from calibrant.engine.tree import About


@st.composite
def trees(draw, m, depth=3):
    """Draw nodes and thresholds of a tree that cuts m coordinates."""
    nodes, thresholds = [], []

    def grow(level):
        at = len(nodes)
        nodes.append(None)
        thresholds.append(draw(st.sampled_from((0.0, 0.1, 0.25, 1 / 3, 0.5, 0.9))))
        if level == 0 or draw(st.booleans()):
            cell = sum(node is not None and node[0] < 0 for node in nodes)
            nodes[at] = (-1, cell, -1)
            return at
        left, right = grow(level - 1), grow(level - 1)
        nodes[at] = (draw(st.integers(0, m - 1)), left, right)
        return at

    grow(depth)
    return np.array(nodes, np.int32), np.array(thresholds)


def walked(p, nodes, thresholds):
    node = 0
    while nodes[node][0] >= 0:
        coordinate, left, right = nodes[node]
        node = left if p[coordinate] < thresholds[node] else right
    return nodes[node][1]


@given(problems(), st.data())
def test_walk(data, draw):
    nodes, thresholds = draw.draw(trees(data.m))
    found = engine.tree.walk(data.probs, nodes, thresholds)
    rows = data.probs.astype(float).tolist()
    assert found.tolist() == [walked(p, nodes.tolist(), thresholds) for p in rows]


@pytest.mark.parametrize("medians", [False, True])
def test_the_leaves_of_a_tree_hold_all_rows_once(medians):
    rng = np.random.default_rng(0)
    from calibrant import Predictions

    data = Predictions(rng.dirichlet(np.ones(4), 300), np.zeros(300, int))
    tree = engine.tree.grow(data.rows, (0, 4), 10.0, medians=medians)
    assert sorted(tree.rows.tolist()) == list(range(300))
    leaves = tree.nodes[:, 0] < 0
    ends = tree.nodes[leaves, 1]
    assert ends.tolist() == sorted(set(ends.tolist()))
    assert ends[-1] == 300
    assert leaves.sum() == (~leaves).sum() + 1


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
