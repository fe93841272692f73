"""Verdicts, from data whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest
from models import at, tempered

from calibrant import Classwise, Predictions, classwise, evaluate, reliability_diagram
from calibrant.lenses import Canonical, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.reporting import sentences


def judged(data, lens=None):
    lens = lens or Canonical()
    found = evaluate(data, lenses=[lens], n_resamples=999, rng=0)
    diagram = reliability_diagram(data, lens=lens, rng=0)
    return sentences.line_of(found.verdicts[0], diagram if diagram.n_outcomes == 2 else None)


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_too_high():
    found = judged(at((0.15, 500, 75), (0.75, 500, 275)))
    assert found.off
    assert found.lead.startswith("The probabilities of “1” are too high, by 10.0 points (")
    assert plain(found.text).endswith(" points); worst between 0.7 and 0.8.")


def test_too_low():
    found = judged(at((0.15, 500, 175), (0.75, 500, 375)))
    assert found.off
    assert found.lead.startswith("The probabilities of “1” are too low, by 10.0 points (")
    assert found.facts.endswith("; worst between 0.1 and 0.2")


def test_both():
    found = judged(at((0.15, 500, 175), (0.75, 500, 275)))
    assert found.off
    assert found.lead.endswith("are too high in some places and too low in others")
    assert "; not shown to be off on average (bias -" in found.facts
    more = judged(at((0.15, 500, 175), (0.75, 1500, 825)))
    assert "; on average too high by 10.0 points (" in more.facts


def test_no_sign():
    found = judged(at((0.15, 500, 75), (0.75, 500, 375)))
    assert not found.off
    assert found.lead == "No evidence that the probabilities of “1” are miscalibrated"
    assert plain(found.facts).startswith("p = 1.000, adjusted for 3 tests; off by at most ")


def test_more_outcomes_have_no_direction():
    found = judged(tempered(1000, 3, 3.0))
    assert found.off
    assert found.lead == "The full distributions over all 3 classes are miscalibrated"
    assert "worst" not in found.facts


def test_the_top_label_of_a_model_that_is_too_sure():
    found = judged(tempered(2000, 4, 2.0), TopLabel())
    assert found.lead.startswith("The model is overconfident, by ")


def test_neighbouring_cells_make_one_range():
    data = at(
        (0.05, 500, 25), (0.55, 500, 175), (0.65, 500, 225), (0.75, 500, 275), (0.95, 500, 475)
    )
    assert judged(data).facts.endswith("; worst between 0.5 and 0.8")


def test_a_few_rows_are_not_the_worst_place():
    data = at((0.05, 20, 20), (0.35, 1000, 450), (0.65, 1000, 650))
    assert judged(data).facts.endswith("; worst between 0.3 and 0.4")


def test_the_worst_place_of_both_directions():
    found = judged(at((0.15, 60, 35), (0.65, 1000, 400), (0.85, 1000, 600)))
    assert found.lead.endswith("are too high in some places and too low in others")
    assert "; worst between " in found.facts


def test_a_probability_of_one_is_in_the_last_range():
    data = at((0.5, 500, 250), (1.0, 500, 400))
    assert judged(data).facts.endswith("; worst between 0.9 and 1")


def classes_of(power, n=1000):
    data = tempered(n, 3, power, ["cat", "dog", "bird"])
    return classwise(data, EqualWidth(10), n_resamples=199, rng=0)


def test_all_classes():
    found = sentences.classes_verdict(classes_of(3.0))
    assert found.off
    assert found.lead == "All 3 classes are off when each is looked at alone"
    assert "most of all “" in found.facts


def test_no_class():
    found = sentences.classes_verdict(classes_of(1.0))
    assert not found.off
    assert found.lead == "No class shows a sign of miscalibration when each is looked at alone"


def test_many_classes_together():
    data = tempered(3000, 60, 2.0, alpha=0.05)
    found = sentences.classes_verdict(classwise(data, EqualWidth(10), n_resamples=99, rng=0))
    assert found.off
    assert found.lead == "52 of 60 classes are off when each is looked at alone"
    assert "p ≤ 0.010, adjusted for all tests of the page" in plain(found.facts)


def test_classes_that_are_off_together_but_not_alone():
    classes = Classwise(
        ("a", "b"),
        np.ones(2),
        np.array([[0.0, 2.0] * 20, [2.0, 0.0] * 20]),
        {"partition": EqualWidth(10)},
    )
    found = sentences.classes_verdict(replace(classes, null=classes.null * 0.99))
    assert found.off
    assert found.lead.endswith("all of them taken together")
    assert "No single class is shown to be off" in plain(found.facts)


@pytest.mark.parametrize("data", [at((0.15, 500, 75), (0.75, 500, 375)), at((0.15, 90, 60))])
def test_too_few_resamples_to_reject(data):
    line = sentences.line_of(evaluate(data, n_resamples=18, rng=0).verdicts[0], None)
    assert not line.off
    assert line.lead.startswith("Cannot tell with 18 resamples whether")


def test_just_enough_resamples_to_reject():
    assert sentences.line_of(
        evaluate(at((0.15, 90, 60)), rng=0, n_resamples=19).verdicts[0], None
    ).off


def test_too_few_resamples_to_reject_single_classes():
    data = tempered(1000, 51, alpha=0.05)
    found = sentences.classes_verdict(classwise(data, EqualWidth(10), n_resamples=18, rng=0))
    assert found.lead == "Single classes cannot be judged with 18 resamples"
    assert found.facts.startswith("at least 19 resamples are needed to reject calibration at 5")


def test_one_class():
    probs = np.tile([[0.5, 0.25, 0.25]], (400, 1))
    labels = np.repeat([0, 1, 2], [200, 130, 70])
    found = classwise(Predictions(probs, labels), EqualWidth(10), n_resamples=999, rng=0)
    verdict = sentences.classes_verdict(found)
    assert verdict.off
    assert verdict.lead.startswith("2 of 3 classes are off")
    assert "by 7.5 points on average" in verdict.facts


@pytest.mark.parametrize("p", [0.1, 0.2, 0.3, 0.6, 0.7, 0.8, 0.9])
def test_the_worst_predictions_are_on_an_edge(p):
    """The mean of many equal numbers may be rounded below them."""
    assert judged(at((p, 1000, 500))).facts.endswith(f"; worst between {p:g} and {p + 0.1:.2g}")


def test_the_class_that_is_most_off_is_not_the_surest():
    probs = np.tile([0.02, 0.49, 0.49], (4000, 1))
    labels = np.repeat([0, 1, 2], [240, 1580, 2180])
    data = Predictions(probs, labels, classes=["rare", "a", "b"])
    found = sentences.classes_verdict(classwise(data, EqualWidth(10), n_resamples=999, rng=0))
    assert "most of all “a” by 9.5" in plain(found.facts)
