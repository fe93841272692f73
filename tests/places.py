"""Where files outside the tests are."""

from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Reference values and real predictions beside the repository; not there for users."""
