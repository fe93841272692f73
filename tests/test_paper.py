"""The committed results of `experiments/paper` still follow from the committed predictions."""

import json
import re

import numpy as np
import pytest

from calibrant import Predictions, calibration_test, datasets, scores
from calibrant.resampling import Consistency, Exact
from calibrant.statistics import ExpectedMiscalibration
from experiments.mnist.trajectory import Trajectory as Recorded
from experiments.paper import calibrated, examples, files, gaussian_mixture, page, tables, training
from experiments.paper.words import rounded_ratio, wrapped

CLOSE = {"rel": 1e-12, "abs": 1e-15}  # sums may be rounded differently on another machine


def test_the_page_follows_from_the_results():
    assert files.PAGE.read_text("utf-8") == page.page()


def test_every_picture_of_the_page_exists_and_is_small():
    names = re.findall(r"\]\((figures/[^)]+)\)", page.page())
    assert len(names) == len(set(names))
    assert {name.rpartition("/")[2] for name in names} == {p.name for p in files.FIGURES.iterdir()}
    for name in names:
        assert 5_000 < (files.PAGE.parent / name).stat().st_size < 200_000, name


def test_every_test_that_the_page_names_exists():
    for path in re.findall(r"\]\((\.\./[^)]+)\)", page.page()):
        assert (files.PAGE.parent / path).is_file(), path
    sources = "".join(path.read_text("utf-8") for path in (files.ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", page.page()):
        assert f"def {name}(" in sources, name


def test_the_predictions_are_those_that_were_trained():
    for name in files.NETWORKS:
        ours = datasets.cifar10(name)
        with np.load(files.HERE.parent / "cifar10" / "results" / f"{name}.npz") as kept:
            np.testing.assert_array_equal(ours.probs, kept["probs"])
            np.testing.assert_array_equal(ours.labels, kept["labels"])


@pytest.mark.parametrize("name", files.NETWORKS)
def test_the_estimates_of_the_tables(name):
    found = files.read("tables")["networks"][name]
    data = datasets.cifar10(name)
    assert found["accuracy"] == scores.accuracy(data)
    assert found["log_score"] == pytest.approx(scores.log_score(data), **CLOSE)
    assert len(found["rows"]) == len(tables.COMBINATIONS)
    for row in found["rows"]:
        eta = ExpectedMiscalibration(
            tables.PARTITIONS[row["bins"]], tables.DISTANCES[row["distance"]]
        )
        seen = tables.LENSES[row["lens"]](data)
        assert row["estimate"] == pytest.approx(eta(seen), **CLOSE)
        assert row["cells"] == eta.partition.fit(seen).n_cells


def test_the_exact_null_distributions_of_a_table():
    found = files.read("tables")
    assert (found["seed"], found["resamples"]) == (tables.SEED, tables.RESAMPLES)
    ours = tables.grid("lenet", Exact())
    for row, again in zip(found["networks"]["lenet"]["rows"], ours.rows, strict=True):
        for kind, value in tables.null(again).items():
            assert row["exact"][kind] == pytest.approx(value, **CLOSE)


def test_the_size_of_both_tests_for_one_network():
    found = files.read("calibrated")
    (row,) = [
        r
        for r in found["rows"]
        if (r["network"], r["lens"], r["bins"]) == ("resnet", "maximum", "equally-sized")
    ]
    again = json.loads(json.dumps(calibrated.combination("resnet", "maximum", "equally-sized")))
    for kind in ("exact", "consistency"):
        assert again[kind]["rejected"] == row[kind]["rejected"]
        assert again[kind]["interval_95"] == pytest.approx(row[kind]["interval_95"])
    for kind in ("mean", "consistency_mean", "first"):
        assert again[kind] == pytest.approx(row[kind], **CLOSE)


def test_more_data_sets_were_drawn_where_the_exact_test_seems_to_miss_its_level():
    for row in files.read("calibrated")["rows"]:
        low, high = row["exact"]["interval_95"]
        assert (row["exact_again"] is None) == (low <= calibrated.LEVEL <= high)
        if row["exact_again"]:
            low, high = row["exact_again"]["interval_95"]
            assert low <= calibrated.LEVEL <= high


@pytest.mark.parametrize("hits", [0, 1, 43, 999, 1000])
def test_clopper_pearson(hits):
    from scipy.stats import binomtest

    expected = binomtest(hits, 1000).proportion_ci(0.95, method="exact")
    assert calibrated.clopper_pearson(hits, 1000) == pytest.approx(tuple(expected))


def test_examples():
    found = files.read("examples")
    data = datasets.example1(examples.ROWS, rng=examples.SEED)
    for name, seen in examples.looked_at(data).items():
        assert found["example1"][name] == pytest.approx(seen, **CLOSE)
    assert found["example5"] == examples.one_row() == {"perfect": 0.0, "constant": 0.5}


def test_the_truth_of_the_gaussian_mixture():
    found = files.read("gaussian_mixture")
    for model in gaussian_mixture.MODELS:
        truth = gaussian_mixture.expected_miscalibration(model)
        assert found["models"][model.name]["truth"] == pytest.approx(truth, abs=1e-10)
    assert truth == pytest.approx(0.563751, abs=5e-7)
    for row in found["limits"]:
        assert row["limit"] == pytest.approx(
            gaussian_mixture.limit(gaussian_mixture.MODELS[2], row["bins"]), abs=1e-10
        )


@pytest.mark.parametrize("number", range(3))
def test_the_series_of_the_gaussian_mixture(number):
    model = gaussian_mixture.MODELS[number]
    found = files.read("gaussian_mixture")["models"][model.name]
    values = gaussian_mixture.estimates(number, 100)
    for b, bins in enumerate(gaussian_mixture.BINS):
        (row,) = [r for r in found["bias"] if (r["n"], r["bins"]) == (100, bins)]
        again = gaussian_mixture.summary(values[:, b] - found["truth"])
        assert {key: row[key] for key in again} == pytest.approx(again, rel=1e-9, abs=1e-12)


def test_the_training_where_its_likelihood_is_best():
    found = files.read("training")
    recorded = Recorded.load(files.MNIST / "lenet1.npz")
    for way in training.WAYS:
        one = found[way][0]
        assert [row["step"] for row in one["rows"]] == recorded.steps.tolist()
    rows = found["top-label-exact"][0]["rows"]
    for place in (0, 20, len(rows) - 1):
        data = Predictions(recorded.probs[place], recorded.labels)
        assert rows[place]["log_score"] == pytest.approx(scores.log_score(data), **CLOSE)
        assert rows[place]["accuracy"] == scores.accuracy(data)
        for way, settings in training.WAYS.items():
            value = settings["statistic"](settings["lens"](data))
            assert found[way][0]["rows"][place]["value"] == pytest.approx(value, **CLOSE)


def test_following_a_training_again_gives_the_same_rows():
    recorded = Recorded.load(files.MNIST / "lenet1.npz")
    first = Recorded(recorded.steps[:2], recorded.probs[:2], recorded.labels)
    found = files.read("training")
    for way, trajectory in training.follow(1, first).items():
        for row, again in zip(found[way][0]["rows"], trajectory.rows, strict=False):
            assert row == pytest.approx(again.to_dict(), **CLOSE)


def test_a_null_distribution_of_the_paper():
    found = files.read("training")["canonical_consistency_pvalues_at_best"]
    assert len(found) == len(training.INITIALISATIONS)
    row = files.read("calibrated")["rows"][2]
    assert (row["network"], row["lens"], row["bins"]) == ("lenet", "maximum", "equally-sized")
    test = calibration_test(
        datasets.cifar10("lenet"),
        ExpectedMiscalibration(tables.PARTITIONS["equally-sized"]),
        lens=tables.LENSES["maximum"],
        resampler=Consistency(),
        n_resamples=calibrated.RESAMPLES["consistency"],
        rng=calibrated.SEED,
    )
    assert row["consistency_mean"] == pytest.approx(test.null.mean(), **CLOSE)


def test_the_facts_are_those_of_the_paper():
    facts = files.facts()
    assert len(facts["rows"]) == 24
    assert {row["table"] for row in facts["rows"]} == {3, 4, 5}
    # Sums of all printed digits: a wrong one would change them.
    total = {
        key: round(1000 * sum(row[key] for row in facts["rows"]))
        for key in ("estimate", "standard_error", "null_mean", "null_sd")
    }
    assert total == {"estimate": 1380, "standard_error": 67, "null_mean": 704, "null_sd": 36}


def test_ratios_of_rounded_numbers():
    low, high = rounded_ratio(0.054, 0.038)
    assert low < 2**0.5 < high
    assert not rounded_ratio(0.006, 0.002)[0] < 2**0.5


def test_lines_are_not_broken_inside_code():
    text = wrapped("word " * 18 + "`some code` [a link](to/it) end")
    assert "`some code`" in text
    assert "[a link](to/it)" in text
    assert all(len(line) <= 100 for line in text.splitlines())
