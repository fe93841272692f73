"""Check that a wheel runs wherever its name says: what auditwheel found needs no newer C library.

Usage: python .ci/tag.py FOLDER, with a wheel and ``audit.txt``, the output of ``auditwheel show``.
"""

import re
import sys
from pathlib import Path

TAG = re.compile(r"manylinux_(\d+)_(\d+)_(\w+?)(?=\W|$)")


def tag(text: str) -> tuple[int, int, str]:
    """Return the version of the C library and the machine of the first tag."""
    found = TAG.search(text)
    if found is None:
        sys.exit(f"no tag of manylinux in {text!r}")
    return int(found[1]), int(found[2]), found[3]


def main(folder: Path) -> None:
    """Compare the wheel's own tag with what it needs."""
    (wheel,) = folder.glob("*.whl")
    audit = " ".join((folder / "audit.txt").read_text(encoding="utf-8").split())
    needed = tag(audit.partition("is consistent with the following platform tag:")[2])
    *promised, machine = tag(wheel.stem)
    if machine != needed[2] or tuple(promised) < needed[:2]:
        sys.exit(f"{wheel.name} needs manylinux_{needed[0]}_{needed[1]}_{needed[2]}")
    print(f"{wheel.name}: its tag is true")


main(Path(sys.argv[1]))
