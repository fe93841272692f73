"""Record digests, or compare them with those that were recorded.

    python -m tests.bits.record OUT.json           write a recording
    python -m tests.bits.record --compare          run all settings; say which differ from the
                                                   committed recording
    python -m tests.bits.record --compare A.json   the same with another recording
    python -m tests.bits.record --compare A B      compare two recordings, and run nothing

``--only`` takes settings whose line contains a text, ``--place`` places: ``--place memory`` is
quick. ``--clusters`` runs a few settings on Dask and Spark, too. The package is the one that is
imported: ``PYTHONPATH=other/src`` chooses another checkout.
"""

import argparse
import json
import os
import platform
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import calibrant as cal

from .passes import passes
from .places import Places, missing_knobs
from .settings import Setting, settings

RECORDED = Path(__file__).with_name("recorded.json")
SECTIONS = ("few outcomes", "many outcomes")
WORDS = (*Setting._fields, "place")

Recording = dict[str, Any]  # section → setting → place → a digest and a number, or a refusal


def record(chosen: list[Setting], places: Places) -> Recording:
    """Run settings in all places."""
    found: Recording = {"made with": made_with(), **{name: {} for name in SECTIONS}, "numbers": {}}
    began = time.monotonic()
    for i, setting in enumerate(chosen):
        results = places.run(setting)
        found[setting.section][setting.name] = {name: one.text for name, one in results.items()}
        if "memory" in results:
            found["numbers"][setting.name] = results["memory"].numbers
        if i % 100 == 0:
            seconds = time.monotonic() - began
            print(f"{i} of {len(chosen)}, {seconds:.0f} s", file=sys.stderr, flush=True)
    return found


@contextmanager
def places_of(asked: argparse.Namespace) -> Iterator[Places]:
    """Start clusters, if they are asked for."""
    with ExitStack() as open_:
        clusters = {}
        if asked.clusters:
            from tests.workers.clusters import dask_client, spark_session

            clusters["dask"] = open_.enter_context(dask_client())
            clusters["spark"] = open_.enter_context(spark_session())
        places = Places(asked.place, clusters)
        open_.callback(places.close)
        yield places


def made_with() -> dict[str, Any]:
    """Return what bits of logarithms and of products of matrices may depend on."""
    found: Any = np.show_config(mode="dicts")
    about = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.split(":")[1].strip() for line in about.splitlines() if "model name" in line]
    return {
        "processor": models[0] if models else platform.processor(),
        "products": os.environ.get("OPENBLAS_CORETYPE", ""),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": f"{platform.machine()}, libc {platform.libc_ver()[1]}",
        "loops": found["SIMD Extensions"].get("found", []),
    }


def write(recording: Recording, path: Path, *, numbers: bool) -> None:
    """Write a recording: a setting on a line, with the places of each result.

    numbers : whether the numbers of all settings are kept, and not only those of many outcomes
    """
    kept = {
        name: found
        for name, found in recording["numbers"].items()
        if numbers or (name in recording["many outcomes"] and len(found) <= 20)
    }
    parts: dict[str, Any] = {"made with": recording["made with"]}
    parts["passes"] = recording.get("passes", {})
    for section in SECTIONS:
        parts[section] = {name: _by_result(of) for name, of in recording[section].items()}
    parts["numbers"] = kept
    text = ",\n".join(f"{json.dumps(name)}: {_lines(part)}" for name, part in parts.items())
    path.write_text(f"{{{text}}}\n", encoding="utf-8")


def _by_result(places: dict[str, str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for place, text in places.items():
        found.setdefault(text, []).append(place)
    return {text: "; ".join(some) for text, some in found.items()}


def _lines(part: dict[str, Any]) -> str:
    inner = (f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in part.items())
    return "{\n" + ",\n".join(inner) + "\n}"


def load(path: Path = RECORDED) -> Recording:
    """Read a recording."""
    found: Recording = json.loads(path.read_text(encoding="utf-8"))
    for section in SECTIONS:
        for name, results in found[section].items():
            found[section][name] = {
                place: text for text, places in results.items() for place in places.split("; ")
            }
    return found


def result(text: str) -> str:
    """Return a digest, or the type of a refusal: its words may change."""
    return text.replace(":", " ").split(" ", 1)[0]


def differences(before: Recording, after: Recording, section: str) -> list[tuple[str, str]]:
    """Return (setting, place) of what differs; a place that was not recorded is as memory."""
    return [
        (name, place)
        for name, places in after[section].items()
        if name in before[section]
        for place, text in places.items()
        if result(text_of(before, section, name, place)) != result(text)
    ]


def text_of(recording: Recording, section: str, name: str, place: str) -> str:
    """Return the result of a setting in a place, or in memory."""
    places: dict[str, str] = recording[section][name]
    return places.get(place, places["memory"])


def largest_change(before: Recording, after: Recording, names: set[str]) -> tuple[float, str]:
    """Return the largest difference of numbers in memory, relative to the largest of a setting."""
    worst = (0.0, "")
    for name in sorted(names & before["numbers"].keys() & after["numbers"].keys()):
        a, b = (np.sort(np.array(one["numbers"][name], float)) for one in (before, after))
        a, b = a[np.isfinite(a)], b[np.isfinite(b)]
        if a.shape == b.shape and a.size:
            scale = max(np.abs(a).max(), np.abs(b).max(), 1e-300)
            worst = max(worst, (float(np.abs(a - b).max() / scale), name))
    return worst


def compare(before: Recording, after: Recording, shown: int) -> bool:
    """Print what differs, and return whether nothing does."""
    changed = {section: differences(before, after, section) for section in SECTIONS}
    for section, some in changed.items():
        _print_section(before, after, section, some, shown)
    more = {
        name: (before["passes"][name], count)
        for name, count in after.get("passes", {}).items()
        if count != before.get("passes", {}).get(name, count)
    }
    for name, (old, new) in more.items():
        print(f"passes over scanned rows, {name}: {old:g} before, {new:g} now")
    fewer = all(new <= old for old, new in more.values())
    return fewer and not any(changed.values())


def _print_section(
    before: Recording, after: Recording, section: str, changed: list[tuple[str, str]], shown: int
) -> None:
    found = after[section]
    total = sum(len(places) for places in found.values())
    missing = len(before[section].keys() - found.keys())
    new = len(found.keys() - before[section].keys())
    beside = f" ({missing} settings were not run, {new} are new)" if missing or new else ""
    print(f"{section}: {len(changed)} of {total:,} results differ{beside}")
    if not changed:
        return
    values = [[*name.split(" | "), place] for name, place in changed]
    for word, column in zip(WORDS, zip(*values, strict=True), strict=True):
        counts = Counter(column).most_common(9)
        print(f"  {word:10}", ", ".join(f"{value} ×{count}" for value, count in counts))
    for name, place in changed[:shown]:
        print(f"  {place}: {name}")
        print(f"    before {text_of(before, section, name, place)}")
        print(f"    after  {text_of(after, section, name, place)}")
    change, where = largest_change(before, after, {name for name, _ in changed})
    print(f"  largest relative difference of numbers that were kept: {change:.3g} {where}")


def main() -> int:
    """Record or compare; the exit status is 1 if something differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", nargs="?", type=Path, help="file to write")
    parser.add_argument("--compare", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--only", default="", help="settings whose line contains this")
    parser.add_argument("--place", default="", help="places whose name contains this")
    parser.add_argument("--clusters", action="store_true", help="start Dask and Spark, too")
    parser.add_argument("--numbers", action="store_true", help="keep the numbers of all settings")
    parser.add_argument("--shown", type=int, default=12, help="how many differences are listed")
    asked = parser.parse_args()
    if len(asked.compare or ()) == 2:
        return not compare(*map(load, asked.compare), asked.shown)
    warnings.simplefilter("ignore")
    print(f"calibrant of {Path(cal.__file__).parent}", file=sys.stderr)
    for knob in missing_knobs():
        print(f"no knob any more: {knob}", file=sys.stderr)
    with places_of(asked) as places:
        found = record([one for one in settings() if asked.only in one.name], places)
    if not asked.only and not asked.place:
        found["passes"] = passes()
    if asked.out is not None:
        write(found, asked.out, numbers=asked.numbers)
    return 0 if asked.compare is None else not compare(load(*asked.compare), found, asked.shown)


if __name__ == "__main__":
    sys.exit(main())
