"""Data frames: verbs take them by the rules of files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.cuts.gathering import gathered, rule

NAMES = np.array(["cat", "dog", "bird"])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([1, 1, 1], 400)
    labels = (probs.cumsum(axis=1) < rng.random(400)[:, None]).sum(axis=1)
    return probs, labels


@pytest.fixture(scope="module")
def frame(rows):
    probs, labels = rows
    frame = pd.DataFrame(probs, columns=[f"prob_{name}" for name in NAMES])
    frame["y"] = NAMES[labels]
    frame["hospital"] = np.where(np.arange(400) % 3 == 0, "north", "south")
    frame["age"] = np.arange(400) % 80 + 18
    frame["day"] = pd.date_range("2023-01-01", periods=400)
    return frame


def settings():
    return {"n_resamples": 19, "rng": 0}


@pytest.mark.parametrize("of", [lambda frame: frame, pl.from_pandas])
def test_a_frame_gives_the_answer_of_its_arrays(rows, frame, of):
    probs, labels = rows
    wanted = cal.evaluate(cal.Predictions(probs, labels, classes=NAMES), **settings())
    found = of(frame)
    answers = [
        cal.evaluate(found, label="y", **settings()),
        cal.evaluate(found, **settings()),
        cal.evaluate(frame.filter(like="prob_"), frame.y, **settings()),
    ]
    for answer in answers:
        assert str(answer) == str(wanted)
        assert answer.table() == wanted.table()


def test_other_verbs_take_frames(rows, frame):
    probs, labels = rows
    assert cal.ece(frame, label="y") == cal.ece(probs, labels)
    assert cal.reliability_diagram(frame, **settings()).classes == tuple(NAMES)
    found = cal.compare({"a": frame, "b": frame}, label="y", **settings())
    assert str(found) == str(cal.compare({"a": probs, "b": probs}, labels, **settings()))


def test_names_of_classes_have_no_prefix(frame):
    assert cal.Predictions(frame.filter(like="prob_"), frame.y).classes == tuple(NAMES)
    columns = ["prob_cat", "prob_dog", "prob_bird"]
    assert cal.Predictions.from_frame(frame, label="y", probs=columns).classes == tuple(NAMES)
    logits = np.log(frame[columns]).rename(columns=lambda name: name.replace("prob", "logit"))
    assert cal.Predictions.from_logits(logits, frame.y).classes == tuple(NAMES)


def test_a_frame_of_one_column_is_the_event():
    frame = pd.DataFrame({"risk": [0.2, 0.9]})
    assert cal.Predictions(frame, [0, 1]).probs[:, 1].tolist() == [0.2, 0.9]


def test_one_hot_columns_are_put_into_the_order_of_the_classes(rows, frame):
    order = [2, 0, 1]
    hot = pd.DataFrame(np.eye(3)[rows[1]][:, order], columns=[f"is_{NAMES[j]}" for j in order])
    found = cal.Predictions(frame.filter(like="prob_"), hot)
    np.testing.assert_array_equal(found.labels, rows[1])


@pytest.mark.parametrize("by", ["frame", "series", "names", "dict"])
def test_slices_take_columns_of_a_frame(frame, by):
    given = {"frame": frame[["hospital"]], "series": frame.hospital, "names": ["hospital"]}
    given = (given | {"dict": {"hospital": frame.hospital}})[by]
    found = cal.slices(frame, by=given, label="y", **settings())
    assert [(row.column, row.group, row.n) for row in found.rows] == [
        ("hospital", "north", 134),
        ("hospital", "south", 266),
    ]


@pytest.mark.parametrize("kept", [True, False])
def test_numbers_make_quartiles_and_dates_periods(frame, kept):
    by = ["age", "day"] if kept else frame[["age", "day"]]
    found = cal.slices(frame, by=by, label="y", **settings())
    ages = [(row.group, row.n) for row in found.rows if row.column == "age"]
    assert ages == [(f"{low} to {low + 19}", 100) for low in (18, 38, 58, 78)]
    days = [(row.group, row.n) for row in found.rows if row.column == "day"]
    assert days == [
        ("2023 Q1", 90),
        ("2023 Q2", 91),
        ("2023 Q3", 92),
        ("2023 Q4", 92),
        ("others", 35),
    ]


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [
        ({f"0{j}": 60 for j in range(10, 23)}, [(f"0{j}", 60) for j in range(10, 23)]),
        ({str(j): 60 for j in range(3)}, [("0", 60), ("1", 60), ("2", 60)]),
        (
            {**{str(j): 10 for j in range(20)}, "nan": 7},
            [("0 to 4", 50), ("5 to 9", 50), ("10 to 14", 50), ("15 to 19", 50), ("missing", 7)],
        ),
        ({str(j): 1 for j in range(20)}, [("0 to 19", 20)]),
        ({f"2024-02-{j}": 9 for j in range(17, 31)}, [("others", 126)]),  # no 30th of February
        ({f"{1990 + j}-05-01": 50 for j in range(15)}, [(f"{1990 + j}", 50) for j in range(15)]),
    ],
)  # fmt: skip
def test_gathering_by_hand(counts, wanted):
    found = list(gathered(counts, 50))
    assert [(name, n) for name, _, n in found] == wanted
    assert sorted(value for _, values, _ in found for value in values) == sorted(counts)


@pytest.mark.parametrize("name", ["hospital_id", "Hospital ID", "id", "siteId", "icd-code"])
def test_numbers_that_are_names_stay_apart(name):
    counts = {str(j): 60 for j in range(101, 121)}
    assert [group for group, _, _ in gathered(counts, 50, name)] == list(counts)
    assert rule(counts, name) == ""


@pytest.mark.parametrize("name", ["age", "paid", "covid", "Humid", "hospital"])
def test_numbers_that_are_cut_are_said(name):
    counts = {str(j): 60 for j in range(101, 121)}
    assert len(list(gathered(counts, 50, name))) == 4
    text = f"{name} in quantiles of its 20 different numbers (in a column called {name}_id each is"
    assert rule(counts, name).startswith(text)
    assert rule({f"{j}.5": 1 for j in range(13)}, name).endswith("of its 13 different numbers")
    assert rule({f"{j}": 1 for j in range(51)}, name).endswith("of its 51 different numbers")
    assert rule({str(j): 60 for j in range(12)}, name) == ""


def test_slices_say_which_columns_they_cut(rows):
    probs, labels = rows
    n = len(labels)
    by = {"age": np.arange(n) % 40, "ward": np.arange(n) % 12, "ward_id": np.arange(n) % 40}
    found = cal.slices(probs, labels, by, least=2, n_resamples=19, rng=0)
    assert str(found).endswith("of 56 groups are miscalibrated at 5 % (adjusted); " + found.cut[0])
    (text,) = found.cut
    assert text.startswith("age in quantiles of its 40 different numbers")


@pytest.mark.parametrize(
    "by",
    [["hospital", "age"], ("hospital", "age"), {"hospital": 1, "age": 2}],
    ids=["list", "tuple", "dict"],
)
def test_columns_of_a_frame_may_follow_it(frame, by):
    columns = {name: frame[name] for name in by} if isinstance(by, dict) else by
    wanted = cal.slices(frame, by=["hospital", "age"], label="y", **settings())
    assert cal.slices(frame, columns, label="y", **settings()).table() == wanted.table()
    if not isinstance(by, dict):  # the column y holds the labels without being named
        assert cal.slices(frame, columns, **settings()).table() == wanted.table()


def test_models_of_a_long_frame_are_compared_by_their_names():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    columns = {"model": ["a"] * 300, "question": range(300), "prob": p, "y": y}
    back = {"model": ["b"] * 300, "question": range(299, -1, -1), "prob": p[::-1] ** 2}
    names = {"label": "y", "model": "model", "id": "question"}
    models = {"a": cal.Predictions(p, y), "b": cal.Predictions(p**2, y)}
    wanted = cal.compare(models, n_resamples=19, rng=0)
    frame = pd.concat([pd.DataFrame(columns), pd.DataFrame({**back, "y": y[::-1]})])
    for long in (frame, pl.from_pandas(frame)):
        found = cal.compare(long, **names, n_resamples=19, rng=0)
        assert list(found.evaluations) == ["a", "b"]
        assert found.differences[0].value == pytest.approx(wanted.differences[0].value, rel=1e-12)
        assert found.scores == wanted.scores
    drawn = cal.reliability_diagram(frame, label="y", model="model", n_resamples=19, rng=0)
    assert [series.name for series in drawn.series] == ["a", "b"]
    with pytest.raises(ValueError, match="`models` must have the same labels row by row"):
        cal.compare(frame, label="y", model="model", n_resamples=19)


def test_models_of_several_frames_are_joined_and_what_is_left_out_is_printed():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    a = pd.DataFrame({"question": range(300), "prob": p, "y": y})
    b = pd.DataFrame({"question": range(300), "prob": p**2, "y": y})[:2:-1]
    how = {"label": "y", "id": "question", "n_resamples": 19, "rng": 0}
    found = cal.compare({"a": a, "b": b}, **how)
    long = pd.concat([a.assign(model="a"), b.assign(model="b")])
    assert str(found) == str(cal.compare(long, model="model", **how))
    assert found.unmatched == {"a": 3, "b": 0}
    assert str(found).endswith("\nLeft out 3 rows of a that other models lack.")
    assert "Left out" not in str(cal.compare({"a": a[3:], "b": b}, **how))
    with pytest.raises(ValueError, match=r"of 'b': `id` must name columns; 'question' not among"):
        cal.compare({"a": a, "b": b.drop(columns="question")}, **how)
    with pytest.raises(TypeError, match=r"names the models, say which: `model=…`"):
        cal.compare(a, label="y")


@pytest.mark.parametrize(("verb", "name"), [(cal.slices, "by"), (cal.search, "columns")])
def test_columns_that_a_frame_lacks_are_named_beside_those_it_has(frame, verb, name):
    with pytest.raises(ValueError, match=rf"^`{name}` must name columns; 'site' not among 'prob_"):
        verb(frame, label="y", **{name: ["hospital", "site"]})


@pytest.mark.parametrize(
    ("verb", "name", "sentence"),
    [
        (cal.evaluate, "by", r"`by` is no argument of `evaluate`\. .* `cal\.slices\(data, by=…\)`"),
        (cal.evaluate, "model", r"`model` is no argument of `evaluate`\. `cal\.load_models"),
        (cal.evaluate, "lens", "`lens` must be called `lenses` in `evaluate`"),
        (cal.evaluate, "statistic", "`statistic` must be called `statistics` in `evaluate`"),
        (cal.calibration_test, "lenses", "`lenses` must be called `lens` in `calibration_test`"),
        (cal.ece, "lens", "unexpected keyword argument 'lens'"),
    ],
)
def test_settings_of_other_verbs_are_refused_by_the_right_name(rows, verb, name, sentence):
    probs, labels = rows
    for given in ((probs, labels), (cal.Predictions(probs, labels),)):
        with pytest.raises(TypeError, match=sentence):
            verb(*given, **{name: "x"})


def test_a_lazy_frame_is_to_be_collected():
    frame = pl.LazyFrame({"p": [0.5, 0.25], "y": [0, 1]})
    with pytest.raises(TypeError, match=r"column of a data frame; found LazyFrame\. Collect"):
        cal.evaluate(frame, label="y", probs="p")


@pytest.mark.parametrize("swapped", [lambda p, y: (y[:, 0], p[:, 0]), lambda p, y: (y[:, 0], p)])
@pytest.mark.parametrize("named", [True, False])
def test_arguments_in_the_order_of_scikit_learn_are_asked_about(rows, swapped, named):
    labels = rows[1] % 2
    labels = NAMES[labels] if named else labels
    with pytest.raises(ValueError, match="must come before `labels`; are they swapped"):
        cal.evaluate(*swapped(rows[0], labels[:, None]))


@pytest.mark.parametrize("begin", ["label_", "y_", ""])
def test_one_hot_labels_are_told_what_they_are(tmp_path, rows, frame, begin):
    hot = pd.DataFrame(np.eye(3, dtype=int)[rows[1]], columns=[f"{begin}{name}" for name in NAMES])
    path = tmp_path / "hot.csv"
    hot.join(frame.filter(like="prob_")).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"Are '.*cat', .* labels, one-hot\? Make one column"):
        cal.load(path)
    with pytest.raises(ValueError, match=r"is one of .* which are one-hot"):
        cal.load(path, label=f"{begin}cat")
    one = cal.load(path, label=f"{begin}cat", probs="prob_cat")
    assert one.classes == ("not cat", "cat")
    np.testing.assert_array_equal(one.labels, rows[1] == 0)


def test_notebooks_show_words_then_the_table(frame):
    shown = cal.evaluate(frame, label="y", **settings())._repr_html_()
    assert shown.startswith("<p>No evidence that the full distributions")
    assert shown.index("</p>") < shown.index("<table>")
    assert cal.reliability_diagram(frame, **settings())._repr_html_().startswith("<iframe")
