"""Maps in files: the same bits after loading, a documented schema, and what is refused."""

import json
import re
import stat

import numpy as np
import pytest
from fits import methods_of, overconfident
from places import ROOT

from calibrant import Predictions, lenses, partitions
from calibrant.recalibration import Histogram, Temperature, TemperatureMap, Vector, load_map
from calibrant.recalibration.histogram import KINDS as CELLS
from calibrant.recalibration.kinds import KINDS

PAGE = ROOT / "docs" / "recalibration.md"
FRESH = {m: overconfident(2000, m, seed=9, power=3.0).probs for m in (2, 3)}


def round_trip(fitted, folder):
    fitted.save(folder / "map.json")
    return load_map(folder / "map.json")


def same_bits(fitted, folder):
    again = round_trip(fitted, folder)
    assert type(again) is type(fitted)
    assert again.classes == fitted.classes
    assert again.to_dict() == fitted.to_dict()
    assert str(again) == str(fitted)
    for probs in (FRESH[fitted.m], FRESH[fitted.m].astype(np.float32), np.eye(fitted.m)):
        assert again(probs).tobytes() == fitted(probs).tobytes()


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loaded_map_gives_the_same_bits(tmp_path, m, dtype):
    data = overconfident(m=m, weights=True, dtype=dtype)
    for method in methods_of(m):
        same_bits(method.fit(data), tmp_path)


def test_a_chain_gives_the_same_bits(tmp_path):
    data = overconfident()
    same_bits(Temperature().fit(data) >> Vector().fit(data), tmp_path)


def test_a_map_of_what_a_lens_shows_gives_the_same_bits(tmp_path):
    seen = lenses.TopLabel()(overconfident())
    for method in methods_of(2):
        same_bits(method.fit(seen), tmp_path)


def test_many_cells_of_many_classes(tmp_path):
    """Keys of several words."""
    rng = np.random.default_rng(0)
    data = Predictions(rng.dirichlet(np.ones(30), 200), rng.integers(0, 30, 200))
    for partition in (partitions.EqualWidth(15), partitions.SimplexBins(4)):
        fitted = Histogram(partition).fit(data)
        again = round_trip(fitted, tmp_path)
        np.testing.assert_array_equal(again.fitted.keys, fitted.fitted.keys)
        np.testing.assert_array_equal(again(data.probs), fitted(data.probs))


def test_names_that_are_not_ascii(tmp_path):
    fitted = TemperatureMap(("größer", "小"), 0.1)
    assert round_trip(fitted, tmp_path).classes == ("größer", "小")
    assert "größer" in (tmp_path / "map.json").read_text(encoding="utf-8")


def test_numbers_are_the_shortest_that_mean_the_same(tmp_path):
    TemperatureMap(("no", "yes"), 0.1).save(tmp_path / "map.json")
    assert json.loads((tmp_path / "map.json").read_text()) == {
        "schema": "calibrant-map/1",
        "kind": "temperature",
        "classes": ["no", "yes"],
        "temperature": 0.1,
    }
    assert '"temperature": 0.1\n' in (tmp_path / "map.json").read_text()


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "map.json"
    TemperatureMap(("no", "yes"), 2.0).save(path)
    TemperatureMap(("no", "yes"), 3.0).save(str(path))
    assert load_map(str(path)).temperature == 3.0
    assert [file.name for file in tmp_path.iterdir()] == ["map.json"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_a_map_that_cannot_be_saved_leaves_no_file(tmp_path):
    partition = partitions.FromFunction(lambda probs: probs[:, 1] > 0.5)
    fitted = Histogram(partition).fit(overconfident(m=2))
    with pytest.raises(TypeError, match="cannot be saved: its bins are known to a function only"):
        fitted.save(tmp_path / "map.json")
    assert not list(tmp_path.iterdir())


def test_places_where_no_file_can_be(tmp_path):
    fitted = TemperatureMap(("no", "yes"), 2.0)
    with pytest.raises(ValueError, match="is a folder; give the name of a file in it"):
        fitted.save(tmp_path)
    with pytest.raises(ValueError, match=r"the folder .* does not exist"):
        fitted.save(tmp_path / "none" / "map.json")
    with pytest.raises(FileNotFoundError, match=r"`path` must be a file; .* does not exist"):
        load_map(tmp_path / "map.json")
    with pytest.raises(FileNotFoundError, match=r"`path` must be a file; .* is a folder"):
        load_map(tmp_path)


GOOD = {
    "temperature": {"temperature": 2.0},
    "log_linear": {"weights": [1.0, 1.0], "bias": [0.0, 0.0], "floor": 0.001},
    "isotonic": {"curves": [{"column": 1, "x": [0.5], "y": [0.5]}]},
    "histogram": {
        "cells": {"partition": "equal_width", "k": 2, "first": 1, "intervals": [[0], [1]]},
        "observed": [[1.0, 0.0], [0.5, 0.5]],
    },
}
NUMBERS = {
    "of": "probability",
    "column": "p",
    "kind": "numbers",
    "edges": [0.4],
    "low": 1,
    "high": 2,
}
LEVELS = {"of": "column", "column": "site", "kind": "levels", "levels": ["A"], "period": ""}
LEVELS |= {"rest": 1, "lacking": 2, "low": 0, "high": 1}
TREE = {
    "partition": "variance_tree",
    "min_size": 10,
    "split": "mean",
    "nodes": [[1, 1, 2], [-1, 0, -1], [-1, 1, -1]],
    "thresholds": [0.5, 0.0, 0.0],
}
MASSES = {"partition": "equal_mass", "k": 2, "column": 1, "lows": [0.1, 0.6]}
SIMPLICES = {
    "partition": "simplex_bins",
    "k": 2,
    "first": 1,
    "wholes": [[0], [1]],
    "ranks": [[0]] * 2,
}


def document(kind, **changes):
    start = {"schema": "calibrant-map/1", "kind": kind, "classes": ["no", "yes"]}
    return start | GOOD[kind] | changes


def cells(start, **changes):
    return document("histogram", cells=start | changes)


def shifts(start, by=1.0, **changes):
    """Return a calibrator that shifts log-odds where a condition holds."""
    one = {"region": "r", "by": by, "class": "yes", "conditions": [start | changes]}
    head = {"schema": "calibrant-map/1", "kind": "regions", "classes": ["no", "yes"]}
    return head | {"shifts": [one]}


BOXES = GOOD["histogram"]["cells"]
MAP = document("temperature")
DAMAGED = [
    ([1, 2], "must hold a JSON object; found"),
    ({}, "`schema` must be there; it is missing"),
    (MAP | {"schema": "calibrant-map/2"}, "`schema` must be 'calibrant-map/1'; found"),
    (MAP | {"kind": "spline"}, "`kind` must be one of 'temperature', .* found 'spline'"),
    (MAP | {"kind": ["spline"]}, "`kind` must be one of"),
    (MAP | {"classes": "ab"}, "`classes` must be the names of at least two; found 'ab'"),
    (MAP | {"classes": ["a", "a"]}, "`classes` must differ from one another"),
    (MAP | {"temperature": "2"}, "`temperature` must be numbers; found '2'"),
    (MAP | {"temperature": -1}, "`temperature` must be a number above 0; found -1"),
    (MAP | {"temperature": 10**400}, "`temperature` must be numbers; found 1000"),
    (document("log_linear", weights=[[1.0], [1.0, 2.0]]), "`weights` must be numbers; found"),
    (document("log_linear", weights=["1", "1"]), "`weights` must be numbers; found"),
    (document("log_linear", bias=[0.0]), r"`bias` must be of shape \(2\); found \(1,\)"),
    (document("log_linear", floor=0), "`floor` must be a number above 0"),
    (document("isotonic", curves=[]), "`curves` must be a list of objects; found"),
    (document("isotonic", curves=[1]), "`curves` must be a JSON object; found 1"),
    (document("isotonic", curves=[{"column": 1}]), "`x` must be there; it is missing"),
    (document("isotonic", curves=[{"column": 2, "x": [0.5], "y": [0.5]}]), "`curves` must be one"),
    (document("histogram", observed=[[1.0, 0.0]]), "`observed` must be of shape"),
    (document("histogram", observed=[[2.0, -1.0]] * 2), "`observed` must not be negative"),
    (document("histogram", cells=[]), r"`cells` must be a JSON object; found \[\]"),
    (cells(BOXES, partition="balls"), "`partition` must be one of equal_width, .* found 'balls'"),
    (cells(BOXES, intervals=[[0], [2]]), "`intervals` must be at least 0 and below 2; found"),
    (cells(BOXES, intervals=[[0], [0.5]]), "`intervals` must be whole numbers; found"),
    (cells(BOXES, intervals=[[0], [0]]), "`observed` must be of shape"),
    (cells(BOXES, first=2), "`first` must be 0, or 1 for two classes; found 2"),
    (cells(BOXES, k=0), "`k` must be a whole number from 1; found 0"),
    (cells(SIMPLICES, ranks=[[1], [0]]), "`ranks` must be at least 0 and below 1"),
    (cells(MASSES, lows=[0.6, 0.1]), "`lows` must rise, for one of two classes; found"),
    (cells(TREE, nodes=[[1, 0, 2], [-1, 0, -1], [-1, 1, -1]]), "`nodes` must be those of a tree"),
    (cells(TREE, nodes=[[2, 1, 2], [-1, 0, -1], [-1, 1, -1]]), "`nodes` must be those of a tree"),
    (cells(TREE, nodes=[[1, 1, 3], [-1, 0, -1], [-1, 1, -1]]), "`nodes` must be those of a tree"),
    (cells(TREE, nodes=[[1, 1, 2], [-1, 0, -1], [-1, 0, -1]]), "`nodes` must be those of a tree"),
    (cells(TREE, thresholds=[0.5]), r"`thresholds` must be of shape \(3\); found"),
    (shifts(NUMBERS, by=701), "`by` must be between ±700; found 701"),
    (shifts(NUMBERS, of="confidence"), "`of` must be column, probability or class; found 'conf"),
    (shifts(NUMBERS, edges=[10**400]), "`edges` must be numbers; found"),
    (shifts(NUMBERS, edges=["x" * 10**5]), "`edges` must be numbers; found .'x{,300}…"),
    (shifts(NUMBERS, edges=[0.5, 0.4]), "`edges` must rise, and be at most 253; found"),
    (shifts(NUMBERS, edges=list(range(254))), "`edges` must rise, and be at most 253; found"),
    (shifts(NUMBERS, low=-1), "`low` must be from 0 to 255; found -1"),
    (shifts(LEVELS, levels="AB"), "`levels` must be a list of texts; found 'AB'"),
    (shifts(LEVELS, levels=[1]), r"`levels` must be a list of texts; found \[1\]"),
    (shifts(LEVELS, levels=["A"] * 256), "`levels` must be at most 255; found 256"),
    (shifts(LEVELS, rest=256), "`rest` must be from 0 to 255; found 256"),
    (shifts(LEVELS, period=["week"]), r"`period` must be one of .*; found \['week'\]"),
    (MAP | {"kind": "chain"}, "`maps` must be there; it is missing"),
    (MAP | {"kind": "chain", "maps": [MAP | {"kind": "chain"}]}, "`kind` must be one of"),
    (MAP | {"kind": "chain", "maps": [MAP | {"classes": ["a", "b"]}]}, "of the same classes"),
]


@pytest.mark.parametrize(("fields", "sentence"), DAMAGED)
def test_damaged_fields(tmp_path, fields, sentence):
    path = tmp_path / "map.json"
    path.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=sentence) as caught:
        load_map(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", '{"schema": "calib', '{"temperature": NaN}', "probs,label\n0.5,1", "[" * 10**5]
)
def test_what_is_no_json(tmp_path, text):
    path = tmp_path / "map.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}: must be a JSON file; it cannot be")):
        load_map(path)


def test_what_is_no_text(tmp_path):
    path = tmp_path / "map.json"
    path.write_bytes(b"\xff\x00\x01")
    with pytest.raises(ValueError, match="must be a JSON file; it cannot be read"):
        load_map(path)


@pytest.mark.parametrize("start", [BOXES, SIMPLICES, MASSES, TREE])
def test_files_written_by_hand(tmp_path, start):
    path = tmp_path / "map.json"
    path.write_text(json.dumps(cells(start) | {"comment": "further fields are ignored"}))
    found = load_map(path)([0.2, 0.7])
    np.testing.assert_array_equal(found, [[1.0, 0.0], [0.5, 0.5]])


def test_regions_written_by_hand(tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps(shifts(NUMBERS, by=float(np.log(4)))))
    np.testing.assert_allclose(load_map(path)([0.2, 0.5])[:, 1], [0.2, 0.8], rtol=1e-15)
    path.write_text(json.dumps(shifts(LEVELS, by=700)))
    columns = {"site": ["A", "B", ""]}
    moved = load_map(path).shifted(np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]), columns)
    assert moved.tolist() == [[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]


def test_the_page_has_every_kind_and_field():
    text = PAGE.read_text()
    for kind in (*KINDS, *CELLS, "chain"):
        assert f"`{kind}`" in text, kind
    data = overconfident(m=2)
    for method in methods_of(2):
        written = method.fit(data).to_dict()
        parts = [written, written.get("cells", {}), *written.get("curves", [])]
        for part in parts:
            for field in part:
                assert f"`{field}`" in text, field


HUGE = {
    "weights": {"weights": [1e308, 1e308], "bias": [0.0, 0.0], "floor": 1e-12},
    "a matrix": {"weights": [[1e307, -1e307], [1e307, 1e307]], "bias": [0, 0], "floor": 1e-300},
    "bias": {"weights": [1.0, 1.0], "bias": [1.7e308, -1.7e308], "floor": 1e-12},
}


@pytest.mark.parametrize("name", HUGE)
def test_a_map_that_yields_no_probabilities_is_refused_when_it_is_loaded(tmp_path, name):
    start = {"schema": "calibrant-map/1", "kind": "log_linear", "classes": ["no", "yes"]}
    (tmp_path / "map.json").write_text(json.dumps(start | HUGE[name]))
    with pytest.raises(ValueError, match=r"map\.json: `weights` and `bias` must be small enough"):
        load_map(tmp_path / "map.json")


class Broken(TemperatureMap.__base__):
    """A map that answers with something else than probabilities."""

    kind = "broken"
    __slots__ = ("classes", "found")

    def __init__(self, found):
        self.classes, self.found = ("no", "yes"), found

    def rows(self, probs):
        return np.full(probs.shape, self.found)

    def fields(self):
        return {}

    def __str__(self):
        return "broken"


@pytest.mark.parametrize("found", [np.nan, np.inf])
def test_no_map_ever_answers_with_anything_but_numbers(found):
    with pytest.raises(ValueError, match=r"the map must give probabilities; it makes .* of row 0"):
        Broken(found)([[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"the map must give probabilities; it makes"):
        Broken(found).check_answers()


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": "calibrant-map/1", "kind": "temperature", "classes": ["a", "b"],'
        ' "temperature": 1.0, "temperature": 2.0}',
        '{"schema": "calibrant-map/1", "schema": "calibrant-map/1"}',
        '{"schema": "calibrant-map/1", "kind": "chain", "classes": ["a", "b"], "maps":'
        ' [{"kind": "temperature", "kind": "temperature"}]}',
    ],
)
def test_a_key_that_is_there_twice_is_refused(tmp_path, text):
    (tmp_path / "map.json").write_text(text)
    with pytest.raises(ValueError, match=r"the key '\w+' is there twice"):
        load_map(tmp_path / "map.json")
