"""ECE and its relatives: what they are about, and what a calibrated model would show."""

import pickle

import numpy as np
import polars as pl
import pytest

import calibrant as cal
from calibrant import lenses, partitions, statistics
from calibrant.predictions import Predictions
from tests import chance

VERBS = [cal.ece, cal.mce, cal.ace, cal.rms, cal.classwise_ece]
RNG = np.random.default_rng(0)
P = RNG.beta(2, 2, 500)
Y = (RNG.random(500) < P**1.5).astype(int)
PROBS, LABELS = RNG.dirichlet(np.ones(4), 300), RNG.integers(0, 4, 300)


def plain_bins(p, y, bins=15):
    """Mean confidence, share right and share of the rows, in plain loops."""
    found = []
    for j in range(bins):
        inside = (p >= j / bins) & ((p < (j + 1) / bins) | (j == bins - 1))
        if inside.any():
            found.append((p[inside].mean(), y[inside].mean(), inside.mean()))
    return np.array(found).T


def test_two_outcomes_are_about_the_event():
    predicted, observed, share = plain_bins(P, Y)
    gaps = np.abs(predicted - observed)
    for given in ((P, Y), (np.stack((1 - P, P), axis=1), Y), (Predictions(P, Y),)):
        assert cal.ece(*given) == pytest.approx(share @ gaps)
        assert cal.mce(*given) == pytest.approx(gaps.max())
        assert cal.rms(*given) == pytest.approx(np.sqrt(share @ gaps**2))
    folded = statistics.ExpectedMiscalibration("width:15")(lenses.TopLabel()(Predictions(P, Y)))
    assert cal.ece(P, Y) > folded


def test_more_outcomes_are_about_the_predicted_class():
    p, y = PROBS.max(axis=1), PROBS.argmax(axis=1) == LABELS
    predicted, observed, share = plain_bins(p, y)
    assert cal.ece(PROBS, LABELS) == pytest.approx(share @ np.abs(predicted - observed))
    each = [cal.ece(PROBS[:, j], j == LABELS) for j in range(4)]
    assert cal.classwise_ece(PROBS, LABELS) == pytest.approx(np.mean(each))
    mass = statistics.ExpectedMiscalibration(partitions.EqualMass(15))
    assert cal.ace(PROBS, LABELS) == mass(lenses.TopLabel()(Predictions(PROBS, LABELS)))


@pytest.fixture
def confidences(tmp_path):
    path = tmp_path / "answers" / "a.parquet"
    path.parent.mkdir()
    pl.DataFrame({"confidence": P, "correct": Y}).write_parquet(path)
    return path


def test_confidences_are_never_folded(confidences):
    whole = cal.load(confidences)
    named = Predictions(P, Y, classes=["wrong", "correct"])
    scanned = cal.scan(confidences.parent)
    assert scanned.classes == ("wrong", "correct")
    assert scanned.reading.correct
    for data in (whole, named, scanned):
        found = cal.calibration_test(data, "ece", lens="top", n_resamples=19, rng=0)
        same = cal.calibration_test(Predictions(P, Y), "ece", n_resamples=19, rng=0)
        assert found.statistic == same.statistic == cal.ece(P, Y)
        assert found.null.tolist() == same.null.tolist()
    assert lenses.TopLabel()(whole).probs[:, 0].tolist() == P.tolist()
    redrawn = whole.with_labels(1 - whole.labels)
    assert redrawn.of_confidences
    assert lenses.TopLabel()(redrawn).labels.tolist() == Y.tolist()


def test_the_top_label_of_two_plain_classes_is_folded():
    seen = lenses.TopLabel()(Predictions(P, Y))
    assert seen.probs[:, 0].min() >= 0.5


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_what_a_calibrated_model_would_show(verb):
    error = verb(PROBS, LABELS, n_bins=5, n_resamples=99, rng=1)
    assert isinstance(error, float)
    assert error == verb(PROBS, LABELS, bins=5)
    name = f"{verb.__name__}:5"
    test = cal.calibration_test(PROBS, LABELS, name, n_resamples=99, rng=1)
    assert error == test.statistic
    assert error.expected == test.null.mean()
    assert error.spread == test.null.std()
    assert error.corrected == error - error.expected
    assert error.pvalue == test.pvalue
    assert "a calibrated model would show" in error.sentence
    again = pickle.loads(pickle.dumps(error))
    assert again == error
    assert type(again) is float


def test_frames_and_both_names_of_bins():
    frame = pl.DataFrame(PROBS, schema=list("abcd"))
    names = np.array(list("abcd"))[LABELS]
    assert cal.ece(frame, names) == cal.ece(PROBS, LABELS)
    with pytest.raises(ValueError, match="`bins` and `n_bins` are the same"):
        cal.ece(P, Y, bins=5, n_bins=5)
    with pytest.raises(ValueError, match="`k` must be"):
        cal.ece(P, Y, bins=0)


def test_the_corrected_error_of_calibrated_models_is_zero_on_average():
    rng = np.random.default_rng(5)
    n_sets, found = 300, []
    for _ in range(n_sets):
        p = rng.random(80)
        found.append(cal.ece(p, rng.random(80) < p, n_resamples=39, rng=rng).corrected)
    z = np.mean(found) / (np.std(found) / np.sqrt(n_sets))
    assert abs(z) < 4.9  # false alarms of 1e-6
    folded = np.mean(found) + 0.02  # a twin that must fail: a bias of a fifth of what chance shows
    assert abs(folded / (np.std(found) / np.sqrt(n_sets))) > 4.9


def test_its_test_has_its_size():
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(400):
        probs = rng.dirichlet(np.ones(3), 60)
        labels = (probs.cumsum(axis=1) < rng.random((60, 1))).sum(axis=1)
        hits += cal.ece(probs, labels, bins=5, n_resamples=19, rng=rng).pvalue <= 0.05
    assert hits <= chance.most(400, 0.05)


def test_evaluate_says_ece():
    found = cal.evaluate(PROBS, LABELS, n_resamples=19, rng=0)
    assert found.ece.value == cal.ece(PROBS, LABELS)
    assert str(found).endswith(f"{found.ece}.")
    assert str(found.ece).startswith("ECE 0.")
    test = cal.calibration_test(PROBS, LABELS, "ece", n_resamples=19, rng=0)
    assert found.ece.null.tolist() == test.null.tolist()
    assert found.to_dict()["ece"]["null_mean"] == test.null.mean()
    assert len(found.rows) == 7  # it is no test
    assert cal.evaluate(PROBS, LABELS, lenses="class:0", n_resamples=19).ece is None


def test_the_diagram_and_the_report_know_it(tmp_path):
    diagram = cal.reliability_diagram(P, Y, n_resamples=19, rng=0)
    assert round(diagram.series[0].miscalibration, 12) == round(cal.ece(P, Y, bins=10), 12)
    path = cal.report(P, Y, tmp_path / "r.html", n_resamples=19, rng=0)
    assert "a calibrated model would show" in path.read_text("utf-8")


def test_clusters_and_weights():
    clusters = np.arange(500) // 5
    data = Predictions(P, Y, clusters=clusters)
    assert 0 < cal.ece(data, n_resamples=19, rng=0).pvalue <= 1
    twice = Predictions(P, Y, weights=np.full(500, 2.0))
    for verb in VERBS:
        assert verb(twice) == pytest.approx(verb(P, Y))
