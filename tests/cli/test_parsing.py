"""Strings of the command line become objects, whatever the classes are called."""

import numpy as np
import pytest
from typer import BadParameter

from calibrant import Predictions, distances, partitions
from calibrant.cli import parsing
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopK, TopLabel

NAMES = ["black and white", "a:b", "2", "0-1", "x > y", "max 3"]


@pytest.fixture(scope="module")
def data():
    probs = np.random.default_rng(0).dirichlet([1.0] * len(NAMES), 200)
    return Predictions(probs, ["a:b"] * 200, classes=NAMES)


@pytest.mark.parametrize(
    ("text", "lens"),
    [
        ("canonical", Canonical()),
        ("pooled", Pooled()),
        ("top", TopLabel()),
        ("top:3", TopK(3)),
        ("class:a:b", Marginal("a:b")),
        ("class:black and white", Marginal("black and white")),
        ("class:2", Marginal("2")),  # the name, not the index
        ("class:5", Marginal("max 3")),  # the index, since no class has that name
        ("groups:0,1|2|0-1|4-5", Groups([[0, 1], [2], [3], [4, 5]])),
        ("groups:black and white, a:b|2,0-1|x > y,max 3", Groups([[0, 1], [2, 3], [4, 5]])),
    ],
)
def test_lenses(text, lens, data):
    found = parsing.parse_lens(text, data)
    assert found(data).probs.tolist() == lens(data).probs.tolist()
    assert type(found) is type(lens)


@pytest.mark.parametrize(
    ("text", "partition"),
    [
        ("width:10", partitions.EqualWidth(10)),
        ("simplex:5", partitions.SimplexBins(5)),
        ("mass:15", partitions.EqualMass(15)),
        ("tree:1000", partitions.VarianceTree(1000)),
        ("tree:20:median", partitions.VarianceTree(20, "median")),
        ("tree:0.25", partitions.VarianceTree(0.25)),
    ],
)
def test_partitions(text, partition):
    assert parsing.parse_partition(text) == partition


@pytest.mark.parametrize(
    ("text", "distance"),
    [
        ("tv", distances.total_variation),
        ("total_variation", distances.total_variation),
        ("euclidean", distances.euclidean),
        ("squared", distances.squared_euclidean),
        ("squared_euclidean", distances.squared_euclidean),
    ],
)
def test_distances(text, distance):
    assert parsing.parse_distance(text) is distance


@pytest.mark.parametrize(
    ("lens", "partition", "distance"),
    [
        (["class:5", "top", "class:max 3"], None, None),
        (["groups:0-2|3-5", "groups:0,1,2|3,4,5"], None, None),
        (None, ["tree:50", "tree:50:mean"], None),
        (None, None, ["tv", "total_variation"]),
    ],
)
def test_the_same_thing_twice(lens, partition, distance, data):
    with pytest.raises(BadParameter, match="mean the same"):
        parsing.parse_questions(data, lens, None, partition, distance)


def test_things_that_differ_keep_their_order(data):
    found = parsing.parse_questions(data, ["top", "class:2", "class:1"], None, None, None)
    assert [str(lens) for lens in found["lenses"]] == ["top label", "class 2", "class a:b"]


def test_groups_are_printed_with_the_names_of_classes(data):
    assert str(parsing.parse_lens("groups:1,0|2-5", data)) == (
        "groups a:b+black and white | 2+0-1+x > y+max 3"
    )
    assert str(parsing.parse_lens("groups:0|1-5", data)) == "groups black and white | a:b+…+max 3"


def test_an_unknown_class_is_answered_with_those_there_are(data):
    with pytest.raises(BadParameter, match="black and white, a:b, 2, 0-1, x > y, max 3"):
        parsing.parse_lens("class:dog", data)


def test_missing_members_of_groups_are_named(data):
    with pytest.raises(BadParameter, match="every class once; look at max 3; found"):
        parsing.parse_groups("0,1,2,3|4", data)
