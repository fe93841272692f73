"""Test with every Python that is there, with the oldest and the newest dependencies.

Usage: python .ci/versions.py [--pythons 3.11 3.13] [--with oldest newest] [--tests PATH …]

One wheel is built; for each Python and each choice of dependencies it is installed into an empty
environment below build/versions, and tests run there. The oldest dependencies, which pyproject.toml
names, are tried with the oldest Python: later ones may have no wheels of them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "versions"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TOOLS = ("pytest>=8.3", "hypothesis>=6.115", "pyarrow>=18", "radon>=6", "pandas>=2.2")
TESTS = (
    *("tests/loading", "tests/recalibration", "tests/statistics", "tests/engine"),
    *(
        "tests/cli/test_files.py",
        "tests/cli/test_commands.py",
        "tests/cli/test_control_characters.py",
    ),
    *("tests/test_predictions.py", "tests/test_lenses.py", "tests/bits/test_bits.py"),
)


def found(version: str) -> str | None:
    """Return the Python of a version: on the path, or one that pyenv has."""
    places = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*"))
    names = [place / "bin" / "python" for place in places if place.name.startswith(f"{version}.")]
    on_the_path = shutil.which(f"python{version}")
    for name in [*map(str, reversed(names)), *([on_the_path] if on_the_path else [])]:
        words = [name, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        run = subprocess.run(words, capture_output=True, text=True, check=False)
        if run.stdout.strip() == version:
            return name
    return None


def oldest() -> list[str]:
    """Return the oldest versions that pyproject.toml allows: "numpy>=2.0" → "numpy==2.0"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [each.replace(">=", "==") for each in project["dependencies"]]


def call(*words: object) -> None:
    """Run a command, and end if it fails."""
    print("+", *words, flush=True)
    subprocess.run([str(word) for word in words], check=True, cwd=ROOT)


def built() -> Path:
    """Return a wheel of this checkout, which holds compiled loops and suits every Python."""
    wheels = PLACE / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    call(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", wheels, ".")
    (wheel,) = wheels.glob("*.whl")
    return wheel


def try_out(python: str, version: str, which: str, wheel: Path, tests: list[str]) -> bool:
    """Install the wheel into an empty environment and run the tests there."""
    place = PLACE / f"{version}-{which}"
    shutil.rmtree(place, ignore_errors=True)
    call(python, "-m", "venv", place)
    inside = next(each for each in (place / "bin", place / "Scripts") if each.is_dir()) / "python"
    pinned = oldest() if which == "oldest" else []
    call(inside, "-m", "pip", "install", "--quiet", wheel, *pinned, *TOOLS)
    print(f"{version} {which}:", flush=True)
    call(inside, "-m", "pip", "freeze")
    # What is tested is what was installed: the sources are not on the path. Old dependencies warn.
    words = [inside, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-W", "default", *tests]
    ended = subprocess.run([str(word) for word in words], cwd=ROOT, check=False)
    return ended.returncode == 0


def main() -> int:
    """Return 1 if tests failed with one of the versions, or none of them is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pythons", nargs="+", default=PYTHONS, choices=PYTHONS)
    parser.add_argument("--with", nargs="+", default=("oldest", "newest"), dest="which")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    given = parser.parse_args()
    there = {version: found(version) for version in given.pythons}
    wheel = built()
    outcomes = []
    for version, python in there.items():
        for which in given.which:
            if which == "oldest" and version != PYTHONS[0]:
                continue
            if python is None:
                outcomes.append((version, which, "not here"))
                continue
            good = try_out(python, version, which, wheel, list(given.tests))
            outcomes.append((version, which, "passed" if good else "FAILED"))
    for line in outcomes:
        print(*line)
    return 1 if all(here is None for here in there.values()) or "FAILED" in str(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
