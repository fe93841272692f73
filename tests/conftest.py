"""What all tests share: hypothesis without chance, reference files, a browser, small files.

The only conftest.py: pytest imports a second one beside it under the same name, and fails.
"""

import pytest
from browser import start
from command import write
from hypothesis import HealthCheck, settings
from places import SHARED

# The same examples in every run, and no clock: the first call of a kernel compiles it.
settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fixed")


@pytest.fixture(scope="session")
def shared():
    """Return the folder of reference values and real predictions beside the repository."""
    if not (SHARED / "reference" / "values.json").exists():
        pytest.skip("needs ../shared, which is not there")
    return SHARED


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Return a browser that all tests of a process share."""
    found = start(tmp_path_factory.mktemp("profile"))
    yield found
    found.quit()


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    """Return a file of three classes that is calibrated."""
    return write(tmp_path_factory.mktemp("good") / "good.csv")


@pytest.fixture(scope="session")
def bad(tmp_path_factory):
    """Return a file of the same rows that is far too sure."""
    return write(tmp_path_factory.mktemp("bad") / "bad.csv", power=4.0)
