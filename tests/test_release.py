"""What is promised around a release is there: a bill of materials, licences, commands of CI."""

import importlib.util
import json
import re
import tomllib
from hashlib import sha256

import pytest
from places import ROOT

from calibrant import datasets

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
WORKFLOW = ROOT / ".github" / "workflows" / "tests.yml"


def script(name):
    """Return a program of .ci as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_bill_names_what_is_needed_and_what_comes_with_it():
    bill = json.loads(json.dumps(script("sbom").bill()))
    assert bill["bomFormat"] == "CycloneDX"
    parts = {part["name"].lower(): part for part in bill["components"]}
    for requirement in PROJECT["dependencies"]:
        part = parts[re.match(r"[a-z0-9-]+", requirement)[0]]
        assert part["version"]
        assert part["licenses"]
    for name in datasets.names():
        file = ROOT / "src" / "calibrant" / "datasets" / f"{name}.npz"
        found = parts[f"calibrant/datasets/{name}.npz"]["hashes"][0]["content"]
        assert found == sha256(file.read_bytes()).hexdigest()
    assert any(name.startswith("calibrant/engine/machine/") for name in parts)


def test_every_bundled_prediction_has_a_licence():
    text = (ROOT / "src" / "calibrant" / "datasets" / "LICENCES.md").read_text("utf-8")
    files = sorted((ROOT / "src" / "calibrant" / "datasets").glob("*.npz"))
    assert len(files) == len(datasets.names())
    for file in files:
        assert f"`{file.name}`" in text
        made = ROOT / "experiments" / "cifar10" / "results" / file.name
        assert made.read_bytes() == file.read_bytes()  # by the programs that the text names
    assert "src/calibrant/datasets/LICENCES.md" in PROJECT["license-files"]


def test_the_oldest_dependencies_are_those_of_the_project():
    assert "numpy==2.0" in script("versions").oldest()
    assert not any(">" in each for each in script("versions").oldest())


def test_ci_calls_commands_that_there_are():
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    called = set(re.findall(r"run: make ([a-z-]+)", WORKFLOW.read_text("utf-8")))
    assert {"lint", "test", "demo", "test-versions", "fuzz", "faults", "release-check"} <= called
    assert called <= targets
    for system in ("ubuntu-latest", "ubuntu-24.04-arm", "macos-latest", "windows-latest"):
        assert system in WORKFLOW.read_text("utf-8")
    for path in re.findall(r"\btests/[\w/.]+", WORKFLOW.read_text("utf-8")):
        assert (ROOT / path).exists(), path


def test_the_policy_names_this_version():
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    minor = ".".join(PROJECT["version"].split(".")[:2])
    assert re.search(rf"^\| {re.escape(minor)} \| yes \|$", text, re.MULTILINE)
    assert "Report a vulnerability" in text


@pytest.mark.parametrize("page", ["docs/reliability.md", "SECURITY.md"])
def test_tests_and_programs_that_pages_name_are_there(page):
    text = (ROOT / page).read_text("utf-8")
    for path in re.findall(r"`((?:tests|benchmarks|examples)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path
    for target in re.findall(r"`make ([a-z-]+)", text):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
