"""Conditions on predictions, whatever the classes are called."""

import numpy as np
import pytest
from typer import BadParameter

from calibrant import Predictions
from calibrant.cli.parsing import parse_region

NAMES = ["black and white", "a:b", "2", "0-1", "x > y", "max 3"]


@pytest.fixture(scope="module")
def data():
    probs = np.random.default_rng(0).dirichlet([1.0] * len(NAMES), 200)
    return Predictions(probs, ["a:b"] * 200, classes=NAMES)


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("a:b > 0.1", lambda p: p[:, 1] > 0.1),
        ("a:b>0.1", lambda p: p[:, 1] > 0.1),
        ("  a:b  <=  1e-1 ", lambda p: p[:, 1] <= 0.1),
        ("black and white >= .2", lambda p: p[:, 0] >= 0.2),
        ("x > y > 0.1", lambda p: p[:, 4] > 0.1),
        ("2 < 0.3", lambda p: p[:, 2] < 0.3),
        ("1 < 0.3", lambda p: p[:, 1] < 0.3),
        ("max < 0.5", lambda p: p.max(axis=1) < 0.5),
        ("max 3 < 0.5", lambda p: p[:, 5] < 0.5),
        (
            "black and white > 0.1 and max < 0.9 and 2 > 0.05",
            lambda p: (p[:, 0] > 0.1) & (p.max(axis=1) < 0.9) & (p[:, 2] > 0.05),
        ),
    ],
)
def test_regions(text, mask, data):
    assert parse_region(text, data)(data.probs).tolist() == mask(data.probs).tolist()


def test_a_class_called_max_is_meant():
    data = Predictions([[0.2, 0.8], [0.6, 0.4]], [0, 1], classes=["max", "min"])
    assert parse_region("max > 0.5", data)(data.probs).tolist() == [False, True]


@pytest.mark.parametrize("text", ["max", "> 0.1", "2 > ", "2 == 0.1", "2 > 0.1 or max > 0.5", " "])
def test_regions_that_are_none(text, data):
    with pytest.raises(BadParameter, match="must be"):
        parse_region(text, data)
