"""Probabilities and labels in place of Predictions."""

import inspect

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth
from calibrant.statistics import ExpectedMiscalibration

RNG = np.random.default_rng(0)
PROBS, LABELS = RNG.dirichlet(np.ones(3), 60), RNG.integers(0, 3, 60)
DATA = Predictions(PROBS, LABELS)
ETA = ExpectedMiscalibration(EqualWidth(4))
HOW = {"n_resamples": 9, "rng": 0}
CALLS = {
    "calibration_test": lambda *d, **s: cal.calibration_test(*d, ETA, **HOW, **s).to_dict(),
    "evaluate": lambda *d, **s: cal.evaluate(*d, **HOW, **s).to_dict(),
    "estimate": lambda *d, **s: cal.estimate(*d, ETA, **HOW, **s).to_dict(),
    "binwise": lambda *d, **s: cal.binwise(*d, EqualWidth(4), **HOW, **s).to_dict(),
    "classwise": lambda *d, **s: cal.classwise(*d, EqualWidth(4), **HOW, **s).to_dict(),
    "reliability_diagram": lambda *d, **s: cal.reliability_diagram(*d, **HOW, **s).to_dict(),
    "ece": cal.ece,
    "log_score": cal.log_score,
    "accuracy": cal.accuracy,
    "decompose": lambda *d, **s: cal.decompose(*d, lens="top", **s),
    "recalibrate": lambda *d, **s: cal.recalibrate(*d, **HOW, **s).table(),
    "calibration_function": lambda *d, **s: cal.calibration_function(
        *d, "width:4", **s
    ).observed.tolist(),
    "isotonic_diagram": lambda *d, **s: cal.isotonic_diagram(
        *d, n_resamples=19, rng=0, **s
    ).to_dict(),
    "slices": lambda *d, **s: cal.slices(*d, by={"first": LABELS == 0}, **HOW, **s).to_dict(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_arrays_are_taken_for_predictions(call):
    assert call(PROBS, LABELS) == call(DATA)


def test_models_by_name_share_labels():
    found = cal.compare({"a": PROBS, "b": PROBS[:, ::-1]}, LABELS, **HOW)
    models = {"a": DATA, "b": Predictions(PROBS[:, ::-1], LABELS)}
    assert found.to_dict() == cal.compare(models=models, **HOW).to_dict()
    assert cal.compare({"a": PROBS, "b": PROBS}, labels=LABELS, **HOW).evaluations.keys() == {*"ab"}


def test_labels_by_name():
    assert cal.ece(PROBS, labels=LABELS, bins=4) == ETA(TopLabel()(DATA))
    assert cal.ece(data=PROBS, labels=LABELS, bins=4) == ETA(TopLabel()(DATA))
    assert (
        cal.evaluate(PROBS, labels=LABELS, **HOW).to_dict() == cal.evaluate(DATA, **HOW).to_dict()
    )


def test_a_report_of_arrays(tmp_path):
    path = cal.report(PROBS, LABELS, tmp_path / "r.html", n_resamples=9)
    assert path.stat().st_size > 1000


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_probabilities_alone_are_refused(call):
    with pytest.raises((TypeError, ValueError), match=r"`data`|labels"):
        call(PROBS)


def test_signatures_stay():
    assert list(inspect.signature(cal.evaluate).parameters)[:2] == ["data", "lenses"]
    assert cal.evaluate.__doc__.startswith("Say whether")
