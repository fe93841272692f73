"""Odd calls of the public functions: each gives a result, or a sentence that says what is wrong.

    python tests/odd_calls.py SEED COUNT [FIRST]

makes COUNT calls in which one to three arguments are not what they should be. Call number i of a
seed is always the same. What ends the process (an abort, or half a minute of work for one call) is
found by whoever started it: the number of the call stands in the progress on standard error.
"""

import json
import resource
import signal
import sys
from pathlib import Path

import numpy as np
import odd_arguments
from odd_arguments import CALLS, COSTLY, NUMBERS, ODDS, THINGS

SECONDS = 30  # of work for one call, the compilation of kernels included
SPACE = 6 << 30  # bytes that the process may ask for beyond what it holds at the start
BUILT_IN = (type, type(len))
REFUSALS = (ValueError, TypeError, IndexError, KeyError)


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def odd_call(rng):
    """Return a function and arguments for it, one to three of which are odd."""
    function, good = pick(rng, CALLS)
    given = {name: pick(rng, choices) for name, choices in good.items()}
    for name in rng.choice(list(given), min(len(given), int(rng.integers(1, 4))), replace=False):
        pool = pick(
            rng, [NUMBERS, THINGS, *[ODDS[name]] * 4] if name in ODDS else [NUMBERS, THINGS]
        )
        value = pick(rng, pool)
        large = name in COSTLY and isinstance(value, int | float | np.uint64) and abs(value) > 1e6
        given[str(name)] = -1 if large else value
    return function, given


def own(error, given):
    """Whether a function that was given, as a user might do, failed by itself.

    Those of Python have no place in a traceback; what they say begins with their name.
    """
    place = error.__traceback__
    while place.tb_next is not None:
        place = place.tb_next
    names = {f"{value.__name__}()" for value in given.values() if isinstance(value, BUILT_IN)}
    written = place.tb_frame.f_code.co_filename == odd_arguments.__file__
    return written or str(error).partition(" ")[0] in names


def verdict(function, given):
    """Make a call and look at its result; return what is wrong with what became of it."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with np.errstate(all="ignore"):
            result = function(**given)
            for name in ("__str__", "__repr__", "to_dict", "table"):
                getattr(result, name, str)()
    except FileNotFoundError:
        return ""
    except Exception as error:
        if own(error, given):
            return ""
        if not isinstance(error, REFUSALS):
            return f"raises {error!r}"[:300]
        said = str(error)
        good = " " in said and len(said) < 2000 and said.rstrip("'\"").endswith((".", "?"))
        return "" if good else f"says {said[:200]!r} ({type(error).__name__})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def main(seed, count, first=0):
    held = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (held + SPACE, held + SPACE))
    found = []
    for i in range(first, first + count):
        function, given = odd_call(np.random.default_rng([seed, i]))
        print("call", i, function.__qualname__, file=sys.stderr, flush=True)
        wrong = verdict(function, given)
        if wrong:
            found.append(f"{i}: {function.__qualname__} {wrong}")
    json.dump(found, sys.stdout)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
