"""Several models: of files each, of one long file, side by side or joined by the names of rows."""

import numpy as np
import polars as pl
import pytest

from calibrant import Predictions, compare, load, load_models

RNG = np.random.default_rng(3)
N = 60
LONG = pl.DataFrame(
    {
        "model": ["small"] * N + ["large"] * N,
        "id": [f"case {k}" for k in range(N)] * 2,
        "y": RNG.integers(0, 2, N).tolist() * 2,
        "p": RNG.random(2 * N),
        "weight": RNG.random(N).tolist() * 2,
    }
)


def part(name):
    return LONG.filter(pl.col("model") == name).drop("model")


def same(data, expected):
    np.testing.assert_array_equal(data.probs, expected.probs)
    np.testing.assert_array_equal(data.labels, expected.labels)
    np.testing.assert_array_equal(data.weights, expected.weights)
    assert data.classes == expected.classes


@pytest.fixture
def files(tmp_path):
    found = {}
    for name in ("small", "large"):
        found[name] = tmp_path / f"{name}.csv"
        part(name).write_csv(found[name])
    return found


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_long_file_is_as_a_file_for_each(tmp_path, files, ending):
    path = tmp_path / f"long.{ending}"
    write = {"csv": LONG.write_csv, "parquet": LONG.write_parquet, "jsonl": LONG.write_ndjson}
    write[ending](path)
    models = load_models(path, model="Model")
    assert list(models) == ["small", "large"]
    for name, data in models.items():
        same(data, load(files[name]))
        assert data.reading.model == "model"
    only = load_models(path, model="model=large")
    assert list(only) == ["large"]
    same(only["large"], load(files["large"]))
    with pytest.raises(ValueError, match=r"`model` must choose a model; 'huge' not among 'small'"):
        load_models(path, model="model=huge")


def test_files_are_models_by_their_names(files, tmp_path):
    models = load_models(list(files.values()))
    assert list(models) == ["small", "large"]
    for name, data in models.items():
        same(data, load(files[name]))
    (tmp_path / "b").mkdir()
    other = tmp_path / "b" / "small.csv"
    part("large").write_csv(other)
    assert list(load_models([files["small"], other])) == [str(files["small"]), str(other)]
    with pytest.raises(ValueError, match=r"`paths` must be different files; found one twice"):
        load_models([other, other])


def test_rows_are_joined_by_their_names(files):
    """The second file is shuffled, and lacks rows that the first has; the first lacks others."""
    shuffled = part("large").sample(fraction=1, shuffle=True, seed=1)
    first, second = part("small")[5:], shuffled.filter(pl.col("id") != "case 9")
    first.write_csv(files["small"])
    second.write_csv(files["large"])
    models = load_models(list(files.values()), id="id")
    wanted = [key for key in first["id"] if key != "case 9"]
    for name, table in (("small", first), ("large", second)):
        rows = {row["id"]: row for row in table.to_dicts()}
        clean = Predictions(
            [rows[key]["p"] for key in wanted],
            [rows[key]["y"] for key in wanted],
            weights=[rows[key]["weight"] for key in wanted],
        )
        same(models[name], clean)
    compare(models, n_resamples=19, rng=0)  # labels and weights agree, row by row
    with pytest.raises(
        ValueError, match=r"same rows in the same order; column 'id' of 'small' and"
    ):
        load_models(list(files.values()))
    assert load_models(list(files.values()), paired=False)["small"].n == len(first)


def test_joined_models_of_a_long_file(tmp_path):
    path = tmp_path / "long.csv"
    LONG.write_csv(path)
    in_order = load_models(path, model="model", id="id")
    LONG.sample(fraction=1, shuffle=True, seed=2).sort("model", descending=True).write_csv(path)
    joined = load_models(path, model="model", id="id")
    order = pl.read_csv(path).filter(pl.col("model") == "small")["id"].to_list()
    for name, data in joined.items():
        keys = LONG.filter(pl.col("model") == name)["id"].to_list()
        same(data, in_order[name].take(np.array([keys.index(key) for key in order])))
    with pytest.raises(ValueError, match=r"same rows in the same order"):
        load_models(path, model="model")


def test_rows_that_a_join_leaves_out_are_counted(tmp_path):
    path = tmp_path / "long.csv"
    LONG[1:].write_csv(path)  # the first row of the first model is missing
    joined = load_models(path, model="model", id="id")
    (first, one), (_, other) = joined.items()
    assert one.n == other.n == LONG.filter(pl.col("model") == first).height - 1
    assert (one.reading.unmatched, other.reading.unmatched) == (0, 1)
    assert "models lack" not in str(one.reading)
    assert str(other.reading).endswith(". Left out 1 row that other models lack.")


def test_joins_that_make_no_sense(files):
    part("large").with_columns(pl.col("id").str.replace("case", "row")).write_csv(files["large"])
    with pytest.raises(
        ValueError, match=r"`id` must name rows that all models have; there is none"
    ):
        load_models(list(files.values()), id="id")
    part("large").with_columns(id=pl.lit("one")).write_csv(files["large"])
    with pytest.raises(
        ValueError, match=r"`id` must name each row once; column 'id' has 'one' more"
    ):
        load_models(list(files.values()), id="id")
    with pytest.raises(ValueError, match=r"`id` must name columns; 'key' not among"):
        load_models(list(files.values()), id="key")


def test_names_of_rows_may_be_numbers_in_one_file_and_texts_in_another(tmp_path):
    frame = pl.DataFrame({"id": [3, 1, 2], "y": [1, 0, 1], "p": [0.75, 0.25, 0.5]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.reverse().write_csv(tmp_path / "b.csv")
    models = load_models([tmp_path / "a.parquet", tmp_path / "b.csv"], id="id")
    same(models["b"], models["a"])


def test_arrays_of_models(tmp_path):
    path = tmp_path / "x.npz"
    names = np.array(["a", "b", "a", "b"])
    np.savez(path, probs=[0.5, 0.25, 0.75, 1], labels=[0, 1, 1, 1], model=names, key=[1, 2, 2, 1])
    models = load_models(path, model="model", id="key")
    assert models["a"].probs[:, 1].tolist() == [0.5, 0.75]
    assert models["b"].probs[:, 1].tolist() == [1.0, 0.25]


def test_models_of_confidences_have_their_own_right(tmp_path):
    for name, right in (("a", [1, 0, 1, 1]), ("b", [0, 0, 1, 1])):
        pl.DataFrame({"confidence": [0.5, 0.25, 0.75, 1.0], "correct": right}).write_csv(
            tmp_path / f"{name}.csv"
        )
    found = compare(load_models([tmp_path / "a.csv", tmp_path / "b.csv"]), n_resamples=19, rng=0)
    assert found.scores["a"]["share_correct"] == 0.75
    assert found.differences
