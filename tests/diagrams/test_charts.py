"""Charts, read as SVG: what is drawn where, by the numbers of the diagram."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from models import EVIL, at, tempered

from calibrant import Predictions, isotonic_diagram, reliability_diagram, slices
from calibrant.diagrams.bins import BEYOND, bins_picture
from calibrant.diagrams.charts import forest, spark
from calibrant.diagrams.charts.svg import Scale, mark
from calibrant.diagrams.picture import SHAPES, round_ticks
from calibrant.lenses import Canonical, TopLabel

SMALL = at((0.15, 500, 75), (0.55, 20, 14))  # deviations 0 and 0.15
OFF = at((0.15, 500, 75), (0.75, 500, 275))  # deviations 0 and -0.2, the second significant


def tree(drawing):
    return ET.fromstring(f"<svg>{drawing}</svg>")


def elements(drawing, class_):
    """Return the elements of a class."""
    return [e for e in tree(drawing).iter() if e.get("class", "").split()[:1] == [class_]]


def place(element):
    """Return the middle of a circle, or of the corners of a polygon."""
    if element.tag == "circle":
        return float(element.get("cx")), float(element.get("cy"))
    return tuple(
        np.mean([[float(v) for v in pair.split(",")] for pair in corners(element)], axis=0)
    )


def corners(element):
    return element.get("points").split()


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (-0.02, 1.02, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-0.3, 0.11, [-0.3, -0.2, -0.1, 0, 0.1]),
        (0, 7.5e-4, [0, 2e-4, 4e-4, 6e-4]),
        (-31, 18, [-30, -20, -10, 0, 10]),
    ],
)
def test_ticks_are_round(low, high, ticks):
    assert round_ticks(low, high) == pytest.approx(ticks)


def test_a_scale_keeps_what_is_beyond_at_its_end():
    y = Scale(-1, 1, 100, 0)
    assert [y(v) for v in (-3, -1, 0, 0.5, 9)] == [100, 100, 50, 25, 0]


@pytest.mark.parametrize("shape", SHAPES)
def test_marks_have_their_size_and_place(shape):
    element = ET.fromstring(mark(shape, (30, 40), 10, "mark", "a < b"))
    assert element.find("title").text == "a < b"
    if shape == "circle":
        assert (element.get("cx"), element.get("cy"), element.get("r")) == ("30.0", "40.0", "10.0")
        return
    points = np.array([pair.split(",") for pair in corners(element)], float) - (30, 40)
    assert 8 <= np.abs(points).max() <= 12
    assert np.abs(points.mean(axis=0)).max() < 2


def test_cells_are_where_they_belong():
    diagram = reliability_diagram(OFF, rng=0)
    drawing = diagram.figure().drawing
    near, far = elements(drawing, "mark")
    assert (near.get("class"), far.get("class")) == ("mark", "mark off")
    # Straight in both directions; each number is rounded by up to 0.05.
    (zero,) = elements(drawing, "zero")
    left, right, height = (float(zero.get(k)) for k in ("x1", "x2", "y1"))
    for found, p in ((near, 0.15), (far, 0.75)):
        assert place(found)[0] == pytest.approx(left + p * (right - left), abs=0.15)
    assert place(near)[1] == pytest.approx(height, abs=0.15)
    low, high = bins_picture(diagram).frame.y
    per_unit = 300 / (high - low)  # the drawing is 300 high
    assert place(far)[1] - height == pytest.approx(0.2 * per_unit, abs=0.1)
    limits = elements(drawing, "limits")[1]
    ends = sorted(height - float(limits.get(k)) for k in ("y1", "y2"))
    cells = diagram.series[0].cells
    assert ends == pytest.approx(
        [cells.lower[1, 1] * per_unit, cells.upper[1, 1] * per_unit], abs=0.1
    )


def test_a_cell_beyond_the_axis_is_a_triangle_that_says_so():
    data = at((0.15, 5000, 750), (0.55, 20, 20))  # the second is far off, and holds 0.4 %
    found = reliability_diagram(data, rng=0).figure()
    beyond = elements(found.drawing, "mark")[1]
    assert beyond.tag == "polygon"
    assert place(beyond)[1] == pytest.approx(10, abs=2)  # the upper end
    assert beyond.find("title").text.endswith(BEYOND)
    assert BEYOND in [name for _, name in found.keys]


def test_models_differ_in_shape_and_colour():
    models = {f"m{i}": at((0.15, 500, 75), (0.75, 500, 400 - 40 * i)) for i in range(7)}
    found = reliability_diagram(models, rng=0).figure()
    groups = [
        g for g in tree(found.drawing).iter("g") if g.find("*").get("class", "").startswith("mark")
    ]
    looks = {
        (g.get("class"), g.findall("*")[-1].tag, len(g.findall("*")[-1].get("points", "")))
        for g in groups
    }
    assert len(looks) == 7
    assert [name for _, name in found.keys][:7] == list(models)


def test_the_curve_is_that_of_the_diagram():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    diagram = isotonic_diagram(Predictions(p, (rng.random(400) < p**2).astype(int)), rng=0)
    drawing = diagram.figure().drawing
    whole, *off = elements(drawing, "curve")
    points = np.array([pair.split(",") for pair in corners(whole)], float)
    series = diagram.series[0]
    expected = np.column_stack(
        (92 + (series.x + 0.02) / 1.04 * 300, 310 - (series.y + 0.02) / 1.04 * 300)
    )
    assert points == pytest.approx(expected, abs=0.06)
    assert off
    drawn = {tuple(map(float, pair.split(","))) for one in off for pair in corners(one)}
    marked = points[series.band.pvalues <= diagram.alpha]
    assert drawn == {tuple(pair) for pair in marked.tolist()}
    (band,) = elements(drawing, "band")
    assert len(corners(band)) == 2 * series.x.size


def test_a_curve_of_few_points_has_marks():
    near, far = elements(isotonic_diagram(OFF, rng=0).figure().drawing, "mark")
    assert (near.get("class"), far.get("class")) == ("mark", "mark off")
    assert plain(far.find("title").text).startswith(
        "predicted 0.750, observed 0.55\n90 % consistency band (each point): 0.7"
    )
    lone = isotonic_diagram(at((0.5, 20, 9)), rng=0).figure()
    assert len(elements(lone.drawing, "mark")) == 1


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_perfect_model_has_an_axis_that_can_be_read():
    data = Predictions(np.eye(3)[[0, 1, 2] * 10], [0, 1, 2] * 10)
    found = reliability_diagram(data, lens=TopLabel(), rng=0).figure()
    texts = [e.text for e in tree(found.drawing).iter("text")]
    assert "0.002" in texts
    assert "−0.002" in texts


def triangle(drawing):
    """Return the corners (3, 2) of the outline."""
    path = elements(drawing, "outline")[0]
    return np.array([pair.split(",") for pair in corners(path)], float)


def test_arrows_lead_from_predictions_to_frequencies():
    diagram = reliability_diagram(tempered(600, 3, 2.0, alpha=1), lens=Canonical(), rng=0)
    drawing = diagram.figure().drawing
    fn = diagram.series[0].function
    outline = triangle(drawing)
    sides = np.linalg.norm(outline - np.roll(outline, 1, axis=0), axis=1)
    assert sides == pytest.approx([sides[0]] * 3, rel=0.01)
    assert len(elements(drawing, "cell")) == fn.n_cells
    arrows = elements(drawing, "arrow")
    starts = {(float(e.get("x1")), float(e.get("y1"))) for e in arrows if e.tag == "line"}
    tips = {tuple(map(float, corners(e)[0].split(","))) for e in arrows if e.tag == "polygon"}
    for points, found in ((fn.predicted, starts), (fn.observed, tips)):
        expected = {tuple(pair) for pair in (points @ outline).round(1).tolist()}
        assert all(min(np.hypot(*np.subtract(e, f)) for f in found) < 0.2 for e in expected)
    assert len(tips) == fn.n_cells


def test_numbers_along_a_side_rise_towards_their_corner():
    diagram = reliability_diagram(tempered(300, 3), lens=Canonical(), rng=0)
    drawing = diagram.figure().drawing
    outline = triangle(drawing)
    numbers = elements(drawing, "small")
    assert len(numbers) == 9
    for text in numbers:
        corner = outline[int(text.get("class")[-1])]
        near = np.hypot(float(text.get("x")) - corner[0], float(text.get("y")) - corner[1])
        assert near == pytest.approx((1 - float(text.text)) * 330, abs=25)


def test_a_tetrahedron_is_regular_and_holds_its_cells():
    diagram = reliability_diagram(tempered(2000, 4, 2.0, alpha=1), lens=Canonical(), rng=0)
    drawing = diagram.figure().drawing

    def in_space(element):
        return np.array([p.split(",") for p in element.get("data-at").split()], float)

    edges = np.array([in_space(edge) for edge in elements(drawing, "edge")])
    assert np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1) == pytest.approx(
        [np.sqrt(3)] * 6, abs=1e-3
    )
    # Edges come in the order of pairs of corners: (0, 1), (0, 2), (0, 3), …
    corners_ = np.array([edges[0, 0], edges[0, 1], edges[1, 1], edges[2, 1]])
    series = diagram.series[0]
    dots = np.array([in_space(dot)[0] for dot in elements(drawing, "dot")])
    expected = series.function.predicted @ corners_
    assert np.array(sorted(dots.tolist())) == pytest.approx(
        np.array(sorted(expected.tolist())), abs=3e-4
    )
    off = series.significant(diagram.alpha)
    arrows = [
        g
        for g in tree(drawing).iter("g")
        if g.get("data-at") and g.find("line[@class='arrow off']") is not None
    ]
    ends = sorted(in_space(g).ravel().tolist() for g in arrows)
    both = (
        np.stack((series.function.predicted[off], series.function.observed[off]), axis=1) @ corners_
    )
    assert 0 < off.sum() == len(ends)
    assert np.array(ends) == pytest.approx(np.array(sorted(both.reshape(-1, 6).tolist())), abs=3e-4)


def test_names_are_only_text():
    data = tempered(300, 3, 2.0, list(EVIL[:3]))
    drawn = [
        reliability_diagram(data, lens=Canonical(), rng=0).figure(),
        reliability_diagram(tempered(300, 4, classes=list(EVIL)), lens=Canonical(), rng=0).figure(),
        reliability_diagram({EVIL[1]: data}, lens=TopLabel(), rng=0).figure(),
    ]
    for found in drawn:
        root = ET.fromstring(found.svg)  # well-formed
        assert root.get("role") == "img"
        assert any(name in root.get("aria-label") for name in EVIL)
        tags = {e.tag.rpartition("}")[2] for e in root.iter()}
        assert tags.isdisjoint({"script", "img", "b"})


def test_a_dot_beyond_the_reach_of_a_spark_is_a_triangle_at_the_edge():
    assert small(SMALL, 0.2).count("<circle") == 2
    clipped = small(SMALL, 0.1)
    assert clipped.count("<circle") == 1
    beyond = elements(clipped, "mark")[1]
    heights = [float(pair.split(",")[1]) for pair in corners(beyond)]
    assert heights[0] < 6 < heights[1] == heights[2]  # it points up, from the edge at 6


def small(data, reach):
    return spark(bins_picture(reliability_diagram(data, rng=0), reach=reach), "a name")


def test_notes_have_rows_or_their_weight():
    def note(data):
        return plain(elements(small(data, 0.2), "mark")[1].find("title").text).split("\n")

    rows, numbers, p = note(SMALL)
    assert rows == "20 rows (3.8 %)"
    cells = reliability_diagram(SMALL, rng=0).series[0].cells
    band = f"band {cells.lower[1, 1]:+.3f} to {cells.upper[1, 1]:+.3f}".replace("-", "−")
    assert numbers == f"predicted 0.550, observed 0.700 (+0.150; {band})"
    assert p.startswith("adjusted p ")
    weighted = Predictions(SMALL.probs, SMALL.labels, weights=np.full(520, 1.23456))
    assert note(weighted)[0] == "Rows of weight 24.69 (3.8 %)"


def test_a_forest_has_a_line_for_each_group():
    rng = np.random.default_rng(0)
    p, women = rng.random(600), np.arange(600) % 2 == 1
    labels = (rng.random(600) < np.where(women, p**3, p)).astype(int)
    sex = np.where(women, "<b>women</b>", "a name that is much too long for a chart")
    found = slices(Predictions(p, labels), {"sex": sex}, n_resamples=99, rng=0)
    drawing = forest(found.rows, "Groups").drawing
    marks, spans = elements(drawing, "mark"), elements(drawing, "limits")
    assert [mark.get("class") for mark in marks] == [
        "mark off" if row.verdict.rejected else "mark" for row in found.rows
    ]
    sizes = [row.verdict.size for row in found.rows]
    reach = 1.04 * max(row.verdict.interval[1] for row in found.rows)
    x = Scale(0.0, reach, 150.0, 426.0)
    for row, spot, span in zip(found.rows, marks, spans, strict=True):
        assert place(spot)[0] == pytest.approx(x(row.verdict.size), abs=0.06)
        assert float(span.get("x1")) == pytest.approx(x(row.verdict.interval[0]), abs=0.06)
        assert float(span.get("x2")) == pytest.approx(x(row.verdict.interval[1]), abs=0.06)
        assert place(spot)[1] == pytest.approx(float(span.get("y1")), abs=0.06)
    assert np.argmax(sizes) == [row.group for row in found.rows].index("<b>women</b>")
    assert "<b>" not in drawing
    assert "a name that is mu…" in drawing
