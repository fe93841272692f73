"""The fields of the JSON are those that the documentation has."""

import json
import re
from pathlib import Path

import pytest
from command import run

from calibrant import load
from calibrant.recalibration import Temperature

DOCS = Path(__file__).resolve().parents[2] / "docs" / "json.md"
FREE = {"models", "readings"}  # objects whose keys are names that users give


def sections():
    parts = re.split(r"^## (\w+)$", DOCS.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def fields(value, path=""):
    if isinstance(value, list):
        for item in value[:1]:
            yield from fields(item, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            if path not in FREE:
                yield key
            yield from fields(item, key)


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "GOOD"],
        ["test", "GOOD"],
        ["compare", "GOOD", "BAD"],
        ["plot", "GOOD", "-o", "OUT.svg"],
        ["plot", "GOOD", "BAD", "-o", "OUT.svg"],
        ["plot", "GOOD", "--kind", "isotonic", "-o", "OUT.svg"],
        ["power", "GOOD", "--temperature", "2", "--shift", "0.5"],
        ["search", "GOOD"],
        ["search", "BAD", "-o", "OUT.svg"],
        ["recalibrate", "GOOD", "--save", "OUT.json"],
        ["recalibrate", "BAD", "--method", "vector"],
        ["apply", "MAP", "GOOD", "-o", "OUT.csv"],
        ["report", "GOOD", "-o", "OUT.html"],
        ["watch", "BAD", "--state", "OUT.json"],
        ["clinical", "GOOD", "--lens", "class:cat"],
        ["verification", "GOOD"],
        ["demo", "-o", "OUT.html"],
        ["datasets"],
        ["datasets", "lenet", "-o", "OUT.csv"],
    ],
)
def test_every_field_is_documented(words, good, bad, tmp_path):
    names = {"GOOD": str(good), "BAD": str(bad), "MAP": str(tmp_path / "map.json")}
    Temperature().fit(load(good)).save(names["MAP"])
    full = [names.get(word, word.replace("OUT", str(tmp_path / "out"))) for word in words]
    more = (
        []
        if words[0] in ("datasets", "apply", "clinical", "verification", "watch")
        else ["--resamples", "19"]
    )
    result = run(*full, *more, "--json")
    text = sections()[words[0]]
    if "as in `evaluate`" in text:
        text += sections()["evaluate"]
    documented = set(re.findall(r"`(\w+)`", text)) | {"schema", "command"}
    assert set(fields(json.loads(result.stdout))) <= documented


def test_every_command_has_a_section():
    assert set(sections()) == {
        "evaluate",
        "test",
        "compare",
        "plot",
        "power",
        "search",
        "clinical",
        "verification",
        "recalibrate",
        "apply",
        "report",
        "demo",
        "datasets",
        "watch",
    }
