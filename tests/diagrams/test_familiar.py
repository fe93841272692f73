"""Pictures as papers and scikit-learn draw them, as data."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.diagrams.picture import Areas, covered


@pytest.fixture(scope="module")
def confident():
    data = cal.datasets.cifar10("resnet")
    return cal.reliability_diagram(data, lens="top", n_resamples=99, rng=0)


def sloped(slope, n=2000, seed=0):
    """Return a diagram of probabilities whose logits should be multiplied by a slope."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.01, 0.99, n)
    true = 1 / (1 + np.exp(-slope * np.log(p / (1 - p))))
    return cal.reliability_diagram(p, rng.random(n) < true, n_resamples=99, rng=0)


def test_bars_are_frequencies_and_gaps_reach_to_the_mean_predictions(confident):
    shown = confident.picture(style="bars")
    bars, gaps, off = (part for part in shown.parts if isinstance(part, Areas))
    (series,) = confident.series
    observed = series.function.observed[series.shown, confident.event]
    predicted = series.function.predicted[series.shown, confident.event]
    np.testing.assert_array_equal(bars.at[:, 2, 1], observed)
    ends = np.concatenate((gaps.at, off.at))[:, [0, 2], 1]
    assert sorted(map(tuple, ends)) == sorted(zip(observed, predicted, strict=True))
    assert len(off.at) == confident.n_off
    widths = bars.at[:, 1, 0] - bars.at[:, 0, 0]
    np.testing.assert_allclose(widths, 0.1)
    assert ((bars.at[:, 0, 0] <= predicted) & (predicted <= bars.at[:, 1, 0])).all()


def test_the_keys_say_mean_confidence_and_accuracy(confident):
    data = cal.datasets.cifar10("resnet")
    names = [key.name for key in confident.picture(style="bars").keys]
    assert f"mean confidence {data.probs.max(axis=1).mean():.3f}" in names
    assert f"accuracy {cal.accuracy(data):.3f}" in names
    ((mean, _), (rate, _)) = confident.picture(style="line").strip_lines
    assert mean == pytest.approx(float(data.probs.max(axis=1).mean()), abs=1e-6)
    assert rate == pytest.approx(cal.accuracy(data))


def test_the_corner_has_the_error_of_the_bins_that_are_drawn(confident):
    data = cal.datasets.cifar10("resnet")
    error = cal.ece(data, bins=10)
    assert confident.picture(style="line").summary[0] == f"ECE {error:.3f} (10 bins)"


def test_the_corner_names_bins_of_equal_mass():
    p = np.random.default_rng(0).random(2000)
    labels = np.arange(2000) % 2
    masses = cal.reliability_diagram(p, labels, partition="mass:3", n_resamples=19, rng=0)
    error = cal.ace(p, labels, bins=3)
    assert abs(error - cal.ece(p, labels, bins=10)) > 0.01
    assert masses.picture(style="bars").summary[0] == f"ECE {error:.3f} (3 bins of equal mass)"


@pytest.mark.parametrize("style", ["bars", "line"])
@pytest.mark.parametrize("slope", [0.2, 1.0, 4.0, -3.0])
def test_the_summary_of_a_drawing_touches_no_mark(style, slope):
    diagram = sloped(slope)
    ax = diagram.plot(style=style)
    ax.figure.canvas.draw()
    (text,) = [each for each in ax.texts if "ECE" in each.get_text()]
    box = text.get_window_extent().transformed(ax.transData.inverted())
    for part in diagram.picture(style=style).parts:
        x, y = covered(part).T
        inside = (x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)
        assert not inside.any()


def test_without_a_free_corner_the_summary_stands_above():
    p = np.repeat([0.05, 0.95], 100)
    labels = np.tile([1, 0, 0, 1], 50)
    diagram = cal.reliability_diagram(p, labels, n_resamples=99, rng=0)
    assert diagram.picture(style="line").corner is not None
    high = cal.reliability_diagram(
        np.repeat(np.linspace(0.05, 0.95, 10), 40), np.ones(400, int), n_resamples=99, rng=0
    )
    assert high.picture(style="bars").corner is None
    assert "ECE" in high.figure(style="bars").above


def test_a_line_joins_the_marks_of_several_models_without_limits():
    models = {name: cal.datasets.cifar10(name) for name in ("lenet", "resnet", "densenet")}
    diagram = cal.reliability_diagram(models, lens="top", n_resamples=19, rng=0)
    looks = [getattr(part, "look", "") for part in diagram.picture(style="line").parts]
    assert looks.count("join") == 3
    assert "limits" not in looks
    with pytest.raises(ValueError, match=r"bars are for one model; found 3\."):
        diagram.picture(style="bars")


def test_bins_have_equal_mass_where_one_would_hold_nearly_all_rows():
    p = np.append(np.linspace(0.001, 0.05, 950), np.linspace(0.1, 0.9, 50))
    labels = np.arange(1000) % 10 == 0
    crowded = cal.reliability_diagram(p, labels, n_resamples=19, rng=0)
    assert crowded.settings["partition"] == str(cal.partitions.EqualMass(10))
    assert crowded.series[0].function.counts.max() == 100
    assert crowded.figure(style="bars").drawing.count("<polygon") >= 20


def test_bins_keep_their_widths_where_one_value_holds_nearly_all_rows():
    p = np.append(np.zeros(950), np.linspace(0.1, 0.9, 50))
    diagram = cal.reliability_diagram(p, np.arange(1000) > 970, n_resamples=19, rng=0)
    assert diagram.settings["partition"] == str(cal.partitions.EqualWidth(10))


def test_refuses_other_styles_and_options(confident):
    known = "'deviations', 'bars', 'line' or 'attributes'"
    with pytest.raises(ValueError, match=f"`style` must be {known}; found 'pie'"):
        confident.picture(style="pie")
    with pytest.raises(ValueError, match="`truth` is for 'deviations' and 'line', not for 'bars'"):
        confident.picture(style="bars", truth=np.square)
