"""What was read is said, and a guess that could be wrong is asked about."""

import pickle

import numpy as np
import polars as pl
import pytest

from calibrant import Predictions, load, scores
from calibrant.loading import Reading, from_frame


@pytest.fixture
def write(tmp_path):
    def file(content, name="x.csv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return file


SAID = {
    "several classes": (
        "id,label,prob_a,prob_b,prob_c\n1,a,0.5,0.25,0.25\n",
        "Read labels from 'label' and probabilities from 'prob_a', 'prob_b' and 'prob_c'."
        " Left out: 'id'.",
    ),
    "two columns": (
        "y,cat,dog\ncat,0.5,0.5\ndog,0.25,0.75\n",
        "Read labels from 'y' and probabilities from 'cat' and 'dog'; the event is dog.",
    ),
    "one column": (
        "outcome,prob_rain,weight,age,sex\n1,0.5,2,0.3,f\n",
        "Read labels from 'outcome', P(rain) from 'prob_rain' and weights from 'weight'."
        " Left out: 'age' and 'sex'.",
    ),
    "confidences": (
        "question,answer,confidence,correct\nwhy,so,0.5,1\n",
        "Read whether predictions are right from 'correct' and confidences from 'confidence'."
        " Left out: 'question' and 'answer'.",
    ),
}


@pytest.mark.parametrize(("content", "said"), SAID.values(), ids=SAID)
def test_what_was_read_is_said(write, content, said):
    assert str(load(write(content)).reading) == said


def test_four_columns_are_all_named(write):
    path = write("y,prob_a,prob_b,prob_c,prob_d\na,0.25,0.25,0.25,0.25\n")
    assert "from 'prob_a', 'prob_b', 'prob_c' and 'prob_d'." in str(load(path).reading)


def test_many_columns_are_said_shortly(write):
    names = [f"prob_{j:03}{'x' * 30}" for j in range(300)]
    path = write(f"y,{','.join(names)}\n{names[0][5:]},{','.join(['0.5', '0.5', *['0'] * 298])}\n")
    assert str(load(path).reading) == (
        "Read labels from 'y' and probabilities from 'prob_000xxxxxxxxxxx…',"
        " 'prob_001xxxxxxxxxxx…', …, 'prob_299xxxxxxxxxxx…' (300 columns)."
    )


def test_the_reading_stays_with_the_rows(write):
    data = load(write("y,p,age\n1,0.25,3\n0,0.75,4\n"))
    expected = Reading("y", ("p",), "1", left_out=("age",))
    assert data.reading == expected
    assert data.restrict(lambda probs: probs[:, 1] > 0.5).reading == expected
    assert pickle.loads(pickle.dumps(data)).reading == expected
    assert expected.to_dict()["left_out"] == ["age"]
    assert Predictions([0.5], [1]).reading is None


LABELS = ("y", "target", "outcome", "truth", "ground_truth", "true_label", "actual", "correct")


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("prob", ["p", "proba", "score", "confidence", "risk", "forecast"])
def test_names_that_people_use(write, label, prob):
    data = load(write(f"{label},{prob}\n1,0.25\n0,0.75\n"))
    assert data.probs[:, 1].tolist() == [0.25, 0.75]
    assert data.labels.tolist() == [1, 0]


ASKED = {
    "a number between 0 and 1": (
        "label,age\n1,0.3\n0,0.4\n",
        r"found 'age' beside the labels\. Name them with `probs`\. Is it 'age'\?",
        {"probs": "age"},
    ),
    "decisions": (
        "y,p\n1,1\n0,0\n",
        r"must not all be 0 or 1: these are decisions\. If they are meant, name them with `probs`",
        {"probs": "p"},
    ),
    "several models": (
        "model,y,p\na,1,0.5\nb,0,0.25\n",
        r"several models must not be pooled; column 'model' names 'a', 'b'\. Take each with",
        {"keep": "model"},
    ),
    "a case twice": (
        "id,y,p\n7,1,0.5\n7,0,0.25\n",
        r"different cases; column 'id' has '7' more than once\..* aside with `keep=…`",
        {"keep": ["id"]},
    ),
    "a confidence in a decision": (
        "label,prediction,confidence\n1,1,0.5\n0,1,0.25\n",
        r"'confidence' may be the confidence in 'prediction'\. Then add a column 'correct'",
        {"probs": "confidence"},
    ),
    "two columns of weights": (
        "y,p,weight,sample_weight\n1,0.5,1,2\n",
        r"one column may hold weights; 'weight', 'sample_weight' could each be it\. Choose with",
        {"weight": "weight"},
    ),
}


@pytest.mark.parametrize(("content", "sentence", "remedy"), ASKED.values(), ids=ASKED)
def test_a_guess_that_could_be_wrong_is_asked_about(write, content, sentence, remedy):
    with pytest.raises(ValueError, match=sentence):
        load(write(content))
    frame = pl.read_csv(write(content))
    with pytest.raises(ValueError, match=sentence.replace("'7'", "7")):
        from_frame(frame)
    assert load(write(content), **remedy).n == from_frame(frame, **remedy).n == len(frame)


def test_one_model_and_different_cases_are_no_question(write):
    data = load(write("model,id,y,p\na,1,1,0.5\na,2,0,0.25\n"))
    assert data.reading.left_out == ("model", "id")


def test_a_class_may_be_called_as_a_model(write):
    data = load(write("y,prob_id,prob_model\nid,0.5,0.5\nmodel,0.25,0.75\n"))
    assert data.classes == ("id", "model")


def test_confidences_show_the_share_that_is_right(write):
    path = write("confidence,is_correct\n0.25,1\n0.75,1\n0.75,0\n0.5,1\n")
    data = load(path)
    assert data.classes == ("wrong", "correct")
    assert data.of_confidences
    found = scores.all_scores(data)
    assert found["share_correct"] == 0.75
    assert "accuracy" not in found
    plain = scores.all_scores(Predictions([0.25, 0.75, 0.75, 0.5], [1, 1, 0, 1]))
    assert {key: found[key] for key in plain if key != "accuracy"} == {
        key: plain[key] for key in plain if key != "accuracy"
    }
    weighted = write("confidence,is_correct,weight\n0.25,1,1\n0.75,0,3\n")
    assert scores.all_scores(load(weighted))["share_correct"] == 0.25
    for truths in ("true,false", "True,False", "1.0,0.0"):
        a, b = truths.split(",")
        assert load(write(f"confidence,correct\n0.25,{a}\n0.75,{b}\n")).labels.tolist() == [1, 0]


def test_labels_win_over_right_where_all_classes_have_probabilities(write):
    data = load(write("label,prob_a,prob_b,confidence,correct\nb,0.25,0.75,0.75,1\n"))
    assert data.reading.label == "label"
    assert not data.of_confidences


ROUNDED = "y,a,b,c\na,0.33,0.33,0.33\nb,0.5,0.26,0.25\nc,0.25,0.25,0.5\n"
MATRIX = np.array([[0.33, 0.33, 0.33], [0.5, 0.26, 0.25], [0.25, 0.25, 0.5]])


def test_rounded_values(write, tmp_path):
    path = write(ROUNDED)
    with pytest.raises(
        ValueError, match=r"sums to 0\.99 .*Were they rounded\? Then say so with `values='ro"
    ):
        load(path)
    data = load(path, values="rounded")
    clean = Predictions(MATRIX / MATRIX.sum(axis=1, keepdims=True), [0, 1, 2])
    np.testing.assert_array_equal(data.probs, clean.probs)
    assert str(data.reading).endswith("rows were divided by their sums.")
    np.savez(tmp_path / "x.npz", probs=MATRIX, labels=[0, 1, 2])
    np.testing.assert_array_equal(load(tmp_path / "x.npz", values="rounded").probs, clean.probs)
    frame = pl.read_csv(path)
    np.testing.assert_array_equal(from_frame(frame, values="rounded").probs, clean.probs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_sum_of_decimals_passes_by_luck(tmp_path, dtype):
    """Three decimals: 0.999 and 1.001 always pass, 0.998 and 1.002 never do."""
    rng = np.random.default_rng(0)
    path = tmp_path / "x.npz"
    for total, passes in ((999, True), (1001, True), (998, False), (1002, False)):
        cuts = np.sort(rng.integers(0, total + 1, (2000, 2)), axis=1)
        parts = np.diff(cuts, axis=1, prepend=0, append=total)
        probs = np.array(
            [[float(f"0.{v:03}") if v < 1000 else v / 1000 for v in row] for row in parts]
        )
        if passes:
            np.savez(path, probs=probs.astype(dtype), labels=np.zeros(len(probs), int))
            load(path)
            continue
        for one in probs[:30]:
            np.savez(path, probs=one[None].astype(dtype), labels=[0])
            with pytest.raises(ValueError, match=r"`values='rounded'`"):
                load(path)
            load(path, values="rounded")


def test_percentages_are_called_so(write):
    for content in (
        "y,prob_a,prob_b,prob_c\na,33,33,34\nb,50,20.5,29.5\n",
        "y,p\n1,73.5\n0,12\n",
    ):
        for options in ({}, {"values": "rounded"}):
            with pytest.raises(ValueError, match=r"Are these percentages\? .* `percent=True`\.$"):
                load(write(content), **options)
    with pytest.raises(ValueError, match=r"Are these logits\?"):
        load(write("y,p\n1,7.5\n0,-2\n"))
    with pytest.raises(
        ValueError, match=r"`values` must be .* 'rounded' or 'logits'; found 'log-odds'\."
    ):
        load(write(ROUNDED), values="log-odds")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("no", "yes"), ("no", "yes")),
        (("Yes", "No"), ("No", "Yes")),
        (("yes", "yes"), ("no", "yes")),
        (("negative", "positive"), ("negative", "positive")),
        (("absent", "present"), ("absent", "present")),
    ],
)
def test_no_and_yes_are_class_0_and_class_1(write, labels, classes):
    data = load(write(f"risk,event\n0.2,{labels[0]}\n0.7,{labels[1]}\n"))
    assert data.classes == classes
    assert [data.classes[y] for y in data.labels] == list(labels)


def test_an_event_is_a_label_where_nothing_else_is(write):
    assert load(write("risk,event\n0.2,0\n0.7,1\n")).reading.label == "event"
    both = load(write("risk,event,outcome\n0.2,0,1\n0.7,1,1\n"))
    assert both.reading.label == "outcome"


def test_an_array_that_is_missing_is_asked_for_by_its_option(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, probs=[0.2, 0.7], labels=[0, 1])
    for option in ("keep", "cluster"):
        with pytest.raises(ValueError, match=f"`{option}` must name an array; 'site' not among"):
            load(path, **{option: "site"})
