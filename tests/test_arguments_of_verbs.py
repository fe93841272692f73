"""Short names do what the objects do, and probabilities and labels what Predictions do."""

import inspect

import numpy as np
import pytest

import calibrant as cal
from calibrant import Predictions, lenses, partitions, recalibration, resampling, statistics
from calibrant.cli import options
from calibrant.distances import euclidean, total_variation
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualWidth, SimplexBins, VarianceTree
from calibrant.statistics import ExpectedMiscalibration, spelled

RNG = np.random.default_rng(0)
DATA = Predictions(
    RNG.dirichlet(np.ones(3), 200), RNG.integers(0, 3, 200), classes=["cat", "dog", "car"]
)
QUICK = {"n_resamples": 19, "rng": 0}


def same(a, b):
    assert a.to_dict() == b.to_dict()


@pytest.mark.parametrize("verb", [cal.evaluate, cal.compare, cal.slices, cal.report, cal.ece])
def test_help_names_the_keywords_of_data_frames(verb):
    keywords = verb.__doc__.split("A data frame takes ")[1].split("Parameters\n")[0]
    assert {"``label=``", "``probs=``", "``weight=``", "``cluster=``"} <= set(
        keywords.replace(",", " ").replace(";", " ").split()
    )
    assert ("``model=``" in keywords) == (verb in (cal.compare, cal.report))


def test_tests():
    same(
        cal.calibration_test(DATA, "kernel:0.1", lens="class:dog", **QUICK),
        cal.calibration_test(
            DATA, statistics.KernelMiscalibration(0.1), lens=lenses.Marginal("dog"), **QUICK
        ),
    )


def test_evaluations_take_one_or_several():
    for texts, objects in (
        ("top", lenses.TopLabel()),
        (
            ["top", "groups:cat,dog|car"],
            [lenses.TopLabel(), lenses.Groups([["cat", "dog"], ["car"]])],
        ),
    ):
        same(cal.evaluate(DATA, lenses=texts, **QUICK), cal.evaluate(DATA, lenses=objects, **QUICK))
    same(
        cal.evaluate(DATA, lenses="top", statistics="cox", **QUICK),
        cal.evaluate(DATA, lenses="top", statistics=[statistics.Cox()], **QUICK),
    )


def test_arrays_and_texts():
    found = cal.evaluate(DATA.probs, DATA.labels, lenses="top", **QUICK)
    assert [str(verdict.lens) for verdict in found.verdicts] == ["top label"]
    assert (
        cal.reliability_diagram(DATA.probs, DATA.labels, lens="top", **QUICK).settings["lens"]
        == "top label"
    )


def test_other_verbs():
    same(
        cal.estimate(DATA, statistics.ExpectedMiscalibration("width:5"), lens="top", **QUICK),
        cal.estimate(
            DATA, statistics.ExpectedMiscalibration(EqualWidth(5)), lens=lenses.TopLabel(), **QUICK
        ),
    )
    same(
        cal.classwise(DATA, "width:5", "euclidean", **QUICK),
        cal.classwise(DATA, EqualWidth(5), euclidean, **QUICK),
    )
    a = cal.binwise(DATA, "simplex:3", lens="canonical", **QUICK)
    b = cal.binwise(DATA, SimplexBins(3), **QUICK)
    assert a.adjusted_pvalues.tolist() == b.adjusted_pvalues.tolist()
    same(
        cal.slices(DATA, {"x": [0, 1] * 100}, lens="top", **QUICK),
        cal.slices(DATA, {"x": [0, 1] * 100}, **QUICK),
    )
    found = cal.reliability_diagram(DATA, lens="top", partition="mass:4", **QUICK)
    assert (found.settings["lens"], found.settings["partition"]) == (
        "top label",
        str(partitions.EqualMass(4)),
    )
    assert cal.calibration_function(DATA, "tree:50").counts.tolist() == (
        cal.calibration_function(DATA, VarianceTree(50)).counts.tolist()
    )
    assert str(cal.decompose(DATA, lens="top")) == str(cal.decompose(DATA, lens=lenses.TopLabel()))
    assert cal.power(DATA, {"x": lambda p: p}, lens="top", **QUICK).rows
    models = {"a": DATA, "b": DATA}
    same(
        cal.compare(models, lenses="top", **QUICK),
        cal.compare(models, lenses=[lenses.TopLabel()], **QUICK),
    )
    assert cal.isotonic_diagram(DATA, lens="top", **QUICK).settings["lens"] == "top label"
    assert cal.score_plane(models, lens="top", **QUICK).settings["lens"] == "top label"


def test_objects_hold_what_was_named():
    eta = statistics.ExpectedMiscalibration("tree:100", "tv")
    assert eta == statistics.ExpectedMiscalibration(VarianceTree(100), total_variation)
    assert statistics.WorstMiscalibration("mass:4").partition == partitions.EqualMass(4)
    assert statistics.SquaredMiscalibration("width:3").partition == EqualWidth(3)
    assert recalibration.Histogram("width:3").partition == EqualWidth(3)
    assert spelled.as_statistic("squared:tree:20") == statistics.SquaredMiscalibration("tree:20")


def test_default_lens_of_a_diagram():
    assert cal.reliability_diagram(DATA, **QUICK).settings["lens"] == "canonical"
    many = Predictions(RNG.dirichlet(np.ones(6), 100), RNG.integers(0, 6, 100))
    assert cal.reliability_diagram(many, **QUICK).settings["lens"] == "top label"
    assert cal.reliability_diagram({"a": DATA, "b": DATA}, **QUICK).settings["lens"] == "top label"
    two = Predictions(RNG.random(50), RNG.integers(0, 2, 50))
    assert cal.reliability_diagram(two, **QUICK).settings["lens"] == "canonical"


def test_the_tool_lists_the_statistics_that_there_are():
    assert options.STATISTICS == spelled.STATISTICS


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: cal.calibration_test(DATA, lens="tpo"),
            "`lens` must be canonical, top, .*found 'tpo'",
        ),
        (
            lambda: cal.calibration_test(DATA, lens="class:bird"),
            "a class of the data: cat, dog, car; found 'bird'",
        ),
        (
            lambda: cal.calibration_test(DATA, lens="top:0"),
            "a whole number of at least 1 after the colon",
        ),
        (lambda: cal.evaluate(DATA, lenses="groups:cat|dog"), "every class once; look at car"),
        (lambda: cal.evaluate(DATA, lenses="groups:0-7|1"), "a range of classes from 0 to 2"),
        (lambda: cal.binwise(DATA, "boxes:3"), "`partition` must be width:10, .*found 'boxes:3'"),
        (lambda: cal.binwise(DATA, "tree:0"), "a number above 0 after the colon"),
        (
            lambda: cal.classwise(DATA, "width:5", "hellinger"),
            "`distance` must be tv, .*'hellinger'",
        ),
        (lambda: cal.calibration_test(DATA, "magic"), "`statistic` must be ece, .*'magic'"),
        (lambda: statistics.ExpectedMiscalibration("width"), "`partition` must be width:10"),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("exact", resampling.Exact()),
        ("bootstrap", resampling.Bootstrap()),
        ("consistency", resampling.Consistency()),
    ],
)
def test_resamplers(text, chosen):
    same(*(cal.estimate(DATA, "cox", lens="top", resampler=r, **QUICK) for r in (text, chosen)))


def test_what_names_no_resampler():
    with pytest.raises(ValueError, match=r"`resampler` must be exact, bootstrap, .* found 'jack'"):
        cal.estimate(DATA, "cox", lens="top", resampler="jack")


PROBS, LABELS = (
    np.random.default_rng(0).dirichlet(np.ones(3), 60),
    np.random.default_rng(1).integers(0, 3, 60),
)
PLAIN = Predictions(PROBS, LABELS)
ETA = ExpectedMiscalibration(EqualWidth(4))
HOW = {"n_resamples": 9, "rng": 0}
CALLS = {
    "calibration_test": lambda *d, **s: cal.calibration_test(*d, ETA, **HOW, **s).to_dict(),
    "evaluate": lambda *d, **s: cal.evaluate(*d, **HOW, **s).to_dict(),
    "estimate": lambda *d, **s: cal.estimate(*d, ETA, **HOW, **s).to_dict(),
    "binwise": lambda *d, **s: cal.binwise(*d, EqualWidth(4), **HOW, **s).to_dict(),
    "classwise": lambda *d, **s: cal.classwise(*d, EqualWidth(4), **HOW, **s).to_dict(),
    "reliability_diagram": lambda *d, **s: cal.reliability_diagram(*d, **HOW, **s).to_dict(),
    "class_diagram": lambda *d, **s: cal.class_diagram(*d, **HOW, **s).to_dict(),
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
    assert call(PROBS, LABELS) == call(PLAIN)


def test_models_by_name_share_labels():
    found = cal.compare({"a": PROBS, "b": PROBS[:, ::-1]}, LABELS, **HOW)
    models = {"a": PLAIN, "b": Predictions(PROBS[:, ::-1], LABELS)}
    assert found.to_dict() == cal.compare(models=models, **HOW).to_dict()
    assert cal.compare({"a": PROBS, "b": PROBS}, labels=LABELS, **HOW).evaluations.keys() == {*"ab"}


def test_labels_by_name():
    assert cal.ece(PROBS, labels=LABELS, bins=4) == ETA(TopLabel()(PLAIN))
    assert cal.ece(data=PROBS, labels=LABELS, bins=4) == ETA(TopLabel()(PLAIN))
    assert (
        cal.evaluate(PROBS, labels=LABELS, **HOW).to_dict() == cal.evaluate(PLAIN, **HOW).to_dict()
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
    assert cal.evaluate.__doc__.startswith("Find out whether")
