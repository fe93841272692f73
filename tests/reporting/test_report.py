"""The report as a file: the same bytes again, its size, and what it refuses."""

import json
import os
import re
import subprocess
import sys
from html import unescape

import numpy as np
import pytest
from models import EVIL, tempered

from calibrant import Predictions, report
from calibrant.lenses import Groups
from calibrant.reporting.contents import MOST_CLASSES, default_groups


def provenance(path):
    text = path.read_text("utf-8")
    return json.loads(unescape(re.search(r"<pre[^>]*>(.*?)</pre>", text, re.DOTALL).group(1)))


def test_the_same_data_and_seed_give_the_same_bytes(tmp_path):
    data = tempered(500, 5, 1.5)
    a = report(data, tmp_path / "a.html", n_resamples=49, rng=7).read_bytes()
    b = report(data, tmp_path / "b.html", n_resamples=49, rng=7).read_bytes()
    c = report(data, tmp_path / "c.html", n_resamples=49, rng=8).read_bytes()
    assert a == b != c


def test_another_process_gives_the_same_bytes(tmp_path):
    program = (
        "import sys, numpy as np, calibrant as cal;"
        "rng = np.random.default_rng(0); p = rng.dirichlet([1] * 4, 400);"
        "data = cal.Predictions(p, rng.integers(0, 4, 400));"
        "cal.report({'a': data, 'b': data}, sys.argv[1], n_resamples=19, rng=3)"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "a")]
    other = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": other, "CALIBRANT_THREADS": "3"}
    subprocess.run(words, check=True, env=environment)
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet([1] * 4, 400), rng.integers(0, 4, 400))
    report({"a": data, "b": data}, tmp_path / "b", n_resamples=19, rng=3)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("m", [2, 3, 4, 10])
def test_a_report_is_small(tmp_path, m):
    path = report(tempered(500, m, 2.0), tmp_path / "r.html", n_resamples=19, rng=0)
    assert path.stat().st_size < 0.25e6


@pytest.mark.parametrize(("n", "m"), [(2000, 100), (1500, 1000)])
def test_many_classes_make_a_small_report(tmp_path, n, m):
    path = report(tempered(n, m, 2.0, alpha=0.05), tmp_path / "r.html", n_resamples=19, rng=0)
    assert path.stat().st_size < 0.45e6
    text = path.read_text("utf-8")
    assert "<figcaption title=" not in text  # a diagram of one class of many shows nothing
    assert 'id="model0-groups"' not in text
    assert f"{m - MOST_CLASSES} more classes are not shown" in text
    picture = text.partition('id="model0-predicted"')[2].partition("</figure>")[0]
    shown = int(
        re.search(r"([\d,]+) predicted classes, from the most", picture)[1].replace(",", "")
    )
    assert picture.count("<circle") == shown + 2  # and two keys
    table = text.partition("the most over- and the most underconfident classes</caption>")[2]
    assert table.partition("</table>")[0].count('<th scope="row"') == 20


def test_provenance_is_enough_to_compute_a_number_again(tmp_path):
    from calibrant import evaluate, isotonic_diagram, reliability_diagram
    from calibrant.lenses import TopLabel

    data = tempered(500, 3, 1.5)
    found = provenance(report(data, tmp_path / "r.html", n_resamples=49, rng=5))
    (model,) = found["models"]
    again = evaluate(data, n_resamples=found["n_resamples"], rng=found["seed"])
    assert model["settings"] == again.settings
    for row, alone in zip(model["evaluation"], again.to_dict()["rows"], strict=True):
        adjusted = row.pop("adjusted_pvalue")  # for all tests of the page
        assert adjusted >= alone.pop("adjusted_pvalue")
        assert row == alone
    first = model["diagrams"][0]
    assert (first["lens"], first["partition"]) == ("top label", "10 equal widths")
    assert model["curve"] == isotonic_diagram(data, n_resamples=49, rng=5).settings
    diagram = reliability_diagram(data, lens=TopLabel(), n_resamples=49, rng=first["seed"])
    n_cells = diagram.series[0].function.n_cells
    text = (tmp_path / "r.html").read_text()
    (count,) = re.findall(rf"(None of the|\d+ of) {n_cells} bins", text)[:1]
    judged = 0 if count == "None of the" else int(count.split()[0])
    assert judged <= diagram.series[0].significant(0.05).sum()


def test_a_generator_leaves_a_seed_in_the_provenance(tmp_path):
    data = tempered(200, 2)
    first = report(data, tmp_path / "a.html", n_resamples=19, rng=np.random.default_rng(1))
    seed = provenance(first)["seed"]
    again = report(data, tmp_path / "b.html", n_resamples=19, rng=seed)
    assert first.read_bytes() == again.read_bytes()


def test_no_name_stands_unescaped_in_the_file(tmp_path):
    models = {name: tempered(300, 3, 2.0, list(EVIL[:3])) for name in EVIL[:2]}
    text = report(models, tmp_path / "r.html", title=EVIL[2], n_resamples=19, rng=0).read_text(
        "utf-8"
    )
    for evil in ("<script>alert", "<img", "alert(2)</script>"):
        assert evil not in text


def test_classes_that_look_like_templates_stay_as_they_are(tmp_path):
    data = tempered(300, 3, 2.0, ["{{ 7 * 7 }}", "{% raw %}", "c"])
    text = report(data, tmp_path / "r.html", n_resamples=19, rng=0).read_text("utf-8")
    assert "{{ 7 * 7 }}" in text
    assert "{% raw %}" in text


def test_the_bars_of_many_models_are_not_called_grey(tmp_path):
    models = {"a": tempered(300, 3), "b": tempered(300, 3, 2.0)}
    text = report(models, tmp_path / "r.html", n_resamples=19, rng=0).read_text("utf-8")
    together = text.partition("All models in one diagram")[2].partition("</figure>")[0]
    assert "Bars in the colour of a model" in together
    assert "Grey" not in together


def test_models_of_different_rows_are_compared(tmp_path):
    models = {"a": tempered(300, 3), "b": tempered(400, 3)}
    text = report(models, tmp_path / "r.html", n_resamples=19, rng=0).read_text("utf-8")
    assert "the data do not tell whether a or b is further off" in text
    assert "<b>The probabilities of the predicted class:</b> " in text


@pytest.mark.parametrize(("n_resamples", "curves"), [(18, 0), (19, 1)])
def test_a_curve_needs_enough_resamples_for_its_band(tmp_path, n_resamples, curves):
    path = report(tempered(300, 2), tmp_path / "r.html", n_resamples=n_resamples, rng=0)
    assert path.read_text("utf-8").count('id="model0-curve"') == curves
    assert (provenance(path)["models"][0]["curve"] is None) == (curves == 0)


def test_weights_are_named(tmp_path):
    data = tempered(300, 3)
    data = Predictions(data.probs, data.labels, weights=np.arange(1, 301))
    text = report(data, tmp_path / "r.html", n_resamples=19, rng=0).read_text("utf-8")
    assert "300 rows, 3 classes, weighted" in text


def test_rows_in_clusters_have_no_curve(tmp_path):
    data = tempered(300, 2)
    data = Predictions(data.probs, data.labels, clusters=np.arange(300) // 5)
    path = report(data, tmp_path / "r.html", n_resamples=19, rng=0)
    text = path.read_text("utf-8")
    assert "300 rows in 60 clusters, 2 classes" in text
    assert "Clusters of rows are taken to be independent" in text
    assert 'id="model0-curve"' not in text
    assert provenance(path)["models"][0]["curve"] is None


@pytest.mark.parametrize("n", [1, 2, 20])
def test_a_few_rows_are_enough(tmp_path, n):
    data = Predictions(np.full((n, 3), 1 / 3), np.zeros(n, int))
    assert report(data, tmp_path / "r.html", n_resamples=19, rng=0).exists()


def test_groups_of_others_have_a_name_of_their_own():
    data = tempered(300, 5, classes=["the 3 others", "b", "c", "d", "e"])
    assert sorted(map(len, default_groups(data).groups)) == [1, 1, 3]


@pytest.mark.parametrize("m", [2, 3])
def test_progress_ends_at_the_end(tmp_path, m):
    seen = []
    models = {"a": tempered(300, m), "b": tempered(300, m)}
    report(
        models,
        tmp_path / "r.html",
        n_resamples=19,
        progress=lambda done, total: seen.append(done / total),
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match="`data` must be at least one model; found none"):
        report({}, tmp_path / "r.html")
    with pytest.raises(ValueError, match="`models` must have the same classes"):
        report({"a": tempered(50, 3), "b": tempered(50, 4)}, tmp_path / "r.html")
    with pytest.raises(ValueError, match="`n_resamples` must be"):
        report(tempered(50, 3), tmp_path / "r.html", n_resamples=0, rng=0)
    lens = Groups([[j] for j in range(5)])
    with pytest.raises(ValueError, match="at most four outcomes"):
        report(tempered(50, 5), tmp_path / "r.html", groups=lens, n_resamples=19, rng=0)
    assert list(tmp_path.iterdir()) == []


def test_classes_stand_in_the_order_of_their_table(tmp_path):
    """Adjustment for the page makes p-values equal; the order is that of the evidence."""
    path = report(tempered(1500, 15, 2.0, alpha=0.05), tmp_path / "r.html", n_resamples=19, rng=0)
    text = path.read_text("utf-8")
    drawn = re.findall(r'<figcaption title="([^"]*)"', text)
    (table,) = re.findall(r"the strongest evidence first</caption>.*?</table>", text, re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]
    cells = [[re.sub(r"<[^>]*>", "", c) for c in re.findall(r"<t[hd].*?</t[hd]>", r)] for r in rows]
    assert [row[0] for row in cells] == drawn
    adjusted = [float(row[4]) for row in cells]
    assert adjusted == sorted(adjusted)


def test_an_infinite_log_loss_names_its_row(tmp_path):
    data = tempered(300, 3)
    probs, labels = data.probs.copy(), data.labels.copy()
    probs[17], labels[17] = (1, 0, 0), 2
    text = report(Predictions(probs, labels), tmp_path / "r.html", n_resamples=99, rng=0).read_text(
        "utf-8"
    )
    reason = "row 17 (counted from 0) was given 0\xa0% for what occurred, “2”"
    assert f"The log loss is infinite: {reason}." in text
    why = f"{re.escape(reason)}, which alone refutes"
    refuted = rf"are miscalibrated(, though no test rejects)?:</b> {why}"
    assert re.search(refuted, text)
    assert (
        "</b> in row 17 (counted from 0), what was given 100\xa0% did not occur, which alone"
        in text
    )
    again = report(data, tmp_path / "s.html", n_resamples=99, rng=0).read_text("utf-8")
    assert "infinite" not in again
