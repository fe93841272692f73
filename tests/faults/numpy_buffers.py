"""How NumPy ends where there is no memory for its buffers: a few lines without calibrant; Linux.

    python tests/faults/numpy_buffers.py

prints how a process ends that multiplies a table by a row while memory is short: -11 is a signal
(SIGSEGV), 0 a MemoryError as it should be. What `inject.py --memory` says of signals comes from it.
"""

import subprocess
import sys

PROGRAM = """
import resource, numpy as np
table, row, out = np.ones((1 << 16, 8)), np.ones(8), np.empty((1 << 16, 8))
np.setbufsize(1 << 20)
resource.setrlimit(resource.RLIMIT_AS, (1, 1))
try: np.multiply(table, row, out=out)
except MemoryError: pass
"""


def main():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], check=False, capture_output=True)
    print(ended.returncode)


if __name__ == "__main__":
    main()
