"""Charts as objects: every kind of picture, what it says, and the files it writes."""

import re
import xml.etree.ElementTree as ET
from html import unescape

import numpy as np
import pytest
from cases import CASES, ODD_NAMES, dirichlet, made, moved, three_models

from calibrant import Predictions, partitions, score_plane
from calibrant import reliability_diagram as diagram_of
from calibrant.diagrams.bins import TETRAHEDRON
from calibrant.diagrams.charts.simplex import seen
from calibrant.diagrams.charts.svg import asset


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def names_of(chart):
    return [plain(name) for _, name in chart.keys]


def notes_of(chart):
    return [e.text for e in ET.fromstring(f"<svg>{chart.drawing}</svg>").iter("title")]


@pytest.mark.parametrize("name", CASES)
def test_every_kind_makes_a_chart_with_a_note_for_each_bin(name, tmp_path):
    found, options = made(name)
    chart = found.figure(**options)
    assert "nan" not in chart.drawing
    notes = [note for note in notes_of(chart) if "adjusted p" in note]
    assert len(notes) == sum(int(series.shown.sum()) for series in found.series)
    n_bands = 1 if found.n_outcomes == 2 else found.n_outcomes
    assert {note.count("; band ") for note in notes} == {n_bands}
    assert found.sentence in chart.label
    assert ET.fromstring(chart.save(tmp_path / "a.svg").read_text("utf-8")).tag.endswith("svg")
    page = chart.save(tmp_path / "a.html").read_text("utf-8")
    assert page.count("<script>") == 1
    assert "http:" not in page.replace("http://www.w3.org", "")
    assert "https:" not in page


def test_notes_say_everything():
    data = Predictions([0.2] * 100 + [0.8] * 100, [0, 1] * 50 + [1] * 80 + [0] * 20)
    first = next(n for n in notes_of(diagram_of(data, rng=0).figure()) if "rows" in n)
    assert plain(first) == (
        "100 rows (50.0 %)\npredicted 0.200, observed 0.500 (+0.300; band −0.060 to +0.070)\n"
        "adjusted p ≤ 0.001"
    )


def test_every_model_is_in_the_legend_once():
    found, options = made("models")
    assert names_of(found.figure(**options)) == [
        *three_models(),
        "significant (5 %, all bins)",
        "not significant",
        "90 % band of each bin",
    ]


def test_the_options_of_two_outcomes():
    found, _ = made("two outcomes")
    assert "true" in names_of(found.figure(truth=np.square))
    square = found.figure(style="line")
    assert square.above == "observed frequency"
    assert "n = 2,000" in square.drawing
    assert "ECE 0." in square.drawing


def test_regions_on_the_triangle():
    found, options = made("regions")
    regions = found.figure(**options).drawing.count('class="region"')
    assert regions == found.series[0].function.n_cells
    assert "region" not in found.figure().drawing


def test_bins_of_any_shape_are_dots():
    found, options = made("tree, 3")
    chart = found.figure(**options)
    assert chart.drawing.count('class="dot"') == found.series[0].function.n_cells
    assert 'class="cell"' not in chart.drawing


@pytest.mark.parametrize("to", range(4))
def test_the_arrow_in_space_points_to_the_name_of_the_outcome(to):
    root = ET.fromstring(f"<svg>{diagram_of(moved(4, to), rng=0).figure().drawing}</svg>")
    groups = [g for g in root.iter("g") if g.get("data-at")]
    (arrow,) = [g for g in groups if g.find("line") is not None]
    tip = np.array(arrow.find("polygon").get("points").split()[0].split(","), float)
    places = {}
    for g in groups:
        if g.get("class") == "name":
            at = re.fullmatch(r"translate\((\S+) (\S+)\)", g.get("transform")).groups()
            places[g.find("text").text] = np.array(at, float)
    assert min(places, key=lambda name: np.hypot(*(places[name] - tip))) == f"class {to}"


def test_corners_of_the_tetrahedron_are_equally_far_apart():
    gaps = np.linalg.norm(TETRAHEDRON[:, None] - TETRAHEDRON, axis=2)
    np.testing.assert_allclose(gaps[~np.eye(4, dtype=bool)], np.sqrt(3))
    depths = [seen(corner)[1] for corner in TETRAHEDRON]
    assert np.argmax(depths) == 0  # the corner in front


@pytest.mark.parametrize("m", [2, 3, 4])
def test_names_are_never_markup(m):
    found = diagram_of(dirichlet(100, m, classes=ODD_NAMES[-m:]), n_resamples=9, rng=0)
    chart = found.figure()
    for text in (chart.svg, chart.html, chart._repr_html_()):
        for bad in ("<b>more", "<br>"):
            assert bad not in text


def test_a_million_rows_draw_no_million_points():
    rng = np.random.default_rng(0)
    for m, settings in ((2, {}), (3, {"partition": partitions.SimplexBins(10)}), (4, {})):
        probs = rng.dirichlet(np.ones(m), 1_000_000).astype(np.float32)
        data = Predictions(probs, rng.integers(0, m, 1_000_000))
        chart = diagram_of(data, n_resamples=9, rng=0, **settings).figure()
        assert len(chart.html) < 150_000  # with a table of all bins


def test_bins_without_weight_are_not_drawn():
    for m in (2, 3, 4):
        probs = np.eye(m) * 0.9 + 0.1 / m
        weights = np.r_[0.0, np.ones(m - 1)]
        found = diagram_of(Predictions(probs, range(m), weights=weights), n_resamples=9, rng=0)
        notes = [note for note in notes_of(found.figure()) if "adjusted" in note]
        assert len(notes) == m - 1


def test_a_chart_shows_itself_in_a_notebook():
    chart = made("four outcomes")[0].figure()
    frame = chart._repr_html_()
    assert frame.startswith("<iframe title=")
    assert unescape(re.search(r' srcdoc="([^"]*)"', frame)[1]) == chart.html
    assert chart._repr_svg_() == chart.svg
    assert repr(chart) == f"<chart: {chart.label}>"


def test_a_drawing_has_colours_that_every_program_knows():
    svg = made("models")[0].figure().svg
    assert "var(" not in svg
    assert "prefers" not in svg
    colours = dict(re.findall(r"--([\w-]+): (#\w+);", asset("palette.css").partition("@media")[0]))
    assert f".m1 {{ color: {colours['c1']}; }}" in svg


def test_both_schemes_have_the_same_colours():
    light, _, dark = asset("palette.css").partition("@media")
    assert re.findall(r"--[\w-]+:", light) == re.findall(r"--[\w-]+:", dark)


def test_other_endings_are_refused(tmp_path):
    chart = score_plane({"a": dirichlet(50, 2)}, n_resamples=19, rng=0).figure()
    with pytest.raises(ValueError, match=r"`path` must end in .svg or .html; found 'a.png'"):
        chart.save(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
