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
