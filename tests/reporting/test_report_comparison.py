"""Models side by side in the report, from models whose order is known."""

import pytest
from models import at, tempered

from calibrant import compare
from calibrant.lenses import Canonical, TopLabel
from calibrant.reporting.sentences import comparison_parts


def known(**rates):
    """Return models that all say 0.5, of other rows each: the share of events by name."""
    return {name: at((0.5, 2000, round(2000 * rate))) for name, rate in rates.items()}


def parts(models, main=Canonical(), **more):
    return comparison_parts(compare(models, n_resamples=99, rng=0, **more), main)


def test_the_furthest_off_comes_first():
    found = parts(known(near=0.55, far=0.9, fair=0.5), paired=False)
    assert [row[0] for row in found["rows"]] == ["far", "near", "fair"]
    assert found["header"][:3] == ["model", "off by", "adjusted p"]
    assert found["rows"][0][1].startswith("40.0 (")
    assert sum(count for _, count in found["groups"]) == len(found["header"])


def test_one_paragraph_names_who_is_further_off():
    ((subject, text),) = parts(known(a=0.9, b=0.7, c=0.5), paired=False)["paragraphs"]
    assert subject == "The probabilities of “1”"
    assert text == "a is further off than b and c; b is further off than c."


@pytest.mark.parametrize(
    ("rates", "end"),
    [
        ({"a": 0.9, "b": 0.5, "c": 0.5}, "c; the data do not tell whether b or c is further off."),
        (
            {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.5},
            "d; the data do not tell which of the other 3 pairs is further off.",
        ),
        ({"a": 0.5, "b": 0.5, "c": 0.5}, "the data do not tell which of any two is further off."),
        ({"a": 0.5, "b": 0.5}, "the data do not tell whether a or b is further off."),
    ],
)
def test_what_the_data_do_not_tell(rates, end):
    ((_, text),) = parts(known(**rates), paired=False)["paragraphs"]
    assert text.endswith(end)


def test_the_main_lens_decides_and_leads():
    models = {"a": tempered(800, 3), "b": tempered(800, 3, 2.0)}
    found = parts(models, TopLabel())
    assert [name for name, _ in found["groups"]] == [
        "",
        "predicted class",
        "full distributions",
        "scores",
    ]
    assert [subject for subject, _ in found["paragraphs"]] == [
        "The probabilities of the predicted class",
        "The full distributions over all 3 classes",
    ]
    assert [row[0] for row in found["rows"]] == ["b", "a"]
