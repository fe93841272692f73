"""What would help: the section of the report about recalibration."""

import json
import re
from html import unescape

import numpy as np
import pytest
from models import tempered

import calibrant as cal
from calibrant import Predictions, evaluate, recalibrate, recalibration, report
from calibrant.reporting.contents import LARGE, Settings, compute, remedy


def section(path):
    return unescape(path.read_text("utf-8").split("<h2>What would help")[1].split("</section>")[0])


def test_a_model_that_is_too_sure(tmp_path):
    data = tempered(600, 3, 2.0)
    text = section(report(data, tmp_path / "r.html", n_resamples=99, rng=4))
    found = cal.recalibrate(data, n_resamples=99, rng=4)
    assert found.recommendation in text
    for row in found.rows:
        for cell in row.cells():
            assert cell in text
    code = re.search(r"<code>recalibrated = (.*?)</code>", text).group(1)
    names = {"calibrant": cal, "data": data, "new": data.probs}
    assert np.array_equal(eval(code, names), found.map()(data.probs))
    assert "Before and after" in text
    assert "cross-fitted prediction" in text  # what the p-values are of


def test_a_calibrated_model_is_left_alone(tmp_path):
    text = section(report(tempered(600, 3), tmp_path / "r.html", n_resamples=19, rng=0))
    assert "Leave it as it is" in text
    assert "Before and after" not in text


@pytest.mark.parametrize(
    ("labels", "part"), [([1] * 20, "at least two classes"), ([0, 1, 1], "at most the number")]
)
def test_rows_that_do_not_allow_it_still_get_a_report(tmp_path, labels, part):
    data = Predictions(np.linspace(0.2, 0.8, len(labels)), labels)
    text = section(report(data, tmp_path / "r.html", n_resamples=19, rng=0))
    assert "Recalibration was not tried" in text
    assert part in text
    assert "`" not in text


def test_of_large_data_only_the_temperature_is_tried():
    data = tempered(LARGE // 100 + 1, 100, 2.0)
    found = remedy(data, Settings(0, 1, None, None)).found
    assert [row.name for row in found.rows] == ["as it is", "temperature"]


def test_of_very_many_rows_it_is_tried_on_some(monkeypatch):
    data = tempered(2500, 3, 2.0)
    monkeypatch.setattr("calibrant.reporting.contents.ENOUGH", 6300)
    found = compute("", data, evaluate(data, n_resamples=99, rng=3), Settings(3, 99)).remedy
    assert found.advice.endswith("It was tried on 2,100 of the 2,500 rows, drawn at random.")
    assert found.found.data.n == 2100
    whole = cal.calibration_test(data, n_resamples=99, rng=3)
    assert found.found.rows[0].test.statistic == whole.statistic  # of all rows
    assert found.found.rows[0].log_score == pytest.approx(cal.scores.log_score(found.found.data))


def test_the_provenance_has_the_settings(tmp_path):
    data = tempered(300, 2, 2.0)
    page = report(data, tmp_path / "r.html", n_resamples=99, rng=4).read_text("utf-8")
    (model,) = json.loads(unescape(re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL).group(1)))[
        "models"
    ]
    assert model["recalibration"] == cal.recalibrate(data, n_resamples=99, rng=4).settings
    assert recalibration.Temperature().fit(data).temperature > 1


@pytest.mark.parametrize("m", [2, 4])
def test_the_test_of_the_page_is_that_of_recalibration(m):
    """It is not made twice: the same draws give the same p-value."""
    data = tempered(400, m, 1.3)
    found = compute("", data, evaluate(data, n_resamples=99, rng=3), Settings(3, 99))
    alone = recalibrate(data, n_resamples=99, rng=3)
    assert found.remedy.found.table() == alone.table()
    assert found.remedy.found.rows[0].test.statistic == alone.rows[0].test.statistic
