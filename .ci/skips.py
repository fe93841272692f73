"""Tests of a run that were skipped: where they are, and whether that was right.

One reason is accepted: data in the folder `shared` beside the checkout, if that folder is
not there. Such a test names ``../shared`` in its reason.

Usage: python .ci/skips.py files JUNIT_XML    prints the files that have skipped tests
       python .ci/skips.py refuse JUNIT_XML   fails if a test was skipped, or none ran
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


def skipped(report: Path) -> list[tuple[str, str]]:
    """Return name and reason of each test in a JUnit report of pytest that should have run."""
    found = []
    for case in ET.parse(report).iter("testcase"):
        for mark in case.findall("skipped"):
            reason = f"{mark.get('message')} {mark.text or ''}".strip()
            if SHARED.is_dir() or "../shared" not in reason:
                found.append((f"{case.get('classname')}.{case.get('name')}".strip("."), reason))
    return found


def file_of(name: str) -> str:
    """Return the file of a test, whose dotted name goes on behind that of its module."""
    parts = name.split("[", maxsplit=1)[0].split(".")
    for end in range(len(parts), 0, -1):
        path = Path(*parts[:end]).with_suffix(".py")
        if (ROOT / path).is_file():
            return str(path)
    raise ValueError(f"no file has the test {name}")


def main(what: str, report: Path) -> int:
    """Print what was asked for; return the exit code."""
    found = skipped(report)
    if what == "files":
        print(*sorted({file_of(name) for name, _ in found}))
        return 0
    for name, reason in found:
        print(f"skipped: {name}: {reason}", file=sys.stderr)
    ran = any(True for _ in ET.parse(report).iter("testcase"))
    if not ran:
        print("no test ran", file=sys.stderr)
    return 1 if found or not ran else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
