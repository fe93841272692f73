"""The grid of lens, partition and distance: each row is what the single functions give."""

import json

import numpy as np
import pytest

from calibrant import Predictions, evaluate
from calibrant.checks.seeds import derive, make_key
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.inference import table
from calibrant.inference.pvalues import holm
from calibrant.inference.replicates import Plan, replicates
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth, VarianceTree
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
        n_bootstrap=7,
        rng=5,
    )
    assert (found.n, found.m) == (150, data.m)
    assert [(row.lens, row.partition, row.distance) for row in found.rows] == [
        (lens, partition, distance)
        for lens in lenses
        for partition in partitions
        for distance in (*DISTANCES, own)
    ]
    key = make_key(5)
    for number, row in enumerate(found.rows):
        statistic = ExpectedMiscalibration(row.partition, row.distance)
        assert row.value == statistic(row.lens(data))
        assert row.n_cells == row.partition.fit(row.lens(data)).n_cells
        for given, size, purpose, drawn in (
            (resampler, 19, (2, number // 4), row.null),
            (Bootstrap(), 7, (3,), row.replicates),
        ):
            plan = Plan(given, size, derive(key, *purpose))
            alone = replicates(data, [statistic], row.lens, plan)[0]
            # With a distance of the user's all of a group take the general way: the same
            # draws, added in another order.
            np.testing.assert_allclose(drawn, alone, rtol=1e-12, atol=1e-13)
        assert row.pvalue == (1 + np.sum(row.null >= row.value - 1e-12)) / 20
        assert row.standard_error == np.std(row.replicates, ddof=1)
    expected = holm([row.pvalue for row in found.rows]).tolist()
    assert [row.adjusted_pvalue for row in found.rows] == expected


def test_rows_of_one_lens_and_partition_share_their_draws():
    """For two outcomes the Euclidean distance is √2 times the total variation, draw by draw."""
    found = evaluate(BINARY, partitions=[EqualWidth(5)], n_resamples=50, n_bootstrap=20, rng=0)
    tv, root = found.rows
    # Two numbers for each of five cells, and one root.
    np.testing.assert_allclose(root.null, np.sqrt(2) * tv.null, rtol=1e-13)
    np.testing.assert_allclose(root.replicates, np.sqrt(2) * tv.replicates, rtol=1e-13)
    assert root.pvalue == tv.pvalue


def test_rows_of_different_lenses_do_not():
    lenses = [Marginal(0), Groups([[0], [1, 2]])]  # the same problem twice
    found = evaluate(DATA, lenses=lenses, partitions=[EqualWidth(3)], n_resamples=9, rng=0)
    # One of them adds up two classes, so the last digit may differ.
    assert found.rows[0].value == pytest.approx(found.rows[2].value, rel=1e-14)
    assert not np.array_equal(found.rows[0].null, found.rows[2].null)
    # The bootstrap draws the same rows for all, so that rows can be compared.
    np.testing.assert_allclose(found.rows[0].replicates, found.rows[2].replicates, rtol=1e-12)


def test_defaults():
    found = evaluate(DATA, n_resamples=9, n_bootstrap=3, rng=0)
    shown = [(str(r.lens), str(r.partition), r.distance.__name__) for r in found.rows]
    assert shown == [
        (lens, partition, distance)
        for lens in ("canonical", "top label")
        for partition in ("10 equal widths", "variance tree of 15")
        for distance in ("total_variation", "euclidean")
    ]
    binary = evaluate(BINARY, n_resamples=9, n_bootstrap=3, rng=0)
    assert {str(row.lens) for row in binary.rows} == {"canonical"}
    assert len(binary.rows) == 4
    tiny = evaluate(Predictions([0.5, 0.7], [0, 1]), n_resamples=9, n_bootstrap=3, rng=0)
    assert {row.partition for row in tiny.rows} == {EqualWidth(10), VarianceTree(2)}
    many = Predictions(np.linspace(0, 1, 20_000), np.arange(20_000) % 2)
    large = evaluate(many, n_resamples=1, n_bootstrap=2, rng=0)
    assert {row.partition for row in large.rows} == {EqualWidth(10), VarianceTree(1000)}


def test_plain_numbers_and_tables():
    found = evaluate(DATA, lenses=[Marginal("<a>")], n_resamples=9, n_bootstrap=3, rng=0)
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
    found = evaluate(bad, n_resamples=999, n_bootstrap=2, rng=0)
    assert str(found).endswith(": 4 of 4 combinations reject calibration at 5 % (Holm)")


@pytest.mark.parametrize("name", ["lenses", "partitions", "distances"])
def test_an_empty_grid_is_refused(name):
    with pytest.raises(ValueError, match=rf"`{name}` must not be empty\."):
        evaluate(DATA, **{name: []})


def test_a_standard_error_needs_two_bootstraps():
    with pytest.raises(ValueError, match=r"`n_bootstrap` must be a whole number from 2; found 1"):
        evaluate(DATA, n_bootstrap=1)


def test_the_layout_of_tables():
    shown = table.text(["name", "x"], [["long name", "1"], ["b", "20"]])
    assert shown.splitlines() == [
        "name        x",
        "---------  --",
        "long name   1",
        "b          20",
    ]
    assert table.html(["a"], [["<&"]]) == (
        '<table><thead><tr><th style="text-align:right">a</th></tr></thead>'
        '<tbody><tr><td style="text-align:right">&lt;&amp;</td></tr></tbody></table>'
    )


def test_one_row_is_a_row():
    found = evaluate(Predictions([0.3], [1]), n_resamples=9, n_bootstrap=3, rng=0)
    assert str(found).startswith("evaluation of 1 row and 2 classes: ")


def test_rows_of_weight_0_are_absent():
    weights = RNG.integers(0, 2, DATA.n)
    weighted = Predictions(DATA.probs, DATA.labels, DATA.classes, weights)
    there = DATA.restrict(weights > 0)
    for a, b in zip(
        evaluate(weighted, n_resamples=9, n_bootstrap=2).rows,
        evaluate(there, n_resamples=9, n_bootstrap=2).rows,
        strict=True,
    ):
        assert a.partition == b.partition
        assert a.n_cells == b.n_cells
        assert a.value == pytest.approx(b.value, rel=1e-12)


@pytest.mark.parametrize("unit", [0.001, 1 / 150, 3.0, 1e6])
def test_the_unit_of_weights_does_not_matter(unit):
    weights = RNG.random(DATA.n)
    one, other = (
        evaluate(
            Predictions(DATA.probs, DATA.labels, DATA.classes, w), n_resamples=9, n_bootstrap=2
        )
        for w in (weights, unit * weights)
    )
    for a, b in zip(one.rows, other.rows, strict=True):
        assert (a.n_cells, a.value) == (b.n_cells, pytest.approx(b.value, rel=1e-12))
    assert one.rows[-1].n_cells > 5
