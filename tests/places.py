"""Where files outside the tests are, and how much is to be run."""

import os
from pathlib import Path

IN_FULL = os.environ.get("TESTS") == "all"
"""Whether all recorded bits are compared and more data sets drawn: `make test-all`."""

ROOT = Path(__file__).resolve().parents[1]
"""The checkout."""

SHARED = ROOT.parent / "shared"
"""Reference values and real predictions beside the repository; not there for users."""
