# ruff: noqa: E501 (a table of bad input stands one case to a line, with its sentence)
import copy
import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from strategies import problems

from calibrant import Predictions

PROBS = [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.0, 0.0, 1.0]]
LABELS = [0, 1, 1]
NAMES = ["cat", "dog", "car"]
NAMED = ["cat", "dog", "dog"]
P1 = [0.25, 0.5, 1.0]


def same(data, probs=PROBS, labels=LABELS, classes=("0", "1", "2")):
    """Check the contents; all the probabilities used here are exact in half precision."""
    np.testing.assert_array_equal(data.probs, probs)
    assert data.labels.tolist() == labels
    assert data.labels.dtype == np.int32
    assert data.classes == tuple(classes)
    assert data.probs.flags.c_contiguous


# Input forms


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.longdouble, np.float64),
        (">f4", np.float32),
        (">f8", np.float64),
    ],
)
def test_float_types(dtype, kept):
    data = Predictions(np.array(PROBS, dtype), LABELS)
    assert data.probs.dtype == kept
    same(data)
    binary = Predictions(np.array(P1, dtype), [0, 0, 1])
    assert binary.probs.dtype == kept
    assert binary.probs.tolist() == [[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint8])
def test_whole_numbers_are_probabilities_too(dtype):
    data = Predictions(np.eye(3, dtype=dtype), LABELS)
    assert data.probs.dtype == np.float64
    same(data, np.eye(3))


@pytest.mark.parametrize(
    "probs",
    [
        PROBS,
        tuple(tuple(p) for p in PROBS),
        [np.array(p) for p in PROBS],
        np.array(PROBS),
        np.asfortranarray(PROBS),
        np.array(PROBS + PROBS)[:3],
        np.array(PROBS)[::-1][::-1],
        np.repeat(np.array(PROBS), 2, axis=1)[:, ::2],
        np.ma.array(PROBS),
    ],
    ids=str,
)
def test_arrays(probs):
    same(Predictions(probs, LABELS))


COLUMNS = dict(zip(NAMES, np.array(PROBS).T.tolist(), strict=True))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS, index=[7, 3, 5]),
        pd.DataFrame(COLUMNS).astype("Float64"),
        pd.DataFrame(COLUMNS).astype("float64[pyarrow]"),
        pd.DataFrame(COLUMNS).astype({"cat": "float32"}),
        pl.DataFrame(COLUMNS),
        pa.table(COLUMNS),
        pa.record_batch(COLUMNS),
    ],
    ids=lambda frame: type(frame).__module__,
)
def test_frames_name_the_classes(frame):
    same(Predictions(frame, LABELS), classes=NAMES)
    same(Predictions(frame, NAMED), classes=NAMES)
    same(Predictions(frame, LABELS, classes=["a", "b", "c"]), classes="abc")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_float32_frames_stay_float32(make):
    columns = {name: np.array(values, np.float32) for name, values in COLUMNS.items()}
    assert Predictions(make(columns), LABELS).probs.dtype == np.float32


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        pl.Series,
        pa.array,
        lambda p: pa.chunked_array([p]),
    ],
)
def test_one_dimension_is_class_one(make):
    data = Predictions(make(P1), make([0, 0, 1]))
    np.testing.assert_array_equal(data.probs, [[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])
    assert data.labels.tolist() == [0, 0, 1]
    assert data.m == 2
    assert data.event == 1


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS, np.uint8),
        np.array(LABELS, ">i8"),
        np.array(LABELS, float),
        np.array(LABELS, object),
        np.array(LABELS)[:, None],
        np.eye(3)[LABELS],
        np.eye(3, dtype=bool)[LABELS],
        np.eye(3, dtype=int)[LABELS].tolist(),
        pd.Series(LABELS, index=[2, 0, 1]),
        pd.Series(LABELS, dtype="Int64"),
        pd.Series(LABELS, dtype="category"),
        pd.DataFrame(np.eye(3)[LABELS]),
        pl.Series(LABELS),
        pl.DataFrame(np.eye(3)[LABELS]),
        pa.array(LABELS),
        pa.chunked_array([LABELS[:1], LABELS[1:]]),
    ],
    ids=lambda labels: f"{type(labels).__module__}-{getattr(labels, 'dtype', '')}",
)
def test_labels_by_position(labels):
    same(Predictions(PROBS, labels))


@pytest.mark.parametrize(
    "labels",
    [
        NAMED,
        np.array(NAMED),
        np.array(NAMED, object),
        np.array(NAMED, np.dtypes.StringDType()),
        pd.Series(NAMED),
        pd.Series(NAMED, dtype="category"),
        pd.Series(NAMED, dtype="string"),
        pd.Series(pd.Categorical(NAMED, categories=["dog", "cat", "car"])),
        pl.Series(NAMED),
        pl.Series(NAMED, dtype=pl.Categorical),
        pl.Series(NAMED, dtype=pl.Enum(["dog", "car", "cat"])),
        pa.array(NAMED),
        pa.array(NAMED).dictionary_encode(),
        pa.chunked_array([NAMED[:1], NAMED[1:]]),
    ],
    ids=lambda labels: f"{type(labels).__module__}-{getattr(labels, 'dtype', '')}",
)
@pytest.mark.parametrize("classes", [NAMES, tuple(NAMES), np.array(NAMES), pd.Index(NAMES)])
def test_labels_by_name(labels, classes):
    same(Predictions(PROBS, labels, classes), classes=NAMES)


def test_integer_class_names():
    classes = np.array([7, 3, 11])  # as scikit-learn's classes_
    for labels in ([7, 3, 3], np.array([7.0, 3.0, 3.0]), ["7", "3", "3"], pd.Series([7, 3, 3])):
        same(Predictions(PROBS, labels, classes), classes=["7", "3", "11"])
    same(Predictions(PROBS, [1, 2, 2], [1, 2, 3]), classes="123")
    same(Predictions(PROBS, [2, 1, 1], [2, 1, 0]), classes="210")
    same(
        Predictions(P1, [True, False, True], [False, True]),
        [[0.75, 0.25], [0.5, 0.5], [0, 1]],
        [1, 0, 1],
        ("False", "True"),
    )
    same(Predictions(PROBS, np.eye(3)[LABELS], classes), classes=["7", "3", "11"])


def test_integer_column_names_are_names_too():
    frame = pd.DataFrame(PROBS, columns=np.array([1, 2, 3]))
    same(Predictions(frame, [1, 2, 2]), classes="123")
    frame["y"] = [1, 2, 2]
    same(Predictions.from_frame(frame, label="y", probs=[1, 2, 3]), classes="123")


def test_one_hot_frames_are_read_by_their_columns():
    dummies = pd.get_dummies(pd.Series([*NAMED, "car"]))[:3]
    assert list(dummies) == ["car", "cat", "dog"]
    same(Predictions(PROBS, dummies, NAMES), classes=NAMES)
    same(Predictions(pd.DataFrame(COLUMNS), pl.DataFrame(dummies.to_dict("list"))), classes=NAMES)
    other = dummies.rename(columns={"car": "x", "cat": "y", "dog": "z"})
    assert Predictions(PROBS, other, NAMES).labels.tolist() == [1, 2, 2]  # by position


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_weights(make):
    data = Predictions(PROBS, LABELS, weights=make([2, 0, 1]))
    assert data.weights.tolist() == [2.0, 0.0, 1.0]
    assert data.weights.dtype == np.float64
    assert data.weighted
    plain = Predictions(PROBS, LABELS)
    assert plain.weights.tolist() == [1.0, 1.0, 1.0]
    assert not plain.weighted


@pytest.mark.parametrize("n", [3, 100, 5000])
def test_weights_are_rounded_so_that_their_sums_are_exact(n):
    rng = np.random.default_rng(n)
    given_weights = rng.random(n) * 10.0 ** rng.integers(-8, 3)
    data = Predictions(np.full((n, 2), 0.5), np.zeros(n, int), weights=given_weights)
    # To 53 bits of n times the largest.
    unit = n * given_weights.max() * 2.0**-52
    np.testing.assert_allclose(data.weights, given_weights, rtol=0, atol=unit / 2)
    exact = sum(Fraction(w) for w in data.weights.tolist())
    for order in (np.arange(n), np.arange(n)[::-1], rng.permutation(n)):
        total = 0.0
        for w in data.weights[order].tolist():
            total += w
        assert Fraction(total) == exact
    # Rounding them again changes nothing, and whole numbers are kept.
    again = Predictions(data.probs, data.labels, weights=data.weights)
    np.testing.assert_array_equal(again.weights, data.weights)
    whole = rng.integers(0, 2**30, n)
    kept = Predictions(data.probs, data.labels, weights=whole)
    np.testing.assert_array_equal(kept.weights, whole)


# The event, the top class, and what the engine is handed


def test_the_event_is_of_two_outcomes():
    assert Predictions(P1, [0, 0, 1]).event == 1
    assert Predictions(PROBS, LABELS).event is None
    taken = Predictions.trusted(np.array(PROBS), np.array(LABELS, np.int32), ("a", "b", "c"))
    assert taken.event is None


@given(problems())
def test_the_most_probable_class(data):
    fresh = Predictions(data.probs, data.labels)
    for some in (data, fresh, data.take(np.arange(data.n)[::-1])):
        assert some.top.classes.tolist() == some.probs.argmax(axis=1).tolist()
        assert some.top.probs.tolist() == some.probs.max(axis=1).tolist()


def test_the_top_class_is_that_of_rows_that_were_divided_by_their_sum():
    rows = np.array([[0.3001, 0.3001, 0.4001], [0.4001, 0.3, 0.3]])
    data = Predictions(rows, [0, 1])
    assert data.top.classes.tolist() == [2, 0]
    assert data.top.probs.tolist() == data.probs.max(axis=1).tolist()


@given(problems())
def test_rows_for_the_engine(data):
    rows = data.rows
    assert rows.probs is data.probs
    assert rows.labels is data.labels
    assert (rows.first, rows.event) == (0, -1 if data.m > 2 else data.event)
    weights = [float(rows.weights[i * rows.step]) for i in range(data.n)]
    assert weights == data.weights.tolist()
    assert rows.step == data.weighted


# Logits


def test_logits():
    logits = np.log(np.array(PROBS[:2]))
    data = Predictions.from_logits(logits + 100.0, [0, 1], NAMES)
    # exp and log round a few times each.
    np.testing.assert_allclose(data.probs, PROBS[:2], rtol=1e-13)
    assert data.classes == tuple(NAMES)
    assert Predictions.from_logits(
        pl.DataFrame(logits, schema=NAMES), ["cat", "dog"]
    ).classes == tuple(NAMES)


def test_logits_of_one_dimension():
    data = Predictions.from_logits([0.0, -np.inf, 800.0, -800.0], [0, 0, 1, 0])
    np.testing.assert_array_equal(data.probs[:, 1], [0.5, 0.0, 1.0, 0.0])
    x = np.linspace(-30, 30, 61)
    both = Predictions.from_logits(np.column_stack((np.zeros(61), x)), np.zeros(61, int))
    np.testing.assert_array_equal(Predictions.from_logits(x, np.zeros(61, int)).probs, both.probs)
    np.testing.assert_allclose(both.probs[:, 1], 1 / (1 + np.exp(-x)), rtol=1e-14)


def test_minus_infinity_is_probability_zero():
    data = Predictions.from_logits([[0.0, -np.inf, 0.0]], [0])
    assert data.probs.tolist() == [[0.5, 0.0, 0.5]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_logits_give_float32(dtype):
    logits = np.array([[1000, 0, -1000], [1, 1, 1]], dtype)
    data = Predictions.from_logits(logits, [0, 0])
    assert data.probs.dtype == np.float32
    assert data.probs[0].tolist() == [1.0, 0.0, 0.0]
    assert logits[0, 0] == 1000  # the caller's array is left alone


@pytest.mark.parametrize(
    ("logits", "match"),
    [
        (
            [[0.0, 1.0], [np.nan, 0.0], [np.inf, 0.0]],
            r"`logits` must be finite.*; row 1 is \[nan, 0\.0\] \(and 1 more\)",
        ),
        (
            [[-np.inf, -np.inf]],
            r"`logits` must be finite, or -inf for some classes of a row; row 0",
        ),
        ([np.inf], r"`logits` must be finite"),
        ([], r"`logits` must have at least one row; found none\."),
        ([[1.0]], r"`logits` must have a column for each of at least two classes; found 1\."),
        ("abc", r"`logits` must be numbers; found <U3\."),
    ],
)
def test_refuses_logits(logits, match):
    with pytest.raises((ValueError, TypeError), match=match):
        Predictions.from_logits(logits, [0])


# Frames with labels in them


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_from_frame(make):
    frame = make({"id": [1, 2, 3], **COLUMNS, "y": NAMED, "w": [1.0, 2.0, 0.5], "event": P1})
    data = Predictions.from_frame(frame, label="y", probs=NAMES, weight="w")
    same(data, classes=NAMES)
    assert data.weights.tolist() == [1.0, 2.0, 0.5]
    order = ["car", "dog", "cat"]
    turned = Predictions.from_frame(frame, label="y", probs=order)
    same(turned, np.array(PROBS)[:, ::-1], [2, 1, 1], order)
    binary = Predictions.from_frame(frame, label="y", probs=["event"], classes=["cat", "dog"])
    same(binary, [[0.75, 0.25], [0.5, 0.5], [0, 1]], [0, 1, 1], ("cat", "dog"))
    single = Predictions.from_frame(frame, label="y", probs="event", classes=["cat", "dog"])
    np.testing.assert_array_equal(single.probs, binary.probs)


def test_from_frame_refuses():
    frame = pd.DataFrame({**COLUMNS, "y": NAMED})
    half = pd.DataFrame({"cat": [0.5, 0.5], "y": [0, 1]})
    with pytest.raises(TypeError, match=r"`frame` must be a data frame; found ndarray\."):
        Predictions.from_frame(np.eye(2), label="y", probs=["a"])
    with pytest.raises(
        ValueError, match=r"`frame` must have the columns asked for; 'bird', 'z' not among 'cat'"
    ):
        Predictions.from_frame(frame, label="z", probs=["cat", "bird"])
    with pytest.raises(ValueError, match=r"`probs` must name at least one column; found none\."):
        Predictions.from_frame(frame, label="y", probs=[])
    with pytest.raises(
        ValueError, match=r"`classes` must differ from one another; found 'cat' twice"
    ):
        Predictions.from_frame(half, label="y", probs=["cat", "cat"])
    with pytest.raises(TypeError, match=r"`probs` must be numbers; column 'y' holds object\."):
        Predictions.from_frame(frame.astype({"y": object}), label="y", probs=["cat", "y"])
    double = pd.DataFrame([[0.5, 0.5, 0]], columns=["a", "a", "y"])
    with pytest.raises(
        ValueError, match=r"columns of a frame must have different names; found 'a' twice"
    ):
        Predictions.from_frame(double, label="y", probs=["a"])


# Memory


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_the_right_type_are_read_where_they_are(dtype, frozen):
    array = np.array(PROBS, dtype)
    array.flags.writeable = not frozen
    data = Predictions(array, LABELS)
    assert np.shares_memory(data.probs, array)
    assert array.flags.writeable != frozen  # it stays the caller's to write to


@pytest.mark.parametrize(
    "array",
    [
        np.array(PROBS, np.float16),
        np.array(PROBS, ">f8"),
        np.asfortranarray(PROBS),
        np.repeat(np.array(PROBS), 2, axis=1)[:, ::2],
        np.array(PROBS, np.longdouble),
    ],
    ids=["half", "big endian", "Fortran", "strided", "long"],
)
def test_other_arrays_are_copied(array):
    data = Predictions(array, LABELS)
    assert not np.shares_memory(data.probs, array)
    array[:] = 9
    same(data)


class Holder:
    """Hands out its own memory, as xarray's arrays do."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        del dtype, copy
        return self.array


@pytest.mark.parametrize("wrap", [np.asarray, Holder, np.ma.asarray])
def test_weights_and_a_copy_are_out_of_reach(wrap):
    """The promise: an array may be read where it is, so hand over a copy to write to it later."""
    array, weights = np.array(PROBS), np.array([1.0, 2.0, 3.0])
    data = Predictions(wrap(array.copy()), LABELS, weights=weights)
    array[:] = 9
    weights[:] = 9
    same(data)
    assert data.weights.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        data.probs[0, 0] = 9


def test_rows_are_rescaled_without_touching_the_callers_array():
    array = np.array([[0.5002, 0.5]], np.float64)
    for frozen in (False, True):
        array.flags.writeable = not frozen
        data = Predictions(array, [0])
        assert array[0, 0] == 0.5002
        assert data.probs.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_large_array_is_not_copied(frozen):
    array = np.full((20_000, 500), 1 / 512, np.float32)  # 40 MB
    array[:, 0] += np.float32(12 / 512)
    array.flags.writeable = not frozen
    labels = np.zeros(20_000, np.int32)
    Predictions(array[:10], labels[:10])  # compile before measuring
    tracemalloc.start()
    data = Predictions(array, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert data.probs.dtype == np.float32
    assert peak <= 0.1 * array.nbytes


def test_immutable():
    data = Predictions(PROBS, LABELS, weights=[1, 2, 3])
    for name in ("probs", "labels", "weights"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(data, name)[0] = 0
    with pytest.raises(AttributeError, match=r"Predictions are immutable; `probs` cannot be set\."):
        data.probs = np.eye(3)
    with pytest.raises(
        AttributeError, match=r"Predictions are immutable; `labels` cannot be deleted\."
    ):
        del data.labels
    with pytest.raises(AttributeError, match=r"immutable; `other` cannot be set"):
        data.other = 1


@given(problems())
def test_pickle_and_copy(data):
    for again in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data), copy.copy(data)):
        np.testing.assert_array_equal(again.probs, data.probs)
        np.testing.assert_array_equal(again.labels, data.labels)
        np.testing.assert_array_equal(again.weights, data.weights)
        assert again.probs.dtype == data.probs.dtype
        assert (again.classes, again.event, again.weighted) == (
            data.classes,
            data.event,
            data.weighted,
        )
        assert not again.probs.flags.writeable


def test_says_what_it_is():
    data = Predictions(PROBS, LABELS, NAMES)
    assert (data.n, data.m, len(data)) == (3, 3, 3)
    assert repr(data) == "Predictions(n=3, m=3, classes=('cat', 'dog', 'car'))"
    assert "…" in repr(Predictions(np.eye(10), range(10)))


# Restriction and rows


def test_restrict():
    data = Predictions(PROBS, LABELS, NAMES, weights=[1, 2, 3])
    for where in (lambda p: p[:, 1] > 0.1, [True, True, False], pd.Series([True, True, False])):
        part = data.restrict(where)
        same(part, PROBS[:2], LABELS[:2], NAMES)
        assert part.weights.tolist() == [1.0, 2.0]
    binary = Predictions(P1, [0, 0, 1]).restrict(lambda p: p[:, 1] > 0.3)
    assert binary.event == 1


def test_restrict_refuses():
    data = Predictions(PROBS, LABELS, weights=[1, 2, 0])
    with pytest.raises(ValueError, match=r"`where` must keep at least one row; it keeps none\."):
        data.restrict(lambda p: p[:, 0] > 2)
    with pytest.raises(ValueError, match=r"`where` must keep at least one row"):
        data.restrict([False, False, True])  # its weight is 0
    with pytest.raises(
        ValueError,
        match=r"`where` must give one True or False for each of the 3 rows; found int64 of shape \(1,\)",
    ):
        data.restrict([0])
    with pytest.raises(ValueError, match=r"found bool of shape \(3, 3\)"):
        data.restrict(lambda p: p > 0.1)


def test_index():
    data = Predictions(PROBS, LABELS, NAMES)
    assert [data.index(name) for name in NAMES] == [0, 1, 2]
    assert data.index(np.int64(2)) == 2
    with pytest.raises(TypeError, match=r"`label` must be a whole number; found 1\.0 \(float\)"):
        data.index(1.0)


# Rounding of rows


@pytest.mark.parametrize("m", [2, 3, 10, 100, 1000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rounded_rows_are_accepted_and_sum_to_one(m, dtype):
    probs = np.random.default_rng(m).dirichlet(np.ones(m), 50).astype(dtype)
    data = Predictions(probs, np.zeros(50, int))
    eps = np.finfo(data.probs.dtype).eps
    # The rounding that the class allows before it divides by the sum, plus that of division.
    limit = eps * (5 + m**0.5)
    np.testing.assert_allclose(data.probs.sum(axis=1, dtype=float), 1, rtol=0, atol=limit)
    np.testing.assert_allclose(data.probs, probs.astype(float), rtol=1.1e-3)


def test_float32_rows_keep_every_bit():
    probs = np.random.default_rng(0).dirichlet(np.ones(10), 500).astype(np.float32)
    probs /= probs.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(Predictions(probs, np.zeros(500, int)).probs, probs)


# Refusals


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("probs", "match"),
    [
        ([[0.5, 0.5], [NAN, 1.0], [0.5, NAN]], r"`probs` must be finite; row 1 has nan in column 0 \(and 1 more\)\."),
        ([[0.5, 0.5], [0.5, INF], [0.5, 0.5]], r"`probs` must be finite; row 1 has inf in column 1\."),
        ([[INF, -INF], [0.5, 0.5], [0.5, 0.5]], r"`probs` must be finite; row 0 has inf in column 0\."),
        ([[0.5, 0.5], [1.5, -0.5], [2.0, -1.0]], r"`probs` must not be negative; row 1 has -0\.5 in column 1 \(and 1 more\)\. Are these logits\? Use `Predictions\.from_logits`\."),
        ([[0.5, 0.43], [0.5, 0.5], [0.7, 0.5]], r"`probs` must sum to 1 in each row; row 0 sums to 0\.93 \(and 1 more\)\. Are these logits\? Use `Predictions\.from_logits`\."),
        ([[0.5, 0.498], [0.5, 0.5], [0.5, 0.5]], r"`probs` must sum to 1 in each row; row 0 sums to 0\.998\. Are"),
        ([[0, 0], [0, 1], [1, 0]], r"`probs` must sum to 1 in each row; row 0 sums to 0\."),
        ([0.5, 1.01, -1.0], r"`probs` must be between 0 and 1; row 1 is 1\.01 \(and 1 more\)\. Are these logits\?"),
        ([0.5, 0.5, -1e-9], r"`probs` must be between 0 and 1; row 2 is -1e-09\. Are these logits\?"),
        ([0.5, NAN, 0.5], r"`probs` must be finite; row 1 is nan\."),
        ([0.5, INF, 0.5], r"`probs` must be finite; row 1 is inf\."),
        ([], r"`probs` must have at least one row; found none\."),
        (np.empty((0, 3)), r"`probs` must have at least one row; found none\."),
        (np.ones((3, 1)), r"`probs` must have a column for each of at least two classes; found 1\. For a binary"),
        (np.empty((3, 0)), r"`probs` must have a column for each of at least two classes; found 0\."),
        (np.ones((3, 2, 2)), r"`probs` must be of shape \(n, m\) or \(n,\); found \(3, 2, 2\)\."),
        (0.5, r"`probs` must be of shape \(n, m\) or \(n,\); found \(\)\."),
        (["a", "b", "c"], r"`probs` must be numbers; found <U1\."),
        ([[0.5, None]] * 3, r"`probs` must be numbers; found object\."),
        (None, r"`probs` must be numbers; found object\."),
        ([[0.5, 0.5], [1.0]], r"`probs` must be an array, a frame or a list of rows of one length; "),
        (np.array([1j, 0, 1]), r"`probs` must be numbers; found complex128\."),
        (np.ma.array([0.5, 0.5, 0.5], mask=[0, 1, 0]), r"`probs` must not have missing values; some entries are masked\."),
        (pd.Series([0.5, None, 0.5]), r"`probs` must not have missing values; row 1 is missing\."),
        (pd.DataFrame({"a": [0.5, 0.5], "b": [0.5, None]}), r"`probs` must not have missing values; column 'b', row 1 is missing\."),
        (pl.Series("p", [0.5, None, 0.5]), r"`probs` must not have missing values; column 'p', row 1 is missing\."),
        (pa.array([0.5, 0.5, None]), r"`probs` must not have missing values; row 2 is missing\."),
        (pl.DataFrame({"a": [0.5], "b": ["x"]}), r"`probs` must be numbers; column 'b' holds "),
        (pd.DataFrame([[0.5, 0.5]], columns=["a", "a"]), r"columns of a frame must have different names; found 'a' twice"),
    ],
)  # fmt: skip
def test_refuses_probs(probs, match):
    with pytest.raises((ValueError, TypeError), match=match):
        Predictions(probs, [0, 1, 0])


def test_faults_are_found_in_every_block(monkeypatch):
    monkeypatch.setattr("calibrant.engine.threads.ENTRIES", 8)
    probs = np.full((1000, 2), 0.5)
    probs[[613, 700, 999]] = 0.25
    with pytest.raises(ValueError, match=r"row 613 sums to 0\.5 \(and 2 more\)"):
        Predictions(probs, np.zeros(1000, int))
    probs[950] = np.nan
    with pytest.raises(ValueError, match=r"`probs` must be finite; row 950 has nan in column 0\."):
        Predictions(probs, np.zeros(1000, int))


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        ([0, 1, 3], r"`labels` must be whole numbers from 0 to 2; row 2 has 3\. If they are names, name the classes in order"),
        ([0, -1, 3], r"`labels` must be whole numbers from 0 to 2; row 1 has -1 \(and 1 more\)\."),
        (np.array([0, 2**63, 1], np.uint64), r"numbers from 0 to 2; row 1 has 9223372036854775808\."),
        ([0.5, 1, 1], r"`labels` must be whole numbers from 0 to 2; row 0 has 0\.5\."),
        ([0, NAN, INF], r"`labels` must be whole numbers from 0 to 2; row 1 has nan \(and 1 more\)\."),
        ([0, 1], r"`labels` must be one for each of the 3 rows; found 2\."),
        ([], r"`labels` must be one for each of the 3 rows; found 0\."),
        (0, r"`labels` must be of shape \(3,\), or \(3, 3\) if one-hot; found \(\)\."),
        (np.eye(4)[:3], r"`labels` must be of shape \(3,\), or \(3, 3\) if one-hot; found \(3, 4\)\."),
        (np.eye(3)[:2], r"`labels` must be one for each of the 3 rows; found 2\."),
        (np.ones((3, 3)), r"must be one-hot: a single 1 in each row, the rest 0; row 0 is \[1\.0, 1\.0, 1\.0\] \(and 2 more\)\."),
        ([[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]], r"must be one-hot: .* row 2 is \[0\.0, 0\.5, 0\.5\]\."),
        ([[1, 0, 0], [0, 0, 0], [0, 0, 1]], r"must be one-hot: .* row 1 is \[0, 0, 0\]\."),
        ([[1, 0, NAN], [0, 1, 0], [0, 0, 1]], r"must be one-hot: .* row 0"),
        (["a", "b", "a"], r"row 0 has 'a' \(and 2 more\)\. If they are names, name the classes in order"),
        (np.array(["2020-01-01"] * 3, "M8[D]"), r"`labels` must be whole numbers or names; found datetime64\[D\]\."),
        (np.array([0, 1j, 1]), r"`labels` must be whole numbers or names; found complex128\."),
        (pd.Series([0, None, 1], dtype="Int64"), r"`labels` must not have missing values; row 1 is missing\."),
        (pa.array([0, None, 1]), r"`labels` must not have missing values; row 1 is missing\."),
    ],
)  # fmt: skip
def test_refuses_labels(labels, match):
    with pytest.raises((ValueError, TypeError), match=match):
        Predictions(PROBS, labels)


@pytest.mark.parametrize(
    ("labels", "classes", "match"),
    [
        (["cat", "bird", "fish"], NAMES, r"`labels` must be among the classes 'cat', 'dog', 'car' or 0 to 2; row 1 has 'bird' \(and 1 more\)\."),
        (["cat", None, "dog"], NAMES, r"`labels` must be among the classes .* row 1 has None\."),
        ([7, 3, 4], np.array([7, 3, 11]), r"`labels` must be among the classes '7', '3', '11'; row 2 has 4\."),
        ([0, 1, 2], [7, 3, 11], r"among the classes '7', '3', '11'; row 0 has 0 \(and 2 more\)\."),
        (LABELS, ["a", "b"], r"`classes` must name the 3 classes; found 2\."),
        (LABELS, ["a", "b", "a"], r"`classes` must differ from one another; found 'a' twice\."),
        (LABELS, [1, "1", 2], r"`classes` must differ from one another; found '1' twice\."),
        (LABELS, "abc", r"`classes` must be a list of names; found the string 'abc'\."),
        (LABELS, 3, r"`classes` must be a list of names; found 3\."),
    ],
)  # fmt: skip
def test_refuses_classes(labels, classes, match):
    with pytest.raises((ValueError, TypeError), match=match):
        Predictions(PROBS, labels, classes)


def test_many_unknown_classes_are_counted_and_not_all_listed():
    with pytest.raises(
        ValueError, match=r"among the classes 'c0', .* 'c4' \(and 5 more\) or 0 to 9; row 0 has 'x'"
    ):
        Predictions(np.eye(10), ["x"] * 10, [f"c{j}" for j in range(10)])


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        ([1, -1, -2], r"`weights` must be finite and not negative; row 1 has -1\.0 \(and 1 more\)\."),
        ([1, NAN, 1], r"`weights` must be finite and not negative; row 1 has nan\."),
        ([INF, 1, 1], r"`weights` must be finite and not negative; row 0 has inf\."),
        ([0, 0, 0], r"`weights` must not all be zero\."),
        ([1, 1], r"`weights` must be of shape \(3,\); found \(2,\)\."),
        (2.0, r"`weights` must be of shape \(3,\); found \(\)\."),
        ([[1], [1], [1]], r"`weights` must be of shape \(3,\); found \(3, 1\)\."),
        (["a", "b", "c"], r"`weights` must be numbers; found <U1\."),
        ([1, 1e308, 1e308], r"0 or between 1e-100 and 1e100; row 1 has 1e\+308 \("),
        ([1e-310, 0, 1], r"0 or between 1e-100 and 1e100; row 0 has 1e-310\."),
        (pl.Series([1.0, None, 1.0]), r"`weights` must not have missing values; row 1 is missing\."),
    ],
)  # fmt: skip
def test_refuses_weights(weights, match):
    with pytest.raises((ValueError, TypeError), match=match):
        Predictions(PROBS, LABELS, weights=weights)


def test_digits_as_names_are_matched_with_integer_labels():
    data = Predictions([[0.2, 0.3, 0.5]] * 2, [8, 3], classes=["3", "5", "8"])
    assert data.labels.tolist() == [2, 0]
    with pytest.raises(ValueError, match="must be among the classes '3', '5', '8'; row 0 has 1"):
        Predictions([[0.2, 0.3, 0.5]], [1], classes=["3", "5", "8"])


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        ([1.0, 2.0], np.array([1.0, 2.0, 3.0]), [0, 1]),
        ([1, 2], [1.0, 2.0, 3.0], [0, 1]),
        ([1, 2], ["1.0", "2.0", "3.0"], [0, 1]),
        ([1, 2], ["1", "2", "other"], [0, 1]),
        ([9 * 10**18, 5], ["5", "9000000000000000000", "-7"], [1, 0]),
    ],
)
def test_numbers_that_name_classes(labels, classes, expected):
    data = Predictions([[0.2, 0.3, 0.5]] * 2, labels, classes=classes)
    assert data.labels.tolist() == expected


@pytest.mark.parametrize("classes", [["True", "False"], ["TRUE", "FALSE"], [True, False]])
def test_truths_that_name_classes(classes):
    data = Predictions([[0.2, 0.8]] * 2, np.array([True, False]), classes=classes)
    assert data.labels.tolist() == [0, 1]
