"""What diagrams show, in words, from data whose answer is known."""

import numpy as np
import pytest
from models import at, tempered

from calibrant import Predictions, evaluate, reliability_diagram
from calibrant.lenses import Groups, TopLabel
from calibrant.reporting import sentences


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_worst_bins_in_words():
    diagram = reliability_diagram(at((0.15, 500, 75), (0.75, 500, 275)), rng=0)
    ((size, text),) = sentences.bin_sentences(diagram, ["no", "“yes”"], 10)
    assert size == pytest.approx(0.5 * 0.2)
    assert plain(text) == (
        "in 500 rows “yes” had a probability of 75.0 % on average and occurred in 55.0 %;"
        " p ≤ 0.001, adjusted for all tests of the page."
    )


def test_a_bin_of_weighted_rows():
    data = at((0.15, 500, 75), (0.75, 500, 275))
    data = Predictions(data.probs, data.labels, weights=np.full(1000, 0.9416))
    ((_, text),) = sentences.bin_sentences(reliability_diagram(data, rng=0), ["no", "yes"], 10)
    assert text.startswith("in rows of weight 470.8 yes had")


def test_most_bins():
    diagram = reliability_diagram(at((0.15, 500, 300), (0.75, 500, 275)), rng=0)
    sizes = [size for size, _ in sentences.bin_sentences(diagram, ["no", "“yes”"], 10)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 2
    assert len(sentences.bin_sentences(diagram, ["no", "yes"], 1)) == 1


def test_summary():
    bad = reliability_diagram(at((0.15, 500, 75), (0.75, 500, 275)), rng=0)
    assert bad.sentence.startswith("1 of 2 bins is further off than chance allows")
    good = reliability_diagram(at((0.15, 500, 75), (0.75, 500, 375)), rng=0)
    assert good.sentence == "None of the 2 bins is further off than chance allows."
    one = reliability_diagram(at((0.75, 500, 375)), rng=0)
    assert one.sentence == "The only bin is not further off than chance allows."
    off = reliability_diagram(at((0.75, 500, 275)), rng=0)
    assert off.sentence.startswith("The only bin is further off than chance allows. If ")
    few = reliability_diagram(at((0.15, 500, 75), (0.75, 500, 275)), n_resamples=18, rng=0)
    assert few.sentence.startswith("Bins cannot be judged with 18 resamples: at least 19 ")


def test_outcomes_in_sentences():
    def spoken(lens):
        diagram = reliability_diagram(tempered(50, 4), lens=lens, n_resamples=9, rng=0)
        return sentences.spoken_outcomes(diagram)

    assert spoken(TopLabel()) == ["the predicted class", "“other”"]
    assert spoken(Groups({"predicted class": [0, 1], "rest": [2, 3]})) == [
        "“predicted class”",
        "“rest”",
    ]


def test_a_verdict_that_no_bin_shows_names_the_test_that_rejects():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.05, 0.9, 1000)
    data = Predictions(p, rng.random(1000) < p + 0.035)
    found = evaluate(data, n_resamples=199, rng=0)
    diagram = reliability_diagram(data, n_resamples=199, rng=0)
    (verdict,) = found.verdicts
    assert verdict.rejected
    assert diagram.n_off == 0
    line = sentences.line_of(verdict, diagram, found.rows)
    strongest = min(found.rows, key=lambda row: row.adjusted_pvalue).statistic
    assert line.facts.endswith(
        f"; no bin shows it by itself, but all rows together do ({strongest})"
    )
    assert "all rows together" not in sentences.line_of(verdict, None, found.rows).facts
