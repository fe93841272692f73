"""Percentages, decimal commas and missing values: what errors suggest, and what it gives."""

import json

import numpy as np
import polars as pl
import pytest
from command import run

import calibrant as cal

PLAIN = "label,prob_a,prob_b\na,0.7,0.3\nb,0.25,0.75\n"


@pytest.fixture
def write(tmp_path):
    def made(content, name="x.csv"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return made


def same(found, expected):
    assert abs(found.probs - expected.probs).max() < 1e-15
    assert found.labels.tolist() == expected.labels.tolist()
    assert found.classes == expected.classes


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("label,prob_a,prob_b\na,70,30\nb,25,75\n", {"percent": True}),
        ("label,prob_a,prob_b\na,70 %,30%\nb,25,75 %\n", {"percent": True}),
        ("label;prob_a;prob_b\na;0,7;0,3\nb;0,25;0,75\n", {"decimal_comma": True}),
        ("label;prob_a;prob_b\na;70,0 %;30,0\nb;25;75\n", {"decimal_comma": True, "percent": True}),
        (
            "label,prob_a,prob_b\na,0.7,0.3\n,0.5,0.5\nb,NA,0.5\nb,0.25,0.75\n",
            {"drop_missing": True},
        ),
        ("label,prob_a,prob_b\na,0.7,0.3\nb,nan,0.5\nb,0.25,0.75\na,,\n", {"drop_missing": True}),
    ],
)
def test_the_same_numbers_written_otherwise(write, content, options):
    same(cal.load(write(content), **options), cal.load(write(PLAIN, "plain.csv")))
    with pytest.raises(ValueError, match=f"`{next(iter(options))}=True`"):
        cal.load(write(content))


def test_the_reading_says_what_was_done(write):
    rows = "".join(f"{'a' if i % 2 else ''},{50 + i},{50 - i}\n" for i in range(20))
    path = write(f"label,prob_a,prob_b\nb,20,80\n{rows}")
    data = cal.load(path, percent=True, drop_missing=True)
    assert data.n == 11
    assert str(data.reading).endswith(
        "; percentages were divided by 100. Dropped 10 rows with missing values: row 1 (line 3),"
        " row 3 (line 5), row 5 (line 7), row 7 (line 9), row 9 (line 11) and 5 more."
    )
    assert data.reading.to_dict()["dropped"] == 10


def test_rows_keep_their_places_in_sentences(write):
    content = "label,prob_a,prob_b\na,,1\nb,0.5,0.75\n"
    with pytest.raises(ValueError, match=r"row 1 \(line 3\)"):
        cal.load(write(content), drop_missing=True)


def test_weights_are_no_percentages(write):
    data = cal.load(write("label,prob_a,prob_b,weight\na,70,30,2\nb,25,75,1\n"), percent=True)
    assert data.weights.tolist() == [2, 1]


def test_frames_json_and_parquet(write, tmp_path):
    frame = pl.DataFrame({"y": ["a", "b", None], "a": [70.0, 25, 10], "b": [30.0, 75, 90]})
    how = {"percent": True, "drop_missing": True}
    expected = cal.load(write(PLAIN, "plain.csv"))
    frame.write_parquet(tmp_path / "x.parquet")
    write("\n".join(json.dumps(row) for row in frame.to_dicts()), "x.jsonl")
    for data in (
        cal.load(tmp_path / "x.parquet", **how),
        cal.load(tmp_path / "x.jsonl", **how),
    ):
        same(data, expected)
    found = cal.ece(frame, label="y", n_resamples=9, **how)
    assert found == cal.ece(expected)


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (("70 %", "25 %"), {"percent": True}),
        ((70, "25%"), {"percent": True}),
        (("0,7", "0,25"), {"decimal_comma": True}),
        ((0.7, 0.25, "NA"), {"drop_missing": True}),
    ],
)
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_texts_among_numbers_of_json(write, cells, options, ending):
    rows = [{"y": i % 2, "p": cell} for i, cell in enumerate(cells)]
    path = write("\n".join(map(json.dumps, rows)), "x.jsonl")
    if ending == "json":
        path = write(json.dumps(rows), "x.json")
    with pytest.raises((ValueError, TypeError), match=f"`{next(iter(options))}=True`"):
        cal.load(path)
    data = cal.load(path, **options)
    assert data.probs[:, 1].tolist() == pytest.approx([0.7, 0.25], rel=1e-15)


def test_refusals(write):
    with pytest.raises(ValueError, match="must be percentages, as `percent=True` says; none is"):
        cal.load(write(PLAIN), percent=True)
    with pytest.raises(ValueError, match="`percent` must not be given with logits"):
        cal.load(write(PLAIN), percent=True, values="logits")
    with pytest.raises(TypeError, match="`drop_missing` must be"):
        cal.load(write(PLAIN), drop_missing="yes")
    with pytest.raises(ValueError, match="some row must have a value in every column"):
        cal.load(write("label,prob_a,prob_b\na,NA,0.3\n"), drop_missing=True)
    with pytest.raises(ValueError, match=r"has 'x' in column 'prob_b'\.$"):
        cal.load(write("label,prob_a,prob_b\na,70,30\nb,25,x\n"), percent=True)


def test_arrays_may_hold_percentages(tmp_path):
    np.savez(tmp_path / "x.npz", probs=[70.0, 25.0], labels=[1, 0])
    data = cal.load(tmp_path / "x.npz", percent=True)
    assert data.probs[:, 1].tolist() == [0.7, 0.25]
    assert "percentages were divided by 100" in str(data.reading)
    with pytest.raises(ValueError, match="are for columns, not arrays"):
        cal.load(tmp_path / "x.npz", drop_missing=True)


@pytest.mark.parametrize("gap", ["NA", "n/a", " ", "nan", "."])
def test_labels_that_are_missing_among_numbers(write, gap):
    path = write(f"y,p\n1,0.7\n{gap},0.5\n0,0.25\n1,{gap}\n")
    with pytest.raises(ValueError, match="`drop_missing=True`"):
        cal.load(path)
    data = cal.load(path, drop_missing=True)
    assert data.probs[:, 1].tolist() == [0.7, 0.25]
    assert data.labels.tolist() == [1, 0]
    assert data.reading.dropped == 2


def test_a_class_may_be_called_none(write):
    data = cal.load(write("y,prob_a,prob_none\na,0.7,0.3\nnone,0.5,0.5\n"), drop_missing=True)
    assert data.labels.tolist() == [0, 1]


@pytest.mark.parametrize("lines", ["y,p\n1,0.7\n0,nan\n", "y,prob_0,prob_1\n1,0.7,0.3\n0,nan,1\n"])
def test_a_number_that_is_none_is_missing(write, lines):
    with pytest.raises(ValueError, match=r"must be finite; row 1 .* with `drop_missing=True`"):
        cal.load(write(lines))
    with pytest.raises(ValueError, match=r"must be finite; row 1 [^.]*\.?[^.]*\.$"):
        cal.load(write(lines.replace("nan", "inf")))


def test_percentages_above_100_are_no_logits(write):
    with pytest.raises(ValueError, match=r"1\.005\. They were divided by 100, as"):
        cal.load(write("y,p\n1,100.5\n0,20\n"), percent=True)


@pytest.mark.parametrize("cell", ["70 %", '"0,7"', "", "nan", "70"])
@pytest.mark.parametrize("ending", ["csv", "json", "jsonl"])
def test_what_is_written_again_is_plain(write, tmp_path, cell, ending):
    plain = write("y,p\n1,0.7\n0,0.2\n1,0.6\n0,0.4\n", "plain.csv")
    fitted = cal.recalibration.Temperature().fit(cal.load(plain))
    fitted.save(tmp_path / "map.json")
    rows = [{"y": 1, "p": cell}, {"y": 0, "p": 0.2}]
    texts = {"csv": f"y,p\n1,{cell}\n0,0.2\n", "json": json.dumps(rows)}
    texts["jsonl"] = "\n".join(map(json.dumps, rows))
    path = write(texts[ending], f"x.{ending}")
    done = run("apply", tmp_path / "map.json", path, "-o", tmp_path / f"new.{ending}")
    assert done.exit_code == 1
    assert "plain numbers" in done.output or "--" not in done.output
