"""The grid of lens, partition and distance: each row is what the single functions give."""

import json

import numpy as np
import pytest

from calibrant import Predictions, calibration_test, evaluate
from calibrant.calibration import View
from calibrant.distances import euclidean, squared_euclidean, total_variation
from calibrant.inference.testing.families import adjust, default_tree, omnibus
from calibrant.lenses import Canonical, Groups, Marginal, Pooled, TopLabel
from calibrant.partitions import EqualWidth, VarianceTree
from calibrant.resampling import Consistency, Exact
from calibrant.statistics import ExpectedMiscalibration, Surprise, grid

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
        statistics=grid(partitions, [*DISTANCES, own]),
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
    for row in found.rows:
        statistic = ExpectedMiscalibration(row.partition, row.distance)
        assert row.value == statistic(row.lens(data))
        # The same draws for every row, so the same as the test alone.
        test = calibration_test(
            data, statistic, lens=row.lens, resampler=resampler, n_resamples=19, rng=5
        )
        np.testing.assert_array_equal(row.null, test.null)
        assert row.pvalue == (1 + np.sum(row.null >= row.value - 1e-12)) / 20
    values, null = np.array([row.value for row in found.rows]), [row.null for row in found.rows]
    assert [row.adjusted_pvalue for row in found.rows] == adjust(values, np.stack(null)).tolist()


def test_rows_share_their_draws():
    """For two outcomes the Euclidean distance is √2 times the total variation, draw by draw."""
    found = evaluate(BINARY, statistics=grid([EqualWidth(5)]), n_resamples=50, rng=0)
    tv, root = found.rows
    # Two numbers for each of five cells, and one root.
    np.testing.assert_allclose(root.null, np.sqrt(2) * tv.null, rtol=1e-13)
    assert root.pvalue == tv.pvalue


def test_rows_of_different_lenses_share_them_too():
    lenses = [Marginal(0), Groups([[0], [1, 2]])]  # the same problem twice
    found = evaluate(DATA, lenses=lenses, statistics=grid([EqualWidth(3)]), n_resamples=9, rng=0)
    # Both are about class 0, whose predictions are not rounded; the other class follows.
    assert found.rows[0].value == found.rows[2].value
    np.testing.assert_array_equal(found.rows[0].null, found.rows[2].null)


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
    settings = json.loads(json.dumps(found.to_dict()))["settings"]
    assert settings == {
        "lenses": ["canonical", "top label"],
        "statistics": "omnibus",
        "resampler": str(Exact()),
        "n_resamples": 9,
        "seed": 2,
    }
    assert repr(found).startswith("<evaluation of 150 rows, 3 classes: ")
    assert len(repr(found)) < 200
    assert repr(found.rows[0]).startswith("<canonical, kernel 0.1, ")
    chosen = evaluate(DATA, statistics=[Surprise()], n_resamples=9, rng=2)
    assert chosen.settings["statistics"] == [str(Surprise())]


def test_defaults():
    found = evaluate(DATA, n_resamples=9, rng=0)
    assert [(str(row.lens), row.statistic) for row in found.rows] == [
        *(("canonical", statistic) for statistic in omnibus(View.of(DATA))),
        *(("top label", statistic) for statistic in omnibus(View.of(BINARY))),
    ]
    binary = evaluate(BINARY, n_resamples=9, rng=0)
    assert [(str(row.lens), row.statistic) for row in binary.rows] == [
        ("canonical", statistic) for statistic in omnibus(View.of(BINARY))
    ]


def test_the_grid_of_the_paper():
    partitions, distances = [EqualWidth(10), VarianceTree(15)], [total_variation, euclidean]
    found = evaluate(DATA, statistics=grid(partitions), n_resamples=9, rng=0)
    assert [(str(r.lens), r.partition, r.distance) for r in found.rows] == [
        (lens, partition, distance)
        for lens in ("canonical", "top label")
        for partition in partitions
        for distance in distances
    ]


@pytest.mark.parametrize(("n", "size"), [(2, 2), (150, 15), (20_000, 1000)])
def test_the_default_tree(n, size):
    assert default_tree(Predictions(np.linspace(0, 1, n), np.arange(n) % 2)) == VarianceTree(size)


def test_plain_numbers_and_tables():
    chosen = {"lenses": [Marginal("<a>")], "statistics": grid([EqualWidth(10)])}
    found = evaluate(DATA, **chosen, n_resamples=9, rng=0)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (plain["n"], plain["m"], len(plain["rows"])) == (150, 3, 2)
    row = found.rows[0]
    assert plain["rows"][0] == {
        "lens": "class <a>",
        "statistic": "expected total variation on 10 equal widths",
        "partition": "10 equal widths",
        "distance": "total variation",
        "value": row.value,
        "null_mean": row.null.mean(),
        "null_sd": row.null.std(),
        "pvalue": row.pvalue,
        "adjusted_pvalue": row.adjusted_pvalue,
    }
    html = found._repr_html_()
    assert "class &lt;a&gt;" in html
    assert "<a>" not in html
    assert html.count("<tr>") == 3
    lines = found.table().splitlines()
    assert len(lines) == 4
    assert lines[0].split("  ")[0] == "lens"
    assert lines[2].startswith("class <a>")
    assert str(found) == found.verdicts[0].sentence


@pytest.mark.parametrize("name", ["lenses", "statistics"])
def test_an_empty_grid_is_refused(name):
    with pytest.raises(ValueError, match=rf"`{name}` must not be empty\."):
        evaluate(DATA, **{name: []})


def test_rows_of_weight_0_are_absent():
    weights = RNG.integers(0, 2, DATA.n)
    weighted = Predictions(DATA.probs, DATA.labels, DATA.classes, weights)
    there = DATA.restrict(weights > 0)
    for a, b in zip(
        evaluate(weighted, statistics=grid([default_tree(weighted)]), n_resamples=9).rows,
        evaluate(there, statistics=grid([default_tree(there)]), n_resamples=9).rows,
        strict=True,
    ):
        assert a.partition == b.partition
        assert a.value == pytest.approx(b.value, rel=1e-12)


@pytest.mark.parametrize("unit", [0.001, 1 / 150, 3.0, 1e6])
def test_the_unit_of_weights_does_not_matter(unit):
    weights = RNG.random(DATA.n)
    one, other = (
        Predictions(DATA.probs, DATA.labels, DATA.classes, w) for w in (weights, unit * weights)
    )
    for a, b in zip(grid([default_tree(one)]), grid([default_tree(other)]), strict=True):
        assert a(one) == pytest.approx(b(other), rel=1e-12)
    assert default_tree(one).fit(one).n_cells == default_tree(other).fit(other).n_cells > 5
