"""Files that the tests of the command share."""

import pytest
from command import write


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    """Return a file of three classes that is calibrated."""
    return write(tmp_path_factory.mktemp("good") / "good.csv")


@pytest.fixture(scope="session")
def bad(tmp_path_factory):
    """Return a file of the same rows that is far too sure."""
    return write(tmp_path_factory.mktemp("bad") / "bad.csv", power=4.0)
