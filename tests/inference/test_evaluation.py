"""The grid of lens, partition and distance: each row is what the single functions give."""

import json

import numpy as np
import pytest

from calibrant import Predictions, calibration_test, estimate, evaluate
from calibrant.checks.seeds import derive, make_key
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.inference.adjustment import min_p
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth, FromFunction, VarianceTree
from calibrant.resampling import Bootstrap, Consistency, Exact
from calibrant.statistics import ExpectedMiscalibration

RNG = np.random.default_rng(0)
DATA = Predictions(
    RNG.dirichlet(np.ones(3), 150), RNG.integers(0, 3, 150), classes=["<a>", "b", "c"]
)
BINARY = Predictions(RNG.random(150), RNG.integers(0, 2, 150))
DISTANCES = (total_variation, euclidean, squared_euclidean)


def own(p, q):
    return np.abs(p - q).max(axis=-1)


@pytest.mark.parametrize("data", [DATA, BINARY], ids=["three", "binary"])
@pytest.mark.parametrize("resampler", [Exact(), Consistency()], ids=repr)
def test_rows_are_what_the_single_functions_give(data, resampler):
    lenses = [Canonical(), TopLabel(), Marginal(1), Pooled()]
    partitions = [EqualWidth(4), VarianceTree(30)]
    found = evaluate(
        data,
        lenses=lenses,
        partitions=partitions,
        distances=[*DISTANCES, own],
        resampler=resampler,
        n_resamples=19,
        rng=5,
    )
    assert (found.n, found.m) == (150, data.m)
    assert [(row.lens, row.partition, row.distance) for row in found.rows] == [
        (lens, partition, distance)
        for lens in lenses
        for partition in partitions
        for distance in (*DISTANCES, own)
    ]
    again = int(derive(make_key(5), 3))
    for row in found.rows:
        statistic = ExpectedMiscalibration(row.partition, row.distance)
        assert row.value == statistic(row.lens(data))
        assert row.n_cells == row.partition.fit(row.lens(data)).n_cells
        # The same draws for every row, so the same as the test and the estimate alone.
        test = calibration_test(
            data, statistic, lens=row.lens, resampler=resampler, n_resamples=19, rng=5
        )
        np.testing.assert_array_equal(row.null, test.null)
        alone = estimate(
            data,
            statistic,
            lens=row.lens,
            resampler=Bootstrap(refit=False),
            n_resamples=19,
            rng=again,
        )
        np.testing.assert_array_equal(row.replicates, alone.replicates)
        assert row.pvalue == (1 + np.sum(row.null >= row.value - 1e-12)) / 20
        assert row.standard_error == np.std(row.replicates, ddof=1)
    values, null = np.array([row.value for row in found.rows]), [row.null for row in found.rows]
    assert [row.adjusted_pvalue for row in found.rows] == min_p(values, np.stack(null)).tolist()


def test_rows_share_their_draws():
    """For two outcomes the Euclidean distance is √2 times the total variation, draw by draw."""
    found = evaluate(BINARY, partitions=[EqualWidth(5)], n_resamples=50, rng=0)
    tv, root = found.rows
    # Two numbers for each of five cells, and one root.
    np.testing.assert_allclose(root.null, np.sqrt(2) * tv.null, rtol=1e-13)
    np.testing.assert_allclose(root.replicates, np.sqrt(2) * tv.replicates, rtol=1e-13)
    assert root.pvalue == tv.pvalue


def test_rows_of_different_lenses_share_them_too():
    lenses = [Marginal(0), Groups([[0], [1, 2]])]  # the same problem twice
    found = evaluate(DATA, lenses=lenses, partitions=[EqualWidth(3)], n_resamples=9, rng=0)
    # Both are about class 0, whose predictions are not rounded; the other class follows.
    assert found.rows[0].value == found.rows[2].value
    np.testing.assert_array_equal(found.rows[0].null, found.rows[2].null)
    np.testing.assert_array_equal(found.rows[0].replicates, found.rows[2].replicates)


@pytest.mark.parametrize(("n_resamples", "drawn"), [(1, 2), (2, 2), (9, 9), (250, 200)])
def test_standard_errors_come_from_200_data_sets_or_fewer(n_resamples, drawn):
    found = evaluate(BINARY, partitions=[EqualWidth(5)], n_resamples=n_resamples, rng=0)
    assert found.settings["n_bootstrap"] == drawn
    for row in found.rows:
        assert (row.null.size, row.replicates.size) == (n_resamples, drawn)
        assert row.standard_error > 0


def test_standard_errors_keep_the_cells():
    for data in (DATA, BINARY):
        partition = VarianceTree(30)
        kept = FromFunction(partition.fit(data).assign)
        a, b = (
            evaluate(data, lenses=[Canonical()], partitions=[p], n_resamples=20, rng=0).rows[0]
            for p in (partition, kept)
        )
        np.testing.assert_allclose(a.replicates, b.replicates, rtol=1e-12)


@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_a_data_frame_has_a_row_for_every_combination(backend):
    found = evaluate(DATA, n_resamples=9, rng=0)
    frame = found.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert list(frame.columns) == list(found.rows[0].to_dict())
    assert list(frame["pvalue"]) == [row.pvalue for row in found.rows]
    assert list(frame["lens"]) == [str(row.lens) for row in found.rows]


def test_what_it_was_made_with():
    found = evaluate(DATA, n_resamples=9, rng=2)
    told = json.loads(json.dumps(found.to_dict()))["settings"]
    assert told == {
        "lenses": ["canonical", "top label"],
        "partitions": ["10 equal widths", "variance tree of 15"],
        "distances": ["total variation", "euclidean"],
        "n_bootstrap": 9,
        "resampler": str(Exact()),
        "n_resamples": 9,
        "seed": 2,
    }
    assert repr(found) == f"<{found}>"
    assert len(repr(found)) < 200
    assert repr(found.rows[0]).startswith("<canonical, 10 equal widths, total variation, ")


def test_defaults():
    found = evaluate(DATA, n_resamples=9, rng=0)
    shown = [(str(r.lens), str(r.partition), r.distance.__name__) for r in found.rows]
    assert shown == [
        (lens, partition, distance)
        for lens in ("canonical", "top label")
        for partition in ("10 equal widths", "variance tree of 15")
        for distance in ("total_variation", "euclidean")
    ]
    binary = evaluate(BINARY, n_resamples=9, rng=0)
    assert {str(row.lens) for row in binary.rows} == {"canonical"}
    assert len(binary.rows) == 4
    tiny = evaluate(Predictions([0.5, 0.7], [0, 1]), n_resamples=9, rng=0)
    assert {row.partition for row in tiny.rows} == {EqualWidth(10), VarianceTree(2)}
    many = Predictions(np.linspace(0, 1, 20_000), np.arange(20_000) % 2)
    large = evaluate(many, n_resamples=1, rng=0)
    assert {row.partition for row in large.rows} == {EqualWidth(10), VarianceTree(1000)}


def test_plain_numbers_and_tables():
    found = evaluate(DATA, lenses=[Marginal("<a>")], n_resamples=9, rng=0)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (told["n"], told["m"], len(told["rows"])) == (150, 3, 4)
    assert told["rows"][0] | {"standard_error": 0, "null_mean": 0, "null_sd": 0} == {
        "lens": "class <a>",
        "partition": "10 equal widths",
        "distance": "total variation",
        "n_cells": found.rows[0].n_cells,
        "estimate": found.rows[0].value,
        "standard_error": 0,
        "null_mean": 0,
        "null_sd": 0,
        "pvalue": found.rows[0].pvalue,
        "adjusted_pvalue": found.rows[0].adjusted_pvalue,
    }
    html = found._repr_html_()
    assert "class &lt;a&gt;" in html
    assert "<a>" not in html
    assert html.count("<tr>") == 5
    lines = found.table().splitlines()
    assert len(lines) == 6
    assert lines[0].split() == [
        "lens",
        "partition",
        "distance",
        "cells",
        "estimate",
        "if",
        "calibrated",
        "p",
        "adjusted",
        "p",
    ]
    assert lines[2].startswith("class <a>")
    assert str(found).startswith("evaluation of 150 rows and 3 classes: ")


def test_the_sentence_counts_adjusted_pvalues():
    bad = Predictions(np.full(200, 0.9), np.zeros(200, int))
    found = evaluate(bad, n_resamples=999, rng=0)
    assert str(found).endswith(": 4 of 4 combinations reject calibration at 5 % (adjusted)")


@pytest.mark.parametrize("name", ["lenses", "partitions", "distances"])
def test_an_empty_grid_is_refused(name):
    with pytest.raises(ValueError, match=rf"`{name}` must not be empty\."):
        evaluate(DATA, **{name: []})


def test_one_row_is_a_row():
    found = evaluate(Predictions([0.3], [1]), n_resamples=9, rng=0)
    assert str(found).startswith("evaluation of 1 row and 2 classes: ")


def test_rows_of_weight_0_are_absent():
    weights = RNG.integers(0, 2, DATA.n)
    weighted = Predictions(DATA.probs, DATA.labels, DATA.classes, weights)
    there = DATA.restrict(weights > 0)
    for a, b in zip(
        evaluate(weighted, n_resamples=9).rows,
        evaluate(there, n_resamples=9).rows,
        strict=True,
    ):
        assert a.partition == b.partition
        assert a.n_cells == b.n_cells
        assert a.value == pytest.approx(b.value, rel=1e-12)


@pytest.mark.parametrize("unit", [0.001, 1 / 150, 3.0, 1e6])
def test_the_unit_of_weights_does_not_matter(unit):
    weights = RNG.random(DATA.n)
    one, other = (
        evaluate(Predictions(DATA.probs, DATA.labels, DATA.classes, w), n_resamples=9)
        for w in (weights, unit * weights)
    )
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a.n_cells, a.value) == (b.n_cells, pytest.approx(b.value, rel=1e-12))
    assert one.rows[-1].n_cells > 5
