"""Let every file operation of the command fail in turn, and every large allocation.

    python tests/faults/inject.py [--kinds OW] [--every 1] [--lasting] [--memory] [COMMAND …]

For each command that writes a file, operations on its files are counted: opening, reading,
mapping, writing, flushing to the disk, renaming, closing. Then the command runs once for each of
them, and that one fails (with --lasting, all that follow too; with --memory, an allocation of
64 KiB or more in its place). Each time there must be an answer and the new file, or one sentence
and the old file; no traceback, no other file, no signal. Where memory ends after a file was
written, while the answer is put into words, the sentence may come with the new file; and where it
ends inside NumPy or polars, a signal may come in its place, which is told.

Linux only; a C compiler, or ziglang, builds what lets operations fail.
"""

import argparse
import ctypes
import faulthandler
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = 120  # for one run
OLD = b"old"
SIGNALS = (-signal.SIGSEGV, -signal.SIGABRT)
QUICK = ("--resamples", "19")
ONE_THREAD = ("CALIBRANT", "OMP", "OPENBLAS", "POLARS_MAX")

COMMANDS = {
    "report": (["report", "in.csv", *QUICK], "-o", "out.html"),
    "report of Parquet": (["report", "in.parquet", *QUICK], "-o", "out.html"),
    "plot png": (["plot", "in.csv", *QUICK], "-o", "out.png"),
    "plot pdf": (["plot", "in.csv", *QUICK], "-o", "out.pdf"),
    "plot svg": (["plot", "in.csv", *QUICK], "-o", "out.svg"),
    "plot html": (["plot", "in.csv", *QUICK], "-o", "out.html"),
    "recalibrate": (
        ["recalibrate", "in.csv", "--method", "temperature", *QUICK],
        "--save",
        "o.json",
    ),
    "datasets csv": (["datasets", "lenet"], "-o", "out.csv"),
    "datasets parquet": (["datasets", "lenet"], "-o", "out.parquet"),
    **{
        f"apply {ending}": (["apply", "map.json", f"in.{ending}"], "-o", f"out.{ending}")
        for ending in ("csv", "csv.gz", "parquet", "arrow", "jsonl", "json")
    },
}


def built(folder):
    """Return the library that lets operations fail."""
    compiler = ["cc"] if shutil.which("cc") else [sys.executable, "-m", "ziglang", "cc"]
    words = [*compiler, "-shared", "-fPIC", "-O1", "-o", str(folder / "shim.so")]
    subprocess.run([*words, str(HERE / "shim.c"), "-ldl"], check=True)
    return folder / "shim.so"


def prepare(folder):
    """Write the files that commands read."""
    import gzip

    import numpy as np
    import polars as pl

    from calibrant.recalibration import TemperatureMap

    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 200)
    labels = ["abc"[y] for y in rng.integers(0, 3, 200)]
    names = {f"prob_{name}": probs[:, j] for j, name in enumerate("abc")}
    frame = pl.DataFrame({"label": labels, **names, "note": ["x, y", 'a "b"'] * 100})
    frame.write_csv(folder / "in.csv")
    (folder / "in.csv.gz").write_bytes(gzip.compress((folder / "in.csv").read_bytes()))
    frame.write_parquet(folder / "in.parquet")
    frame.write_ipc(folder / "in.arrow")
    frame.write_ndjson(folder / "in.jsonl")
    (folder / "in.json").write_text(json.dumps(frame.to_dicts()))
    TemperatureMap(("a", "b", "c"), 1.5).save(folder / "map.json")


class Child:
    """A process that runs the command with a fault: its end, what it said, what it counted."""

    def __init__(self, shim, folder, words, fault):
        self.said = Path(tempfile.mkdtemp())
        process = os.fork()
        if not process:
            self._run(shim, folder, words, fault)
        _, status = os.waitpid(process, 0)
        self.code = os.waitstatus_to_exitcode(status)
        self.out, self.err = ((self.said / name).read_text("utf-8") for name in ("out", "err"))
        found = self.said / "kinds"
        self.kinds = found.read_text() if found.exists() else ""
        shutil.rmtree(self.said)

    def _run(self, shim, folder, words, fault):
        from calibrant.checks.files import remove_unfinished
        from calibrant.cli import main

        for descriptor, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(self.said / name, os.O_CREAT | os.O_WRONLY), descriptor)
        faulthandler.enable()
        signal.alarm(SECONDS)
        os.chdir(folder)
        sys.argv = ["calibrant", *words]
        shim.fault_set(str(folder).encode(), *fault)
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
            code = 99
        finally:
            kinds = shim.fault_kinds()[: shim.fault_count()].decode()
            shim.fault_set(b"", -1, 0, 0)
            remove_unfinished()  # as at the end of Python; other ends are those of the parent
            sys.stdout.flush()
            sys.stderr.flush()
            (self.said / "kinds").write_text(kinds)
            os._exit(code)


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def fault_of(child, before, after, target, whole, kept):
    """Say what is wrong with how a command ended, if anything is."""
    others = {name: text for name, text in after.items() if name != target}
    if others != {name: text for name, text in before.items() if name != target}:
        return f"leaves {sorted(set(after) ^ set(before)) or 'other contents'}"
    if child.code == 0:
        return "" if after[target] == whole else "answers, but its file is not whole"
    if after.get(target) not in kept:
        return f"ends with {child.code}, and the old file is gone"
    if whole in kept and child.code in SIGNALS:
        print(f"ends with {child.code} where memory does: {place_of(child.err)}", file=sys.stderr)
        return ""
    lines = child.err.splitlines()
    if child.code != 1 or len(lines) != 1 or not lines[0].startswith("calibrant: "):
        return f"ends with {child.code} and says {child.err[:300]!r}"
    return ""


def place_of(trace):
    """Return the innermost calls of a process that a signal ended, as `faulthandler` lists them."""
    calls = [line.strip() for line in trace.splitlines() if line.startswith("  File ")]
    return " < ".join(calls[:3]) or trace[:300]


def inject(shim, folder, name, given):
    """Let the operations of a command fail in turn; return how many did, and what was wrong."""
    words, option, target = COMMANDS[name]
    words = [str(folder / word) if (folder / word).exists() else word for word in words]
    words += [option, str(folder / target)]
    (folder / target).write_bytes(OLD)
    before = contents(folder)
    counted = Child(shim, folder, words, (-1, 0, given.memory))
    assert counted.code == 0, counted.err
    whole = (folder / target).read_bytes()
    wanted = [k for k, kind in enumerate(counted.kinds) if not given.kinds or kind in given.kinds]
    wrong = []
    for at in wanted[given.first :: given.every]:
        (folder / target).write_bytes(OLD)
        child = Child(shim, folder, words, (at, given.lasting, given.memory))
        kept = (OLD, whole) if given.memory else (OLD,)
        found = fault_of(child, before, contents(folder), target, whole, kept)
        if found:
            wrong.append(f"{name}, {counted.kinds[at]} {at}: {found}")
        for file in set(contents(folder)) - set(before):
            (folder / file).unlink()
    (folder / target).unlink()
    return counted.kinds, len(wanted[given.first :: given.every]), wrong


def inside(given):
    """Do it in a process that has the library."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "the same names in every run"
    for module in ("matplotlib.pyplot", "calibrant.reporting.page", "calibrant.loading.formats"):
        __import__(module)
    __import__("calibrant.diagrams.static")
    __import__("calibrant.cli.app")
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    shim.fault_kinds.restype = ctypes.c_char_p
    shim.fault_set.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    wrong, total = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if not os.fork():  # polars starts threads, which no other process must inherit
            prepare(folder)
            os._exit(0)
        os.wait()
        for command in given.commands or COMMANDS:
            kinds, count, found = inject(shim, folder, command, given)
            print(f"{command}: {count} of {len(kinds)} ({kinds[:60]})", file=sys.stderr, flush=True)
            wrong += found
            total += count
        print(f"{total} faults, {len(wrong)} of them wrong", file=sys.stderr)
    json.dump(wrong, sys.stdout)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kinds", default="", help="O open, R read, M map, W write, S sync, N name, C"
    )
    parser.add_argument("--every", type=int, default=1, help="only every so many operations")
    parser.add_argument("--first", type=int, default=0, help="from this one on")
    parser.add_argument("--lasting", action="store_true", help="all later ones fail, too")
    parser.add_argument("--memory", action="store_true", help="allocations fail, not files")
    parser.add_argument("commands", nargs="*", help=", ".join(COMMANDS))
    given = parser.parse_args()
    if "LD_PRELOAD" in os.environ:
        sys.exit(inside(given))
    with tempfile.TemporaryDirectory() as folder:
        one = {f"{name}_{'NUM_' * ('O' in name[:1])}THREADS": "1" for name in ONE_THREAD}
        more = {"LD_PRELOAD": str(built(Path(folder))), "SOURCE_DATE_EPOCH": "0"}
        words = [sys.executable, "-W", "ignore", __file__, *sys.argv[1:]]
        sys.exit(subprocess.run(words, env={**os.environ, **one, **more}, check=False).returncode)


if __name__ == "__main__":
    main()
