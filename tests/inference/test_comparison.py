"""Models side by side: differences without bias, what may be concluded, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from chance import fewest, most, outcomes

from calibrant import Predictions, accuracy, brier_score, compare, evaluate, log_score
from calibrant.inference import Difference
from calibrant.inference.testing.families import holm
from calibrant.lenses import Canonical, Pooled, TopLabel

RNG = np.random.default_rng(0)
N = 120
LABELS = RNG.integers(0, 3, N)
A = Predictions(RNG.dirichlet(np.ones(3), N), LABELS)
B = Predictions(RNG.dirichlet(np.full(3, 3.0), N), LABELS)
FAST = {"n_resamples": 19, "rng": 0}


def test_a_model_differs_from_itself_by_nothing():
    found = compare({"a": A, "again": A}, lenses=[Canonical(), TopLabel(), Pooled()], **FAST)
    for difference in found.differences:
        assert (difference.value, difference.standard_error) == (0, 0)
        assert difference.adjusted_pvalue == 1
        assert difference.worse is None


def test_evaluations_are_those_of_each_model():
    found = compare({"a": A, "b": B}, **FAST)
    for name, data in (("a", A), ("b", B)):
        assert found.evaluations[name].to_dict() == evaluate(data, **FAST).to_dict()


def test_all_pairs_and_lenses_are_adjusted_together():
    found = compare(
        {
            "a": A,
            "b": B,
            "c": Predictions(A.probs**2 / (A.probs**2).sum(axis=1, keepdims=True), LABELS),
        },
        **FAST,
    ).differences
    expected = holm(np.array([difference.pvalue for difference in found]))
    assert [difference.adjusted_pvalue for difference in found] == expected.tolist()


def test_every_pair_of_three_models():
    found = compare({"a": A, "b": B, "c": A}, **FAST)
    pairs = [(d.first, d.second) for d in found.differences]
    assert list(dict.fromkeys(pairs)) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert len(pairs) == 3 * 2


def test_scores():
    found = compare({"a": A, "b": B}, **FAST)
    assert list(found.scores["b"]) == ["accuracy", "log_score", "brier_score", "spherical_score"]
    assert found.scores["b"]["accuracy"] == accuracy(B)
    assert found.scores["b"]["log_score"] == log_score(B)
    assert found.scores["b"]["brier_score"] == brier_score(B)
    lines = found.score_table().splitlines()
    assert lines[0].split("  ")[0] == "model"
    assert lines[2].split()[:2] == ["a", f"{accuracy(A):.4f}"]


def verdicts(off):
    """Return verdicts of which some reject."""
    (found,) = evaluate(A, lenses=[Canonical()], n_resamples=19, rng=0).verdicts
    return tuple(replace(found, pvalue=0.01 if one else 0.5) for one in off)


@pytest.mark.parametrize(
    ("off", "value", "p", "worse", "sentence"),
    [
        ((False, False), 0.1, 0.01, None, "neither is shown to be miscalibrated"),
        ((True, False), 0.1, 0.01, "one", "one is further off than two"),
        ((False, True), 0.1, 0.01, None, "do not tell that two is further off"),
        ((True, True), 0.1, 0.06, None, "do not tell whether one or two is more so"),
        ((True, True), -0.1, 0.05, "two", "two is further off than one"),
    ],
)
def test_what_may_be_concluded(off, value, p, worse, sentence):
    found = Difference("one", "two", verdicts(off), value, 0.1, p)
    assert found.worse == worse
    assert sentence in found.conclusion
    assert found.conclusion in str(found)
    assert len(repr(found)) < 500


def test_the_wrong_model_is_not_named():
    """η is larger for the better model, whose cells are sparse; its size is not."""
    wrong, trials = 0, 150
    for number in range(trials):
        rng = np.random.default_rng(number)
        truth = rng.dirichlet(np.ones(6), 600)
        labels = outcomes(rng, truth)
        far = Predictions(0.75 * truth + 0.25 / 6, labels)
        near = Predictions(0.9 * truth + 0.1 * truth[rng.permutation(600)], labels)
        found = compare(
            {"far": far, "near": near}, n_resamples=59, rng=number, lenses=[Canonical()]
        )
        wrong += found.differences[0].worse == "near"
    assert wrong <= most(trials, 0.025)


def test_five_alike_models_are_not_ranked():
    wrong, trials = 0, 80
    for number in range(trials):
        rng = np.random.default_rng(number)
        p = rng.uniform(0.2, 0.9, 500)
        labels = rng.random(500) < p
        models = {
            name: Predictions(np.clip(p + 0.08 + rng.normal(0, 0.05, 500), 0, 1), labels)
            for name in "abcde"
        }
        found = compare(models, n_resamples=59, rng=number)
        wrong += any(difference.worse is not None for difference in found.differences)
    assert wrong <= most(trials, 0.05)


def test_power():
    """Off by 0.10 against 0.06, 2000 rows: seen in at least 85 %."""
    seen, trials = 0, 60
    for number in range(trials):
        rng = np.random.default_rng(number)
        p = rng.uniform(0.4, 0.85, 2000)
        labels = rng.random(2000) < p
        models = {str(gap): Predictions(p + gap, labels) for gap in (0.10, 0.06)}
        seen += compare(models, n_resamples=39, rng=number).differences[0].worse == "0.1"
    assert seen >= fewest(trials, 0.85)


def test_plain_numbers_and_tables():
    found = compare({"<a>": A, "b": B}, **FAST)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(plain["models"]) == ["<a>", "b"]
    assert plain["models"]["b"]["rows"] == found.evaluations["b"].to_dict()["rows"]
    assert plain["models"]["b"]["scores"]["accuracy"] == accuracy(B)
    first = plain["differences"][0]
    assert (first["first"], first["second"], first["lens"]) == ("<a>", "b", "canonical")
    html = found._repr_html_()
    assert "&lt;a&gt;" in html
    assert "<a>" not in html
    assert html.count("<tr>") == 1 + 4
    lines = found.table().splitlines()[2:]
    assert [line.split()[0] for line in lines] == ["canonical", "canonical", "top", "top"]
    sizes = [max(e.verdicts[0].size for e in found.evaluations.values())]
    assert f"{100 * sizes[0]:.1f} points" in lines[0]
    assert str(found) == "\n".join(difference.sentence for difference in found.differences)
    assert repr(found) == "<comparison of 2 models>"


@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_a_data_frame_has_a_row_for_every_model_and_test(backend):
    found = compare({"a": A, "b": B}, **FAST)
    frame = found.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert list(frame.columns) == ["model", *found.evaluations["a"].rows[0].to_dict()]
    assert list(frame["model"]) == ["a"] * 7 + ["b"] * 7
    values = [row.value for name in ("a", "b") for row in found.evaluations[name].rows]
    assert list(frame["value"]) == values


def test_models_of_different_rows():
    other = Predictions(RNG.dirichlet(np.ones(3), 80), RNG.integers(0, 3, 80))
    found = compare({"a": A, "other": other}, paired=False, **FAST)
    assert len(found.differences) == 2
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
            r"must have the same labels row by row; 'a' and 'b' differ"
            r" \(first at row 7, counted from 0\)\. Data frames and files are joined"
            r".* `id=…`\. Use `paired=False` if they have different rows\.",
        ),
        (
            Predictions(A.probs[:50], LABELS[:50]),
            r"differ \(120 and 50 rows\)\. Data frames and files are joined.* Use `paired=False`",
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
    progress = []
    compare(
        {"a": A, "b": B, "c": A},
        n_resamples=600,
        rng=0,
        progress=lambda done, total: progress.append((done, total)),
    )
    done = [d for d, _ in progress]
    assert done == sorted(done)
    assert len(set(done)) >= 3 * 2  # every model and lens
    assert {total for _, total in progress} == {done[-1]}


def test_models_must_be_predictions():
    with pytest.raises(TypeError, match="Predictions"):
        compare({"a": 1, "b": 2})


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 11])
def test_few_rows_and_clusters_are_compared(n, m):
    """Folds may be empty, and directions learned from nothing."""
    rng = np.random.default_rng(n)
    probs, labels = rng.dirichlet(np.ones(m), 3 * n), rng.integers(0, m, 3 * n)
    others = probs[:, ::-1].copy()
    for rows, clusters in ((n, None), (3 * n, np.arange(3 * n) % max(n, 2))):
        models = {
            name: Predictions(p[:rows], labels[:rows], clusters=clusters)
            for name, p in (("a", probs), ("b", others))
        }
        for difference in compare(models, **FAST).differences:
            assert np.isfinite(difference.value)
            assert difference.standard_error >= 0
