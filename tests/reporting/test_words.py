"""Counts, shares and p-values in sentences."""

from calibrant import words


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_needed_resamples():
    assert 1 / (words.NEEDED + 1) <= words.ALPHA < 1 / words.NEEDED
    assert words.too_few() == (
        "at least 19 resamples are needed to reject calibration at 5\N{NO-BREAK SPACE}%"
    )


def test_rows():
    assert words.rows_of(1, False) == "1 row"
    assert words.rows_of(1234567, False) == "1,234,567 rows"
    assert words.rows_of(12345.678, True) == "rows of weight 12,345.7"
    assert words.rows_of(0.0123456, True) == "rows of weight 0.01235"


def test_numbers():
    assert plain(words.pvalue(0.0004)) == "p < 0.001"
    assert plain(words.pvalue(0.25)) == "p = 0.250"
    assert words.points(0.0414) == "4.1 points"
    assert (words.be(1), words.be(2)) == ("is", "are")


def test_numbers_that_are_compared_differ():
    assert words.apart(0.052, 0.031) == ("5.2 points", "3.1 points")
    assert words.apart(0.00112, 0.00094) == ("0.11 points", "0.09 points")
    assert words.apart(0.001, 0.00002) == ("0.100 points", "0.002 points")
    assert words.apart(0.01, 0.01) == ("1.0000 points", "1.0000 points")


def test_zero_has_no_sign_and_no_points():
    assert words.signed(-0.00001, 1) == "0.0"
    assert words.signed(-0.06, 1) == "-0.1"
    assert words.signed(0.25, 2) == "+0.25"
    assert words.points(0.0002) == "0.02 points"
    assert words.span(0.0, 0.0212) == "0 to 2.1"
    assert words.decimal(float("inf")) == "∞"
    assert words.listed(["a", "b", "c"], "or") == "a, b or c"
