"""Every function of the engine refuses what its loops could not bear, and none ends Python."""

import inspect
import subprocess
import sys
from pathlib import Path

import apart
import pytest
from bad_calls import CALLS

from calibrant import Predictions, engine
from calibrant.partitions import EqualWidth, SimplexBins


@pytest.fixture(scope="module")
def outcomes():
    """Return what became of every bad call."""
    return apart.outcomes(Path(__file__).parent / "bad_calls.py")


MODULES = (
    *("classes", "draws", "grid", "line", "null", "poisson_binomial", "resample", "rows"),
    *("sums", "tree", "wealth"),
)


def checked_functions():
    """Yield the names of functions that check what they are handed."""
    for module in MODULES:
        for name, value in vars(getattr(engine, module)).items():
            here = getattr(value, "__module__", "") == f"calibrant.engine.{module}"
            source = inspect.getsource(value) if here and inspect.isfunction(value) else ""
            if any(check in source for check in ("expect_", "within(", "classes_of(")):
                yield name


def test_every_function_that_checks_has_bad_calls():
    called = {name.split(",")[0] for name in CALLS}
    inner = {name for name in checked_functions() if name.startswith(("_", "check"))}
    assert set(checked_functions()) - inner - called == set()


@pytest.mark.parametrize("name", CALLS)
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


@pytest.mark.parametrize("partition", [EqualWidth, SimplexBins])
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
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stdout.strip() == "alive", done


def test_predictions_that_users_can_make_are_never_out_of_range():
    """What the loops rely on is seen to where data enter."""
    for labels in ([0, 3], [-1, 0], [0, 2**40]):
        with pytest.raises(ValueError, match="`labels` must be "):
            Predictions([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], labels)
