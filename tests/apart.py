"""Calls in processes of their own, for those that might end Python."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def outcome(call, seconds=60):
    """Make a call in a child of this process; say what became of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        os.environ["CALIBRANT_THREADS"] = "1"
        try:
            call()
            answer = "not refused"
        except Exception as error:
            answer = f"refused: {type(error).__name__}"
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    status = os.waitpid(child, 0)[1]
    return answer or f"crashed: signal {os.WTERMSIG(status)}"


def outcomes(program):
    """Run a program that prints what `tell` does, and return it: {name: outcome}."""
    found = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    return json.loads(found.stdout)


def tell(calls):
    """Print what became of each of some calls."""
    json.dump({name: outcome(call) for name, call in calls.items()}, sys.stdout)
