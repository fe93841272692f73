"""Models side by side: paired differences, what may be concluded, and what is refused."""

import json

import numpy as np
import pytest

from calibrant import Predictions, accuracy, brier_score, compare, evaluate, log_score
from calibrant.distances import total_variation
from calibrant.inference import Difference
from calibrant.inference.estimation import Estimate
from calibrant.inference.evaluation import EvaluationRow
from calibrant.lenses import Canonical, Pooled, TopLabel
from calibrant.partitions import EqualWidth, VarianceTree

RNG = np.random.default_rng(0)
N = 120
LABELS = RNG.integers(0, 3, N)
A = Predictions(RNG.dirichlet(np.ones(3), N), LABELS)
B = Predictions(RNG.dirichlet(np.full(3, 3.0), N), LABELS)
FAST = {"n_resamples": 19, "rng": 0}


def test_a_model_differs_from_itself_by_nothing():
    found = compare({"a": A, "again": A}, lenses=[Canonical(), TopLabel(), Pooled()], **FAST)
    for difference in found.differences:
        assert difference.estimate.value == 0
        assert not difference.estimate.replicates.any()
        assert difference.interval == (0, 0)
        assert difference.estimate.standard_error == 0


def test_differences_are_paired():
    found = compare({"a": A, "b": B}, **FAST)
    for name, data in (("a", A), ("b", B)):
        assert [r.value for r in found.evaluations[name].rows] == [
            r.value for r in evaluate(data, **FAST).rows
        ]
    rows = zip(found.evaluations["a"].rows, found.evaluations["b"].rows, strict=True)
    for difference, (a, b) in zip(found.differences, rows, strict=True):
        assert difference.rows == (a, b)
        assert difference.estimate.value == a.value - b.value
        np.testing.assert_array_equal(difference.estimate.replicates, a.replicates - b.replicates)
        low, median, high = np.quantile(a.replicates - b.replicates, [0.025, 0.5, 0.975])
        expected = np.array([low, high]) + (a.value - b.value) - median
        assert difference.interval == pytest.approx(tuple(expected), rel=1e-12)


def test_pairing_narrows_the_interval_of_models_that_err_together():
    """Two models that agree on nearly all rows: drawn apart, their difference scatters more."""
    probs = A.probs.copy()
    probs[:5] = probs[:5, ::-1]
    close = Predictions(probs, LABELS)
    found = compare(
        {"a": A, "b": close},
        lenses=[Canonical()],
        partitions=[EqualWidth(2)],
        n_resamples=400,
        rng=1,
    )
    paired = found.differences[0].estimate.standard_error
    a, b = (found.evaluations[name].rows[0].standard_error for name in ("a", "b"))
    assert paired < 0.7 * np.hypot(a, b)


def test_every_pair_of_three_models():
    found = compare({"a": A, "b": B, "c": A}, **FAST)
    pairs = [(d.first, d.second) for d in found.differences]
    assert list(dict.fromkeys(pairs)) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert len(pairs) == 3 * 8


def test_scores():
    found = compare({"a": A, "b": B}, **FAST)
    assert list(found.scores["b"]) == ["accuracy", "log_score", "brier_score", "spherical_score"]
    assert found.scores["b"]["accuracy"] == accuracy(B)
    assert found.scores["b"]["log_score"] == log_score(B)
    assert found.scores["b"]["brier_score"] == brier_score(B)
    lines = found.score_table().splitlines()
    assert lines[0].split("  ")[0] == "model"
    assert lines[2].split()[:2] == ["a", f"{accuracy(A):.4f}"]


def row(adjusted):
    return EvaluationRow(
        Canonical(),
        EqualWidth(5),
        total_variation,
        5,
        0.1,
        np.array([0.05]),
        np.array([0.1, 0.1]),
        adjusted,
    )


@pytest.mark.parametrize(
    ("pvalues", "replicates", "sentence"),
    [
        (
            (0.5, 0.06),
            [0.1, 0.2],
            "Neither one nor two is shown to be miscalibrated here, so the difference of the"
            " estimates says nothing about calibration.",
        ),
        (
            (0.05, 0.06),
            [0.1, 0.2],
            "one is shown to be miscalibrated; two is not, which does not prove that it is"
            " calibrated.",
        ),
        (
            (0.06, 0.05),
            [0.1, 0.2],
            "two is shown to be miscalibrated; one is not, which does not prove that it is"
            " calibrated.",
        ),
        (
            (0.01, 0.02),
            [-0.1, 0.2],
            "Both are shown to be miscalibrated; the data do not tell whether one or two is more"
            " so.",
        ),
        (
            (0.01, 0.02),
            [0.1, 0.2],
            "Both are shown to be miscalibrated, and the estimate of one is above that of two. The"
            " estimates may be biased by different amounts, so this is evidence about the models"
            " only if the difference is large against their values if calibrated.",
        ),
        (
            (0.01, 0.02),
            [-0.2, -0.1],
            "Both are shown to be miscalibrated, and the estimate of two is above that of one. The"
            " estimates may be biased by different amounts, so this is evidence about the models"
            " only if the difference is large against their values if calibrated.",
        ),
    ],
)
def test_what_may_be_concluded(pvalues, replicates, sentence):
    found = Difference(
        "one",
        "two",
        tuple(row(p) for p in pvalues),
        Estimate(float(np.mean(replicates)), np.array(replicates), {}),
        0.95,
    )
    assert found.conclusion == sentence
    assert str(found).endswith(sentence)
    assert str(found).startswith("one minus two (canonical, 5 equal widths, total variation): ")


def test_conclusions_from_data():
    p = np.tile(np.linspace(0.05, 0.95, 19), 100)
    labels = (np.repeat(np.arange(100), 19) + 0.5) / 100 < p  # frequencies are p
    models = {
        "fine": Predictions(p, labels),
        "sharp": Predictions(p**3 / (p**3 + (1 - p) ** 3), labels),
        "sharper": Predictions(np.where(p > 0.5, 0.999, 0.001), labels),
    }
    found = compare(models, distances=[total_variation], n_resamples=199, rng=0)
    told = {(d.first, d.second): d.conclusion for d in found.differences}
    assert told["fine", "sharp"].startswith("sharp is shown to be miscalibrated; fine is not")
    assert told["sharp", "sharper"].startswith(
        "Both are shown to be miscalibrated, and the estimate of sharper is above that of sharp."
    )


def test_plain_numbers_and_tables():
    found = compare({"<a>": A, "b": B}, **FAST)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(told["models"]) == ["<a>", "b"]
    assert told["models"]["b"]["rows"] == found.evaluations["b"].to_dict()["rows"]
    assert told["models"]["b"]["scores"]["accuracy"] == accuracy(B)
    first = told["differences"][0]
    assert (first["first"], first["second"], first["level"]) == ("<a>", "b", 0.95)
    assert first["interval"] == list(found.differences[0].interval)
    html = found._repr_html_()
    assert "&lt;a&gt;" in html
    assert "<a>" not in html
    assert html.count("<tr>") == 1 + 16
    lines = found.table().splitlines()
    assert [line.split()[0] for line in lines[2:6]] == ["<a>", "b", "<a>", "b"]
    assert str(found) == "comparison of <a>, b"


@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_a_data_frame_has_a_row_for_every_model_and_combination(backend):
    found = compare({"a": A, "b": B}, **FAST)
    frame = found.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert list(frame.columns) == ["model", *found.evaluations["a"].rows[0].to_dict()]
    assert list(frame["model"]) == ["a"] * 8 + ["b"] * 8
    values = [row.value for name in ("a", "b") for row in found.evaluations[name].rows]
    assert list(frame["estimate"]) == values


def test_as_many_bootstraps_as_resamples():
    for n_resamples, drawn in ((1, 2), (2, 2), (19, 19), (230, 230)):
        found = compare(
            {"a": A, "b": B}, partitions=[EqualWidth(2)], n_resamples=n_resamples, rng=0
        )
        assert found.settings["n_bootstrap"] == drawn
        for evaluation in found.evaluations.values():
            assert {row.replicates.size for row in evaluation.rows} == {drawn}
            assert {row.null.size for row in evaluation.rows} == {n_resamples}
    assert found.settings["paired"]
    assert repr(found) == "<comparison of 2 models>"
    assert repr(found.differences[0]).startswith("<difference a minus b: ")


def test_models_of_different_rows():
    other = Predictions(RNG.dirichlet(np.ones(3), 80), RNG.integers(0, 3, 80))
    found = compare({"a": A, "other": other}, paired=False, **FAST)
    assert found.differences == ()
    assert len(found.table().splitlines()) == 2 + 16
    # One table needs one grid: the tree of the smaller set.
    assert {r.partition for e in found.evaluations.values() for r in e.rows} == {
        EqualWidth(10),
        VarianceTree(8),
    }
    json.dumps(found.to_dict(), allow_nan=False)


def changed(labels):
    labels = labels.copy()
    labels[7] = (labels[7] + 1) % 3
    return labels


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            Predictions(A.probs, changed(LABELS)),
            r"must have the same labels row by row; 'a' and 'b' differ \(first at row 7\)\."
            r" Use `paired=False` if they have different rows\.",
        ),
        (
            Predictions(A.probs[:50], LABELS[:50]),
            r"differ \(120 and 50 rows\)\. Use `paired=False`",
        ),
        (
            Predictions(A.probs, LABELS, weights=np.full(N, 2.0)),
            r"`models` must have the same weights; those of 'a' and 'b' differ\.",
        ),
    ],
)
def test_models_of_different_rows_are_not_paired(other, message):
    with pytest.raises(ValueError, match=message):
        compare({"a": A, "b": other})


@pytest.mark.parametrize("paired", [True, False])
def test_models_must_have_the_same_classes(paired):
    message = r"`models` must have the same classes; those of 'a' and 'b' differ\."
    names = Predictions(A.probs, LABELS, classes=["x", "y", "z"])
    for other in (names, Predictions(RNG.random(N), LABELS > 0)):
        with pytest.raises(ValueError, match=message):
            compare({"a": A, "b": other}, paired=paired)
        with pytest.raises(ValueError, match=message):
            compare({"a": A, "c": A, "b": other}, paired=paired)


@pytest.mark.parametrize("models", [{}, {"a": A}])
def test_one_model_cannot_be_compared(models):
    with pytest.raises(ValueError, match=rf"`models` must be at least two; found {len(models)}\."):
        compare(models)


def test_a_seed_gives_the_same_comparison():
    for rng in (3, np.random.default_rng(4)):
        again = 3 if rng == 3 else np.random.default_rng(4)
        one, two = (compare({"a": A, "b": B}, n_resamples=9, rng=r).to_dict() for r in (rng, again))
        assert one == two


def test_progress_of_the_whole():
    told = []
    compare(
        {"a": A, "b": B, "c": A},
        n_resamples=600,
        rng=0,
        progress=lambda done, total: told.append((done, total)),
    )
    done = [d for d, _ in told]
    assert done == sorted(done)
    assert len(set(done)) >= 3 * 4 * 2  # every model, combination, and either kind of draws
    assert {total for _, total in told} == {done[-1]}


def test_the_interval_contains_the_difference_however_biased_the_replicates_are():
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.ones(10), 1500)
    labels = (truth.cumsum(axis=1) > rng.random((1500, 1))).argmax(axis=1)
    flat = Predictions(0.7 * truth + 0.03, labels)
    sharp = Predictions(truth**2 / (truth**2).sum(axis=1, keepdims=True), labels)
    found = compare(
        {"flat": flat, "sharp": sharp},
        lenses=[Canonical()],
        partitions=[EqualWidth(10)],
        distances=[total_variation],
        n_resamples=99,
        rng=0,
    ).differences[0]
    low, high = found.estimate.interval(0.95)
    assert not low <= found.estimate.value <= high  # the replicates lie beside it
    low, high = found.interval
    assert low < found.estimate.value < high


def test_models_must_be_predictions():
    with pytest.raises(TypeError, match="Predictions"):
        compare({"a": 1, "b": 2})


def kullback_leibler(p, q):
    with np.errstate(all="ignore"):
        return np.where(p > 0, p * np.log(p / q), 0.0).sum(axis=-1)


def test_nothing_is_concluded_from_two_infinite_estimates():
    labels = np.repeat([1, 0, 0, 1], 25)
    models = {
        name: Predictions(np.repeat([0.0, 0.5], [k, 100 - k]), labels)
        for name, k in (("a", 50), ("b", 60))
    }
    found = compare(
        models, partitions=[EqualWidth(10)], distances=[kullback_leibler], n_resamples=99, rng=0
    ).differences[0]
    assert np.isnan(found.interval).all()
    assert "the data do not tell whether a or b is more so" in str(found)
    row = found.rows[0]
    assert row.value == np.inf
    assert np.isnan(row.standard_error)
    assert "inf ± nan" in " ".join(row.cells())
