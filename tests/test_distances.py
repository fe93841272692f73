from dataclasses import dataclass

import families
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from calibrant import Predictions, distances, engine
from calibrant.distances import (
    ONE,
    SQUARED,
    TWO,
    Norm,
    euclidean,
    from_norm,
    measure,
    name_of,
    norm_of,
    squared_euclidean,
    total_variation,
)
from calibrant.partitions import EqualWidth
from calibrant.statistics import ExpectedMiscalibration, WorstMiscalibration


@dataclass
class Scaled:  # such a class cannot be hashed
    scale: float

    def __call__(self, p, q):
        return self.scale * total_variation(p, q)


def test_by_hand():
    p, q = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.25, 0.5])
    assert total_variation(p, q) == 0.25
    assert squared_euclidean(p, q) == 0.125
    assert euclidean(p, q) == 0.125**0.5


def test_the_euclidean_distance_of_two_outcomes_is_root_two_times_the_total_variation():
    p = np.random.default_rng(0).random(100)
    q = np.random.default_rng(1).random(100)
    pairs = np.column_stack((p, 1 - p)), np.column_stack((q, 1 - q))
    # 1 - p rounds, so the two differences of a pair differ by an ulp of 1.
    np.testing.assert_allclose(
        euclidean(*pairs), 2**0.5 * total_variation(*pairs), rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("distance", families.DISTANCES)
@given(problems(dtype=np.float64, max_n=6), problems(dtype=np.float64, max_n=6))
def test_equals_loops_and_is_a_distance(distance, a, b):
    n = min(a.n, b.n)
    if a.m != b.m:
        b = a.take(np.arange(n)[::-1])
    p, q = a.probs[:n], b.probs[:n]
    oracle = oracles.DISTANCES[distance.__name__]
    found = distance(p, q)
    assert found.shape == (n,)
    # Sums of at most five terms below 2.
    expected = [oracle(x, y) for x, y in zip(p.tolist(), q.tolist(), strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-16)
    np.testing.assert_array_equal(found, distance(q, p))
    assert not distance(p, p).any()
    order = np.random.default_rng(0).permutation(a.m)
    np.testing.assert_allclose(distance(p[:, order], q[:, order]), found, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("distance", families.DISTANCES)
def test_any_leading_shape(distance):
    p = np.random.default_rng(0).dirichlet(np.ones(3), (4, 5))
    q = np.random.default_rng(1).dirichlet(np.ones(3), (4, 5))
    found = distance(p, q)
    assert found.shape == (4, 5)
    assert found[2, 3] == distance(p[2, 3], q[2, 3])
    assert distance(p[0, 0], q[0, 0]).shape == ()


@pytest.mark.parametrize("distance", families.DISTANCES)
def test_the_norm_of_a_distance_is_the_distance(distance):
    p = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    q = np.random.default_rng(1).dirichlet(np.ones(4), 50)
    norm = norm_of(distance)
    values = {
        ONE: np.abs(p - q).sum(axis=1),
        TWO: np.sqrt(((p - q) ** 2).sum(axis=1)),
        SQUARED: ((p - q) ** 2).sum(axis=1),
    }
    np.testing.assert_allclose(norm.scale * values[norm.kind], distance(p, q), rtol=1e-15)


def test_the_engine_counts_norms_as_distances_do():
    totals = engine.norms
    assert (ONE, TWO, SQUARED) == (totals.ONE, totals.TWO, totals.SQUARED)


def test_every_built_in_distance_has_a_fast_way_and_others_have_none():
    public = [total_variation, euclidean, squared_euclidean]
    assert all(norm_of(distance) is not None for distance in public)
    assert all(hasattr(distances, distance.__name__) for distance in public)
    assert norm_of(lambda p, q: 2 * total_variation(p, q)) is None


def test_names_of_distances():
    assert name_of(total_variation) == "total variation"
    assert name_of(Scaled(2.0)) == "distance"


# Distances of the user's


@pytest.mark.parametrize("kind", [ONE, TWO, SQUARED])
@given(problems(), st.sampled_from((0.25, 0.5, 1.0, 3.0)))
def test_a_distance_that_says_its_norm_is_the_same_as_one_that_does_not(kind, data, scale):
    def plain(p, q):
        one = np.abs(p - q).sum(axis=-1)
        two = np.square(p - q).sum(axis=-1)
        return scale * (one, np.sqrt(two), two)[kind]

    @from_norm(kind, scale)
    def own(p, q):
        return plain(p, q)

    assert norm_of(own) == Norm(kind, scale)
    assert own(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == plain(
        np.array([1.0, 0.0]), np.array([0.5, 0.5])
    )
    for partition in families.partitions_of(data.m):
        for statistic in (ExpectedMiscalibration, WorstMiscalibration):
            found, expected = statistic(partition, own)(data), statistic(partition, plain)(data)
            # As above: a root turns rounding into 1e-8 near 0.
            small = 1e-7 if kind == TWO else 1e-14
            assert found == pytest.approx(expected, rel=1e-12, abs=3 * small)


@pytest.mark.parametrize("distance", families.DISTANCES)
@given(problems())
def test_a_users_copy_of_a_distance_agrees(distance, data):
    def mine(p, q):
        return distance(p, q)

    for partition in families.partitions_of(data.m):
        for statistic in (ExpectedMiscalibration, WorstMiscalibration):
            # The fast way divides the sum of differences; this one subtracts two means. Each
            # is right to an ulp of 1 or so, and a root turns that into 1e-8 only near 0.
            small = 1e-7 if distance is euclidean else 1e-14
            found = statistic(partition, mine)(data)
            expected = statistic(partition, distance)(data)
            assert found == pytest.approx(expected, rel=1e-12, abs=small)


def hellinger(p, q):
    return np.sqrt(0.5 * np.square(np.sqrt(p) - np.sqrt(q)).sum(axis=-1))


def cosine(p, q):
    product = (p * q).sum(axis=-1) / np.sqrt((p * p).sum(axis=-1) * (q * q).sum(axis=-1))
    return np.maximum(0.0, 1.0 - product)


@pytest.mark.parametrize("distance", [hellinger, cosine])
@given(problems())
def test_other_distances(distance, data):
    for partition in families.partitions_of(data.m):
        cells = partition.locate(data)[1].tolist()

        def one_pair(p, q):
            return float(distance(np.array(p), np.array(q)))

        found = ExpectedMiscalibration(partition, distance)(data)
        expected = oracles.expected_miscalibration(data, cells, one_pair)
        # Near 0 a root turns rounding of 1e-16 into 1e-8.
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-7)


def test_a_cell_of_weight_zero_is_not_shown_to_the_distance():
    data = Predictions([0.1, 0.9, 0.85], [0, 1, 0], weights=[0, 1, 1])
    found = ExpectedMiscalibration(EqualWidth(2), cosine)(data)
    absent = ExpectedMiscalibration(EqualWidth(2), cosine)(Predictions([0.9, 0.85], [1, 0]))
    assert found == absent > 0


def test_objects_that_can_be_called():
    data = Predictions([0.25, 0.75], [1, 1])
    partition = EqualWidth(2)
    assert ExpectedMiscalibration(partition, Scaled(3.0))(data) == 3 * 0.5
    assert (
        str(ExpectedMiscalibration(partition, Scaled(3.0))) == "expected distance on 2 equal widths"
    )


def test_an_infinite_distance_is_a_number():
    def kullback_leibler(p, q):
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(p > 0, p * np.log(p / q), 0.0)
        return np.maximum(0.0, terms.sum(axis=-1))

    data = Predictions([0.0, 0.75], [1, 1])
    assert ExpectedMiscalibration(EqualWidth(2), kullback_leibler)(data) == np.inf


@pytest.mark.parametrize(
    ("distance", "match"),
    [
        (lambda p, q: np.abs(p - q), r"\(1, 2, 2\) into \(1, 2\); it returned \(1, 2, 2\)"),
        (lambda p, q: np.abs(p - q).sum(), r"\(1, 2, 2\) into \(1, 2\); it returned \(\)\."),
        (lambda p, _: p[..., 0] * np.nan, r"must be a number from 0 up; it returned nan\."),
        (lambda p, q: (p - q)[..., 0], r"must be a number from 0 up; it returned -0\.75\."),
    ],
)  # fmt: skip
def test_refuses_what_a_distance_returns(distance, match):
    data = Predictions([0.25, 0.75], [1, 1])
    with pytest.raises(ValueError, match=rf"`distance` .*{match}"):
        ExpectedMiscalibration(EqualWidth(2), distance)(data)


def test_measure_gives_float64():
    found = measure(lambda p, q: (np.abs(p - q).sum(axis=-1) > 0).astype(int), np.eye(2), np.eye(2))
    assert found.dtype == np.float64
