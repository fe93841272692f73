"""Diagrams drawn with matplotlib: what is drawn is right, whole and readable."""

from itertools import combinations, pairwise
from time import perf_counter
from unittest import mock

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from cases import CASES, ODD_NAMES, dirichlet, made, moved, three_models
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.quiver import Quiver
from matplotlib.text import Text

from calibrant import Predictions, ece, lenses, partitions
from calibrant import reliability_diagram as diagram_of
from calibrant.diagrams import static
from calibrant.diagrams.bins import TETRAHEDRON, TRIANGLE
from calibrant.diagrams.picture import wrapped
from calibrant.diagrams.static.parts import BLUE, CORNERS, GREEN, GREY, MUTED, SHARES, VERMILLION

PROJECTIONS = {2: None, 3: None, 4: "3d"}


@pytest.fixture(autouse=True)
def _no_window():
    before = plt.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


def axes_for(found, size=(4.6, 4.2), **settings):
    settings = {"layout": "constrained", **settings}
    figure = plt.figure(figsize=size, **settings)
    return figure.add_subplot(projection=PROJECTIONS[found.n_outcomes])


def drawn(name, size=None, **settings):
    found, options = made(name)
    ax = None if size is None else axes_for(found, size, **settings)
    ax = found.plot(ax, **options)
    ax.figure.canvas.draw()
    return ax


def texts(figure):
    """Draw a figure and return the texts that were drawn, with the box of each."""
    seen = []
    draw = Text.draw

    def note(text, renderer):
        if text.get_visible() and text.get_text().strip():
            seen.append(text)
        draw(text, renderer)

    with mock.patch.object(Text, "draw", note):
        figure.canvas.draw()
    return [(text, text.get_window_extent()) for text in seen]


SIZES = {"own": None, "column": (3.3, 2.9), "large": (9, 7)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_cut_off_and_no_texts_overlap(name, size):
    ax = drawn(name, SIZES[size])
    found = texts(ax.figure)
    assert found
    width, height = ax.figure.bbox.size
    for text, box in found:
        inside = box.x0 > -1 and box.y0 > -1 and box.x1 < width + 1 and box.y1 < height + 1
        assert inside, (text.get_text(), box, (width, height))
    for (one, a), (two, b) in combinations(found, 2):
        overlap = min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
        turned = one.get_rotation() % 90 or two.get_rotation() % 90  # their boxes are too large
        assert turned or not overlap, (one.get_text(), two.get_text())


@pytest.mark.parametrize("size", [(8, 6.5), (9, 7), (6, 6), (7, 4), (5, 8), (10, 6)])
def test_long_names_on_every_side_of_the_tetrahedron_are_whole(size):
    for names in (ODD_NAMES, ODD_NAMES[::-1]):
        found = diagram_of(dirichlet(50, 4, classes=names), n_resamples=9, rng=0)
        ax = found.plot(axes_for(found, size))
        for text, box in texts(ax.figure):
            width, height = ax.figure.bbox.size
            assert box.x0 > -1, text
            assert box.y0 > -1, text
            assert box.x1 < width + 1, text
            assert box.y1 < height + 1, text


@pytest.mark.parametrize("m", [2, 3, 4])
def test_there_is_room_for_a_title(m):
    ax = diagram_of(moved(m, 0), n_resamples=9, rng=0).plot()
    ax.set_title("a title")
    found = {t.get_text(): b for t, b in texts(ax.figure)}
    title = found.pop("a title")
    for text, box in found.items():
        apart = box.y1 < title.y0 + 1 or box.x0 > title.x1 or box.x1 < title.x0
        assert apart, text


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize(
    "name", ["models", "100 cells", "regions", "tree, 3", "tree, 4", "names, 4"]
)
def test_files(name, ending, tmp_path):
    path = tmp_path / f"picture.{ending}"
    drawn(name).figure.savefig(path)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(start)
    assert path.stat().st_size > 4000


@pytest.mark.parametrize("m", [2, 3, 4])
def test_returns_the_axes_it_was_given_and_leaves_global_state_alone(m):
    found = diagram_of(dirichlet(200, m), n_resamples=9, rng=0)
    before = dict(mpl.rcParams)
    ax = axes_for(found)
    open_figures = plt.get_fignums()
    assert found.plot(ax) is ax
    assert plt.get_fignums() == open_figures
    assert dict(mpl.rcParams) == before
    own = found.plot()
    assert own is not ax
    assert len(plt.get_fignums()) == len(open_figures) + 1
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("m", "projection", "message"),
    [
        (2, "polar", "plain Axes for this picture; found 'polar'"),
        (3, "3d", "plain Axes for this picture; found '3d'"),
        (4, None, 'projection="3d" for four outcomes'),
    ],
)
def test_axes_of_the_wrong_kind_are_refused(m, projection, message):
    found = diagram_of(dirichlet(50, m), n_resamples=1, rng=0)
    with pytest.raises(TypeError, match=message):
        found.plot(plt.figure().add_subplot(projection=projection))


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("layout", ["constrained", "tight", None])
def test_grids_of_pictures(m, layout):
    found = diagram_of(dirichlet(500, m), n_resamples=9, rng=0)
    figure, axes = plt.subplots(
        3, 1, figsize=(4, 11), layout=layout, subplot_kw={"projection": PROJECTIONS[m]}
    )
    for ax in axes:
        assert found.plot(ax) is ax
    figure.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in axes]
    for box in boxes:
        assert box.x0 > -1
        assert box.y0 > -1
        assert box.x1 < figure.bbox.width + 1
        assert box.y1 < figure.bbox.height + 1
    if layout == "constrained":
        for upper, lower in pairwise(boxes):
            assert upper.y0 > lower.y1 - 1


@pytest.mark.parametrize("m", [2, 3, 4])
def test_labels_are_inside_without_a_layout_engine(m):
    found = diagram_of(dirichlet(200, m, classes=ODD_NAMES[:m]), n_resamples=9, rng=0)
    ax = found.plot(axes_for(found, (6.4, 4.8), layout=None))
    ax.figure.canvas.draw()
    box = ax.get_tightbbox()
    assert box.x0 > -1
    assert box.y0 > -1
    assert box.x1 < ax.figure.bbox.width + 1
    assert box.y1 < ax.figure.bbox.height + 1


# Two outcomes


def line_points(ax, colour):
    """Return the points (marks, 2) of all marks of a colour, in data coordinates."""
    marks = [
        np.asarray(marks.get_offsets())
        for marks in marks_of(ax)
        if to_hex(marks.get_edgecolor()[0]) == colour.lower()
    ]
    return np.concatenate(marks) if marks else np.empty((0, 2))


def lines_of(ax, colour):
    """Return the lines of a colour."""
    return next(
        c
        for c in ax.collections
        if isinstance(c, LineCollection) and to_hex(c.get_color()[0]) == colour.lower()
    )


def marks_of(ax):
    return [c for c in ax.collections if isinstance(c, PathCollection)]


@pytest.mark.parametrize("diagonal", [False, True])
def test_marks_and_bars_are_where_the_numbers_are(diagonal):
    found = diagram_of(dirichlet(2000, 2), n_resamples=99, rng=0)
    ax = found.plot(style="line" if diagonal else "deviations")
    (series,) = found.series
    fn, off = series.function, series.significant(0.05)
    zero = fn.predicted[:, 1] if diagonal else np.zeros(fn.n_cells)
    extent = (-0.02, 1.02) if diagonal else (-np.inf, np.inf)
    y = fn.observed[:, 1] if diagonal else fn.deviations[:, 1]
    points = np.stack((fn.predicted[:, 1], y), axis=1)
    assert 0 < off.sum() < off.size
    np.testing.assert_allclose(line_points(ax, VERMILLION), points[off])
    np.testing.assert_allclose(line_points(ax, BLUE), points[~off])
    bars = lines_of(ax, GREY)
    for segment, x, z, low, high in zip(
        bars.get_segments(),
        fn.predicted[:, 1],
        zero,
        series.cells.lower[:, 1],
        series.cells.upper[:, 1],
        strict=True,
    ):
        ends = np.clip([z + low, z + high], *extent)
        np.testing.assert_allclose(segment, [[x, ends[0]], [x, ends[1]]])


def test_an_event_that_happens_too_often_lies_above_zero():
    ax = diagram_of(Predictions(np.full(300, 0.3), np.ones(300, int)), rng=0).plot()
    np.testing.assert_allclose(line_points(ax, VERMILLION), [[0.3, 0.7]])


def test_the_true_curve_passes_through_the_truth():
    found, options = made("truth")
    ax = found.plot(**options)
    (curve,) = lines_of(ax, GREEN).get_segments()
    np.testing.assert_allclose(curve[:, 1], curve[:, 0] ** 2 - curve[:, 0], atol=1e-12)


def test_the_histogram_is_drawn_to_scale_below_everything_else():
    found, _ = made("two outcomes")
    ax = found.plot()
    (stairs,) = [p for p in ax.patches if hasattr(p, "get_data")]
    heights = stairs.get_data().values
    histogram = found.series[0].histogram
    np.testing.assert_allclose(heights / heights.max(), histogram / histogram.max())
    points = np.concatenate([marks.get_offsets() for marks in marks_of(ax)])
    lowest = ax.transData.transform([(0, points[:, 1].min())])[0, 1]
    assert ax.get_xaxis_transform().transform((0, heights.max()))[1] < lowest
    assert min(ax.get_yticks()) >= ax.transData.inverted().transform((0, lowest))[1] - 0.1


def test_models_differ_in_colour_and_shape_and_all_have_names():
    found, _ = made("models")
    ax = found.plot()
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[:3] == list(three_models())
    handles = ax.get_legend().legend_handles[:3]
    assert (
        len({h.get_markeredgecolor() for h in handles})
        == len({h.get_marker() for h in handles})
        == 3
    )


def test_marks_stand_beside_each_other_on_the_page_only():
    data = Predictions(np.repeat([0.25, 0.75], 50), np.tile([0, 1], 50))
    ax = diagram_of({"a": data, "b": data}, n_resamples=9, rng=0).plot()
    ax.figure.canvas.draw()
    marks = marks_of(ax)
    places = [m.get_offset_transform().transform(m.get_offsets())[0, 0] for m in marks]
    assert [m.get_offsets()[0, 0] for m in marks] == [0.25] * len(marks)
    assert np.ptp(places) > 2


def test_limits_that_do_not_contain_zero_are_drawn_where_they_are():
    from calibrant.resampling import Exact

    data = Predictions(np.full(400, 0.5), np.repeat([0, 1], [40, 360]))
    found = diagram_of(data, resampler=Exact(rho=lambda p: np.array([[0.1, 0.9]]) + 0 * p), rng=0)
    (series,) = found.series
    assert series.cells.lower[0, 1] > 0.3
    ax = found.plot()
    bars = lines_of(ax, GREY)
    assert bars.get_segments()[0][:, 1].min() == pytest.approx(series.cells.lower[0, 1])
    assert line_points(ax, VERMILLION).size == 0


@pytest.mark.parametrize(
    ("lens", "label"),
    [
        (lenses.Canonical(), "class occurs"),
        (lenses.Marginal(0), "class predicted class"),
        (lenses.TopLabel(), None),
        (lenses.Pooled(), "each class"),
    ],
)
def test_the_axis_names_what_the_lens_is_about(lens, label):
    data = dirichlet(50, 2, classes=["predicted class", "occurs"])
    ax = diagram_of(data, lens=lens, n_resamples=9, rng=0).plot(axes_for(made("line")[0]))
    wanted = "confidence" if label is None else f"predicted probability of {label}"
    assert ax.get_xlabel().replace("\n", " ") == wanted


def one_odd_row():
    """Return a model that is right, but for one row that is far off."""
    p = np.repeat([0.25, 0.75], 500)
    labels = np.concatenate((np.repeat([0, 1], [375, 125]), np.repeat([0, 1], [125, 375])))
    return Predictions(np.append(p, 0.02), np.append(labels, 1))


def test_marks_grow_with_the_share_of_rows():
    data = Predictions(np.repeat([0.25, 0.75], [900, 100]), np.tile([0, 1], 500))
    ax = diagram_of(data, n_resamples=19, rng=0).plot()
    sizes = {
        m.get_offsets()[k, 0]: size for m in marks_of(ax) for k, size in enumerate(m.get_sizes())
    }
    assert sizes[0.25] > 2 * sizes[0.75]


def test_a_cell_of_one_row_does_not_own_the_axis():
    found = diagram_of(one_odd_row(), n_resamples=99, rng=0)
    odd = found.series[0].function.proportions < 0.01
    assert odd.sum() == 1
    assert found.series[0].function.deviations[odd, 1] == pytest.approx(0.98)
    ax = found.plot()
    high = ax.get_ylim()[1]
    assert high < 0.2
    (beyond,) = [m for m in marks_of(ax) if m.get_offsets()[0, 0] == pytest.approx(0.02)]
    assert beyond.get_offsets()[0, 1] == pytest.approx(high)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any("beyond the axis" in text for text in texts)
    others = [t.get_text() for t in made("two outcomes")[0].plot().get_legend().get_texts()]
    assert not any("beyond" in text for text in others)


def test_a_line_is_in_a_square_and_carries_a_summary():
    found, _ = made("two outcomes")
    ax = found.plot(style="line")
    ax.figure.canvas.draw()
    (x0, y0), (x1, y1) = ax.transData.transform([(0, 0), (1, 1)])
    assert x1 - x0 == pytest.approx(y1 - y0, rel=1e-6)
    series = found.series[0]
    data, _ = CASES["two outcomes"][0]
    sign = "≤" if series.pvalue < 1.5 / (series.cells.largest.size + 1) else "="
    text = f"ECE {ece(data, bins=10):.3f} (10 bins)\nn = 2,000, bins: p {sign} {series.pvalue:.3f}"
    assert text in [each.get_text().replace("\N{NO-BREAK SPACE}", " ") for each in ax.texts]


# Three outcomes


def test_ticks_rise_towards_the_corner_whose_colour_they_have():
    ax = made("three outcomes")[0].plot()
    ax.figure.canvas.draw()
    for corner, name, colour in zip(on_page(ax, np.eye(3)), "012", CORNERS, strict=True):
        texts = {t.get_text(): t for t in ax.texts if to_hex(t.get_color()) == colour.lower()}
        assert set(texts) == {name, "0.25", "0.5", "0.75"}
        boxes = [texts[number].get_window_extent() for number in ("0.25", "0.5", "0.75")]
        away = [np.hypot(*(np.mean(b.get_points(), axis=0) - corner)) for b in boxes]
        assert away == sorted(away, reverse=True)


def test_no_ink_leaves_the_simplex():
    ax = diagram_of(moved(3, 1), rng=0).plot()
    for arrows in (c for c in ax.collections if isinstance(c, Quiver)):
        assert arrows.get_clip_on()
        assert arrows.get_clip_path() is not None


def on_page(ax, points):
    """Return where points of the simplex (k, 3) are drawn, in pixels."""
    return points @ ax.transData.transform(TRIANGLE)


def test_corners_of_the_triangle_are_top_left_right_and_have_their_names():
    found = diagram_of(moved(3, 0), rng=0)
    ax = found.plot()
    ax.figure.canvas.draw()
    (top, left, right) = on_page(ax, np.eye(3))
    assert top[1] > left[1] + 50
    assert left[1] == pytest.approx(right[1])
    assert left[0] < top[0] < right[0]
    sides = np.linalg.norm([top - left, left - right, right - top], axis=1)
    assert sides == pytest.approx([sides[0]] * 3)
    texts = {text.get_text(): text for text in ax.texts}
    for j, corner in enumerate((top, left, right)):
        box = texts[f"class {j}"].get_window_extent()
        gap = np.hypot(*(np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2]) - corner))
        assert gap < 0.2 * (right[0] - left[0])


@pytest.mark.parametrize("to", [0, 1, 2])
def test_arrows_point_to_the_outcome_that_occurs(to):
    data = moved(3, to)
    ax = diagram_of(data, rng=0).plot()
    ax.figure.canvas.draw()
    quivers = [c for c in ax.collections if isinstance(c, Quiver) and c.N]
    (arrow,) = [q for q in quivers if to_hex(q.get_facecolor()[0]) == VERMILLION.lower()]
    start = ax.transData.transform(np.stack((arrow.X, arrow.Y), axis=1))
    stop = ax.transData.transform(np.stack((arrow.X + arrow.U, arrow.Y + arrow.V), axis=1))
    np.testing.assert_allclose(start, on_page(ax, data.probs[:1]), atol=0.5)
    np.testing.assert_allclose(stop, on_page(ax, np.eye(3)[[to]]), atol=0.5)
    assert (arrow.angles, arrow.scale_units, arrow.scale) == ("xy", "xy", 1)


def test_triangles_have_their_shape_and_the_colour_of_their_share():
    found, _ = made("100 triangles")
    ax = found.plot()
    ax.figure.canvas.draw()
    (series,) = found.series
    (cells,) = [
        c for c in ax.collections if isinstance(c, PolyCollection) and not isinstance(c, Quiver)
    ]
    np.testing.assert_array_equal(cells.get_array(), series.function.proportions)
    for path, corners in zip(cells.get_paths(), series.corners, strict=True):
        np.testing.assert_allclose(
            ax.transData.transform(path.vertices[:3]), on_page(ax, corners), atol=0.5
        )
    fullest = series.function.proportions.argmax()
    assert to_hex(cells.to_rgba(cells.get_array())[fullest]) == SHARES[-1].lower()


def test_arrows_of_all_cells_start_at_the_prediction_and_end_at_the_frequency():
    for name in ("three outcomes", "tree, 3", "boxes"):
        found, options = made(name)
        ax = found.plot(**options)
        ax.figure.canvas.draw()
        (series,) = found.series
        fn, off = series.function, series.significant(found.alpha)
        few = fn.proportions < 0.01
        faint, muted, strong = (c for c in ax.collections if isinstance(c, Quiver))
        for arrows, which, colour in (
            (faint, ~off & few, MUTED),
            (muted, ~off & ~few, MUTED),
            (strong, off, VERMILLION),
        ):
            assert (arrows.get_alpha() < 1) == (arrows is faint)
            if not which.any():
                continue
            start = np.stack((arrows.X, arrows.Y), axis=1)
            steps = np.stack((arrows.U, arrows.V), axis=1)
            for points, wanted in ((start, fn.predicted), (start + steps, fn.observed)):
                page = ax.transData.transform(points)
                np.testing.assert_allclose(page, on_page(ax, wanted[which]), atol=0.5)
            assert to_hex(arrows.get_facecolor()[0]) == colour.lower()


def test_regions_are_drawn_when_asked_for():
    found, _ = made("three outcomes")

    def outlines(ax):
        lines = [c for c in ax.collections if isinstance(c, LineCollection)]
        return [c for c in lines if c.get_linestyle() != [(0, None)]]

    assert not outlines(found.plot())
    ax = found.plot(regions=True)
    ax.figure.canvas.draw()
    (regions,) = outlines(ax)
    assert regions.get_clip_path() is not None
    for segment, outline in zip(regions.get_segments(), found.series[0].cells.regions, strict=True):
        np.testing.assert_allclose(ax.transData.transform(segment), on_page(ax, outline), atol=0.5)


# Four outcomes


def arrows_in_space(ax):
    return [p for p in ax.patches if hasattr(p, "ends")]


@pytest.mark.parametrize("to", range(4))
def test_arrows_in_space_point_to_the_name_of_the_outcome(to):
    ax = diagram_of(moved(4, to), rng=0).plot()
    ax.figure.canvas.draw()
    (arrow,) = arrows_in_space(ax)
    (x0, y0), (x1, y1) = arrow._posA_posB
    head = ax.transData.transform([(x1, y1)])[0]
    tail = ax.transData.transform([(x0, y0)])[0]
    names = {}
    for text in ax.texts:
        box = text.get_window_extent()
        names[text.get_text()] = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    away = {name: np.hypot(*(place - head)) for name, place in names.items()}
    assert min(away, key=away.get) == f"class {to}"
    assert away[f"class {to}"] < np.hypot(*(names[f"class {to}"] - tail))


def test_arrows_in_space_are_those_of_the_cells():
    found, _ = made("four outcomes")
    ax = found.plot()
    (series,) = found.series
    fn, off = series.function, series.significant(found.alpha)
    ends = np.stack((fn.predicted, fn.observed), axis=1) @ TETRAHEDRON
    near = ~off & (fn.proportions >= max(0.01, 1 / fn.n_cells))
    assert 0 < near.sum() < (~off).sum()
    wanted = np.concatenate((ends[near], ends[off]))
    np.testing.assert_allclose([a.ends for a in arrows_in_space(ax)], wanted)
    colours = [to_hex(a.get_edgecolor()) for a in arrows_in_space(ax)]
    assert colours == [MUTED.lower()] * near.sum() + [VERMILLION.lower()] * off.sum()


@pytest.mark.parametrize("azimuth", [76, 196, 316])
def test_cells_that_are_off_are_in_front(azimuth):
    found, _ = made("four outcomes")
    ax = found.plot()
    ax.view_init(elev=18, azim=azimuth)
    ax.figure.canvas.draw()
    off = found.series[0].significant(found.alpha)
    assert 0 < off.sum() < off.size
    order = [a.zorder for a in arrows_in_space(ax)]
    near = len(order) - off.sum()
    assert min(order[near:]) > max(order[:near])
    assert min(order[near:]) > max(dots.zorder for dots in ax.collections)


def test_names_and_arrows_follow_a_turn():
    ax = diagram_of(moved(4, 2), rng=0).plot()
    ax.figure.canvas.draw()
    (arrow,) = arrows_in_space(ax)
    name = next(t for t in ax.texts if t.get_text() == "class 2")
    before = (arrow._posA_posB[1], name.get_window_extent().x0)
    ax.view_init(elev=30, azim=200)
    ax.figure.canvas.draw()
    assert (arrow._posA_posB[1], name.get_window_extent().x0) != before


# Texts


def test_names_are_set_as_they_are():
    for name in ("names, 2", "names, 3", "names, 4"):
        ax = drawn(name, (9, 7))
        shown = " ".join(t.get_text() for t, _ in texts(ax.figure)).replace("\n", "")
        for part in ("$5 &", "$3_x") if name == "names, 2" else ("$5 &", "<b>more</b>"):
            assert part in shown
        for text, _ in texts(ax.figure):
            assert not (text.get_parse_math() and "$" in text.get_text())


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("cat", 10, ["cat"]),
        ("cat+dog+bird", 8, ["cat+dog+", "bird"]),
        ("one two three", 7, ["one two", "three"]),
        ("a" * 12, 5, ["a" * 5, "a" * 5, "aa"]),
        ("snake_case_name", 6, ["snake_", "case_", "name"]),
        ("", 5, [""]),
        ("bins: p\xa0≤\xa00.001", 10, ["bins:", "p\xa0≤\xa00.001"]),
    ],
)
def test_wrapping(text, width, lines):
    assert wrapped(text, width) == lines


def test_a_name_without_end_is_shortened():
    lines = wrapped("+".join(f"class {j}" for j in range(500)), 20)
    assert len(lines) == 5
    assert lines[-1].endswith("…")


# Size and speed


def test_a_million_rows_draw_no_million_marks():
    rng = np.random.default_rng(0)
    for m, settings in ((2, {}), (3, {"partition": partitions.SimplexBins(10)}), (4, {})):
        probs = rng.dirichlet(np.ones(m), 1_000_000).astype(np.float32)
        data = Predictions(probs, rng.integers(0, m, 1_000_000))
        found = diagram_of(data, n_resamples=9, rng=0, **settings)
        ax = found.plot()
        assert len(ax.figure.findobj()) < 1500
        points = sum(len(line.get_xdata()) for line in ax.lines)
        points += sum(len(c.get_paths()) + len(c.get_offsets()) for c in ax.collections)
        assert points < 2000


@pytest.mark.parametrize("m", [2, 3, 4])
def test_computing_takes_less_time_than_drawing_a_few_times(m):
    data = dirichlet(10_000, m)
    lens = lenses.Canonical()

    def seconds(work):
        start = perf_counter()
        work()
        return perf_counter() - start

    computing = min(seconds(lambda: diagram_of(data, lens=lens, rng=0)) for _ in range(4))
    found = diagram_of(data, rng=0)

    def draw():
        plt.close("all")
        found.plot().figure.canvas.draw()

    drawing = min(seconds(draw) for _ in range(3))
    assert computing < 3 * drawing, (computing, drawing)


def test_a_pdf_without_names_of_letters_is_not_written(tmp_path, monkeypatch):
    """FreeType says .notdef where there is no memory for them, and matplotlib believes it."""
    font = mock.Mock(get_char_index=lambda _: 1, get_glyph_name=lambda _: ".notdef")
    monkeypatch.setattr("calibrant.diagrams.static.get_font", lambda _: font)
    axes = diagram_of(Predictions([0.2, 0.7], [0, 1]), n_resamples=19, rng=0).plot()
    path = tmp_path / "x.pdf"
    with pytest.raises(MemoryError):
        static.save(axes, path)
    assert not path.exists()
