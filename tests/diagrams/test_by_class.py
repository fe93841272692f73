"""Accuracy and confidence of each predicted class: numbers, chance, picture and table."""

import numpy as np
import pytest
from cases import dirichlet
from chance import fewest, most, outcomes, wrap

import calibrant as cal
from calibrant import Predictions
from calibrant.diagrams.picture import Label, Marks

TRIALS, B = 200, 99


@pytest.fixture(scope="module")
def resnet():
    return cal.datasets.cifar10("resnet")


@pytest.fixture(scope="module")
def found(resnet):
    return cal.class_diagram(resnet, n_resamples=99, rng=0)


def test_numbers_by_plain_loops(resnet, found):
    predicted = resnet.probs.argmax(axis=1)
    for record in found.records():
        k = resnet.classes.index(record["class"])
        confidences = [float(p[k]) for p, j in zip(resnet.probs, predicted, strict=True) if j == k]
        right = [y == k for y, j in zip(resnet.labels, predicted, strict=True) if j == k]
        assert record["n"] == len(right)
        assert record["confidence"] == pytest.approx(np.mean(confidences), abs=1e-6)
        assert record["accuracy"] == pytest.approx(np.mean(right))
        assert record["deviation"] == pytest.approx(record["accuracy"] - record["confidence"])
        wrong = resnet.labels[(predicted == k) & (resnet.labels != k)]
        times = np.bincount(wrong, minlength=10)
        name, _, count = record["instead"].rpartition(" ")
        assert times[resnet.classes.index(name)] == times.max() == int(count.strip("()"))


def test_the_most_overconfident_class_comes_first(found):
    deviations = [record["deviation"] for record in found.records()]
    assert deviations == sorted(deviations)
    assert found.records()[0]["class"] == "cat"
    assert str(found).endswith("chance allows: 10 overconfident")


def test_p_values_see_the_draws_of_every_other_verb(resnet, found):
    """Bins that are given by the predicted class, through the same lens, are the same test."""
    predicted = resnet.probs.argmax(axis=1)
    cut = cal.partitions.FromFunction(lambda _: predicted)
    same = cal.binwise(resnet, cut, lens="top", n_resamples=99, rng=0)
    np.testing.assert_array_equal(same.adjusted_pvalues, found.cells.adjusted_pvalues)


def test_the_line_at_zero_strikes_no_name_out():
    probs = np.repeat(np.eye(3) * 0.85 + 0.05, 100, axis=0)
    labels = np.repeat([0, 1, 2], 100)
    for k, wrong in enumerate((40, 30, 12)):  # the right one is just below 0, its name above it
        labels[100 * k : 100 * k + wrong] = (k + 1) % 3
    picture = cal.class_diagram(Predictions(probs, labels), n_resamples=19, rng=0).picture()
    low, high = picture.frame.y
    heights = [abs(part.at[1]) for part in picture.parts if isinstance(part, Label)]
    assert len(heights) == 3
    assert min(heights) > 0.02 * (high - low)


def calibrated(rng, n=400, m=8, power=1.0):
    probs = rng.dirichlet(np.full(m, 0.5), n)
    law = probs**power / (probs**power).sum(axis=1, keepdims=True)
    return probs, law, wrap(probs, outcomes(rng, law))


@pytest.mark.parametrize(("power", "is_right"), [(1.0, True), (0.5, False)])
def test_any_class_of_a_calibrated_model_is_significant_in_five_of_a_hundred(power, is_right):
    """The wrong twin is a model that is overconfident."""
    rng, times = np.random.default_rng(1), 0
    for seed in range(TRIALS):
        data = calibrated(rng, power=power)[2]
        times += bool(cal.class_diagram(data, n_resamples=B, rng=seed).significant.any())
    assert (times <= most(TRIALS, 0.05)) == is_right


def test_no_class_is_called_overconfident_where_confidences_are_right_on_average():
    """Confidences of 95 % and 25 % where 60 % are right: outcomes scatter more than they imply."""
    rng, off, named = np.random.default_rng(4), 0, 0
    confidence = np.tile([0.95, 0.95, 0.25, 0.25], 50)
    top = np.arange(200) % 2
    probs = np.repeat((1 - confidence)[:, None] / 9, 10, axis=1)
    probs[np.arange(200), top] = confidence
    for seed in range(TRIALS):
        labels = np.where(rng.random(200) < 0.6, top, 2)
        found = cal.class_diagram(wrap(probs, labels), n_resamples=B, rng=seed)
        off += bool(found.significant.any())
        named += "confident" in str(found)
        explained = "A small p beside an interval that includes 0" in found.table()
        assert explained == ("with an interval that includes 0" in str(found))
    assert off > most(TRIALS, 0.05)
    assert named <= most(TRIALS, 0.05)


@pytest.mark.parametrize("power", [1.0, 0.6, 1.5])
def test_intervals_hold_for_all_classes_at_once(power):
    """The wrong twin: intervals of half the width."""
    rng, held, narrow = np.random.default_rng(2), 0, 0
    for seed in range(TRIALS):
        probs, law, data = calibrated(rng, power=power)
        found = cal.class_diagram(data, n_resamples=1, rng=seed)
        predicted, rows = probs.argmax(axis=1), np.arange(len(probs))
        gaps = law[rows, predicted] - probs[rows, predicted]
        truth = np.array([gaps[predicted == data.classes.index(k)].mean() for k in found.names])
        low, high = found.intervals.T
        held += bool(((low <= truth) & (truth <= high)).all())
        inside = np.abs(truth - found.deviations) <= (high - low) / 4
        narrow += bool(inside.all())
    assert held >= fewest(TRIALS, 0.95)
    assert narrow < fewest(TRIALS, 0.95)


def test_the_picture_names_both_ends_and_marks_all(found):
    picture = found.picture()
    (marks,) = [part for part in picture.parts if isinstance(part, Marks)]
    assert marks.at.shape == (10, 2)
    assert picture.frame.x[0] < 0.5  # where the band of the first class begins
    assert picture.frame.x[1] > 10.5
    assert (np.diff(marks.at[:, 1]) >= 0).all()
    names = {part.text for part in picture.parts if isinstance(part, Label)}
    assert names == set(cal.datasets.cifar10("resnet").classes)
    low, high = picture.frame.y
    assert all(low < part.at[1] < high for part in picture.parts if isinstance(part, Label))


def test_few_classes_are_all_named_and_counted_in_whole_numbers():
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(3), 200)
    data = Predictions(probs, outcomes(rng, probs), ["dry", "light", "heavy"])
    picture = cal.class_diagram(data, n_resamples=19, rng=0).picture()
    names = {part.text for part in picture.parts if isinstance(part, Label)}
    assert names == {"dry", "light", "heavy"}
    assert picture.frame.across() == [1.0, 2.0, 3.0]


def test_both_renderers_draw_many_classes_with_odd_names():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(300, 0.02), 3000)
    classes = [f"$class_{j}$ <b> of a very long name indeed" for j in range(300)]
    data = Predictions(probs, outcomes(rng, probs), classes)
    found = cal.class_diagram(data, n_resamples=19, rng=0)
    chart = found.figure()
    assert chart.drawing.count("<circle") == len(found.names)
    assert "<b>" not in chart.html.partition("<main>")[2]
    assert "The numbers as a table" in chart.html
    found.plot().figure.canvas.draw()
    header, lines = found.ends()
    assert len(lines) == 20
    assert len(found.lines()[1]) == len(found.names)
    assert len(header) == len(lines[0])


def test_a_class_that_is_never_predicted_is_left_out():
    probs = np.tile([0.6, 0.3, 0.1], (50, 1))
    found = cal.class_diagram(Predictions(probs, np.arange(50) % 3), n_resamples=19, rng=0)
    assert found.names == ("0",)
    assert found.to_frame("pandas")["n"].tolist() == [50]
    found.plot(), found.figure()


def test_weights_and_clusters():
    data = dirichlet(600, 4)
    weighted = data.weighted_by(np.arange(1.0, 601))
    twice = data.weighted_by(2 * np.arange(1.0, 601))
    one, two = (cal.class_diagram(each, n_resamples=19, rng=0) for each in (weighted, twice))
    np.testing.assert_allclose(one.deviations, two.deviations)
    np.testing.assert_allclose(one.intervals, two.intervals)
    clusters = Predictions(data.probs, data.labels, clusters=np.arange(600) // 200)
    few = cal.class_diagram(clusters, n_resamples=19, rng=0)
    assert few.sentence == "Classes cannot be judged: too few clusters can tell."


def test_too_few_resamples_and_confidences_are_told():
    found = cal.class_diagram(dirichlet(100, 3), n_resamples=9, rng=0)
    assert found.sentence.startswith("Classes cannot be judged with 9 resamples")
    found.figure()
    confidences = Predictions([0.9, 0.8, 0.7], [1, 0, 1], ["wrong", "correct"])
    assert confidences.of_confidences
    with pytest.raises(ValueError, match="`data` must have the probabilities of all classes"):
        cal.class_diagram(confidences)


def test_two_classes():
    found = cal.class_diagram(dirichlet(900, 2), n_resamples=99, rng=0)
    assert sorted(found.names) == ["0", "1"]
    assert found.cells.function.counts.sum() == 900
