"""Where files outside the tests are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The checkout."""

SHARED = ROOT.parent / "shared"
"""Reference values and real predictions beside the repository; not there for users."""
