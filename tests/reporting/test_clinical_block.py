"""The block of clinical numbers in a report."""

import numpy as np
import pytest
from command import run

import calibrant as cal
from calibrant import Predictions


def drawn(m, n=150, **more):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(m), n)
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, m - 1)
    return Predictions(probs, labels, **more)


@pytest.fixture
def page(tmp_path):
    def write(data):
        path = cal.report(data, tmp_path / "report.html", n_resamples=19, rng=0)
        return path.read_text("utf-8")

    return write


def test_two_classes_have_clinical_numbers_and_both_pictures(page):
    found = page(drawn(2))
    for text in ("Clinical numbers", "TRIPOD+AI", "Flexible calibration curve", "Decision curve"):
        assert text in found
    numbers = cal.clinical(drawn(2))
    assert numbers.lines()[1][3][3] in found  # the interval of O/E
    # The page judges calibration once, adjusted for all of its tests.
    assert "on average" not in found.split('id="model0-clinical"')[1].split("</section>")[0]


def test_other_problems_have_none(page):
    assert "Clinical numbers" not in page(drawn(3))
    assert "Clinical numbers" not in page(drawn(2, classes=["wrong", "correct"]))


def test_the_command_is_listed():
    assert "clinical" in run("--help").stdout
