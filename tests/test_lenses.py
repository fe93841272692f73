import pickle

import families
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, tie_free

from calibrant import Predictions, lenses
from calibrant.lenses import (
    Canonical,
    Groups,
    Induced,
    Lens,
    Marginal,
    Outcomes,
    Pooled,
    TopK,
    TopLabel,
)

CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def rounding(data):
    """Bound the difference of two ways to add up a row.

    A row sums to 1 within eps (4 + sqrt m), and each of m additions rounds once.
    """
    return float(np.finfo(data.probs.dtype).eps) * (4 + data.m**0.5 + data.m)


def test_every_lens_is_in_a_family():
    covered = {type(lens) for m in (2, 3) for lens, _, _ in families.lenses_of(m)}
    named = {getattr(lenses, name) for name in lenses.__all__}
    assert named - covered == {Lens, Outcomes, Induced, Pooled}


@given(problems())
def test_equals_induced(data):
    for lens, psi, size in families.lenses_of(data.m):
        found, expected = lens(data), Induced(psi, size)(data)
        np.testing.assert_array_equal(found.labels, expected.labels, err_msg=str(lens))
        np.testing.assert_allclose(
            found.probs, expected.probs, rtol=0, atol=rounding(data), err_msg=str(lens)
        )
        np.testing.assert_array_equal(found.weights, data.weights)


@given(problems())
def test_lens_law(data):
    for lens, _, _ in families.lenses_of(data.m):
        found = lens(data)
        average = np.zeros(found.probs.shape)
        for y in range(data.m):
            lensed = lens(data.with_labels(np.full(data.n, y)))
            average[np.arange(data.n), lensed.labels] += data.probs[:, y]
        np.testing.assert_allclose(average, found.probs, rtol=0, atol=rounding(data))


@given(problems())
def test_induced_rows_are_predictions(data):
    for lens, _, size in families.lenses_of(data.m):
        found = lens(data)
        assert found.probs.shape == (data.n, size)
        assert found.probs.dtype == data.probs.dtype
        assert found.labels.dtype == np.int32
        assert (found.probs >= 0).all()
        np.testing.assert_allclose(found.probs.sum(axis=1, dtype=float), 1, atol=rounding(data))
        assert lens.rowwise
        assert len(set(found.classes)) == size


@given(problems(), st.data())
def test_outcomes_are_the_labels_that_the_lens_gives(data, draw):
    labels = np.array(
        draw.draw(st.lists(st.integers(0, data.m - 1), min_size=data.n, max_size=data.n))
    )
    rows = np.array(draw.draw(st.lists(st.integers(0, data.n - 1), min_size=1, max_size=6)))
    for lens, psi, size in families.lenses_of(data.m):
        seen = lens(data)
        expected = lens(data.with_labels(labels)).labels
        for found in (lens, Induced(psi, size)):
            outcomes = found.outcomes(data)
            np.testing.assert_array_equal(outcomes.of(labels), expected, err_msg=str(lens))
            assert outcomes.of(labels).dtype == np.int32
            np.testing.assert_array_equal(outcomes.take(rows).of(labels[rows]), expected[rows])
            many = np.stack((labels, data.labels))
            np.testing.assert_array_equal(outcomes.of(many)[0], expected)
            np.testing.assert_array_equal(outcomes.of(many)[1], seen.labels)
            law = outcomes.distributions(data.probs.astype(float), seen.m)
            np.testing.assert_allclose(law, seen.probs, rtol=0, atol=rounding(data))
        # What a lens says of its outcomes is what looking at every class in turn finds.
        np.testing.assert_array_equal(Lens.outcomes(lens, data).of(labels), expected)
        np.testing.assert_array_equal(lens.relabel(data, labels), expected)


@given(problems(m=3))
def test_pooling_relabels_all_pairs(data):
    labels = (data.labels + 1) % 3
    for lens in (Pooled(), Groups([[0, 1], [2]]) >> Pooled(), TopLabel() >> Pooled()):
        expected = lens(data.with_labels(labels)).labels
        np.testing.assert_array_equal(lens.relabel(data, labels), expected)


@given(problems())
def test_top_k_is_sorting(data):
    for k in range(1, data.m):
        found = TopK(k)(data)
        probs, labels = oracles.top_k(data, k)
        assert found.labels.tolist() == labels
        assert found.probs[:, :k].tolist() == [p[:k] for p in probs]
        # One rounding to the type of the array.
        np.testing.assert_allclose(found.probs[:, k], [p[k] for p in probs], atol=6e-8)


@given(problems())
def test_a_vectorized_psi_gives_the_same(data):
    def psi(_, probs):
        return np.where(probs.max(axis=1) > 0.5, "sure", "unsure")

    def slow(_, mu):
        return "sure" if mu.max() > 0.5 else "unsure"

    fast = Induced(psi, ["sure", "unsure"], vectorized=True)(data)
    plain = Induced(slow, ["sure", "unsure"])(data)
    np.testing.assert_array_equal(fast.probs, plain.probs)
    np.testing.assert_array_equal(fast.labels, plain.labels)
    assert fast.classes == ("sure", "unsure")


@given(problems())
def test_top_label_is_top_one(data):
    a, b = TopLabel()(data), TopK(1)(data)
    np.testing.assert_array_equal(a.probs, b.probs)
    np.testing.assert_array_equal(a.labels, b.labels)
    assert a.classes == b.classes == ("predicted class", "other")


@given(problems(m=4))
def test_composition_is_one_lens_after_the_other(data):
    lens = Groups([[0, 3], [1], [2]]) >> TopK(2) >> Marginal("rest")
    step = Marginal("rest")(TopK(2)(Groups([[0, 3], [1], [2]])(data)))
    found = lens(data)
    np.testing.assert_array_equal(found.probs, step.probs)
    np.testing.assert_array_equal(found.labels, step.labels)
    assert found.classes == step.classes == ("rest", "not rest")
    assert str(lens) == "groups 0+3 | 1 | 2 >> top 2 >> class rest"


@given(tie_free())
def test_relabelling_classes_moves_nothing(data):
    order = np.random.default_rng(0).permutation(data.m)
    place = np.argsort(order)
    moved = Predictions.trusted(
        data.probs[:, order].copy(), place[data.labels].astype("int32"), data.classes
    )
    for k in range(1, data.m):
        np.testing.assert_array_equal(TopK(k)(data).probs, TopK(k)(moved).probs)
        np.testing.assert_array_equal(TopK(k)(data).labels, TopK(k)(moved).labels)
    for j in range(data.m):
        a, b = Marginal(j)(data), Marginal(int(place[j]))(moved)
        np.testing.assert_array_equal(a.probs, b.probs)
        np.testing.assert_array_equal(a.labels, b.labels)


def test_ties_go_to_the_lower_class():
    data = Predictions([[0.25, 0.25, 0.25, 0.25]] * 4, [0, 1, 2, 3])
    assert TopLabel()(data).labels.tolist() == [0, 1, 1, 1]
    assert TopK(2)(data).labels.tolist() == [0, 1, 2, 2]
    assert TopK(3)(data).labels.tolist() == [0, 1, 2, 3]


def test_names_carry_through():
    data = Predictions(np.eye(10), np.arange(10), CIFAR)
    assert Canonical()(data).classes == CIFAR
    assert Marginal("dog")(data).classes == ("dog", "not dog")
    assert Marginal(5)(data).classes == ("dog", "not dog")
    assert TopLabel()(data).classes == ("predicted class", "other")
    assert TopK(4)(data).classes == ("1st", "2nd", "3rd", "4th", "rest")
    assert Pooled()(data).classes == ("occurs", "does not occur")
    groups = Groups([["airplane", "automobile", 2], [3, 4, 5], ["frog", "horse", "ship", "truck"]])
    names = ("airplane+automobile+bird", "cat+deer+dog", "frog+horse+ship+truck")
    assert groups(data).classes == names
    named = Groups({"machine": [0, 1, 8, 9], "animal": range(2, 8)})
    assert named(data).classes == ("machine", "animal")
    assert (named >> Marginal("animal"))(data).classes == ("animal", "not animal")
    assert str(named) == "groups machine | animal"


def test_ordinals():
    classes = TopK(23)(Predictions(np.full((1, 25), 0.04), [0])).classes
    assert classes[9:13] == ("10th", "11th", "12th", "13th")
    assert classes[20:] == ("21st", "22nd", "23rd", "rest")


def test_lenses_of_two_outcomes_are_about_the_first():
    data = Predictions([0.2, 0.9], [0, 1])
    assert data.event == 1
    assert all(lens(data).event == 0 for lens, _, _ in families.lenses_of(2) if lens != Canonical())
    assert Pooled()(data).event == 0


@given(problems(m=3))
def test_pooled_lists_all_pairs(data):
    pairs = Pooled()(data)
    expected = [
        (p[j], int(y != j), w)
        for p, y, w in zip(*oracles.rows_of(data), strict=True)
        for j in range(3)
    ]
    found = zip(
        pairs.probs[:, 0].tolist(), pairs.labels.tolist(), pairs.weights.tolist(), strict=True
    )
    assert list(found) == expected
    assert pairs.weighted == data.weighted
    assert not Pooled().rowwise
    assert not (Canonical() >> Pooled()).rowwise
    assert not (Pooled() >> Canonical()).rowwise


def test_lenses_work_at_a_thousand_classes():
    probs = np.full((2, 1000), 0.5 / 999, np.float32)
    probs[0, 7] = probs[1, 999] = 0.5
    data = Predictions(probs, [7, 3])
    top = TopK(999)(data)
    assert top.m == 1000
    assert top.labels.tolist() == [0, 4]
    assert TopLabel()(data).probs[:, 0].tolist() == [0.5, 0.5]
    halves = Groups([range(500), range(500, 1000)])
    assert str(halves) == "groups 0+…+499 | 500+…+999"
    groups = halves(data)
    assert groups.classes == ("0+…+499", "500+…+999")
    # float32 entries, added in float64: a thousand roundings of at most 3e-11 each
    np.testing.assert_allclose(groups.probs[0, 0], 0.5 + 0.5 * 499 / 999, atol=1e-7)


@pytest.mark.parametrize(
    "lens",
    [
        Canonical(),
        TopLabel(),
        TopK(2),
        Marginal("a"),
        Groups([[0], [1]]),
        Pooled(),
        TopLabel() >> Pooled(),
    ],
    ids=str,
)
def test_lenses_are_values(lens):
    assert pickle.loads(pickle.dumps(lens)) == lens
    assert hash(lens) == hash(pickle.loads(pickle.dumps(lens)))
    # Python 3.11 raises TypeError where a frozen class with slots has no such field.
    with pytest.raises((AttributeError, TypeError)):
        lens.k = 3


DATA = Predictions([[0.5, 0.25, 0.25]], ["a"], classes=["a", "b", "c"])
FOUR = Predictions([[0.25, 0.25, 0.25, 0.25]], ["a"], classes=["a", "b", "c", "d"])


def test_refuses_bad_parameters():
    with pytest.raises(ValueError, match=r"`k` must be a whole number from 1; found 0\."):
        TopK(0)
    with pytest.raises(TypeError, match=r"`k` must be a whole number; found 1\.5 \(float\)\."):
        TopK(1.5)
    with pytest.raises(ValueError, match=r"`groups` must be at least two groups .* found \(\(0, 1"):
        Groups([[0, 1, 2]])
    with pytest.raises(ValueError, match=r"`groups` must be at least two groups .* one class each"):
        Groups([[0, 1, 2], []])
    with pytest.raises(TypeError, match=r"`psi` must be a function; found 'top'\."):
        Induced("top", 2)
    with pytest.raises(ValueError, match=r"`outcomes` must be at least two .* found 'yes'\."):
        Induced(lambda *_: "yes", ["yes"])
    with pytest.raises(ValueError, match=r"`outcomes` must be at least two different .* 1, '1'\."):
        Induced(lambda *_: 1, [1, "1"])
    with pytest.raises(ValueError, match=r"`outcomes` must be a whole number from 2; found 1\."):
        Induced(lambda *_: 0, 1)
    assert Induced(lambda *_: 0, np.int64(2)).outcome_values == (0, 1)
    with pytest.raises(TypeError, match="unsupported operand"):
        TopLabel() >> "top"


def test_refuses_what_does_not_fit_the_data():
    with pytest.raises(
        ValueError, match=r"`k` must be less than the number of classes, 3; found 3"
    ):
        TopK(3)(DATA)
    with pytest.raises(
        ValueError, match=r"`label` must be a class; 'd' is not among 'a', 'b', 'c'"
    ):
        Marginal("d")(DATA)
    with pytest.raises(ValueError, match=r"`label` must be a class from 0 to 2; found 3\."):
        Marginal(3)(DATA)
    with pytest.raises(ValueError, match=r"`label` must be a whole number from 0; found -1\."):
        Marginal(-1)(DATA)
    with pytest.raises(
        ValueError, match=r"`groups` must have every class once; 'b', 'c' missing\."
    ):
        Groups([["a"], ["d"]])(FOUR)
    with pytest.raises(
        ValueError, match=r"`groups` must have every class once; found 'a' a second"
    ):
        Groups([["a", "b"], ["c", 0]])(DATA)
    twice = Predictions([[0.5, 0.25, 0.25]], [0], classes=["a", "b", "a+b"])
    with pytest.raises(
        ValueError, match=r"`groups` must have different names; found 'a\+b', 'a\+b'"
    ):
        Groups([["a", "b"], ["a+b"]])(twice)


def test_refuses_what_psi_returns():
    with pytest.raises(
        ValueError, match=r"`psi` must return one of the outcomes 0, 1; for class 2 it"
    ):
        Induced(lambda y, _: y, 2)(DATA)
    with pytest.raises(
        ValueError, match=r"`psi` must return an outcome for each of the 1 rows; .* 2\."
    ):
        Induced(lambda *_: [0, 1], 2, vectorized=True)(DATA)
