"""What pictures show, in tables; and axes that show the corner where all of it lies."""

import numpy as np
import pytest
from cases import CASES, dirichlet, made, rare

import calibrant as cal
from calibrant.diagrams import picture


@pytest.mark.parametrize("name", CASES)
def test_a_table_has_the_numbers_of_every_bin(name):
    found, _ = made(name)
    records = found.records()
    outcomes = 1 if found.n_outcomes == 2 else found.n_outcomes
    assert len(records) == outcomes * sum(int(s.shown.sum()) for s in found.series)
    header, lines = found.lines()
    assert {len(line) for line in lines} == {len(header)}
    for series in found.series:
        mine = [r for r in records if r.get("model", "") == series.name]
        assert sum(r["n"] for r in mine) == pytest.approx(outcomes * series.function.counts.sum())
        for r in mine:
            assert r["deviation"] == pytest.approx(r["observed"] - r["predicted"])
    assert len(found.to_frame("polars")) == len(records)
    assert found.table().count("\n") == len(lines) + 2  # with a note below


def test_a_table_of_bins_says_that_each_band_is_its_bins_own():
    found, _ = made("two outcomes")
    assert found.table().endswith(
        "\nThe band is each bin's own: about 10\N{NO-BREAK SPACE}% of the bins of a calibrated"
        " model lie outside. Adjusted p allows for all bins."
    )


def test_bins_come_in_the_order_of_their_predictions():
    found = cal.reliability_diagram(
        dirichlet(2000, 2), partition=cal.partitions.VarianceTree(200), n_resamples=19, rng=0
    )
    predicted = [record["predicted"] for record in found.records()]
    assert predicted == sorted(predicted)


def test_curves_and_planes_have_tables():
    data = dirichlet(900, 2)
    curve = cal.isotonic_diagram(data, n_resamples=19, rng=0)
    assert len(curve.records()) == curve.series[0].x.size
    assert 5 < len(curve.lines()[1]) <= 26
    both = cal.cumulative_diagram({"a": data, "b": data}, n_resamples=19, rng=0)
    assert both.lines()[0][0] == "model"
    assert {record["model"] for record in both.records()} == {"a", "b"}
    plane = cal.score_plane({"a": data}, n_resamples=19, rng=0)
    assert plane.table().splitlines()[2].startswith("a ")


def test_a_chart_has_its_table_folded_below():
    page = cal.reliability_diagram(dirichlet(900, 2), n_resamples=19, rng=0).figure().html
    assert page.count("<details") == 1
    assert page.count('<th scope="row"') == 10


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.0, 0.25], (0.0, 0.3)),
        ([0.0, 0.31], (0.0, 1.0)),
        ([0.0004], (0.0, 0.001)),
        ([0.0], (0.0, 0.001)),
        ([0.96, 1.0], (0.95, 1.0)),
        ([0.69, 1.0], (0.0, 1.0)),
        ([], (0.0, 0.001)),
    ],
)
def test_corners(values, shown):
    assert picture.corner([np.array(values)]) == pytest.approx(shown)


def test_rare_events_are_enlarged_and_the_axis_says_so():
    found = cal.reliability_diagram(rare(), n_resamples=19, rng=0)
    assert found.shown == (0.0, 0.1)
    held = float((rare().probs[:, 1] <= 0.1).mean())
    assert sum(found.series[0].histogram) == pytest.approx(held)
    for style in ("deviations", "bars", "line"):
        drawn = found.picture(style)
        assert "(axis from 0 to 0.1, 9" in drawn.frame.horizontal
        assert drawn.frame.x == pytest.approx((-0.002, 0.102))
        ax = found.plot(style=style)
        assert ax.get_xlim() == pytest.approx((-0.002, 0.102))
        assert "axis from 0 to 0.1" in found.figure(style=style).below


def test_high_confidences_are_enlarged():
    rng = np.random.default_rng(0)
    p = 1 - rng.beta(1, 60, 3000)
    found = cal.reliability_diagram(p, rng.random(3000) < p, n_resamples=19, rng=0)
    assert found.shown == pytest.approx((0.9, 1.0))
    bars = found.picture("bars").parts[0].at
    assert bars[..., 0].min() >= 0.9
    assert bars[..., 1].min() == pytest.approx(0.9)


def test_a_curve_is_cut_where_nearly_all_rows_lie_in_a_corner():
    data = rare()
    whole = cal.isotonic_diagram(data, n_resamples=19, rng=0)
    low, high = whole.shown
    assert (low, high) == (0.0, 0.2)
    drawn = whole.picture()
    curve = next(p for p in drawn.parts if getattr(p, "look", "") == "curve")
    assert curve.at.max() <= high
    assert "axis from 0 to 0.2" in drawn.frame.horizontal
    assert whole.series[0].x.max() > high or whole.series[0].y.max() > high


def test_predictions_all_over_the_line_are_not_enlarged():
    assert made("two outcomes")[0].shown == (0.0, 1.0)
    assert cal.isotonic_diagram(dirichlet(900, 2), n_resamples=19, rng=0).shown == (0.0, 1.0)


def test_six_models_stay_readable():
    models = {f"m{k}": dirichlet(900, 3, 0.5 + k / 3, k) for k in range(6)}
    found = cal.reliability_diagram(models, lens="top", n_resamples=19, rng=0)
    assert found.settings["partition"] == "10 equal widths"
    marks = [p for p in found.picture("line").parts if isinstance(p, picture.Marks)]
    assert len({mark.shapes[0] for mark in marks}) == 6
    assert max(mark.sizes.max() for mark in marks) <= 0.5
    curves = cal.isotonic_diagram(models, lens="top", n_resamples=19, rng=0).picture()
    assert not [p for p in curves.parts if isinstance(p, picture.Areas)]
