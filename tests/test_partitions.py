import pickle
from math import nextafter

import families
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import integer_weights, problems, well_spread

from calibrant import Predictions, lenses, partitions
from calibrant.partitions import EqualMass, EqualWidth, FromFunction, SimplexBins, VarianceTree

MANY_K = (1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 15, 20, 25, 29, 30, 41, 49, 50, 64, 93, 100, 107, 1000)


def cells_of(partition, data):
    return partition.locate(data)[1].tolist()


def test_every_partition_is_in_the_family():
    covered = {type(p) for p in families.partitions_of(2)}
    named = {getattr(partitions, name) for name in partitions.__all__}
    assert named - covered == {partitions.Partition, partitions.FittedPartition}


@given(problems())
def test_the_law_of_fitted_partitions(data):
    for partition in families.partitions_of(data.m):
        fitted, cells = partition.locate(data)
        np.testing.assert_array_equal(fitted.assign(data.probs), cells, err_msg=str(partition))
        assert sorted(set(cells.tolist())) == list(range(fitted.n_cells))
        assert partition.fit(data).n_cells == fitted.n_cells
        assert cells.dtype == np.int32
        wider = fitted.assign(data.probs.astype(np.float64))
        np.testing.assert_array_equal(wider, cells, err_msg=str(partition))


@given(problems())
def test_labels_do_not_move_cells(data):
    other = data.with_labels((data.labels + 1) % data.m)
    for partition in families.partitions_of(data.m):
        assert cells_of(partition, data) == cells_of(partition, other)


@given(problems())
def test_fixed_partitions_look_at_one_row_at_a_time(data):
    for partition in families.partitions_of(data.m):
        if partition.fixed:
            fitted, cells = partition.locate(data)
            alone = [fitted.assign(data.probs[[i]])[0] for i in range(data.n)]
            assert alone == cells.tolist()


@given(problems(), problems())
def test_cells_without_rows_are_minus_one(data, other):
    if other.m != data.m:
        other = data.take(np.arange(data.n)[::-1])
    for partition in families.partitions_of(data.m):
        fitted = partition.fit(data)
        found = fitted.assign(other.probs)
        assert found.min() >= -1
        assert found.max() < fitted.n_cells
        if not partition.fixed:
            assert found.min() >= 0
            continue
        both = Predictions.trusted(
            np.concatenate((data.probs.astype(float), other.probs.astype(float))),
            np.zeros(data.n + other.n, np.int32),
            data.classes,
            event=data.event,
        )
        cells = partition.locate(both)[1]
        seen = set(cells[: data.n].tolist())
        assert [c >= 0 for c in found] == [c in seen for c in cells[data.n :].tolist()]


# EqualWidth


@given(problems(), st.integers(1, 12))
def test_equal_width_equals_loops(data, k):
    assert cells_of(EqualWidth(k), data) == oracles.equal_width(data, k)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", MANY_K)
def test_edges_and_their_neighbours(k, dtype):
    edges = (np.arange(k + 1) / k).astype(dtype)
    one = dtype(1)
    beside = [np.nextafter(edges, dtype(-1)), edges, np.nextafter(edges, dtype(2))]
    p = np.concatenate(beside).clip(dtype(0), one)
    cells = np.searchsorted(np.arange(k + 1) / k, p.astype(np.float64), side="right") - 1
    expected = oracles.ranked(cells.clip(max=k - 1).tolist())
    assert cells_of(EqualWidth(k), Predictions(p, np.zeros(p.size, int))) == expected
    assert cells_of(SimplexBins(k), Predictions(p, np.zeros(p.size, int))) == expected


def test_zero_and_one_share_the_outer_cells():
    data = Predictions([0.0, 0.05, 0.5, 0.95, 1.0, nextafter(1.0, 0.0)], [0] * 6)
    assert cells_of(EqualWidth(10), data) == [0, 0, 1, 2, 2, 2]
    assert EqualWidth(10).fit(data).n_cells == 3


@pytest.mark.parametrize("m", [2, 3, 10, 64, 65, 100, 308, 310, 1000])
@pytest.mark.parametrize("k", [1, 2, 10, 15])
def test_any_number_of_classes(m, k):
    rng = np.random.default_rng(m)
    probs = np.concatenate((rng.dirichlet(np.full(m, 0.02), 20), np.eye(m)[:5], np.eye(m)[:5]))
    data = Predictions(probs, np.zeros(len(probs), int))
    assert cells_of(EqualWidth(k), data) == oracles.equal_width(data, k)
    if m <= 310:
        assert cells_of(SimplexBins(k), data) == oracles.simplex_bins(data, k)
    assert SimplexBins(k).fit(data).assign(data.probs).tolist() == cells_of(SimplexBins(k), data)


def test_binary_problems_are_cut_along_the_event():
    data = Predictions([0.1, 0.2, 0.95], [0, 0, 1])
    through = lenses.Marginal(1)(data)
    for partition in families.partitions_of(2):
        assert cells_of(partition, data) == cells_of(partition, through)
    # [0.1, 0.2) and [0.2, 0.3) differ; as P(class 0) they would too, but in the other order.
    assert cells_of(EqualWidth(10), data) == [0, 1, 2]
    assert cells_of(EqualWidth(10), lenses.Marginal(0)(data)) == [2, 1, 0]


# SimplexBins


@given(problems(), st.integers(1, 7))
def test_simplex_bins_equal_loops(data, k):
    assert cells_of(SimplexBins(k), data) == oracles.simplex_bins(data, k)


@pytest.mark.parametrize("event", [0, 1])
@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_simplex_bins_are_equal_simplices(m, k, event):
    probs = np.random.default_rng(7).dirichlet(np.ones(m), 20_000)
    labels = np.zeros(len(probs), np.int32)
    data = Predictions.trusted(probs, labels, tuple("abcd"[:m]), event=event)
    partition = SimplexBins(k)
    fitted, cells = partition.locate(data)
    assert fitted.n_cells == k ** (m - 1)
    vertices = partition.vertices(fitted)
    assert vertices.shape == (k ** (m - 1), m, m)
    # Corners are multiples of 1/k: a determinant of m <= 4 such rows errs by a few ulp.
    volumes = np.abs(np.linalg.det(vertices))
    np.testing.assert_allclose(volumes, k ** -(m - 1.0), rtol=1e-12)
    assert len({corners.round(9).tobytes() for corners in vertices}) == k ** (m - 1)
    assert barycentric(vertices[cells], probs).min() >= -1e-12  # rounding of the solution
    # Not every point is inside another cell.
    assert k == 1 or barycentric(vertices[np.roll(cells, 1)], probs).min() < -0.01


def barycentric(corners, points):
    """Return the weights (n, m) of corners (n, m, m) that give points (n, m)."""
    return np.linalg.solve(corners.transpose(0, 2, 1), points[..., None])[..., 0]


@given(st.integers(2, 5).flatmap(lambda m: problems(m=m, dtype=np.float64)), st.integers(1, 6))
def test_boundary_points_are_in_the_closure_of_their_cell(data, k):
    fitted, cells = SimplexBins(k).locate(data)
    vertices = SimplexBins(k).vertices(fitted)
    # An ulp of p is k ulp of c; the solution multiplies it by at most about k m.
    assert barycentric(vertices[cells], data.probs).min() >= -1e-12


def test_figure_one():
    probs = np.random.default_rng(1).dirichlet(np.ones(3), 20_000)
    data = Predictions(probs, np.zeros(20_000, int))
    assert SimplexBins(5).fit(data).n_cells == 25
    assert SimplexBins(10).fit(data).n_cells == 100


# EqualMass


@given(problems(m=2, weights=integer_weights), st.integers(1, 6))
def test_equal_mass_equals_exact_arithmetic(data, k):
    assert cells_of(EqualMass(k), data) == oracles.equal_mass(data, k)


@pytest.mark.parametrize(("n", "k"), [(10, 5), (100, 10), (9, 3), (7, 7), (1000, 8)])
def test_equal_mass_without_ties_is_equal(n, k):
    p = np.random.default_rng(n).permutation(np.linspace(0.01, 0.99, n))
    cells = EqualMass(k).locate(Predictions(p, np.zeros(n, int)))[1]
    np.testing.assert_array_equal(np.bincount(cells), n // k)
    np.testing.assert_array_equal(np.argsort(p), np.argsort(cells * 2 + p))


def test_equal_mass_keeps_equal_values_together():
    data = Predictions([0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9], [0] * 7)
    assert cells_of(EqualMass(3), data) == [0, 1, 1, 1, 1, 1, 2]
    assert cells_of(EqualMass(100), data) == [0, 1, 1, 1, 1, 1, 2]


def test_equal_mass_assigns_what_is_outside():
    fitted = EqualMass(2).fit(Predictions([0.4, 0.5, 0.6, 0.7], [0] * 4))
    new = np.array([0.0, 0.4, 0.55, 0.6, 1.0])
    assert fitted.assign(np.column_stack((1 - new, new))).tolist() == [0, 0, 0, 1, 1]


def test_equal_mass_needs_two_outcomes():
    with pytest.raises(
        ValueError, match=r"`EqualMass\(…\)` needs a problem with two outcomes; found 3\."
    ):
        EqualMass(2).fit(Predictions([[0.2, 0.3, 0.5]], [0]))


@pytest.mark.parametrize("unit", [0.1, 0.3, 1 / 3, 1e-100, 7e90])
def test_the_unit_of_weights_does_not_move_equal_masses(unit):
    p = np.arange(1, 31) / 31
    plain = Predictions(p, np.zeros(30, int))
    weighted = Predictions(p, np.zeros(30, int), weights=np.full(30, unit))
    for k in range(1, 31):
        assert cells_of(EqualMass(k), weighted) == cells_of(EqualMass(k), plain)


# VarianceTree


@pytest.mark.parametrize("split", ["mean", "median"])
@given(problems(kinds=well_spread, max_n=25), st.integers(1, 6))
def test_variance_tree_equals_recursion(split, data, min_size):
    expected = oracles.variance_tree(data, min_size, split)
    assert cells_of(VarianceTree(min_size, split), data) == expected


@pytest.mark.parametrize("split", ["mean", "median"])
@pytest.mark.parametrize("m", [2, 3, 10])
def test_large_variance_trees_equal_recursion(m, split):
    rng = np.random.default_rng(m)
    probs = rng.dirichlet(np.full(m, 0.5), 600)
    weights = rng.integers(0, 3, 600)
    for data in (
        Predictions(probs, np.zeros(600, int)),
        Predictions(probs.astype(np.float32), np.zeros(600, int), weights=weights),
    ):
        expected = oracles.variance_tree(data, 20, split)
        assert max(expected) > 20
        assert cells_of(VarianceTree(20, split), data) == expected


def test_variance_tree_by_hand():
    # Variances (0, 0.0225, 0.0225): a tie, also in higher moments, so class 1 is cut, at 0.25.
    probs = [[0.5, 0.1, 0.4], [0.5, 0.1, 0.4], [0.5, 0.4, 0.1], [0.5, 0.4, 0.1]]
    fitted = VarianceTree(4).fit(Predictions(probs, [0, 1, 2, 0]))
    assert fitted.n_cells == 2
    assert fitted.assign(np.array([[0.6, 0.25, 0.15], [0.7, 0.2, 0.1]])).tolist() == [1, 0]
    assert VarianceTree(5).fit(Predictions(probs, [0, 1, 2, 0])).n_cells == 1
    assert VarianceTree(1).fit(Predictions(probs, [0, 1, 2, 0])).n_cells == 2


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 0, 2], [2, 1, 0]])
def test_the_order_of_classes_does_not_matter_where_variances_tie(order):
    """Of two classes that add up to the same in all rows, the one that is rarely large is cut."""
    probs = np.array([[0.5, 0.1, 0.4], [0.5, 0.1, 0.4], [0.5, 0.1, 0.4], [0.5, 0.4, 0.1]])
    fitted = VarianceTree(4).fit(Predictions(probs[:, order], [0, 1, 2, 0]))
    assert fitted.nodes[0, 0] == order.index(1)
    assert fitted.thresholds[0] == pytest.approx(0.175)


@pytest.mark.parametrize("split", ["mean", "median"])
def test_variance_tree_assigns_new_points(split):
    rng = np.random.default_rng(3)
    old, new = rng.dirichlet(np.ones(4), 300), rng.dirichlet(np.ones(4), 500)
    fitted = VarianceTree(30, split).fit(Predictions(old, np.zeros(300, int)))
    # In the plain tree a row of weight 0 only follows the cuts.
    both = Predictions(
        np.concatenate((old, new)), np.zeros(800, int), weights=np.repeat([1, 0], [300, 500])
    )
    assert fitted.assign(new).tolist() == oracles.variance_tree(both, 30, split)[300:]


def tied_problems():
    """Return problems in which many predictions are equal, and many cuts tie."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        n = rng.integers(2, 60)
        counts = rng.integers(1, 4, n) if rng.random() < 0.5 else np.ones(n, int)
        yield rng.random(n).round(rng.integers(1, 3)), counts, rng.permutation(n)


def weighted_tree(size, split, probs, weights):
    data = Predictions(probs, np.zeros(probs.size, int), weights=weights)
    return VarianceTree(size, split).fit(data)


@pytest.mark.parametrize("split", ["mean", "median"])
@pytest.mark.parametrize("unit", [0.1, 0.3, 1 / 3])
def test_the_order_of_rows_does_not_move_a_tree(split, unit):
    for probs, counts, order in tied_problems():
        expected = weighted_tree(2 * unit, split, probs, counts * unit)
        found = weighted_tree(2 * unit, split, probs[order], (counts * unit)[order])
        np.testing.assert_array_equal(found.nodes, expected.nodes)
        np.testing.assert_array_equal(found.thresholds, expected.thresholds)


@pytest.mark.parametrize("unit", [0.1, 0.3, 1 / 3, 1e-100, 7e90])
def test_the_unit_of_weights_does_not_move_a_median(unit):
    for probs, counts, _ in tied_problems():
        expected = weighted_tree(2, "median", probs, counts)
        found = weighted_tree(2 * unit, "median", probs, counts * unit)
        np.testing.assert_array_equal(found.nodes, expected.nodes)
        np.testing.assert_array_equal(found.thresholds, expected.thresholds)


@given(problems())
def test_a_split_needs_both_sides(data):
    cells = np.array(cells_of(VarianceTree(1), data))
    weights = data.weights
    assert all(weights[cells == c].sum() > 0 for c in set(cells.tolist()))


# FromFunction


def test_from_function_sorts_names():
    data = Predictions([0.1, 0.45, 0.55, 0.9], [0, 1, 0, 1])
    by_word = FromFunction(lambda probs: np.where(probs[:, 1] > 0.5, "high", "low"))
    fitted, cells = by_word.locate(data)
    assert cells.tolist() == [1, 1, 0, 0]
    assert fitted.names.tolist() == ["high", "low"]
    only_low = by_word.fit(data.restrict(np.array([True, True, False, False])))
    assert only_low.assign(data.probs).tolist() == [0, 0, -1, -1]


def test_from_function_can_be_equal_width():
    rng = np.random.default_rng(0)
    data = Predictions(rng.random(500), np.zeros(500, int))
    mine = FromFunction(lambda probs: np.floor(probs[:, 1] * 8))  # exact for a power of two
    assert cells_of(mine, data) == cells_of(EqualWidth(8), data)


def test_from_function_refuses():
    data = Predictions([0.1, 0.2], [0, 1])
    with pytest.raises(TypeError, match=r"`name_cells` must be a function; found 3\."):
        FromFunction(3)
    with pytest.raises(
        ValueError, match=r"one value for each of the 2 rows; it gave shape \(2, 2\)"
    ):
        FromFunction(lambda probs: probs).fit(data)
    with pytest.raises(ValueError, match=r"`name_cells` must not give nan; it does for row 1\."):
        FromFunction(lambda _: [0.0, np.nan]).fit(data)


# All of them


@pytest.mark.parametrize("make", [EqualWidth, SimplexBins, EqualMass])
def test_refuses_bad_numbers_of_cells(make):
    with pytest.raises(ValueError, match=r"`k` must be a whole number from 1; found 0\."):
        make(0)
    with pytest.raises(ValueError, match=r"`k` must be a whole number from 1; found -3\."):
        make(-3)
    with pytest.raises(TypeError, match=r"`k` must be a whole number; found 2\.5 \(float\)\."):
        make(2.5)
    with pytest.raises(ValueError, match=r"`k` must be a whole number from 1; found True\."):
        make(True)
    assert make(np.int64(3)) == make(3)


def test_refuses_bad_sizes_of_nodes():
    for bad in (0, -3, -0.5, True):
        with pytest.raises(
            ValueError, match=rf"`min_size` must be a number above 0; found {bad}\."
        ):
            VarianceTree(bad)
    for bad in ("many", None, 10**400):
        with pytest.raises(TypeError, match=r"`min_size` must be a number; found "):
            VarianceTree(bad)
    with pytest.raises(ValueError, match=r"`min_size` must be finite; found inf\."):
        VarianceTree(np.inf)
    assert VarianceTree(np.int64(3)) == VarianceTree(3.0) == VarianceTree(3)
    assert str(VarianceTree(np.float64(3))) == "tree of 3"
    assert str(VarianceTree(0.25, "median")) == "tree of 0.25, median"


def test_refuses_an_unknown_split():
    with pytest.raises(ValueError, match=r"`split` must be 'mean' or 'median'; found 'mode'\."):
        VarianceTree(10, "mode")


@pytest.mark.parametrize("partition", families.partitions_of(2), ids=str)
def test_fitted_partitions_survive_pickling_and_refuse_other_shapes(partition):
    data = Predictions([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1])
    fitted = partition.fit(data)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.assign(data.probs), fitted.assign(data.probs))
    assert pickle.loads(pickle.dumps(partition)) == partition
    if not isinstance(partition, FromFunction):
        with pytest.raises(
            ValueError, match=r"`probs` must be of shape \(n, 2\); found \(1, 3\)\."
        ):
            fitted.assign(np.array([[0.2, 0.3, 0.5]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_row(dtype):
    for m in (2, 3, 1000):
        data = Predictions(np.eye(m, dtype=dtype)[:1], [1])
        for partition in families.partitions_of(m):
            assert cells_of(partition, data) == [0]


@pytest.mark.parametrize("partition", [EqualWidth, SimplexBins])
@pytest.mark.parametrize("k", [1_000_001, 10**9, 10**18, 10**30])
def test_a_grid_has_a_bounded_number_of_parts(partition, k):
    with pytest.raises(ValueError, match=rf"`k` must be at most 1,000,000; found {k}\."):
        partition(k)
    assert partition(10**6).k == 10**6


@pytest.mark.parametrize("seed", range(40))
def test_a_weight_is_so_many_copies_also_where_values_meet_the_mean(seed):
    """Coarse probabilities put values on thresholds, where the last bit of a sum decides."""
    rng = np.random.default_rng(seed)
    for _ in range(50):
        m, n = int(rng.integers(2, 5)), int(rng.integers(5, 40))
        probs = rng.multinomial(int(rng.choice([4, 10, 20])), np.ones(m) / m, n)
        probs = probs / probs.sum(axis=1, keepdims=True)
        times, size = rng.integers(1, 6, n), float(rng.integers(2, 12))
        labels = np.zeros(n, int)
        _, weighted = VarianceTree(size).locate(Predictions(probs, labels, weights=times))
        rows = np.repeat(np.arange(n), times)
        _, copied = VarianceTree(size).locate(Predictions(probs[rows], labels[rows]))
        assert copied.tolist() == weighted[rows].tolist()
