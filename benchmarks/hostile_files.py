"""How much memory a file takes that was made to take it: ``python -m benchmarks.hostile_files``.

Prints a table: what is in a file of 10 MB, how many times its size loading it takes at the peak,
and what is said of it. Linux only, which tells the peak of a process.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SIZE = 10_000_000
MEASURE = """
import json, sys
from pathlib import Path
from calibrant import load
def held(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])
load(sys.argv[1])
Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is held
before = held("VmRSS")
try:
    load(sys.argv[2])
    said = "is loaded"
except ValueError as error:
    said = "is refused"
print(json.dumps([held("VmHWM") - before, said]))
"""
SMALL = {
    "csv": "y,p\n1,0.5\n0,0.25\n",
    "jsonl": '{"y": 1, "p": 0.5}\n{"y": 0, "p": 0.25}\n',
    "json": '[{"y": 1, "p": 0.5}, {"y": 0, "p": 0.25}]',
}
FILES = {
    "CSV, numbers of six digits": ("csv", "y,p\n" + "1,0.123456\n0,0.654321\n" * (SIZE // 22)),
    "CSV, numbers of one digit": ("csv", "y,p\n" + "1,1\n0,0\n" * (SIZE // 8)),
    "CSV, empty lines at the end": ("csv", "y,p\n1,0.5\n0,0.5\n" + "\n" * SIZE),
    "CSV, empty lines in between": ("csv", "y,p\n1,0.5\n" + "\n" * SIZE + "0,0.5\n"),
    "CSV, rows without a number": ("csv", "y,p\n1,0.5\n" + "1,\n" * (SIZE // 3)),
    "JSON lines": ("jsonl", '{"y":1,"p":0.25}\n{"y":0,"p":0.75}\n' * (SIZE // 34)),
    "JSON lines, one long list": ("jsonl", '{"y":1,"probs":[' + "0," * (SIZE // 2) + "0]}\n"),
    "JSON, objects": ("json", "[" + '{"y":1,"p":0.25},{"y":0,"p":0.75},' * (SIZE // 34) + "{}]"),
    "JSON, a list of lists": ("json", "[" + "[]," * (SIZE // 3) + "[]]"),
    "JSON, an object of lists of numbers": (
        "json",
        '{"p":[' + "0.5," * (SIZE // 4) + '1],"y":[1]}',
    ),
    "JSON, an object of lists of lists": ("json", '{"p":[' + "[]," * (SIZE // 3) + '[]],"y":[1]}'),
}


def main() -> None:
    print("| 10 MB of | peak, times its size | |")
    print("|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for what, (ending, text) in FILES.items():
            files = [Path(name) / f"{which}.{ending}" for which in ("small", "large")]
            files[0].write_text(SMALL[ending])
            files[1].write_text(text)
            words = [sys.executable, "-c", MEASURE, *map(str, files)]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            grown, said = json.loads(done.stdout)
            print(f"| {what} | {grown / len(text):.0f} | {said} |", flush=True)


if __name__ == "__main__":
    main()
