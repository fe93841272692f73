"""Numbers of rows that stand twice are found, if they are not few, whatever the order."""

from functools import reduce

import numpy as np
import pytest
from folders import rows_of, table, write
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant.partitions import EqualWidth
from calibrant.rows import Batch
from calibrant.rows import passes as row_numbers
from calibrant.rows.passes import RowNumbers
from calibrant.statistics import ExpectedMiscalibration

ETA = ExpectedMiscalibration(EqualWidth(4))


def sample(numbers):
    tally = RowNumbers()
    return tally.add(tally.zero(), Batch(None, None, 0, np.array(numbers, np.int64)))


@given(st.lists(st.sets(st.integers(0, 40), min_size=1), min_size=1, max_size=5), st.randoms())
def test_what_is_found_does_not_depend_on_the_order(batches, random):
    """Against plain counting: the sample is that of the smallest hashes of all."""
    before, row_numbers.KEPT = row_numbers.KEPT, 7
    try:
        states = [sample(sorted(batch)) for batch in batches]
        random.shuffle(states)
        found = reduce(RowNumbers().merge, states)
    finally:
        row_numbers.KEPT = before
    hashes = {int(row_numbers._hash(np.array([n]))[0]): n for batch in batches for n in batch}
    smallest = sorted(hashes)[:7]
    again = [h for h in smallest if sum(hashes[h] in batch for batch in batches) > 1]
    assert found.numbers.tolist() == [hashes[h] for h in smallest]
    if again:
        with pytest.raises(ValueError, match=f"; {hashes[again[0]]} stands more than once"):
            found.check()
    else:
        found.check()


@pytest.fixture
def scan(tmp_path):
    """Return rows that are numbered anew in each of two files."""
    whole = table(*rows_of(200, 3), rows=np.arange(200) % 120)
    return cal.scan(write(tmp_path, whole, (120,), 60), row="row")


def test_numbers_that_begin_anew_in_every_file(scan):
    for call in (
        lambda: cal.calibration_test(scan, ETA, n_resamples=9, rng=0),
        lambda: cal.classwise(scan, n_resamples=9, rng=0),
        scan.load,
    ):
        with pytest.raises(ValueError, match=r"`row` must be unique; \d+ stands more than once"):
            call()


def test_loading_sees_every_number(tmp_path):
    """A single one that stands twice among many."""
    numbers = np.arange(20_000)
    numbers[-1] = 4321
    whole = table(*rows_of(20_000, 2), rows=numbers)
    with pytest.raises(ValueError, match="`row` must be unique; 4321 stands more than once"):
        cal.scan(write(tmp_path, whole, (10_000,), 5_000), row="row").load()
