"""Diagrams drawn with plotly: their traces hold the numbers of the diagram."""

import re

import numpy as np
import pytest
from cases import CASES, ODD_NAMES, dirichlet, made, moved, three_models
from plotly.graph_objects import Figure

from calibrant import Predictions, partitions
from calibrant import reliability_diagram as diagram_of
from calibrant.diagrams.style import MUTED, VERMILLION, escaped, hover_texts
from calibrant.diagrams.style import tetrahedron as corners_of


def figure_of(name):
    found, options = made(name)
    return found, found.figure(**options)


def traces(figure, **wanted):
    return [t for t in figure.data if all(getattr(t, k, None) == v for k, v in wanted.items())]


def segments(*columns):
    """Cut columns with gaps (3 k,) into lines (k, 2, d)."""
    return np.stack(columns, axis=-1).reshape(-1, 3, len(columns))[:, :2]


@pytest.mark.parametrize("name", CASES)
def test_every_kind_makes_a_figure_that_can_be_written(name, tmp_path):
    _, figure = figure_of(name)
    assert isinstance(figure, Figure)
    figure.write_html(tmp_path / "a.html", include_plotlyjs=False)
    # Arrays are written in base64, whose letters may spell anything.
    assert "NaN" not in re.sub(r'"bdata":"[^"]*"', "", figure.to_json())


@pytest.mark.parametrize("classical", [False, True])
def test_marks_limits_and_bars_of_two_outcomes(classical):
    found, _ = made("two outcomes")
    figure = found.figure(classical=classical)
    (series,) = found.series
    fn, off = series.function, series.significant(found.alpha)
    zero = fn.predicted[:, 1] if classical else 0
    near, far = traces(figure, mode="markers")
    for trace, which in ((near, ~off), (far, off)):
        np.testing.assert_allclose(trace.x, fn.predicted[which, 1])
        np.testing.assert_allclose(trace.y, (zero + fn.deviations[:, 1])[which])
    (limits,) = traces(figure, name="90% if calibrated")
    lines = segments(limits.x, limits.y)
    np.testing.assert_allclose(lines[:, 0, 1], zero + series.cells.lower[:, 1])
    np.testing.assert_allclose(lines[:, 1, 1], zero + series.cells.upper[:, 1])
    (bars,) = traces(figure, type="bar")
    np.testing.assert_array_equal(bars.y, series.histogram)


def test_truth():
    _, figure = figure_of("truth")
    (curve,) = traces(figure, name="true")
    np.testing.assert_allclose(curve.y, np.square(curve.x) - curve.x, atol=1e-12)


def test_every_model_is_in_the_legend_once():
    _, figure = figure_of("models")
    names = [t.name for t in figure.data if t.showlegend is not False]
    assert names == ["plain", "_hidden", "&#36;5", "off (5%, all cells)", "not significant"]
    assert list(three_models()) == ["plain", "_hidden", "$5"]


@pytest.mark.parametrize("name", ["three outcomes", "100 triangles", "tree, 3", "boxes"])
def test_arrows_on_the_triangle(name):
    found, figure = figure_of(name)
    (series,) = found.series
    fn, off = series.function, series.significant(found.alpha)
    few = fn.proportions < 0.01
    for trace, which, colour in zip(
        traces(figure, mode="lines+markers"),
        (~off & few, ~off & ~few, off),
        (MUTED, MUTED, VERMILLION),
        strict=True,
    ):
        assert trace.showlegend == which.any()
        if not which.any():
            continue
        lines = segments(trace.a, trace.b, trace.c)
        np.testing.assert_allclose(lines[:, 0], fn.predicted[which])
        np.testing.assert_allclose(lines[:, 1], fn.observed[which])
        assert trace.line.color == trace.marker.color == colour
        sizes = np.reshape(trace.marker.size, (-1, 3))
        assert (sizes[:, 1] > 0).all()  # the head is at the frequency
        assert not sizes[:, [0, 2]].any()


@pytest.mark.parametrize("to", [0, 1, 2])
def test_the_arrow_points_to_the_outcome_that_occurs(to):
    figure = diagram_of(moved(3, to), rng=0).figure()
    arrow = traces(figure, mode="lines+markers")[2]
    np.testing.assert_allclose([arrow.a[1], arrow.b[1], arrow.c[1]], np.eye(3)[to])
    (names,) = traces(figure, mode="text")
    place = np.stack((names.a, names.b, names.c), axis=1)
    np.testing.assert_array_equal(place, np.eye(3))
    assert names.text[to].endswith(f"class {to}")


def test_cells_are_filled_in_few_traces():
    found, figure = figure_of("100 triangles")
    filled = traces(figure, fill="toself")
    assert len(filled) <= 32
    corners = np.concatenate(
        [np.stack((t.a, t.b, t.c), axis=1).reshape(-1, 5, 3)[:, :3] for t in filled]
    )
    wanted = found.series[0].corners
    assert corners.shape == wanted.shape
    order = [np.lexsort(c.reshape(len(c), -1).T) for c in (corners, wanted)]
    np.testing.assert_allclose(corners[order[0]], wanted[order[1]])


def test_regions_on_the_triangle():
    found, figure = figure_of("regions")
    (outlines,) = traces(figure, name="90% if calibrated")
    wanted = found.series[0].cells.regions
    points = np.stack((outlines.a, outlines.b, outlines.c), axis=1)
    np.testing.assert_allclose(points.reshape(len(wanted), -1, 3)[:, :-1], wanted)


@pytest.mark.parametrize("name", ["four outcomes", "tree, 4", "125 tetrahedra"])
def test_arrows_in_the_tetrahedron(name):
    found, figure = figure_of(name)
    (series,) = found.series
    fn, off = series.function, series.significant(found.alpha)
    _, muted, strong = traces(figure, type="scatter3d", mode="lines")
    near = ~off & (fn.proportions >= max(0.01, 1 / fn.n_cells))
    for trace, which, colour in ((muted, near, MUTED), (strong, off, VERMILLION)):
        if not which.any():
            continue
        lines = segments(trace.x, trace.y, trace.z)
        np.testing.assert_allclose(lines[:, 0], fn.predicted[which] @ corners_of(), atol=1e-12)
        np.testing.assert_allclose(lines[:, 1], fn.observed[which] @ corners_of(), atol=1e-12)
        (cones,) = [c for c in traces(figure, type="cone") if c.colorscale[0][1] == colour]
        tips = np.stack((cones.x, cones.y, cones.z), axis=1)
        np.testing.assert_allclose(tips, lines[:, 1], atol=1e-12)
        steps = lines[:, 1] - lines[:, 0]
        heads = np.stack((cones.u, cones.v, cones.w), axis=1)
        np.testing.assert_allclose(np.cross(steps, heads), 0, atol=1e-9)
        assert (np.sum(steps * heads, axis=1) >= 0).all()
        assert cones.colorscale[-1][1] == colour


@pytest.mark.parametrize("to", range(4))
def test_the_arrow_in_space_points_to_the_name_of_the_outcome(to):
    figure = diagram_of(moved(4, to), rng=0).figure()
    (cone,) = traces(figure, type="cone")
    tip = np.array([cone.x[0], cone.y[0], cone.z[0]])
    names = figure.layout.scene.annotations
    away = [np.hypot.reduce(np.array([a.x, a.y, a.z]) - tip) for a in names]
    assert names[int(np.argmin(away))].text == f"class {to}"
    scene = figure.layout.scene
    for a in names:  # plotly hides what is out of range
        assert scene.xaxis.range[0] < a.x < scene.xaxis.range[1]
        assert scene.yaxis.range[0] < a.y < scene.yaxis.range[1]
        assert scene.zaxis.range[0] < a.z < scene.zaxis.range[1]


def test_corners_of_the_tetrahedron_are_equally_far_apart():
    corners = corners_of()
    gaps = np.linalg.norm(corners[:, None] - corners, axis=2)
    np.testing.assert_allclose(gaps[~np.eye(4, dtype=bool)], np.sqrt(3))


def test_hover_texts_say_everything():
    data = Predictions([0.2] * 100 + [0.8] * 100, [0, 1] * 50 + [1] * 80 + [0] * 20)
    found = diagram_of(data, rng=0)
    first = hover_texts(found, found.series[0])[0]
    assert first.replace("\N{NO-BREAK SPACE}", " ") == (
        "100 rows (50.0%)<br><b>1</b>: predicted 0.200, observed 0.500<br>deviation +0.300,"
        " 90% limits -0.060 to +0.070<br>adjusted p ≤ 0.001"
    )
    for name in ("three outcomes", "tree, 4"):
        found, figure = figure_of(name)
        hover = [t for t in figure.data if t.hovertemplate]
        assert [len(t.text) for t in hover] == [found.series[0].function.n_cells]
        for text in hover[0].text:
            assert text.count("predicted") == text.count("limits") == found.n_outcomes
            assert "rows (" in text
            assert "adjusted p\N{NO-BREAK SPACE}" in text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a & b", "a &amp; b"),
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("$x$", "&#36;x&#36;"),
        ("Übergröße", "Übergröße"),
    ],
)
def test_texts_are_never_markup(text, written):
    assert escaped(text) == written


@pytest.mark.parametrize("m", [2, 3, 4])
def test_names_are_never_markup(m):
    found = diagram_of(dirichlet(100, m, classes=ODD_NAMES[-m:]), n_resamples=9, rng=0)
    text = found.figure().to_json()
    for bad in ("<b>more", "$", "than<", "\\u003cb\\u003emore"):
        assert bad not in text


def test_a_million_rows_draw_no_million_points():
    rng = np.random.default_rng(0)
    for m, settings in ((2, {}), (3, {"partition": partitions.SimplexCells(10)}), (4, {})):
        probs = rng.dirichlet(np.ones(m), 1_000_000).astype(np.float32)
        data = Predictions(probs, rng.integers(0, m, 1_000_000))
        figure = diagram_of(data, n_resamples=9, rng=0, **settings).figure()
        assert len(figure.data) < 60
        assert len(figure.to_json()) < 300_000


def test_cells_without_weight_are_not_drawn():
    for m in (2, 3, 4):
        probs = np.eye(m) * 0.9 + 0.1 / m
        weights = np.r_[0.0, np.ones(m - 1)]
        found = diagram_of(Predictions(probs, range(m), weights=weights), n_resamples=9, rng=0)
        marks = [t for t in found.figure().data if t.hovertemplate == "%{text}<extra></extra>"]
        assert sum(len(t.text) for t in marks) == m - 1
