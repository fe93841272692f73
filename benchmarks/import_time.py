"""Time to import the package, in fresh processes."""

import subprocess
import sys
from functools import partial

from benchmarks import timing

ROUNDS = 15
BAR = 0.3  # seconds

EMPTY = "python, nothing imported"
NUMPY = "import numpy"
OURS = "import calibrant"
FIRST = "import calibrant, first estimate"

PROGRAMS = {
    EMPTY: "pass",
    NUMPY: "import numpy",
    OURS: "import calibrant",
    FIRST: "import calibrant as c; c.statistics.ExpectedMiscalibration("
    "c.partitions.EqualWidth(15))(c.Predictions([0.2, 0.7], [0, 1]))",
}

HEAVY = ("numba", "matplotlib")


def run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


def check() -> None:
    """The heavy dependencies wait until they are used."""
    run(f"import sys, calibrant; assert not {set(HEAVY)!r} & set(sys.modules)")


def report() -> str:
    """Return the section as Markdown."""
    check()
    tasks = {name: partial(run, program) for name, program in PROGRAMS.items()}
    best = timing.best(timing.interleaved(tasks, ROUNDS))
    rows = [
        [
            f"`{name}`" if name in (NUMPY, OURS) else name,
            timing.milliseconds(seconds),
            f"{seconds / best[NUMPY]:.2f}",
        ]
        for name, seconds in best.items()
    ]
    text = (
        f"A whole process each time; the fastest of {ROUNDS} counts. `import calibrant` loads none"
        f" of {', '.join(HEAVY)}. The first estimate also loads machine code that was built"
        " with the package."
    )
    return "\n\n".join(
        [
            "## Import",
            text,
            timing.table(["", "time", "× import numpy"], rows),
            timing.verdict(f"`import calibrant` in less than {BAR:g} s", best[OURS] < BAR),
        ]
    )
