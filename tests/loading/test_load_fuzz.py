"""A few thousand mutated files of every format, the same in every run."""

import json
import subprocess
import sys
from pathlib import Path

import fuzzing
import numpy as np
import pytest

from calibrant import load

PROGRAM = Path(fuzzing.__file__)


@pytest.mark.parametrize("seed", [1, 2])
def test_mutated_files_are_loaded_right_or_refused(seed):
    """In a process of its own, which an abort or a hang would end."""
    words = [sys.executable, "-W", "ignore", str(PROGRAM), str(seed), "150"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    last = [line for line in done.stderr.splitlines() if line.split(" ")[0] in fuzzing.VALID][-1]
    assert done.returncode in (0, 1), f"ended with {done.returncode} at {last}"
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("kind", fuzzing.VALID)
def test_the_other_parser_agrees_on_good_files(tmp_path, kind):
    """And it would notice another number, a row that is missing, and another label."""
    path = tmp_path / f"x.{kind}"
    for content in fuzzing.VALID[kind]:
        path.write_bytes(content)
        data, columns = load(path), fuzzing.parsed(path, content, kind)
        assert fuzzing.disagreement(data, columns) == ""
        assert fuzzing.verdict(path, content, kind) == ""
        assert "shape" in fuzzing.disagreement(data.take(np.arange(data.n - 1)), columns)
        swapped = data.take(np.roll(np.arange(data.n), 1))
        assert fuzzing.disagreement(swapped, columns) == "other probabilities"
        if data.classes == ("cat", "dog"):
            other = type(data).trusted(
                data.probs, 1 - data.labels, data.classes, None, 1, data.reading
            )
            named = isinstance(columns[data.reading.label][0], str)
            assert ("other labels" in fuzzing.disagreement(other, columns)) == named


def test_mutants_are_the_same_in_every_run():
    first, again = (
        [
            fuzzing.mutant(np.random.default_rng([9, k]), kind)
            for k, kind in enumerate(fuzzing.VALID)
        ]
        for _ in range(2)
    )
    assert first == again
