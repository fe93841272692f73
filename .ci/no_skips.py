"""Fail if a test was skipped.

One reason is accepted: data in the folder `shared` beside the checkout, if that folder is
not there. Such a test names ``../shared`` in its reason.

Usage: python .ci/no_skips.py JUNIT_XML
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"


def skipped(report: Path) -> list[tuple[str, str]]:
    """Return name and reason of each skipped test in a JUnit report of pytest."""
    found = []
    for case in ET.parse(report).iter("testcase"):
        for mark in case.findall("skipped"):
            if mark.get("type") == "pytest.xfail":  # it ran, and failed as it must
                continue
            name = f"{case.get('classname')}::{case.get('name')}"
            found.append((name, f"{mark.get('message')} {mark.text or ''}".strip()))
    return found


def main(report: Path) -> int:
    """Print what was skipped without a good reason; return the exit code."""
    tests = sum(1 for _ in ET.parse(report).iter("testcase"))
    bad = [
        (name, reason)
        for name, reason in skipped(report)
        if SHARED.is_dir() or "../shared" not in reason
    ]
    for name, reason in bad:
        print(f"skipped: {name}: {reason}", file=sys.stderr)
    if not tests:
        print("no test ran", file=sys.stderr)
    return 1 if bad or not tests else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
