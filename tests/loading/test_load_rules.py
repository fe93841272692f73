"""Which column is taken for what."""

import numpy as np
import polars as pl
import pytest

from calibrant import load, load_models


@pytest.fixture
def write(tmp_path):
    def file(content, name="x.csv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return file


def shown(data):
    return data.classes, data.probs[:, -1].tolist(), data.labels.tolist()


LABELS = ("label", "labels", "target", "y_true", "y", "true_class", "class", "Label", "Y_TRUE")


@pytest.mark.parametrize("name", LABELS)
def test_names_of_the_column_of_labels(write, name):
    data = load(write(f"id,{name},prob_a,prob_b\n1,b,0.25,0.75\n"))
    assert shown(data) == (("a", "b"), [0.75], [1])


@pytest.mark.parametrize("prefix", ["prob_", "proba_", "p_", "PROB_"])
def test_prefixes(write, prefix):
    data = load(write(f"y,extra,{prefix}a,{prefix}b\nb,0.1,0.25,0.75\n"))
    assert shown(data) == (("a", "b"), [0.75], [1])


def test_a_prefix_with_two_columns_beats_a_single_column(write):
    assert load(write("y,p_value,prob_a,prob_b\na,0.5,0.25,0.75\n")).classes == ("a", "b")


def test_columns_named_as_the_labels(write):
    data = load(write("id,cat,dog,car,y\n1,0.5,0.25,0.25,dog\n2,1,0,0,cat\n"))
    assert data.classes == ("cat", "dog", "car")
    assert data.labels.tolist() == [1, 0]
    data = load(write("0,1,2,y\n0.5,0.25,0.25,1\n1,0,0,0\n"))
    assert data.classes == ("0", "1", "2")


def test_columns_named_as_the_labels_may_hold_whole_numbers(write):
    path = write("id,cat,dog,y\n1,1,0,dog\n2,1,0,cat\n3,0.5,0.5,cat\n")
    assert load(path).classes == ("cat", "dog")


@pytest.mark.parametrize(
    "name",
    ["prob", "p", "proba", "probability", "score", "y_prob", "y_score", "prediction", "P", "Risk"],
)
def test_one_column_is_class_one(write, name):
    data = load(write(f"y,id,{name}\n1,3,0.25\n0,4,0.75\n"))
    assert shown(data) == (("0", "1"), [0.25, 0.75], [1, 0])


def test_a_hard_decision_beside_the_probability_is_left_alone(write):
    data = load(write("y,prob,prediction,score\n1,0.25,0,a\n0,0.75,1,b\n"))
    assert data.probs[:, 1].tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("content", "classes", "labels"),
    [
        ("y,p\n1,0.5\n1,0.5\n", ("0", "1"), [1, 1]),
        ("y,p\n1.0,0.5\n0.0,0.5\n", ("0", "1"), [1, 0]),
        ("y,p\nTrue,0.5\nFalse,0.5\n", ("False", "True"), [1, 0]),
        ("y,p\nfalse,0.5\nfalse,0.5\n", ("false", "true"), [0, 0]),
        ("y,prob_yes\nyes,0.5\nno,0.5\n", ("no", "yes"), [1, 0]),
        ("y,prob_yes\nyes,0.5\nyes,0.5\n", ("not yes", "yes"), [1, 1]),
        ("y,prob_yes\n1,0.5\n0,0.5\n", ("not yes", "yes"), [1, 0]),
        ("y,prob_1\n1,0.5\n1,0.5\n", ("0", "1"), [1, 1]),
        ("y,prob_0\n1,0.5\n0,0.5\n", ("1", "0"), [0, 1]),
    ],
)
def test_names_of_the_classes_beside_one_column(write, content, classes, labels):
    data = load(write(content))
    assert data.classes == classes
    assert data.labels.tolist() == labels


def test_classes_of_one_column(write):
    path = write("y,p\nyes,0.25\nno,0.75\n")
    assert shown(load(path, classes=["no", "yes"])) == (("no", "yes"), [0.25, 0.75], [1, 0])
    assert load(path, classes=["yes", "no"]).labels.tolist() == [0, 1]
    path = write("y,p\n-1,0.25\n1,0.75\n")
    for classes in (["-1", "1"], [-1, 1], np.array([-1, 1])):
        assert shown(load(path, classes=classes)) == (("-1", "1"), [0.25, 0.75], [0, 1])


def test_labels_that_are_numbers_are_names_where_classes_are_numbers(write):
    content = "y,prob_3,prob_5,prob_8\n8,0.5,0.25,0.25\n3.0,0.25,0.5,0.25\n"
    assert load(write(content)).labels.tolist() == [2, 0]
    content = "y,prob_0,prob_1,prob_10,prob_2\n10,0.5,0.5,0,0\n2,1,0,0,0\n"
    assert load(write(content)).labels.tolist() == [2, 3]


def test_classes_rename(write):
    path = write("y,prob_a,prob_b\nb,0.25,0.75\na,0.25,0.75\n")
    assert shown(load(path, classes=["x", "y"])) == (("x", "y"), [0.75, 0.75], [1, 0])
    path = write("y,prob_1,prob_2\n2,0.25,0.75\n1,0.25,0.75\n")
    assert shown(load(path, classes=["x", "y"])) == (("x", "y"), [0.75, 0.75], [1, 0])
    path = write("y,prob_1,prob_2\nno,0.25,0.75\nyes,0.25,0.75\n")
    assert load(path, classes=["yes", "no"]).labels.tolist() == [1, 0]


def test_classes_in_another_order_than_the_columns_are_refused(write, tmp_path):
    path = write("y,prob_cat,prob_dog,prob_bird\ncat,0.5,0.25,0.25\n")
    sentence = "column 'prob_cat' is named for 'cat', but `classes` calls it 'dog'"
    with pytest.raises(ValueError, match=sentence):
        load(path, classes=["dog", "cat", "bird"])
    turned = load(path, probs=["prob_dog", "prob_cat", "prob_bird"], classes=["dog", "cat", "bird"])
    assert turned.labels.tolist() == [1]
    assert load(path, classes=["cat", "Hund", "bird"]).labels.tolist() == [0]
    path = write("y,prob_dog\ndog,0.75\ncat,0.5\n")
    assert load(path, classes=["cat", "dog"]).labels.tolist() == [1, 0]
    with pytest.raises(ValueError, match="column 'prob_dog' is named for 'dog'"):
        load(path, classes=["dog", "cat"])
    path = tmp_path / "x.npz"
    np.savez(path, probs=[[0.5, 0.5]], labels=[0], classes=[3, 5])
    with pytest.raises(ValueError, match="column 0 is named for '3', but `classes` calls it '5'"):
        load(path, classes=["5", "3"])


def test_arrays_of_confidences_and_of_who_was_right(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, confidence=[0.25, 0.75], correct=[True, False])
    data = load(path)
    assert shown(data) == (("wrong", "correct"), [0.25, 0.75], [1, 0])
    assert data.of_confidences
    assert "confidences from 'confidence'" in str(data.reading)
    np.savez(path, confidence=[0.25, 0.75], correct=[1, 0], prob=[0.5, 0.5], label=[0, 1])
    assert shown(load(path)) == (("0", "1"), [0.5, 0.5], [0, 1])


def test_explicit_columns(write):
    path = write("truth,a,b,prob_c,prob_d,mass\nb,0.25,0.75,0.5,0.5,2\na,0.25,0.75,0.5,0.5,1\n")
    data = load(path, label="truth", probs=["b", "a"], weight="mass")
    assert data.classes == ("b", "a")
    assert data.probs.tolist() == [[0.75, 0.25], [0.75, 0.25]]
    assert data.weights.tolist() == [2.0, 1.0]
    data = load(path, label=" Truth ", probs=("prob_d", "prob_c"), classes=["a", "b"])
    assert data.labels.tolist() == [1, 0]
    data = load(path, label="truth", probs="b", classes=["a", "b"])
    assert shown(data) == (("a", "b"), [0.75, 0.75], [1, 0])
    data = load(path, label="truth", probs=iter(["a", "b"]))
    assert data.classes == ("a", "b")


@pytest.mark.parametrize("name", ["weight", "Weights", "sample_weight"])
def test_a_column_of_weights_is_not_ignored(write, name):
    path = write(f"y,prob_a,prob_b,{name}\na,0.25,0.75,80.5\n")
    assert load(path).weights.tolist() == [80.5]
    assert load(path).reading.weight == name
    assert load(path, weight=name).weights.tolist() == [80.5]
    (left_out,) = load_models(path, ignore=name).values()
    assert not left_out.weighted
    assert left_out.reading.left_out == (name,)
    kept = load(path, keep=name)
    assert not kept.weighted
    assert kept.columns[name].tolist() == ["80.5"]
    data = load(write("y,cat,dog,w\ncat,0.5,0.5,2.5\ndog,0.5,0.5,1\n"), weight="w")
    assert data.classes == ("cat", "dog")


def test_a_column_that_is_kept_is_nothing_else(write, tmp_path):
    path = write("y,label,prob_a,prob_b,prob_c\na,3,0.25,0.75,9\nb,4,0.5,0.5,9\n")
    data = load(path, keep=["label", "prob_c"])
    assert data.classes == ("a", "b")
    assert data.columns["prob_c"].tolist() == ["9", "9"]
    assert load(path, keep=["y", "prob_c"], classes=["3", "4"]).reading.label == "label"
    with pytest.raises(ValueError, match=r"must be one thing only.* 'prob_c' twice"):
        load(path, label="y", probs=["prob_a", "prob_b", "prob_c"], keep="prob_c")
    arrays = {"y": [0, 1], "weight": [3.0, 4.0], "probs": [[0.25, 0.75], [0.5, 0.5]]}
    np.savez(tmp_path / "x.npz", labels=[1, 1], **arrays)
    data = load(tmp_path / "x.npz", keep=["labels", "weight"])
    assert not data.weighted
    assert data.labels.tolist() == [0, 1]
    assert data.columns["weight"].tolist() == ["3.0", "4.0"]


def test_texts_are_no_weights(write):
    data = load(write("y,prob_a,prob_b,weight\na,0.25,0.75,heavy\n"))
    assert not data.weighted
    assert data.reading.left_out == ("weight",)


def test_a_weight_that_cannot_be_read_is_named(write):
    """Weights are not left out because one of them is misspelt."""
    lines = "a,0.25,0.75,1\nb,0.5,0.5,l.5\nb,0.5,0.5,2\n"
    with pytest.raises(ValueError, match=r"row 1 \(line 3\) has 'l\.5' in column 'weight'"):
        load(write(f"y,prob_a,prob_b,weight\n{lines}"))


def test_logits_only_when_asked(write):
    path = write("y,logit_a,logit_b,prob_a,prob_b\na,0,0,0.25,0.75\nb,-inf,7,0.25,0.75\n")
    assert load(path).probs.tolist() == [[0.25, 0.75], [0.25, 0.75]]
    assert load(path, values="logits").probs.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert load(path, probs=["logit_a", "logit_b"], values="logits").classes == ("a", "b")
    single = load(write("y,score\n1,0\n0,-800\n"), values="logits")
    assert single.probs.tolist() == [[0.5, 0.5], [1.0, 0.0]]
    named = load(write("y,a,b\na,0.0,0.0\nb,0.0,0.0\n"), values="logits")
    assert named.probs.tolist() == [[0.5, 0.5], [0.5, 0.5]]


ONE_COLUMN = {
    "0 is written 0.0": ("y,prob_0\n0.0,0.75\n1.0,0.25\n", ("1", "0"), [1, 0]),
    "0 never occurs": ("y,prob_0\n1,0.75\n1,0.25\n", ("1", "0"), [0, 0]),
    "1 never occurs": ("y,prob_1\n0,0.75\n0,0.25\n", ("0", "1"), [0, 0]),
    "other letters": ("y,prob_false\nFalse,0.75\nTrue,0.25\n", ("True", "False"), [1, 0]),
    "false never occurs": ("y,prob_False\nTrue,0.75\nTrue,0.25\n", ("True", "False"), [0, 0]),
    "true": ("y,prob_TRUE\nfalse,0.75\ntrue,0.25\n", ("false", "true"), [0, 1]),
    "another word": ("y,prob_rain\n0,0.75\n1,0.25\n", ("not rain", "rain"), [0, 1]),
    "one of the labels": ("y,prob_no\nno,0.75\nyes,0.25\n", ("yes", "no"), [1, 0]),
}


@pytest.mark.parametrize(("content", "classes", "labels"), ONE_COLUMN.values(), ids=ONE_COLUMN)
def test_one_column_is_of_the_class_it_is_named_for(write, content, classes, labels):
    assert shown(load(write(content))) == (classes, [0.75, 0.25], labels)


def test_one_column_that_is_asked_for_may_be_named_as_a_class(write):
    file = write("y,0,1\n0,0.75,0.25\n1,0.25,0.75\n")
    assert shown(load(file, probs="0")) == (("1", "0"), [0.75, 0.25], [1, 0])
    assert shown(load(file, probs="1")) == (("0", "1"), [0.25, 0.75], [0, 1])
    file = write("y,cat\ncat,0.75\ndog,0.25\n")
    assert shown(load(file, probs="cat")) == (("dog", "cat"), [0.75, 0.25], [1, 0])


def test_truths_of_a_parquet_file(tmp_path):
    path = tmp_path / "x.parquet"
    pl.DataFrame({"y": [True, False], "prob_False": [0.25, 0.75]}).write_parquet(path)
    assert shown(load(path)) == (("true", "false"), [0.25, 0.75], [0, 1])


@pytest.mark.parametrize("labels", ["0,1", "false,true"])
def test_one_column_of_what_is_not_is_refused(write, labels):
    a, b = labels.split(",")
    with pytest.raises(
        ValueError, match=r"named for 'no', and labels are (0 and 1|false and true)"
    ):
        load(write(f"y,prob_no\n{a},0.75\n{b},0.25\n"))


def test_one_column_named_for_a_number_that_is_no_label_is_refused(write):
    file = write("y,prob_5\n0,0.75\n1,0.25\n")
    with pytest.raises(
        ValueError, match=r"it is named for '5', and labels are 0 and 1\. Name class"
    ):
        load(file)
    assert shown(load(file, classes=[0, 1])) == (("0", "1"), [0.75, 0.25], [0, 1])
    assert load(file, classes=["other", "is 5"]).labels.tolist() == [0, 1]


def test_spaces_after_a_prefix_do_not_count(write):
    data = load(write("y,prob_ a,prob_b\na,0.75,0.25\nb,0.25,0.75\n"))
    assert shown(data) == (("a", "b"), [0.25, 0.75], [0, 1])
    assert load(write("y,prob_ yes\nyes,0.75\nno,0.25\n")).classes == ("no", "yes")


def test_weights_do_not_widen_the_probabilities(tmp_path):
    path = tmp_path / "x.parquet"
    probs = {name: np.array([0.3, 0.7], np.float32)[::step] for name, step in (("a", 1), ("b", -1))}
    columns = {f"prob_{name}": values for name, values in probs.items()}
    pl.DataFrame({"y": ["a", "b"], **columns, "w": [1, 2]}).write_parquet(path)
    data = load(path, weight="w")
    assert data.probs.dtype == np.float32
    assert data.weights.tolist() == [1.0, 2.0]
    mixed = pl.read_parquet(path).with_columns(pl.col("prob_b").cast(pl.Float64))
    mixed.write_parquet(path)
    assert load(path).probs.dtype == np.float64
