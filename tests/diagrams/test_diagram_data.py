"""Diagrams as data: their numbers are those of the estimate and of the inference."""

import json

import numpy as np
import pytest
from cases import CASES, dirichlet, made, three_models

from calibrant import Predictions, binwise, calibration_function, lenses, partitions
from calibrant import reliability_diagram as diagram_of
from calibrant.resampling import Consistency, Exact

LENSES_OF_2 = (lenses.Canonical(), lenses.Marginal(0), lenses.TopLabel())


def same(one, other):
    """Say whether two sets of cells have the same numbers."""
    return one.to_dict() == other.to_dict() and np.array_equal(one.largest, other.largest)


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_the_estimate_and_of_the_cells(name):
    found, _ = made(name)
    (data, settings), _ = CASES[name]
    models = data if isinstance(data, dict) else {"": data}
    settings = dict(settings)
    lens = settings.pop("lens", lenses.Canonical())
    default = {2: partitions.EqualWidth(10), 3: partitions.SimplexBins(5)}
    partition = settings.pop("partition", None) or default.get(
        found.n_outcomes, partitions.SimplexBins(4)
    )
    for series, (key, model) in zip(found.series, models.items(), strict=True):
        options = {"n_resamples": 99, "rng": 0, "lens": lens, **settings}
        assert series.name == key
        assert same(series.cells, binwise(model, partition, **options))
        fn = calibration_function(lens(model), partition)
        for field in ("counts", "predicted", "observed", "deviations", "proportions"):
            np.testing.assert_array_equal(getattr(series.function, field), getattr(fn, field))


def test_a_diagram_by_hand():
    data = Predictions([0.2] * 100 + [0.8] * 100, [0, 1] * 50 + [1] * 80 + [0] * 20)
    (series,) = diagram_of(data, rng=0).series
    assert series.function.counts.tolist() == [100, 100]
    np.testing.assert_allclose(series.function.deviations[:, 1], [0.3, 0], atol=1e-12)
    # Binomial(100, 0.2): P(X <= 13) = 0.0469, P(X <= 14) = 0.0804; P(X <= 26) = 0.9442, next 0.9658
    np.testing.assert_allclose(series.cells.lower[0], [-0.07, -0.06], atol=1e-12)
    np.testing.assert_allclose(series.cells.upper[0], [0.06, 0.07], atol=1e-12)
    assert series.significant(0.05).tolist() == [True, False]
    np.testing.assert_allclose(series.histogram, [0, 0, 0.5, 0, 0, 0, 0, 0, 0.5, 0])


@pytest.mark.parametrize("name", CASES)
def test_histogram_sums_to_one_and_is_there_for_two_outcomes_only(name):
    found, _ = made(name)
    for series in found.series:
        if found.n_outcomes == 2:
            assert series.histogram.shape == (found.edges.size - 1,)
            inside = 0.98375 if name == "rare" else 1.0  # of its rows, within the corner shown
            assert series.histogram.sum() == pytest.approx(inside, abs=1e-12)
        else:
            assert series.histogram is None


def test_histogram_has_the_bins_of_the_partition_but_not_too_many():
    data = dirichlet(500, 2)
    for k, bins in ((10, 10), (3, 3), (50, 50), (1000, 50)):
        found = diagram_of(data, partition=partitions.EqualWidth(k), n_resamples=1, rng=0)
        assert found.edges.size == bins + 1
    found = diagram_of(data, partition=partitions.EqualWidth(10), n_resamples=1, rng=0)
    np.testing.assert_allclose(
        found.series[0].histogram, np.histogram(data.probs[:, 1], 10, (0, 1))[0] / 500
    )


def test_the_histogram_agrees_with_cells_of_equal_width_on_their_edges():
    probs = np.array([0.1, 0.3, 0.6, 0.7, 1.0])  # 0.3 is less than linspace(0, 1, 11)[3]
    for dtype in (np.float64, np.float32):
        data = Predictions(probs.astype(dtype), [0, 1, 0, 1, 1])
        (series,) = diagram_of(data, n_resamples=9, rng=0).series
        np.testing.assert_allclose(
            series.histogram[series.histogram > 0], series.function.proportions
        )


def test_histogram_counts_weights():
    data = Predictions([0.05, 0.95], [0, 1], weights=[1.0, 3.0])
    assert diagram_of(data, n_resamples=1, rng=0).series[0].histogram[[0, -1]].tolist() == [
        0.25,
        0.75,
    ]


@pytest.mark.parametrize(("m", "k"), [(3, 5), (3, 10), (4, 4)])
def test_corners_enclose_the_mean_prediction(m, k):
    (series,) = diagram_of(
        dirichlet(3000, m), partition=partitions.SimplexBins(k), n_resamples=1, rng=0
    ).series
    assert series.corners.shape == (series.function.n_cells, m, m)
    np.testing.assert_allclose(series.corners.sum(axis=2), 1)
    for corners, mean in zip(series.corners, series.function.predicted, strict=True):
        inside = np.linalg.solve(corners.T, mean)  # how much of each corner makes the mean
        assert inside.min() >= -1e-9
        assert inside.sum() == pytest.approx(1)


def test_only_simplices_have_corners():
    assert made("tree, 3")[0].series[0].corners is None
    assert made("boxes")[0].series[0].corners is None


@pytest.mark.parametrize("m", [5, 10])
def test_too_many_outcomes_name_lenses_that_fit(m):
    with pytest.raises(ValueError, match=rf"at most four outcomes; found {m}.*TopLabel.*Groups"):
        diagram_of(dirichlet(20, m), lens="canonical")


def test_lenses_named_in_the_error_fit():
    data = dirichlet(50, 6)
    for lens, m in (
        (lenses.TopLabel(), 2),
        (lenses.Marginal(3), 2),
        (lenses.TopK(2), 3),
        (lenses.Groups([[0, 1], [2, 3], [4, 5]]), 3),
        (lenses.Groups([[0, 1], [2], [3], [4, 5]]), 4),
    ):
        assert diagram_of(data, lens=lens, n_resamples=1, rng=0).n_outcomes == m


def test_models_share_a_picture_of_two_outcomes_only():
    with pytest.raises(ValueError, match="only if there are two outcomes; found 3"):
        diagram_of(three_models(20), lens="canonical")


def test_models_of_one_picture_have_the_same_outcomes():
    models = {"a": dirichlet(20, 2), "b": dirichlet(20, 2, classes=["x", "y"])}
    with pytest.raises(ValueError, match=r"same outcomes; 'b' has \('x', 'y'\)"):
        diagram_of(models)


def test_no_model_is_refused():
    with pytest.raises(ValueError, match="at least one model"):
        diagram_of({})


@pytest.mark.parametrize("alpha", [0, 1, -0.1, "a"])
def test_alpha_is_checked(alpha):
    with pytest.raises((ValueError, TypeError), match="`alpha`"):
        made("line")[0].marked_at(alpha)


def test_a_model_has_the_same_draws_alone_and_beside_others():
    data = dirichlet(300, 2)
    one, two = diagram_of({"a": dirichlet(200, 2), "b": data}, rng=0).series
    (alone,) = diagram_of(data, rng=0).series
    np.testing.assert_array_equal(two.cells.largest, alone.cells.largest)
    assert not np.array_equal(one.cells.largest, alone.cells.largest)


@pytest.mark.parametrize("resampler", [Exact(), Consistency()])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_same_seed_same_diagram(resampler, m):
    one, two, other = (
        diagram_of(dirichlet(300, m), resampler=resampler, n_resamples=19, rng=seed)
        for seed in (5, 5, 6)
    )
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    assert not np.array_equal(one.series[0].cells.largest, other.series[0].cells.largest)


@pytest.mark.parametrize("name", CASES)
def test_plain_numbers_can_be_written_as_json(name):
    found, _ = made(name)
    back = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert back["classes"] == list(found.classes)
    assert [s["name"] for s in back["series"]] == [s.name for s in found.series]
    np.testing.assert_array_equal(
        back["series"][0]["predicted"], found.series[0].function.predicted
    )


def test_binary_data_are_about_class_1_and_lenses_about_their_first_outcome():
    data = dirichlet(200, 2)
    assert [diagram_of(data, lens=lens, n_resamples=1).event for lens in LENSES_OF_2] == [1, 0, 0]


def test_cells_without_weight_are_not_shown():
    data = Predictions([0.05, 0.55, 0.95], [0, 1, 1], weights=[1, 0, 2])
    (series,) = diagram_of(data, n_resamples=9, rng=0).series
    assert (series.function.mass > 0).tolist() == series.shown.tolist()
    assert series.function.predicted[series.shown, 1].tolist() == [0.05, 0.95]


def test_alpha_decides_what_is_significant():
    data = dirichlet(2000, 2, 1.2)
    found = diagram_of(data, rng=0)
    counts = [found.marked_at(a).n_off for a in (0.001, 0.05, 0.5)]
    assert counts[1] == found.n_off == int(found.series[0].significant(0.05).sum())
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


@pytest.mark.parametrize(("alpha", "text"), [(0.05, "5%"), (0.001, "0.1%"), (0.025, "2.5%")])
def test_one_line(alpha, text):
    found = diagram_of(dirichlet(50, 2), n_resamples=9, rng=0).marked_at(alpha)
    assert str(found).startswith("reliability diagram of 2 outcomes: ")
    assert str(found).endswith(f"bins are significant at {text} (family-wise)")


@pytest.mark.parametrize(
    ("m", "option", "value", "needed"),
    [
        (3, "style", "line", 2),
        (4, "truth", np.square, 2),
        (2, "regions", True, 3),
        (4, "regions", True, 3),
    ],
)
@pytest.mark.parametrize("method", ["plot", "figure"])
def test_options_that_do_not_fit_are_refused(method, m, option, value, needed):
    found = diagram_of(dirichlet(20, m), n_resamples=1, rng=0)
    with pytest.raises(ValueError, match=f"`{option}` is for diagrams of {needed} .* has {m}"):
        getattr(found, method)(**{option: value})


def test_progress_is_reported():
    seen = []
    diagram_of(dirichlet(100, 2), progress=lambda *at: seen.append(at), n_resamples=9, rng=0)
    assert seen
    assert seen[-1][0] == seen[-1][1]


def test_models_of_one_picture_are_about_the_same_outcome():
    data = dirichlet(20, 2)
    seen = lenses.Marginal(0)(data)
    plain = Predictions(seen.probs, [seen.classes[y] for y in seen.labels], seen.classes)
    with pytest.raises(ValueError, match="must be about the same outcome; 'b' is about"):
        diagram_of({"a": seen, "b": plain})


def test_a_diagram_carries_its_settings():
    found = diagram_of(
        dirichlet(50, 3),
        lens=lenses.TopLabel(),
        resampler=Consistency(),
        n_resamples=9,
        level=0.8,
        rng=4,
    )
    assert found.settings == {
        "lens": "top label",
        "partition": "10 equal widths",
        "resampler": "Consistency(rho=None)",
        "n_resamples": 9,
        "level": 0.8,
        "alpha": 0.05,
        "seed": 4,
    }
    assert found.to_dict()["settings"] == found.settings
    other = found.marked_at(0.1)
    assert (other.alpha, other.settings["alpha"], found.alpha) == (0.1, 0.1, 0.05)


def test_the_seed_of_a_generator_is_in_the_settings():
    data = dirichlet(100, 2)
    first = diagram_of(data, n_resamples=19, rng=np.random.default_rng(1))
    again = diagram_of(data, n_resamples=19, rng=first.settings["seed"])
    assert again.to_dict() == first.to_dict()
    other = diagram_of(data, n_resamples=19)
    assert other.settings["seed"] != diagram_of(data, n_resamples=19).settings["seed"]


@pytest.mark.parametrize(("name", "there"), [("three outcomes", True), ("tree, 3", False)])
def test_plain_numbers_have_the_corners(name, there):
    (series,) = made(name)[0].series
    corners = series.to_dict()["corners"]
    if there:
        np.testing.assert_array_equal(corners, series.corners)
    else:
        assert corners is None


@pytest.mark.parametrize("name", CASES)
def test_a_line_stands_for_the_object(name):
    found, _ = made(name)
    assert repr(found) == f"<{found}>"
    assert len(repr(found)) < 200
    assert all(len(repr(series)) < 200 for series in found.series)


def test_the_subject_comes_from_the_lens_not_from_names():
    named = dirichlet(50, 2, classes=["occurs", "predicted class"])
    assert diagram_of(named, n_resamples=9, rng=0).subject is None
    data = dirichlet(50, 3)
    for lens, subject in (
        (lenses.TopLabel(), "the predicted class"),
        (lenses.TopK(1), "the predicted class"),
        (lenses.Pooled(), "each class"),
        (lenses.Marginal(0), None),
    ):
        assert diagram_of(data, lens=lens, n_resamples=9, rng=0).subject == subject
