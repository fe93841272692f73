# ruff: noqa: E501 (a table of bad input stands one case to a line, with its sentence)
"""Labels: the rule by hand, the same answer at every door, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from doors import ARRAYS, FILES, FRAMES, answers
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Predictions, load
from calibrant.checks.labels import class_names, meaning
from calibrant.loading import from_frame

HUGE = 10**30
REFUSED = "refused"

# labels, classes, the places of the classes
BY_HAND = {
    "names": (["b", "a"], ["a", "b", "c"], [1, 0]),
    "spaces do not count": ([" b", "a "], ["a", " b ", "c"], [1, 0]),
    "letters count": (["A"], ["a", "b"], REFUSED),
    "places": ([2, 0], ["a", "b", "c"], [2, 0]),
    "places as texts": (["2", "0"], ["a", "b", "c"], [2, 0]),
    "places as floats": ([2.0, 0.0], ["a", "b", "c"], [2, 0]),
    "no such place": ([3], ["a", "b", "c"], REFUSED),
    "a negative place": ([-1], ["a", "b", "c"], REFUSED),
    "half a place": ([0.5], ["a", "b", "c"], REFUSED),
    "names and places": (["a", "1"], ["a", "b", "c"], REFUSED),
    "numbers are names": ([1, 2], ["1", "2", "3"], [0, 1]),
    "numbers are not places": ([0, 1], ["1", "2", "3"], REFUSED),
    "numbers in another order": ([2, 0], ["2", "1", "0"], [0, 2]),
    "a sign": ([1, 2], ["+1", "2", "3"], [0, 1]),
    "a sign in a label": (["+1", "-2"], ["1", "-2"], [0, 1]),
    "zeros in front": ([1, 2], ["01", "02", "03"], [0, 1]),
    "a point": ([1, 2], ["1.0", "2.", "3.00"], [0, 1]),
    "a point in a label": (["1.0", "2."], ["1", "2", "3"], [0, 1]),
    "floats": ([1.0, 2.0], ["1", "2", "3"], [0, 1]),
    "an exponent": (["1.000000000000000000e+00"], ["0", "1"], [1]),
    "classes that are integers": ([7, 3], [7, 3, 11], [0, 1]),
    "classes that are floats": ([1, 2], [1.0, 2.0, 3.0], [0, 1]),
    "classes that are halves": ([1.5, 0.5], ["0.5", "1.50"], [1, 0]),
    "a number and a name": ([1, 2], ["1", "2", "other"], [0, 1]),
    "no place beside a number": ([0, 2], ["1", "2", "other"], REFUSED),
    "a name beside a number": (["other", "2"], ["1", "2", "other"], [2, 1]),
    "huge": ([HUGE, HUGE + 1], [str(HUGE + 1), str(HUGE)], [1, 0]),
    "huge and unknown": ([HUGE], ["0", "1"], REFUSED),
    "huge beside names": ([HUGE], ["a", "b"], REFUSED),
    "large floats": ([1e22, 1e16], ["1e16", "1" + 22 * "0"], [1, 0]),
    "a large float": ([1e22, 1e22], ["0", "1"], REFUSED),
    "64 bits": ([9 * 10**18, 5], ["5", "9000000000000000000", "-7"], [1, 0]),
    "64 bits without sign": ([2**64 - 1, 0], ["0", str(2**64 - 1)], [1, 0]),
    "truths": ([True, False], ["False", "True"], [1, 0]),
    "truths, turned": ([True, False], ["TRUE", "FALSE"], [0, 1]),
    "truths as texts": (["true", "FALSE"], ["False", "True"], [1, 0]),
    "truths are 0 and 1": ([True, False], ["1", "0"], [0, 1]),
    "0 and 1 are truths": ([1, 0], ["True", "False"], [0, 1]),
    "truths as places": ([True, False], ["sick", "well"], [1, 0]),
    "truths of three classes": ([True, False], ["0", "1", "2"], REFUSED),
    "truths as places of three": ([True, False], ["a", "b", "c"], REFUSED),
    "truths among three": (["True", "unknown"], ["true", "false", "unknown"], [0, 2]),
    "no place beside a truth": ([2], ["true", "false", "unknown"], REFUSED),
    "one number twice": ([2], ["1", "1.0", "2"], REFUSED),
    "one truth twice": (["true"], ["True", "true"], REFUSED),
    "a truth and its number": (["x"], ["True", "1", "x"], REFUSED),
    "other digits": (["١"], ["1", "2"], REFUSED),
    "an underscore": (["1_0"], ["10", "2"], REFUSED),
    "hexadecimal": (["0x1"], ["1", "2"], REFUSED),
    "an empty text": (["a", ""], ["a", "b"], REFUSED),
    "nothing": (["a", None], ["a", "None"], REFUSED),
}


@pytest.mark.parametrize(("labels", "classes", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_by_hand_at_every_door(tmp_path, labels, classes, expected):
    found = answers(labels, classes, tmp_path)
    for door, answer in found.items():
        if expected == REFUSED:
            assert isinstance(answer, str), door
            assert answer.count(" must ") >= 1, (door, answer)
        else:
            assert answer == expected, door
    assert {"list", "objects", "csv", "json lines"} <= set(found)


def test_most_labels_fit_through_every_door(tmp_path):
    assert set(answers([1, 0], ["0", "1"], tmp_path)) == {*ARRAYS, *FRAMES, *FILES}
    assert set(answers(["a", "b"], ["b", "a"], tmp_path)) == {*ARRAYS, *FRAMES, *FILES}


INTEGERS = [-1, 0, 1, 2, 3, 10, 2**53 + 1, 2**63 - 1, 2**64 - 1, HUGE]
FLOATS = [-1.0, -0.0, 0.0, 1.0, 2.0, 0.5, 1e15, 2.0**53, 1e16, 1e22, float("inf")]
TEXTS = [
    *("a", "A", " a ", "b", "0", "1", "2", "+1", "-1", "- 1", "+01", "01", "1.0", "1.", "-0"),
    *("1e0", "10E-1", "1.5", "0x1", "1_0", "١", "½", "true", "True", "FALSE", "tRue", "nan"),
    *("None", "null", "inf", "0.50", ".5", str(HUGE), f"{HUGE}.0", "1e30", "a,b", 'a"b', "é"),
]
LABELS = st.one_of(
    st.lists(st.sampled_from(values), min_size=1, max_size=4)
    for values in (INTEGERS, FLOATS, TEXTS, [True, False])
)
NAMES = st.lists(
    st.sampled_from([*map(str, INTEGERS), *map(str, FLOATS), *TEXTS]),
    min_size=2,
    max_size=4,
    unique=True,
)


@given(labels=LABELS, classes=NAMES)
def test_one_answer_at_every_door(tmp_path_factory, labels, classes):
    found = answers(labels, classes, tmp_path_factory.mktemp("doors"))
    codes = [REFUSED if isinstance(answer, str) else answer for answer in found.values()]
    assert len(found) >= 4
    assert all(answer == codes[0] for answer in codes), found


@given(labels=LABELS, m=st.integers(2, 4))
def test_names_by_default_are_numbers(tmp_path_factory, labels, m):
    """Labels 0, …, m-1 are the same with and without these names."""
    folder = tmp_path_factory.mktemp("doors")
    (named, *_) = answers(labels, [str(j) for j in range(m)], folder).values()
    probs = np.full((len(labels), m), 1 / m)
    if isinstance(named, str):
        with pytest.raises(ValueError, match="`labels` must be whole numbers from 0 to"):
            Predictions(probs, labels)
    else:
        assert Predictions(probs, labels).labels.tolist() == named


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float64])
def test_many_rows_of_every_type(kind):
    rng = np.random.default_rng(0)
    places = rng.integers(0, 4, 200_000)
    low = 0 if np.dtype(kind).kind == "u" else -100
    classes = np.array([low, 3, 100, 110], kind)
    probs = np.full((len(places), 4), 0.25)
    assert Predictions(probs, classes[places], classes).labels.tolist() == places.tolist()
    names = np.array(["a", "b", "c", "d"])
    assert Predictions(probs, places.astype(kind), names).labels.tolist() == places.tolist()


@pytest.mark.parametrize("kind", ["U", "S", object, np.dtypes.StringDType()])
def test_many_rows_of_names(kind):
    places = np.random.default_rng(0).integers(0, 3, 100_000)
    names = np.array(["cat", "dog", "+3"]).astype(kind)
    data = Predictions(np.full((len(places), 3), 1 / 3), names[places], names)
    assert data.labels.tolist() == places.tolist()
    assert data.classes == ("cat", "dog", "+3")


def test_integers_far_apart():
    classes = np.array([-(2**63), 5, 2**63 - 1])
    labels = np.array([2**63 - 1, -(2**63)])
    assert Predictions(np.full((2, 3), 1 / 3), labels, classes).labels.tolist() == [2, 0]


def test_bytes_are_texts():
    probs = np.full((2, 2), 0.5)
    assert Predictions(probs, [b"b", b"a"], [b"a", "b"]).classes == ("a", "b")
    with pytest.raises(
        ValueError, match=r"among the classes 'a', 'b' or 0 to 1; row 1 has '.*xff'"
    ):
        Predictions(probs, [b"a", b"\xff"], ["a", "b"])


@pytest.mark.parametrize(
    ("texts", "same"),
    [
        (("3", "+3", "03", "3.", "3.00", "3e0", "30e-1"), True),
        (("-0", "0", "+0.0"), True),
        (("1" + 400 * "0", "1e400"), True),
        (("1e999999", "1" + 400 * "0"), False),
        (("true", "True", "1"), True),
        (("a", "A"), False),
        (("3", "3.01"), False),
    ],
)
def test_what_texts_mean(texts, same):
    first, *others = map(meaning, texts)
    assert all((other == first) is same for other in others)


REFUSALS = [
    ([0, HUGE], None, r"`labels` must be whole numbers from 0 to 2; row 1 has 1000000000000000000000000000000\."),
    ([0, 3], None, r"from 0 to 2; row 1 has 3\. If they are names, name the classes in order"),
    (["a", "b"], None, r"`labels` must be whole numbers from 0 to 2; row 0 has 'a' \(and 1 more\)\. If they are"),
    ([0, "9" * 200], None, r"row 1 has '9{59}…\."),
    ([True, False], None, r"`labels` must be whole numbers from 0 to 2; row 0 has True \(and 1 more\)\."),
    (["cat", "1"], ["cat", "dog", "car"], r"'car' or 0 to 2; row 1 has '1'\. Write all labels in one way: all as names"),
    ([0, 2], ["1", "2", "x"], r"`labels` must be among the classes '1', '2', 'x'; row 0 has 0\."),
    ([0.0, np.nan], ["a", "nan", "b"], r"among the classes 'a', 'nan', 'b' or 0 to 2; row 1 has nan\."),
    (["a", None], ["a", "None", "b"], r"among the classes 'a', 'None', 'b' or 0 to 2; row 1 has None\."),
    (["a", " "], ["a", "b", "c"], r"among the classes 'a', 'b', 'c' or 0 to 2; row 1 has ''\."),
    ([1, 2], ["1", "01", "2"], r"`classes` must differ from one another; found '1' and '01', which are equal\."),
    ([1, 2], ["true", "1", "2"], r"`classes` must differ from one another; found 'true' and '1', which are equal\."),
    ([1, 2], ["a", "b", "a "], r"`classes` must differ from one another; found 'a' twice\."),
    ([1, 2], ["a", "", "b"], r"`classes` must be names; the name of class 1 is empty\."),
    ([1, 2], ["a", "b", None], r"`classes` must be names; the name of class 2 is empty\."),
]  # fmt: skip


@pytest.mark.parametrize(("labels", "classes", "match"), REFUSALS, ids=range(len(REFUSALS)))
def test_refusals(labels, classes, match):
    with pytest.raises(ValueError, match=match):
        Predictions(np.full((2, 3), 1 / 3), labels, classes)


def test_refusals_of_frames():
    probs = np.full((2, 3), 1 / 3)
    dummies = pd.DataFrame({"x": [0, 0], "cat": [1, 0], "dog": [0, 1]})
    match = (
        r"must have columns named after the classes 'cat', 'dog', 'car'; found 'x', 'cat', 'dog'\."
    )
    with pytest.raises(ValueError, match=match):
        Predictions(probs, dummies, ["cat", "dog", "car"])
    numbered = pd.DataFrame(np.eye(3)[:2])
    assert Predictions(probs, numbered, [1, 2, 3]).labels.tolist() == [0, 1]
    wide = pl.Series([0, HUGE], dtype=pl.Int128)
    with pytest.raises(ValueError, match=r"whole numbers from 0 to 2; row 1 has 10{30}\."):
        Predictions(probs, wide)
    wide = pd.DataFrame({"y": [0, HUGE], "prob_0": [0.5, 0.5], "prob_1": [0.5, 0.5]})
    with pytest.raises(ValueError, match=r"`frame`: integers must fit in 64 bits; found larger"):
        from_frame(wide)


def test_one_hot_columns_are_found_by_what_they_mean():
    dummies = pd.DataFrame({3.0: [0, 1], 5.0: [1, 0]})
    assert Predictions(np.full((2, 2), 0.5), dummies, ["5", "3"]).labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("classes", "match"),
    [
        (["x", "1.0"], r"column 'prob_1' is named for '1', but `classes` calls it 'x'\."),
        (["2", "+1"], r"column 'prob_1' is named for '1', but `classes` calls it '2'\."),
    ],
)
def test_renamed_classes_in_another_order(tmp_path, classes, match):
    (tmp_path / "x.csv").write_text("y,prob_1,prob_2\n1,0.5,0.5\n")
    with pytest.raises(ValueError, match=match):
        load(tmp_path / "x.csv", classes=classes)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [([1, 2], [0, 1]), (["x", "y"], [0, 1]), ([0, 1], REFUSED), (["x", 2], REFUSED)],
)
def test_renamed_classes(tmp_path, labels, expected):
    """Labels have the new names or the old ones; places are none where the old are numbers."""
    written = [str(label) for label in labels]
    pl.DataFrame({"y": written, "prob_1": [0.5, 0.5], "prob_2": [0.5, 0.5]}).write_csv(
        tmp_path / "x.csv"
    )
    np.savez(tmp_path / "x.npz", probs=np.full((2, 2), 0.5), labels=written, classes=[1, 2])
    for name in ("x.csv", "x.npz"):
        if expected == REFUSED:
            with pytest.raises(ValueError, match=r"among the classes 'x', 'y'; row . "):
                load(tmp_path / name, classes=["x", "y"])
        else:
            assert load(tmp_path / name, classes=["x", "y"]).labels.tolist() == expected


@pytest.mark.parametrize(
    ("labels", "column", "classes", "codes"),
    [
        ([1, 0], "prob_false", ("1", "0"), [0, 1]),
        ([True, False], "prob_0", ("true", "false"), [0, 1]),
        ([True, False], "prob_1", ("false", "true"), [1, 0]),
        ([True, False], "prob_rain", ("not rain", "rain"), [1, 0]),
        (["+1", "-1.0"], "prob_1", ("-1", "1"), [1, 0]),
        (["1e999999", "0"], "prob_0", ("1e999999", "0"), [0, 1]),
    ],
)
def test_one_column(labels, column, classes, codes):
    data = from_frame(pl.DataFrame({"y": labels, column: [0.25, 0.75]}))
    assert data.classes == classes
    assert data.labels.tolist() == codes


def test_names_stay_as_they_are_written():
    assert class_names(["+3", 2.0, True, b"x", " y "], 5) == ("+3", "2.0", "True", "x", "y")
