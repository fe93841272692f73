"""How often a test would reject, and what it would take to be seen."""

import numpy as np
import pytest
from chance import BUDGET, most
from scipy.stats import fisher_exact

from calibrant import Predictions, calibration_test, power
from calibrant.checks.parameters import derive, make_key
from calibrant.lenses import Canonical, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth
from calibrant.resampling import Exact, Shifted, Tempered
from calibrant.statistics import ExpectedMiscalibration

RNG = np.random.default_rng(3)
THREE = Predictions(RNG.dirichlet(np.ones(3), 300), RNG.integers(0, 3, 300))
TWO = Predictions(RNG.random(400), RNG.integers(0, 2, 400))
ETA = ExpectedMiscalibration(EqualWidth(5))


@pytest.mark.parametrize("lens", [Canonical(), TopLabel(), Marginal(1), Pooled()])
@pytest.mark.parametrize("statistic", [None, ETA])
def test_power_by_testing_one_data_set_after_another(lens, statistic):
    rho, seed = Tempered(1.5), 8
    found = power(
        THREE,
        {"x": rho},
        lens=lens,
        statistic=statistic,
        n_resamples=59,
        rng=seed,
        alpha=0.1,
    )
    key = derive(make_key(seed), 7)
    hits = 0
    for b in range(12):
        drawn = Exact(rho).draw(THREE, key, b)
        test = calibration_test(drawn, statistic, lens=lens, n_resamples=59, rng=seed)
        hits += test.pvalue <= 0.1
    assert found.rows[0].power == hits / 12


def test_a_calibrated_model_is_rejected_at_the_level_of_the_test():
    found = power(TWO, {"fine": Tempered(1.0)}, n_resamples=4999, rng=0).rows[0]
    assert found.power * 1000 <= most(1000, 0.05)
    assert found.size == pytest.approx(0.0, abs=1e-15)


def test_the_smallest_amounts_reach_the_target_and_less_does_not():
    found = power(TWO, 0.6, n_resamples=499, rng=0)
    assert [row.name for row in found.rows] == [
        "overconfident",
        "underconfident",
        "too high for “1”",
        "too low for “1”",
    ]
    for row in found.rows:
        assert row.found
        assert row.power >= 0.6
    half = {
        "a": Tempered(found.rows[0].truth.temperature ** 0.5),
        "b": Shifted(1, found.rows[2].truth.shift / 2),
    }
    assert all(row.power < 0.6 for row in power(TWO, half, n_resamples=499, rng=0).rows)
    assert found.rows[2].bias > 0 > found.rows[3].bias


def test_what_is_not_seen_is_not_seen_at_the_largest_amount():
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet(np.full(200, 0.02), 50), rng.integers(0, 200, 50))
    found = power(data, rng=0, n_resamples=199)
    assert [row.found for row in found.rows] == [row.power >= 0.8 for row in found.rows]
    beyond = [row for row in found.rows if abs(getattr(row.truth, "shift", 0.0)) > 3.2]
    assert {row.found for row in beyond} == {True, False}


def test_power_with_labels_drawn_by_numpy():
    """The share of rejections among data sets that NumPy draws agrees."""
    truth = Tempered(1.3)(TWO.probs)[:, 1]
    rng, hits = np.random.default_rng(5), 0
    for trial in range(300):
        data = Predictions(TWO.probs, (rng.random(400) < truth).astype(int))
        hits += calibration_test(data, n_resamples=99, rng=trial).pvalue <= 0.05
    found = power(TWO, {"x": Tempered(1.3)}, n_resamples=4999, rng=0).rows[0]
    assert found.n_data_sets == 1000
    drawn = round(1000 * found.power)
    table = [[hits, 300 - hits], [drawn, 1000 - drawn]]
    assert fisher_exact(table).pvalue > BUDGET


def test_what_can_never_be_seen():
    sure = Predictions([0.0, 1.0] * 30, [0, 1] * 30)
    found = power(sure, n_resamples=49, rng=0)
    assert not any(row.found for row in found.rows)
    assert [row.power for row in found.rows] == [0.0] * 4
    assert str(found).startswith("60 rows would show it in 0 % of data sets if the model were over")


def test_outcomes_are_not_looked_at():
    other = TWO.with_labels(1 - TWO.labels)
    settings = {"n_resamples": 99, "rng": 1}
    a, b = power(TWO, **settings), power(other, **settings)
    assert a.to_dict() == b.to_dict()


def test_sizes_by_hand():
    data = Predictions([0.5, 0.9], [0, 1])
    rho = Shifted(1, np.log(3.0))
    row = power(data, {"x": rho}, n_resamples=49, rng=0).rows[0]
    truth = np.array([0.75, 2.7 / 2.8])
    gaps = np.array([0.5, 0.9]) - truth
    assert row.bias == pytest.approx(gaps.mean(), rel=1e-12)
    assert row.size == pytest.approx(np.sqrt((gaps**2).mean()), rel=1e-12)


def test_alternatives_keep_zeros_and_ones():
    probs = np.array([[0.0, 1.0, 0.0], [0.2, 0.3, 0.5]])
    for rho in (Tempered(0.5), Tempered(3), Shifted(0, 2.0)):
        found = rho(probs)
        assert found[0].tolist() == [0.0, 1.0, 0.0]
        assert found[1].sum() == pytest.approx(1.0, rel=1e-15)


def test_progress_and_results():
    seen = []
    found = power(
        TWO,
        {"x": Tempered(2.0)},
        n_resamples=49,
        rng=0,
        progress=lambda done, total: seen.append(done / total),
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert found.to_frame().columns[0] == "truth"
    assert len(repr(found)) < 500
    assert "power" in found.table()
    assert "<table" in found._repr_html_()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"alternatives": {}}, "must be a dict of functions"),
        ({"alternatives": {"x": 3}}, "`alternatives` must be a function"),
        ({"alternatives": {"x": lambda p: 2 * p}}, "must return probabilities that sum to 1"),
        ({"alternatives": 1.5}, "`alternatives` must be between 0 and 1; found 1.5"),
        ({"alternatives": None}, "must be a dict of functions, .* or the power that is searched"),
        ({"alpha": 0}, "`alpha`"),
        ({"n_resamples": 0}, "`n_resamples`"),
    ],
)
def test_refusals(settings, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        power(TWO, **settings)


def test_clusters_are_refused():
    data = Predictions([0.2, 0.8] * 5, [0, 1] * 5, clusters=[0, 1] * 5)
    with pytest.raises(ValueError, match="must have independent rows"):
        power(data)
