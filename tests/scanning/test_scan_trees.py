"""Trees of scanned rows have the nodes and thresholds of those in memory, to the last bit."""

import numpy as np
import pytest
from folders import predictions, rows_of, table, write
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

import calibrant as cal
from calibrant.lenses import Canonical, Groups, Pooled, TopLabel
from calibrant.partitions import EqualMass, VarianceTree
from calibrant.resampling import Bootstrap
from calibrant.statistics import ExpectedMiscalibration


def same(one, two):
    assert one.nodes.tolist() == two.nodes.tolist()
    assert one.thresholds.tolist() == two.thresholds.tolist()


@settings(max_examples=40)
@given(
    st.sampled_from([2, 3]).flatmap(lambda m: problems(m=m, max_n=30)),
    st.sampled_from([1, 2, 3, 5, 0.3]),
    st.integers(1, 9),
)
def test_trees_are_those_of_all_rows(tmp_path_factory, data, size, group):
    """Also with ties, vertices, weights of 0, and where all rows are equal."""
    weights = data.weights if data.weighted else None
    whole = table(np.asarray(data.probs), np.asarray(data.labels), weights)
    scan = cal.scan(write(tmp_path_factory.mktemp("tree"), whole, (), group))
    names = [str(j) for j in range(data.m)]
    memory = cal.Predictions(data.probs, data.labels, names, weights)
    one, two = (cal.calibration_function(rows, VarianceTree(size)) for rows in (memory, scan))
    same(one.fitted, two.fitted)
    assert one.mass.tolist() == two.mass.tolist()
    assert one.predicted.tolist() == two.predicted.tolist()


@pytest.mark.parametrize(
    ("kind", "weighted"), [(np.float32, False), (np.float64, False), (np.float32, True)]
)
def test_tests_on_trees(tmp_path, kind, weighted):
    rows = rows_of(dtype=kind, weighted=weighted)
    both = predictions(*rows), cal.scan(write(tmp_path, table(*rows)))
    eta = ExpectedMiscalibration(VarianceTree(100))
    lenses = [Canonical(), TopLabel(), Groups([[0, 1], [2], [3]])]
    for lens in [*lenses, *([] if weighted else [Pooled()])]:
        made = [cal.calibration_test(one, eta, lens=lens, n_resamples=19, rng=1) for one in both]
        assert made[0].to_dict() == made[1].to_dict()
        assert len(set(made[0].null)) > 5
    cells = [
        cal.binwise(one, VarianceTree(300), lens=TopLabel(), n_resamples=9, rng=1) for one in both
    ]
    assert cells[0].to_dict() == cells[1].to_dict()
    same(cells[0].function.fitted, cells[1].function.fitted)
    assert cells[1].function.n_cells > 8


@pytest.mark.parametrize("partition", [VarianceTree(100), EqualMass(4)], ids=str)
def test_cells_that_stay_while_rows_are_drawn_again(tmp_path, partition):
    rows = rows_of(600)
    both = predictions(*rows), cal.scan(write(tmp_path, table(*rows), (200,)))
    asked = {"lens": TopLabel(), "n_resamples": 9, "rng": 0}
    eta, kept = ExpectedMiscalibration(partition), Bootstrap(refit=False)
    made = [cal.estimate(one, eta, resampler=kept, **asked).replicates.tolist() for one in both]
    assert made[0] == made[1]
    with pytest.raises(ValueError, match=r"must not depend on the rows where scanned rows are"):
        cal.estimate(both[1], eta, **asked)


def test_a_tree_with_one_leaf(tmp_path):
    rows = rows_of(20, 3)
    scan = cal.scan(write(tmp_path, table(*rows), (7,)))
    assert cal.calibration_function(scan, VarianceTree(21)).n_cells == 1


def test_a_level_takes_two_passes_or_one_of_two_outcomes(tmp_path, monkeypatch):
    rows = rows_of(500, 4)
    scan = cal.scan(write(tmp_path, table(*rows)))
    passes = []
    reduce = type(scan.workers).reduce
    monkeypatch.setattr(
        type(scan.workers), "reduce", lambda *args: passes.append(1) or reduce(*args)
    )
    nodes = cal.calibration_function(scan, VarianceTree(50)).fitted.nodes

    def depth(node):
        return 1 if nodes[node, 0] < 0 else 1 + max(depth(child) for child in nodes[node, 1:])

    assert len(passes) <= 2 * depth(0) + 1  # the last one adds up the cells
    passes.clear()
    cal.binwise(scan, VarianceTree(50), lens=TopLabel(), n_resamples=9, rng=0)
    assert len(passes) <= 15
