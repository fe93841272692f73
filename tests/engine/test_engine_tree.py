"""Walking down a tree, against plain Python; how one grows is tested with the partition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from calibrant import engine


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
