"""Counts, shares and p-values in sentences."""

from calibrant.reporting import words


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_needed_resamples():
    assert [words.needed(n) for n in (1, 4, 8, 50)] == [19, 79, 159, 999]
    for n in range(1, 200):
        b = words.needed(n)
        assert n * (1 / (b + 1)) <= 0.05 < n * (1 / b)


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
