"""Columns cut into codes: what conditions there are, and what they say."""

import numpy as np
import polars as pl
import pytest

from calibrant.cuts.columns import cut_columns, distinct_values
from calibrant.regions.candidates import Candidates

RNG = np.random.default_rng(0)


def cut(**columns):
    """Cut columns; return them and those that were left out."""
    n = len(next(iter(columns.values())))
    return cut_columns(distinct_values(columns, n))


def conditions(column):
    """Return every condition that may stand alone, by what it says, with its rows."""
    low_high = column.cut.intervals if column.alone else column.cut.halves
    return {
        column.cut.text(span): (column.codes >= span[0]) & (column.codes < span[1])
        for span in low_high
    }


def test_numbers_become_quantiles():
    age = RNG.normal(size=4000) * 15 + 50
    (fine, coarse), left_out = cut(age=age)
    assert (len(fine.cut.names), len(coarse.cut.names)) == (16, 8)
    assert (fine.alone, fine.paired, coarse.alone, coarse.paired) == (True, False, False, True)
    assert np.ptp(np.bincount(coarse.codes)) <= 1
    assert left_out == []
    for text, rows in (conditions(fine) | conditions(coarse)).items():
        if text.count("<") == 1 and "≤" not in text:
            assert (rows == (age < float(text.split("<")[1]))).all()
        elif text.startswith("age ≥"):
            assert (rows == (age >= float(text.split("≥")[1]))).all()
        else:
            low, high = (float(text.split(sign)[k]) for sign, k in ((" ≤ ", 0), (" < ", 1)))
            assert (rows == ((low <= age) & (age < high))).all()


def test_few_numbers_are_ordered_levels():
    visits = np.array([0, 0, 1, 2, 2, 7, np.nan])
    (one,), _ = cut(visits=visits)
    rows = conditions(one)
    assert rows["visits = 2"].tolist() == [False] * 3 + [True] * 2 + [False] * 2
    assert rows["visits < 2"].tolist() == [True] * 3 + [False] * 4
    assert rows["2 ≤ visits < 7" if "2 ≤ visits < 7" in rows else "visits = 2"].sum() == 2
    assert rows["visits ≥ 1"].tolist() == [False] * 2 + [True] * 4 + [False]
    assert rows["visits missing"].tolist() == [False] * 6 + [True]
    assert rows["visits known"].tolist() == [True] * 6 + [False]


def test_levels_rare_ones_and_missing():
    site = np.array(["A"] * 50 + ["B"] * 40 + ["C"] * 3 + ["D"] * 2 + [""] * 31, object)
    (one,), _ = cut(site=site)
    assert one.cut.names == ("A", "B", "others", "missing")
    rows_of = conditions(one)
    assert {text: int(rows.sum()) for text, rows in rows_of.items()} == {
        "site = A": 50, "site = B": 40, "site = others": 5, "site missing": 31,
    }  # fmt: skip


def test_the_most_frequent_levels_are_kept():
    names = np.repeat([f"level {k:02}" for k in range(20)], 30 + np.arange(20))
    (one,), _ = cut(x=names)
    assert one.cut.names == (*(f"level {k:02}" for k in range(5, 20)), "others")


def test_dates_become_periods_and_weekdays():
    day = np.datetime64("2024-01-01") + np.arange(300)
    (period, weekday), _ = cut(day=day)
    assert period.cut.names[:2] == ("2024-01", "2024-02")
    rows_of = conditions(period)
    assert (rows_of["day < 2024-03"] == (day < np.datetime64("2024-03-01"))).all()
    assert weekday.cut.name == "weekday of day"
    assert (conditions(weekday)["weekday of day = Monday"] == (np.arange(300) % 7 == 0)).all()
    texts, _ = cut(day=day.astype(str))
    assert [one.cut for one in texts] == [period.cut, weekday.cut]


def test_numbers_as_texts_and_frames():
    values = RNG.integers(0, 50, 300)
    whole, texts = cut(x=values)[0], cut(x=values.astype(str))[0]
    for one, other in zip(whole, texts, strict=True):
        assert one.cut == other.cut
        assert (one.codes == other.codes).all()
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(values, dtype="Int64")
    assert cut(x=series)[0][0].cut == whole[0].cut
    polars = pytest.importorskip("polars")
    assert cut(x=polars.Series(values))[0][0].cut == whole[0].cut


def test_texts_and_constants_are_left_out():
    found, left_out = cut(
        note=[f"text {k}" for k in range(90)], one=[1] * 90, flag=[True, False] * 45
    )
    assert [one.cut.names for one in found] == [("false", "true")]
    assert dict(left_out) == {"note": "text: none of its 90 values has 30 rows", "one": "one value"}


def test_odd_columns():
    found, left_out = cut(lacking=[None] * 60, lists=[[1], [2, 3]] * 30, inf=[np.inf, 0.0] * 30)
    assert [one.cut.names for one in found] == [("[1]", "[2, 3]"), ("0", "inf")]
    assert left_out == [("lacking", "one value")]
    pairs, left_out = cut(pairs=[[1, 2], [3, 4]] * 30, records=pl.Series([{"a": 1}, {"a": 2}] * 30))
    assert [one.cut.names for one in pairs] == [("[1, 2]", "[3, 4]"), ("[1]", "[2]")]
    assert not left_out


def test_one_number_in_several_spellings_has_one_code():
    found, _ = cut(x=["0", "0.0", "-0", "1", "1.00", "1e0"] * 20)
    assert [one.cut.names for one in found] == [("0", "1")]
    assert found[0].codes[:6].tolist() == [0, 0, 0, 1, 1, 1]
    assert found[0].cut.coder.codes(["-0.0", "1.0"]).tolist() == [0, 1]


def test_words_for_missing_among_numbers_and_dates():
    ages = np.array([*map(str, range(20, 80)), "NA", "?"] * 3, object)
    days = (np.datetime64("2024-01-01") + np.arange(ages.size)).astype(str).astype(object)
    days[:7] = "NA"
    fine, period = cut(x=ages)[0][0], cut(x=days)[0][0]
    assert (fine.codes == len(fine.cut.names) - 1).tolist() == [x in "NA?" for x in ages]
    assert fine.cut.names[-1] == period.cut.names[-1] == "missing"
    assert (period.codes == len(period.cut.names) - 1).tolist() == [x == "NA" for x in days]
    for one, values in ((fine, ages), (period, days)):
        assert (one.cut.coder.codes(values) == one.codes).all()
    (continent,), _ = cut(x=["NA", "EU"] * 40)
    assert continent.cut.names == ("EU", "NA")


def test_truths_are_spelled_alike():
    (one,), _ = cut(x=np.array([True, False] * 40))
    for spelled in (["True", "False"], ["TRUE", "FALSE"], ["true", "false"]):
        (other,), _ = cut(x=spelled * 40)
        assert (other.cut, other.codes.tolist()) == (one.cut, one.codes.tolist())
        assert one.cut.coder.codes(spelled).tolist() == [1, 0]


def test_the_smallest_and_largest_numbers_are_told():
    (one,), _ = cut(x=[5e-324, 1e-308, -1e308, 1e308, 0.0] * 8)
    edges = [float(edge) for edge in one.cut.edges]
    assert -1e308 < edges[1] <= 0 < edges[2] <= 5e-324 < edges[3] <= 1e-308 < edges[4] <= 1e308


def test_candidates_are_all_rows_conditions_and_pairs():
    site = np.array(["A", "B", "C"] * 100)
    columns, _ = cut(site=site, visits=np.arange(300) % 3)
    found = Candidates.of(columns, 2)
    texts = [found.text(g) for g in range(len(found))]
    assert texts[0] == "all rows"
    assert texts[1:4] == ["site = A", "site = B", "site = C"]
    assert len(texts) == len(set(texts)) == 1 + 3 + 5 + 3 * 4
    assert found.effort.tolist() == [0] + [2] * 8 + [4] * 12
    assert "site = B and visits < 2" in texts
    codes = np.stack([np.zeros(300, np.uint8), *(one.codes for one in columns)], axis=1)
    sizes = found.sums(codes, np.ones((300, 1), np.int64))[:, 0]
    assert sizes.tolist() == [found.mask(g, codes).sum() for g in range(len(found))]
    assert len(Candidates.of(columns, 1)) == 9


def test_a_column_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"each of the 3 rows; column 'x' has 2\."):
        distinct_values({"x": [1, 2]}, 3)
