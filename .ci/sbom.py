"""Write what an installation of calibrant consists of: a bill of materials (CycloneDX 1.6, JSON).

Usage: PYTHON .ci/sbom.py FILE, with the Python of the environment in which calibrant is installed.

It names calibrant, every distribution that it needs and has, with version and licence, and the files
that come with it and are no Python: compiled loops and predictions, with their digests.
"""

import json
import platform
import re
import sys
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

NAME = re.compile(r"[A-Za-z0-9._-]+")
DATA = (".npz", ".so", ".dylib", ".dll")


def needed(name: str, seen: dict[str, Distribution]) -> None:
    """Add a distribution, and those that it needs without extras, if they are there."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in seen:
        return
    try:
        seen[key] = distribution(name)
    except PackageNotFoundError:  # for another system, or another version of Python
        return
    for requirement in seen[key].requires or ():
        found = NAME.match(requirement)
        if found and "extra ==" not in requirement:
            needed(found[0], seen)


def licences(found: Distribution) -> list[dict[str, Any]]:
    """Return the licence that a distribution states: an expression, or else a name."""
    stated = found.metadata
    if stated.get("License-Expression"):
        return [{"expression": stated["License-Expression"]}]
    classifiers = [each for each in stated.get_all("Classifier") or () if "License ::" in each]
    names = [each.rpartition(" :: ")[2] for each in classifiers]
    names = names or [(stated.get("License") or "not stated").strip().partition("\n")[0]]
    return [{"license": {"name": name}} for name in names]


def component(key: str, found: Distribution) -> dict[str, Any]:
    """Return a distribution as CycloneDX writes it."""
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{key}@{found.version}",
        "name": found.metadata["Name"],
        "version": found.version,
        "purl": f"pkg:pypi/{key}@{found.version}",
        "licenses": licences(found),
    }


def bundled(found: Distribution) -> list[dict[str, Any]]:
    """Return the files of calibrant that are no Python, with their digests."""
    folder = Path(str(found.locate_file("calibrant")))
    if not folder.is_dir():  # installed in a way that leaves files where they are
        folder = Path(__file__).resolve().parents[1] / "src" / "calibrant"
    files = sorted(file for file in folder.rglob("*") if file.suffix in DATA)
    return [
        {
            "type": "data" if file.suffix == ".npz" else "file",
            "name": file.relative_to(folder.parent).as_posix(),
            "hashes": [{"alg": "SHA-256", "content": sha256(file.read_bytes()).hexdigest()}],
            "licenses": [{"expression": "MIT"}],
        }
        for file in files
    ]


def bill() -> dict[str, Any]:
    """Return the whole bill."""
    seen: dict[str, Distribution] = {}
    needed("calibrant", seen)
    own = seen.pop("calibrant")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {**component("calibrant", own), "type": "application"},
            "properties": [
                {"name": "python", "value": platform.python_version()},
                {"name": "platform", "value": platform.platform()},
            ],
        },
        "components": [*(component(key, seen[key]) for key in sorted(seen)), *bundled(own)],
    }


if __name__ == "__main__":
    made = bill()
    Path(sys.argv[1]).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{sys.argv[1]}: {len(made['components'])} components")
