"""Curves and score planes, drawn: what is on the page is what is in the data."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from cases import dirichlet
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex

from calibrant import (
    Predictions,
    brier_score,
    cumulative_diagram,
    decompose,
    isotonic_diagram,
    lenses,
    log_score,
    score_plane,
    smooth_diagram,
)
from calibrant.diagrams.plane import plane_lines, plane_ranges
from calibrant.diagrams.static.parts import BLUE, VERMILLION
from calibrant.statistics import ScoreMiscalibration

FEW = {"n_resamples": 99, "rng": 0}
MAKERS = isotonic_diagram, smooth_diagram, cumulative_diagram
by_kind = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def lines_of(ax, colour):
    """Return the points of the lines of a colour, one array for each."""
    found = [c for c in ax.collections if isinstance(c, LineCollection)]
    return [
        line
        for c in found
        if to_hex(c.get_color()[0]) == colour.lower()
        for line in c.get_segments()
    ]


@by_kind
def test_the_line_and_the_band_are_the_numbers(make):
    found = make(dirichlet(2000, 2), **FEW)
    series = found.series[0]
    ax = found.plot()
    points = np.stack((series.x, series.y), 1)
    np.testing.assert_array_equal(np.concatenate(lines_of(ax, BLUE)), points)
    off = series.band.pvalues <= found.alpha
    np.testing.assert_array_equal(np.concatenate(lines_of(ax, VERMILLION)), points[off])
    (band,) = [c for c in ax.collections if isinstance(c, PolyCollection)]
    edges = band.get_paths()[0].vertices
    lower, upper = series.band.whole if make is cumulative_diagram else series.band.pointwise
    for side in (lower, upper):
        assert set(np.stack((series.x, side), axis=1).ravel()) <= set(edges.ravel())
    words = legend(ax)
    kind = "whole curve" if make is cumulative_diagram else "each point"
    assert f"90 % consistency band ({kind})" in words
    assert "significant (5 %, whole curve)" in words


def legend(ax):
    """Return the texts of the legend, on one line each, with plain spaces."""
    return [" ".join(text.get_text().split()) for text in ax.get_legend().get_texts()]


@by_kind
def test_models_have_their_names(make):
    found = make({"a": dirichlet(500, 2), "<b>": dirichlet(500, 2, seed=1)}, **FEW)
    assert legend(found.plot())[:2] == ["a", "<b>"]
    assert [name for _, name in found.figure().keys][:2] == ["a", "<b>"]


def test_curves_have_gaps_where_there_are_no_predictions():
    p = np.repeat([0.1, 0.9], 200)
    found = smooth_diagram(Predictions(p, np.tile([0, 1], 200)), bandwidth=0.02, **FEW)
    assert len(found.series[0].pieces) == 2
    assert found.figure().drawing.count('class="band"') == 2
    assert len([c for c in found.plot().collections if isinstance(c, PolyCollection)]) == 2


def test_curves_of_confidences_show_accuracy():
    for m, name in ((2, "observed frequency"), (3, "accuracy")):
        assert isotonic_diagram(dirichlet(300, m), **FEW).picture().frame.vertical == name


@pytest.mark.parametrize("make", [isotonic_diagram, smooth_diagram], ids=["isotonic", "smooth"])
def test_reliability_curves_are_square(make):
    ax = make(dirichlet(300, 2), **FEW).plot()
    ax.figure.canvas.draw()
    (x0, y0), (x1, y1) = ax.transData.transform([(0, 0), (1, 1)])
    assert x1 - x0 == pytest.approx(y1 - y0, rel=1e-6)


def test_the_confidence_band_replaces_the_other():
    found = isotonic_diagram(dirichlet(300, 2), **FEW)
    ax = found.plot(confidence=True)
    name = "90\N{NO-BREAK SPACE}% confidence band (whole curve)"
    assert name.replace("\N{NO-BREAK SPACE}", " ") in legend(ax)
    assert not any("consistency" in word for word in legend(ax))
    chart = found.figure(confidence=True)
    assert name in [word for _, word in chart.keys]
    assert f"{name}: " in chart.drawing


@by_kind
def test_an_axes_of_another_kind_is_refused(make):
    ax = plt.figure().add_subplot(projection="polar")
    with pytest.raises(
        TypeError, match="`ax` must be a plain Axes for this picture; found 'polar'"
    ):
        make(dirichlet(50, 2), **FEW).plot(ax)


# Score planes


def models():
    return {f"power {k}": dirichlet(1000, 2, k) for k in (0.5, 1.0, 2.0)}


@pytest.mark.parametrize("score", [brier_score, log_score])
def test_points_of_the_plane_are_parts_of_the_score(score):
    found = score_plane(models(), score, **FEW)
    for point, data in zip(found.points, models().values(), strict=True):
        assert point.parts == decompose(data, score)
        assert point.pvalue == pytest.approx(point.pvalue)
    assert found.points[1].pvalue > 0.01  # calibrated
    assert found.points[0].pvalue == found.points[2].pvalue == 0.01
    assert found.points[0].expected < found.points[0].parts.miscalibration
    assert found.settings["score"] == score.__name__
    assert "score plane of 3 models, best" in str(found)
    assert [one["name"] for one in found.to_dict()["points"]] == list(models())


def test_lines_of_equal_score_are_right():
    found = score_plane(models(), **FEW)
    (left, right), (low, high) = plane_ranges(found)
    lines = plane_lines(found, ((left, right), (low, high)))
    assert 3 <= len(lines) <= 12
    for score, ends in lines:
        for x, y in ends:
            assert x - y + found.uncertainty == pytest.approx(score, abs=1e-12)
            assert left - 1e-12 <= x <= right + 1e-12
            assert low - 1e-12 <= y <= high + 1e-12


def test_models_of_other_outcomes_have_no_lines_of_equal_score():
    found = score_plane({"a": dirichlet(300, 3), "b": dirichlet(300, 3, seed=4)}, **FEW)
    assert found.settings["lens"] == str(lenses.TopLabel())
    assert found.uncertainty is None
    assert "equal scores" not in legend(found.plot())


def test_planes_are_drawn():
    found = score_plane({**models(), "$x_1": dirichlet(1000, 2, 1.1)}, **FEW)
    ax = found.plot()
    names = ("power 0.5", "power 1.0", "power 2.0", "$x_1")
    assert set(names) <= {text.get_text() for text in ax.texts}
    drawing = found.figure().drawing
    for name, point in zip(names, found.points, strict=True):
        assert f">{name}</text>" in drawing
        assert f"discrimination {point.parts.discrimination:.4f}" in drawing


def test_an_infinite_miscalibration_does_not_break_the_plane():
    wrong = Predictions([0.0, 0.5, 0.5, 0.9], [1, 0, 1, 1])
    found = score_plane(
        {"wrong": wrong, "right": wrong.restrict(lambda p: p[:, 1] > 0)},
        log_score,
        n_resamples=19,
        rng=0,
    )
    found.plot()
    found.figure()
    assert found.points[0].parts.miscalibration == np.inf


def test_a_plane_refuses_other_scores_and_kinds_of_axes():
    with pytest.raises(ValueError, match="`score` must be `brier_score` or `log_score`"):
        score_plane(models(), len)
    ax = plt.figure().add_subplot(projection="polar")
    with pytest.raises(TypeError, match="`ax` must be a plain Axes for this picture"):
        score_plane(models(), **FEW).plot(ax)


def test_the_test_of_the_plane_is_the_exact_test():
    from calibrant import calibration_test

    data = dirichlet(300, 2, 1.2)
    found = score_plane({"a": data}, **FEW).points[0]
    test = calibration_test(data, ScoreMiscalibration(), **FEW)
    assert (found.pvalue, found.expected) == (test.pvalue, float(test.null.mean()))
