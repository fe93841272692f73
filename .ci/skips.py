"""Refuse a run of which a test was skipped, or that had none.

One reason is accepted: data in the folder `shared` beside the checkout, if that folder is
not there. Such a test names ``../shared`` in its reason.

Usage: python .ci/skips.py JUNIT_XML
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"


def main(report: Path) -> int:
    """Print what should have run; return the exit code."""
    cases = list(ET.parse(report).iter("testcase"))
    skipped = [
        f"{case.get('classname')}.{case.get('name')}: {mark.get('message')} {mark.text or ''}"
        for case in cases
        for mark in case.findall("skipped")
    ]
    wrong = [line for line in skipped if SHARED.is_dir() or "../shared" not in line]
    for line in wrong if cases else ["no test ran"]:
        print(f"skipped: {line}", file=sys.stderr)
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
