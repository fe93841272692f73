import json

import matplotlib as mpl
import numpy as np
import pytest

from calibrant import Predictions, Trajectory, calibration_test, datasets, scores
from calibrant.checks.parameters import derive, make_key
from calibrant.lenses import Canonical, Groups, TopLabel
from calibrant.partitions import EqualWidth, VarianceTree
from calibrant.resampling import Bootstrap, Consistency
from calibrant.statistics import ExpectedMiscalibration

mpl.use("Agg")

TEMPERATURES = (4.0, 1.0, 0.5)


def epoch(temperature):
    return datasets.dirichlet(800, 3, temperature=temperature, rng=0)


def recorded(**settings):
    trajectory = Trajectory(**{"n_resamples": 99, "rng": 0, **settings})
    for step, temperature in enumerate(TEMPERATURES):
        trajectory.record(step, epoch(temperature))
    return trajectory


def test_a_row_holds_what_the_parts_say():
    eta = ExpectedMiscalibration(VarianceTree(100))
    trajectory = Trajectory(eta, Canonical(), Consistency(), 49, rng=5)
    data = epoch(4.0)
    trajectory.record(1, epoch(1.0))
    row = trajectory.record(2, data)
    test = calibration_test(
        data, eta, resampler=Consistency(), n_resamples=49, rng=int(derive(make_key(5), 1))
    )
    assert row.value == test.statistic == eta(data)
    assert (row.null_mean, row.null_sd) == (test.null.mean(), test.null.std())
    assert row.pvalue == test.pvalue
    assert row.log_score == scores.log_score(data)
    assert row.accuracy == scores.accuracy(data)
    assert trajectory.rows[-1] is row


def test_the_default_is_the_expected_calibration_error_of_the_top_label():
    data = epoch(4.0)
    found = Trajectory(n_resamples=19, rng=0).record(0, data).value
    assert found == ExpectedMiscalibration(EqualWidth(10))(TopLabel()(data))


def test_the_same_seed_gives_the_same_rows():
    assert recorded(rng=3).rows == recorded(rng=3).rows
    assert recorded(rng=3).rows != recorded(rng=4).rows


def test_the_seed_of_a_generator_is_in_the_settings():
    first = recorded(rng=np.random.default_rng(1))
    assert recorded(rng=first.settings["seed"]).rows == first.rows


def test_a_line_stands_for_the_object():
    trajectory = Trajectory(lens=Groups([[0, 1], [2]]), name="net")
    assert repr(trajectory) == "<trajectory of net: nothing recorded yet>"
    assert len(repr(recorded())) < 300


def test_rows_become_a_frame():
    trajectory = recorded()
    frame = trajectory.to_frame("polars")
    assert frame.to_dicts() == [row.to_dict() for row in trajectory.rows]


def test_every_step_has_its_own_draws():
    trajectory = Trajectory(n_resamples=99, rng=0)
    first, second = (trajectory.record(step, epoch(1.0)) for step in (0, 1))
    assert first.value == second.value
    assert first.null_mean != second.null_mean


def test_the_best_row_has_the_smallest_log_score():
    trajectory = recorded()
    assert trajectory.best.step == 1  # calibrated: the log score is proper
    assert trajectory.best.log_score == min(row.log_score for row in trajectory.rows)


def test_of_equally_good_rows_the_first_is_best():
    trajectory = Trajectory(n_resamples=19, rng=0)
    for step in (3, 4):
        trajectory.record(step, epoch(1.0))
    assert trajectory.best.step == 3


def test_an_infinite_log_score_is_kept_and_never_best():
    trajectory = Trajectory(n_resamples=19, rng=0)
    trajectory.record(0, Predictions([0.0, 0.5], [1, 1]))
    trajectory.record(1, Predictions([0.1, 0.5], [1, 1]))
    assert trajectory.rows[0].log_score == np.inf
    assert trajectory.best.step == 1


def test_nothing_recorded():
    trajectory = Trajectory(name="net")
    assert trajectory.rows == ()
    assert str(trajectory) == "trajectory of net: nothing recorded yet"
    with pytest.raises(ValueError, match="Nothing was recorded yet"):
        _ = trajectory.best
    with pytest.raises(ValueError, match="Nothing was recorded yet"):
        trajectory.plot()


def test_steps_must_increase():
    trajectory = recorded()
    with pytest.raises(ValueError, match=r"`step` must be larger than the last one, 2; found 2"):
        trajectory.record(2, epoch(1.0))
    with pytest.raises(ValueError, match="`step` must be finite"):
        trajectory.record(float("nan"), epoch(1.0))
    assert len(trajectory.rows) == 3


def test_the_bootstrap_is_no_hypothesis():
    with pytest.raises(ValueError, match="must draw labels under the hypothesis"):
        Trajectory(resampler=Bootstrap()).record(0, epoch(1.0))


def test_plain_numbers_and_words():
    trajectory = recorded(name="net", resampler=Consistency())
    plain = json.loads(json.dumps(trajectory.to_dict()))
    assert plain["rows"] == [row.to_dict() for row in trajectory.rows]
    assert plain["settings"] == {
        "statistic": "expected total variation on 10 equal widths",
        "lens": "top label",
        "resampler": "Consistency(rho=None)",
        "n_resamples": 99,
        "seed": 0,
    }
    assert str(trajectory).startswith("trajectory of net, 3 steps: best log loss 0.")
    assert len(trajectory.table().splitlines()) == 5
    assert trajectory._repr_html_().count("<tr>") == 4


def lines(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker and line.get_ls() != "--"]


def test_the_picture_has_four_panels_and_a_star_for_each_trajectory():
    both = recorded(name="one"), recorded(name="two", rng=1)
    figure = both[0].plot(both[1])
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "log loss",
        "accuracy",
        "miscalibration",
        "p-value",
    ]
    for ax, column in zip(figure.axes, ("log_score", "accuracy", "value", "pvalue"), strict=True):
        drawn = [line for line in lines(ax, "None") if line.get_ls() == "-"]
        stars = lines(ax, "*")
        assert len(drawn) == len(stars) == 2
        for one, line, star in zip(both, drawn, stars, strict=True):
            assert line.get_ydata().tolist() == [getattr(row, column) for row in one.rows]
            assert star.get_xdata().tolist() == [one.best.step]
            assert star.get_ydata().tolist() == [getattr(one.best, column)]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]
    mpl.pyplot.close(figure)


def test_the_level_of_a_picture_is_checked():
    with pytest.raises(ValueError, match="`alpha` must be between 0 and 1"):
        recorded().plot(alpha=0)


def test_a_picture_of_one_without_a_name_has_no_legend():
    figure = recorded().plot()
    assert not figure.legends
    mpl.pyplot.close(figure)


@pytest.mark.parametrize("n_resamples", [float("nan"), 0, "many", None])
def test_the_number_of_resamples_is_checked_at_once(n_resamples):
    with pytest.raises((TypeError, ValueError), match=r"`n_resamples` must be"):
        Trajectory(n_resamples=n_resamples)
