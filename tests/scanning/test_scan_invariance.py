"""Neither how rows are cut, nor who reads them in which order, changes a bit."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from folders import predictions, rows_of, table, write
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

import calibrant as cal
from calibrant.calibration.tables import TableReduction
from calibrant.lenses import TopLabel
from calibrant.partitions import EqualMass, EqualWidth
from calibrant.resampling import Exact
from calibrant.rows import Scan
from calibrant.rows.passes import Fold, Pass
from calibrant.statistics import ExpectedMiscalibration

N = 120
ROWS = rows_of(N, 3)
ETA = ExpectedMiscalibration(EqualWidth(4))
EXPECTED = cal.calibration_test(predictions(*ROWS), ETA, n_resamples=9, rng=5).to_dict()


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, N), max_size=6),
    st.integers(1, 50),
    st.sampled_from(["wide", "fixed", "lists"]),
    st.integers(1, 7),
)
def test_any_cut_into_files_and_groups(tmp_path_factory, cuts, group, form, workers):
    """Also into files and groups of one row, and of none."""
    folder = write(tmp_path_factory.mktemp("cut"), table(*ROWS, form=form), cuts, group)
    before = os.environ.get("CALIBRANT_THREADS")
    os.environ["CALIBRANT_THREADS"] = str(workers)
    try:
        found = cal.calibration_test(cal.scan(folder), ETA, n_resamples=9, rng=5)
    finally:
        os.environ.pop("CALIBRANT_THREADS")
        if before is not None:
            os.environ["CALIBRANT_THREADS"] = before
    assert found.to_dict() == EXPECTED


@settings(max_examples=40)
@given(problems(m=2, max_n=30), st.integers(1, 6), st.integers(1, 9))
def test_bins_of_equal_mass_are_those_of_all_rows(tmp_path_factory, data, k, group):
    """Also with ties, zeros, vertices, and weights of 0."""
    weights = data.weights if data.weighted else None
    whole = table(np.asarray(data.probs), np.asarray(data.labels), weights)
    scan = cal.scan(write(tmp_path_factory.mktemp("mass"), whole, (), group))
    memory = cal.Predictions(data.probs, data.labels, ["0", "1"], weights)
    one, two = (cal.calibration_function(rows, EqualMass(k)) for rows in (memory, scan))
    assert one.fitted.lows.tolist() == two.fitted.lows.tolist()
    assert one.mass.tolist() == two.mass.tolist()


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    return cal.scan(write(tmp_path_factory.mktemp("order"), table(*ROWS), (7, 40), 9))


@settings(max_examples=30)
@given(st.data())
def test_any_order_of_merging(scan, data):
    tally = Pass([scan.part(TableReduction((EqualWidth(5), EqualWidth(3)), 1.0), TopLabel())])
    work = Fold(scan.reader, tally)
    states = [work([fragment]) for fragment in scan.fragments]
    whole = [state.sums.finish() for state in work(scan.fragments)[0]]
    while len(states) > 1:
        i = data.draw(st.integers(0, len(states) - 1))
        a = states.pop(i)
        b = states.pop(data.draw(st.integers(0, len(states) - 1)))
        states.append(tally.merge(a, b))
    for mine, theirs in zip(states[0][0], whole, strict=True):
        for one, other in zip(mine.sums.finish(), theirs, strict=True):
            assert one.tolist() == other.tolist()


def test_merging_changes_neither_state(scan):
    """An engine may merge a state again after a worker was lost."""
    tally = TableReduction((EqualWidth(3),), 1.0)
    work = Fold(scan.reader, tally)
    states = [work([fragment]) for fragment in scan.fragments]
    first = reduce(tally.merge, states)[0].sums.finish().predicted.tolist()
    again = reduce(tally.merge, states)[0].sums.finish().predicted.tolist()
    assert first == again


def test_estimates_and_counts_do_not_depend_on_the_order_of_rows(tmp_path):
    order = np.random.default_rng(1).permutation(N)
    turned = [None if part is None else part[order] for part in ROWS]
    other = cal.scan(write(tmp_path, table(*turned), (50,)))
    calls = {"lens": TopLabel(), "resampler": Exact(draws="counts"), "rng": 5}
    expected = cal.calibration_test(predictions(*ROWS), ETA, **calls).to_dict()
    assert cal.calibration_test(other, ETA, **calls).to_dict() == expected
    one, two = (
        cal.calibration_function(rows, EqualWidth(4)) for rows in (other, predictions(*ROWS))
    )
    assert one.predicted.tolist() == two.predicted.tolist()


def test_with_numbers_nothing_depends_on_the_order_of_rows(tmp_path):
    order = np.random.default_rng(1).permutation(N)
    turned = [None if part is None else part[order] for part in ROWS]
    other = cal.scan(write(tmp_path, table(*turned, rows=order), (50,)), row="row")
    assert cal.calibration_test(other, ETA, n_resamples=9, rng=5).to_dict() == EXPECTED
    assert np.array_equal(other.load().probs, predictions(*ROWS).probs)
    boot = [
        cal.estimate(rows, ETA, n_resamples=9, rng=5).replicates.tolist()
        for rows in (other, predictions(*ROWS))
    ]
    assert boot[0] == boot[1]
    classes = [
        cal.classwise(rows, n_resamples=9, rng=5).to_dict() for rows in (other, predictions(*ROWS))
    ]
    assert classes[0] == classes[1]


def test_without_numbers_the_order_of_rows_matters(tmp_path):
    """So the test above can fail."""
    order = np.random.default_rng(1).permutation(N)
    turned = [None if part is None else part[order] for part in ROWS]
    other = cal.scan(write(tmp_path, table(*turned), (50,)))
    assert cal.calibration_test(other, ETA, n_resamples=9, rng=5).to_dict() != EXPECTED


def test_a_task_that_is_done_again_counts_once(scan):
    """What failed after it had done its work leaves nothing behind."""

    class Careless(ThreadPoolExecutor):
        def submit(self, function, *args):
            function(*args)  # the result is lost
            return super().submit(function, *args)

    with Careless(2) as executor:
        again = Scan(scan.columns, scan.fragments, replace_engine(executor))
        assert cal.calibration_test(again, ETA, n_resamples=9, rng=5).to_dict() == EXPECTED


def replace_engine(executor):
    from calibrant.rows.workers import as_workers

    return as_workers(executor)


def test_a_scan_can_be_used_with_other_workers(scan):
    assert replace(scan).n == scan.n
