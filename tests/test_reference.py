"""The paper authors' own code: expected miscalibration and number of cells, to 1e-9."""

import json
from functools import cache

import numpy as np
import pytest
from places import SHARED

from calibrant import Predictions, distances, lenses, partitions
from calibrant.statistics import ExpectedMiscalibration

AGREEMENT = 1e-9  # what the reference promises in float64

# lens, partition, distance, cells, expected miscalibration
CLOSED_FORM = [
    ("canonical", "EqualWidth(10)", "total_variation", 67, 0.13232851744940893),
    ("canonical", "EqualWidth(10)", "euclidean", 67, 0.16047156769177173),
    ("canonical", "VarianceTree(500)", "total_variation", 15, 0.10240611184415856),
    ("canonical", "VarianceTree(500)", "euclidean", 15, 0.12085808388262428),
    ("top", "EqualWidth(10)", "total_variation", 7, 0.0686267625834089),
    ("top", "EqualWidth(10)", "euclidean", 7, 0.09705289838721533),
    ("top", "VarianceTree(500)", "total_variation", 13, 0.06902893597667867),
    ("top", "VarianceTree(500)", "euclidean", 13, 0.09762165745440306),
    ("top:2", "EqualWidth(10)", "total_variation", 16, 0.07769689409440547),
    ("top:2", "EqualWidth(10)", "euclidean", 16, 0.09799293484980057),
    ("top:2", "VarianceTree(500)", "total_variation", 14, 0.07507709390634754),
    ("top:2", "VarianceTree(500)", "euclidean", 14, 0.09728925560753539),
    ("class:0", "EqualWidth(10)", "total_variation", 7, 0.05493110157199272),
    ("class:0", "EqualWidth(10)", "euclidean", 7, 0.07768430883920616),
    ("class:0", "VarianceTree(500)", "total_variation", 15, 0.06696038769475197),
    ("class:0", "VarianceTree(500)", "euclidean", 15, 0.09469628841967875),
    ("groups:0|1|2,3", "EqualWidth(10)", "total_variation", 33, 0.10246535818499161),
    ("groups:0|1|2,3", "EqualWidth(10)", "euclidean", 33, 0.13095072205645217),
    ("groups:0|1|2,3", "VarianceTree(500)", "total_variation", 14, 0.08479705907942575),
    ("groups:0|1|2,3", "VarianceTree(500)", "euclidean", 14, 0.10879733029379961),
]


@cache
def closed_form():
    """Return the data set that needs no file: see the formulas."""
    i = np.arange(5000)[:, None]
    j = np.arange(4)[None, :]
    z = 2 * np.sin(0.37 * i * (j + 1) + j)
    labels = np.argmax(z + 2.5 * np.cos(1.1 * i * (j + 2)), axis=1)
    probs = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return Predictions(probs, labels)


def parse_lens(text):
    kind, _, rest = text.partition(":")
    if kind == "groups":
        return lenses.Groups([[int(j) for j in g.split(",")] for g in rest.split("|")])
    make = {
        "canonical": lambda _: lenses.Canonical(),
        "top": lambda k: lenses.TopK(int(k)) if k else lenses.TopLabel(),
        "class": lambda j: lenses.Marginal(int(j)),
    }
    return make[kind](rest)


def parse_partition(text):
    name, _, size = text.rstrip(")").partition("(")
    return getattr(partitions, name)(int(size))


def check(data, lens, partition, distance, cells, expected):
    seen = parse_lens(lens)(data)
    chosen = parse_partition(partition)
    assert chosen.fit(seen).n_cells == cells
    found = ExpectedMiscalibration(chosen, getattr(distances, distance))(seen)
    assert found == pytest.approx(expected, rel=0, abs=AGREEMENT)


@pytest.mark.parametrize(("lens", "partition", "distance", "cells", "expected"), CLOSED_FORM)
def test_closed_form(lens, partition, distance, cells, expected):
    check(closed_form(), lens, partition, distance, cells, expected)


def test_closed_form_from_logits():
    i = np.arange(5000)[:, None]
    j = np.arange(4)[None, :]
    z = 2 * np.sin(0.37 * i * (j + 1) + j)
    data = Predictions.from_logits(z, closed_form().labels)
    check(data, *CLOSED_FORM[0])
    # Five entries of a product of exponentials and a division; each errs by a few ulp.
    np.testing.assert_allclose(data.probs, closed_form().probs, rtol=1e-14)


def values():
    path = SHARED / "reference" / "values.json"
    return json.loads(path.read_text()) if path.exists() else {}


@cache
def stored(name):
    if name == "closed_form":
        return closed_form()
    with np.load(SHARED / "data" / "predictions" / f"{name}.npz") as file:
        probs = file["probs"].astype(np.float64)
        return Predictions(probs / probs.sum(axis=1, keepdims=True), file["labels"])


@pytest.mark.parametrize("name", sorted(values()) or ["closed_form"])
def test_every_row_of_the_reference(shared, name):
    rows = json.loads((shared / "reference" / "values.json").read_text())[name]
    assert rows
    for row in rows:
        check(
            stored(name),
            *(row[key] for key in ("lens", "partition", "distance", "cells", "expected")),
        )


def test_the_numbers_written_here_are_those_of_the_reference(shared):
    rows = json.loads((shared / "reference" / "values.json").read_text())["closed_form"]
    assert [tuple(row.values()) for row in rows] == CLOSED_FORM


def test_every_stored_set_can_be_evaluated(shared):
    """No set is refused, and none gives a number out of range."""
    files = sorted((shared / "data" / "predictions").glob("*.npz"))
    assert len(files) >= 40
    for path in files:
        with np.load(path) as file:
            data = Predictions(file["probs"], file["labels"])
        assert data.probs.dtype == np.float32
        for partition in (partitions.EqualWidth(15), partitions.VarianceTree(1000)):
            assert 0 <= ExpectedMiscalibration(partition)(data) <= 1
        assert 0 <= ExpectedMiscalibration(partitions.EqualWidth(15))(lenses.TopLabel()(data)) <= 1


def test_stored_logits_give_the_stored_probabilities(shared):
    for path in sorted((shared / "data" / "predictions").glob("*.npz")):
        with np.load(path) as file:
            if "logits" not in file:
                continue
            data = Predictions.from_logits(file["logits"], file["labels"])
            # float32 on both sides, from exponentials of numbers up to about 100
            np.testing.assert_allclose(data.probs, file["probs"], rtol=1e-4, atol=1e-6)
